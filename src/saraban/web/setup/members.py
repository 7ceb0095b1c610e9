"""
The organizations of a project, and the parties of a contract, each with its role there. Whoever is not in the register yet is put
there with the same row: on the first day that is what people do.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.domain.context import Scope
from saraban.kit.errors import DomainError, Forbidden, NotFound, Text, invalid, required
from saraban.kit.http import Db, ReadSession
from saraban.kit.schema import Schema
from saraban.setup.domain.master_kinds import ORGANIZATION, Owner
from saraban.setup.domain.master_rows import MasterAddress, MasterRow
from saraban.setup.schemas.master_data import new_row
from saraban.setup.service import master_data as setup
from saraban.setup.service import members
from saraban.setup.service.members import OF_CONTRACT, OF_PROJECT, Member, NoMemberOfTheProject
from saraban.web.setup.grid import (
    ROWS,
    CurrentView,
    GridColumn,
    GridHead,
    GridLine,
    GridLines,
    GridPage,
    GridView,
    Query200,
    crumbs_of,
    new_line,
)
from saraban.web.setup.places import GridPlace, owners
from saraban.web.shell.forms import CurrentForm, SentForm, form_errors, has_own_page
from saraban.web.shell.labels import PARTY_ROLES
from saraban.web.shell.page import NO_ERRORS, CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import ListRoute

router = APIRouter(include_in_schema=False, route_class=ListRoute)

FAMILIES: Final = ("/projects/{project}/setup/members", "/projects/{project}/setup/contracts/{contract}/parties")
OFFERED: Final = 20
ROLE: Final = Text("บทบาท", "Role")
MEMBERS: Final = Text("องค์กรในโครงการ", "organizations of the project")
PARTIES: Final = Text("คู่สัญญา", "parties")
ABOUT: Final = Text(
    "พิมพ์รหัสองค์กรที่มีในทะเบียน หรือพิมพ์รหัสใหม่พร้อมชื่อเพื่อเพิ่มองค์กรในทะเบียนด้วย",
    "Type the code of an organization of the register, or a new code and a name to put it there, too.",
)


class PartyRoleIn(Schema):
    """What an organization is here."""

    role: PartyRole


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedOrganizations(PageModel):
    """Organizations that fit what was typed, for the browser to offer."""

    template: ClassVar[str] = "setup/parts/offered.html"

    rows: list[MasterRow]


async def members_place(page: CurrentPage, db: Db, request: Request) -> GridPlace:
    """
    :raises NotFound: when there is no such project or contract that the reader may see
    """
    async with db.reading() as session:
        project, contract = await owners(page.context, session, request.path_params)
    url = f"/projects/{project.public_id}/setup/"
    url += f"contracts/{contract.public_id}/parties" if contract else "members"
    scope = Scope(project=project.key, contract=contract.key if contract else None)
    return GridPlace(ORGANIZATION, url, scope, project, contract)


CurrentMembers = Annotated[GridPlace, Depends(members_place)]


async def listing(place: CurrentMembers, view: CurrentView, page: CurrentPage, session: ReadSession) -> Response:
    """The organizations with their roles, and the form for a further one."""
    opened = None
    if view.row and may_manage(place, page):
        opened = replace(
            _line(place, page, await _member(place, page, session, view.row)), is_open=True, has_cursor=True
        )
    return await _show(place, view, page, session, opened)


async def line(
    place: CurrentMembers, page: CurrentPage, session: ReadSession, row: Query200 = "", shut: bool = False
) -> Response:
    """One organization: as it stands, or as the form for its role."""
    if not page.is_fragment:
        return RedirectResponse(place.url, 303)
    head = _head(place, page)
    if not row:
        return page.show(GridLines(head=head, lines=[new_line(head, has_cursor=True)]))
    shown = _line(place, page, await _member(place, page, session, row))
    return page.show(GridLines(head=head, lines=[replace(shown, is_open=not shut, has_cursor=True)]))


async def offers(
    place: CurrentMembers,
    page: CurrentPage,
    session: ReadSession,
    organizationCode: Query200 = "",  # noqa: N803
) -> Response:
    """Organizations of the register that fit what was typed."""
    if not may_manage(place, page):
        raise Forbidden("Members are chosen by those who manage them.")
    text = organizationCode.strip()
    found = await setup.list_rows(page.context, session, ORGANIZATION, search=text or None, limit=OFFERED)
    return page.show(OfferedOrganizations(rows=found.items))


async def save(place: CurrentMembers, form: CurrentForm) -> Response:
    """Take an organization in, or give it another role."""
    try:
        member = await form.db.transact(partial(_save, place, form))
    except DomainError as error:
        return await _refused(place, form, error)
    done = "saved" if form.text("ref") else "added"
    if not form.page.is_fragment:
        return RedirectResponse(f"{place.url}?done={done}#line-new", 303)
    head = _head(place, form.page)
    saved = replace(_line(place, form.page, member), done=done, has_cursor=done == "saved")
    return form.page.show(
        GridLines(head=head, lines=[saved, new_line(head, has_cursor=True)] if done == "added" else [saved])
    )


async def remove(place: CurrentMembers, form: CurrentForm) -> Response:
    try:
        member = await form.db.transact(partial(_remove, place, form))
    except DomainError as error:
        return await _refused(place, form, error)
    if not form.page.is_fragment:
        return RedirectResponse(f"{place.url}?done=removed", 303)
    gone = replace(_line(place, form.page, member), may_change=False, may_close=False, done="removed")
    return form.page.show(GridLines(head=_head(place, form.page), lines=[gone]))


for _base in FAMILIES:
    router.add_api_route(_base, listing, methods=["GET"])
    router.add_api_route(f"{_base}/line", line, methods=["GET"])
    router.add_api_route(f"{_base}/offers", offers, methods=["GET"])
    for _action in (save, remove):
        router.add_api_route(f"{_base}/{_action.__name__}", _action, methods=["POST"])


def may_manage(place: GridPlace, page: PageRequest) -> bool:
    return page.caller.may(OF_CONTRACT if place.contract else OF_PROJECT, place.scope)


def _head(place: GridPlace, page: PageRequest) -> GridHead:
    code, thai, english, role = ORGANIZATION.fields
    manages = may_manage(place, page)
    return GridHead(
        kind=ORGANIZATION,
        url=place.url,
        title=PARTIES if place.contract else MEMBERS,
        about=ABOUT,
        crumbs=crumbs_of(place),
        columns=[
            GridColumn(code, is_fixed=True, offers=f"{place.url}/offers"),
            GridColumn(replace(thai, required=False), is_fixed=True),
            GridColumn(english, is_fixed=True),
            GridColumn(replace(role, label=ROLE, required=True, default=PartyRole.CONTRACTOR), PARTY_ROLES),
        ],
        may_add=manages,
        closes=False,
    )


def _line(place: GridPlace, page: PageRequest, member: Member) -> GridLine:
    organization, manages = member.organization, may_manage(place, page)
    values = {name: str(value or "") for name, value in organization.values.items()} | {"role": member.role.value}
    return GridLine(
        ref=str(organization.public_id),
        values=values,
        is_active=organization.is_active,
        is_open=False,
        may_change=manages,
        may_close=manages,
    )


async def _member(place: GridPlace, page: PageRequest, session: AsyncSession, ref: str) -> Member:
    """:raises NotFound: for an organization that does not take part"""
    of, owner = _owner(place)
    return await members.read_member(page.context, session, of, owner=owner, organization_public_id=_id(ref))


def _owner(place: GridPlace) -> tuple[Owner, UUID]:
    row = place.contract or place.project
    assert row is not None
    return Owner.CONTRACT if place.contract else Owner.PROJECT, _public_id(row)


def _public_id(row: MasterRow) -> UUID:
    assert row.public_id is not None
    return row.public_id


def _id(ref: str) -> UUID:
    found = id_of(ref)
    if found is None:
        raise NotFound(f"There is no organization {ref}.")
    return found


async def _show(
    place: GridPlace, view: GridView, page: PageRequest, session: AsyncSession, opened: GridLine | None = None
) -> Response:
    of, owner = _owner(place)
    found = await members.list_members(
        page.context, session, of, owner=owner, search=view.q or None, cursor=view.cursor, limit=ROWS
    )
    head = _head(place, page)
    lines = [_line(place, page, one) for one in found.items]
    new = new_line(head, has_cursor=view.done == "added") if head.may_add else None
    if opened is not None:
        new = new if opened.ref else opened
        lines = [opened if one.ref == opened.ref else one for one in lines]
    return page.show_list(
        GridPage(
            head=head,
            view=view,
            lines=lines,
            new_line=new,
            next_cursor=found.next_cursor,
            faults=opened.faults if opened else NO_ERRORS,
        ),
        view.cursor,
    )


async def _save(place: GridPlace, form: SentForm, session: AsyncSession) -> Member:
    role = form.order(PartyRoleIn, {"role": form.text("role") or ""}).role
    ref = form.text("ref")
    organization = _id(ref) if ref else _public_id(await _organization(form, session))
    save = partial(members.save_member, form.context, session, organization_public_id=organization, role=role)
    of, owner = _owner(place)
    try:
        return await save(of, owner=owner)
    except NoMemberOfTheProject:
        # Who takes part in a contract takes part in its project.
        if place.project is None or not form.page.caller.may(OF_PROJECT, place.scope):
            raise
    await save(Owner.PROJECT, owner=_public_id(place.project))
    return await save(of, owner=owner)


async def _organization(form: SentForm, session: AsyncSession) -> MasterRow:
    """
    Return the organization of the code that was typed; one that is new is put into the register.

    :raises Invalid: for a code that stands for another name, and for a new one without a name
    """
    code, name = form.text("organizationCode"), form.text("organizationName")
    if code is None:
        raise required("/organizationCode")
    try:
        known = await setup.read(form.context, session, ORGANIZATION, MasterAddress(code))
    except NotFound:
        known = None
    if known is None and name is None:
        th = "ไม่มีรหัส “{typed}” ในทะเบียน หากเป็นองค์กรใหม่ให้พิมพ์ชื่อด้วย"
        raise invalid(
            "/organizationName", "unknown", th, "“{typed}” is new to the register: type its name, too.", typed=code
        )
    if known is None:
        typed = form.filled("organizationCode", "organizationName", "organizationNameEn", "role")
        return await setup.create(form.context, session, ORGANIZATION, new=form.order(new_row(ORGANIZATION), typed))
    if not known.is_active:
        th = "องค์กรนี้ปิดใช้แล้ว เปิดใช้ในทะเบียนองค์กรก่อน"
        raise invalid("/organizationCode", "closed", th, "It is out of use: reopen it in the register first.")
    if name not in {None, known.values["organizationName"]}:
        th, en = "รหัสนี้เป็นของ “{name}”", "This is the code of “{name}”."
        raise invalid("/organizationCode", "taken", th, en, name=known.values["organizationName"])
    return known


async def _remove(place: GridPlace, form: SentForm, session: AsyncSession) -> Member:
    asked = _id(form.text("ref") or "")
    member = await _member(place, form.page, session, str(asked))
    of, owner = _owner(place)
    await members.remove_member(form.context, session, of, owner=owner, organization_public_id=asked)
    return member


async def _refused(place: GridPlace, form: SentForm, error: DomainError) -> Response:
    """:raises DomainError: when the refusal has a page of its own"""
    if has_own_page(error):
        raise error
    page, ref, head = form.page, form.text("ref"), _head(place, form.page)
    faults = form_errors(error, page.language)
    typed = {one.field.name: form.text(one.field.name) or "" for one in head.columns}
    opened = GridLine(values=typed, faults=faults, has_cursor=True)
    async with form.db.reading() as session:
        if ref:
            now = _line(place, page, await _member(place, page, session, ref))
            values = dict(now.values) | ({"role": typed["role"]} if typed["role"] else {})
            opened = replace(now, is_open=True, faults=faults, values=values, has_cursor=True)
        if not page.is_fragment:
            return await _show(place, GridView(), page, session, opened)
    return page.show(GridLines(head=head, lines=[opened], faults=faults))
