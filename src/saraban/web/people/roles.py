"""Roles and permissions, with the editor of custom roles."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain import catalogue
from saraban.identity.domain.context import Scope
from saraban.identity.schemas import NewRole, PermissionOut, RoleChanges
from saraban.identity.service import roles
from saraban.identity.service.roles import RoleView
from saraban.kit.errors import Text
from saraban.kit.http import ReadSession
from saraban.projects.domain.master_data import ProjectRef
from saraban.web.shell.forms import CurrentForm, SentForm, Shown, texts
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/roles")

HOME: Final = "/roles"
CREATE: Final = "role.create"

RoleId = Annotated[UUID, Path(alias="publicId")]


class RolesPage(PageModel, template="people/roles.html"):
    roles: Sequence[RoleView]
    own: Sequence[RoleView]
    groups: Sequence[tuple[Text, Sequence[PermissionOut]]]
    levels: Mapping[str, Text]
    chosen: UUID
    copied: RoleView | None
    place: UUID | None
    places: Sequence[ProjectRef]
    homes: Sequence[ProjectRef]
    may_make: bool
    may_make_everywhere: bool


@router.post("")
async def create(form: CurrentForm) -> Response:
    async with form.show_on_refusal(listing):
        values = form.filled("name", "nameEn", "level", "copyOf", "projectPublicId", "description")
        receipt = await form.transact(roles.create_role, wanted=form.order(NewRole, {"name": "", **values}))
    return _to_role(receipt.resource_id, "made", form.text("projectPublicId"))


@router.post("/{publicId}")
async def save(public_id: RoleId, form: CurrentForm) -> Response:
    return await _change(public_id, form, {"permissions": texts(form.values, "permission")})


@router.post("/{publicId}/name")
async def rename(public_id: RoleId, form: CurrentForm) -> Response:
    values = {"nameEn": None, "description": None, **form.filled("nameEn", "description")}
    return await _change(public_id, form, values | {"name": form.text("name") or ""})


@router.post("/{publicId}/close")
async def close(public_id: RoleId, form: CurrentForm) -> Response:
    return await _set_open(public_id, form, is_open=False)


@router.post("/{publicId}/reopen")
async def reopen(public_id: RoleId, form: CurrentForm) -> Response:
    return await _set_open(public_id, form, is_open=True)


async def _change(public_id: UUID, form: SentForm, values: Mapping[str, object]) -> Response:
    async with form.show_on_refusal(listing, role=public_id):
        changes, if_match = form.order(RoleChanges, values), form.text("etag")
        await form.transact(roles.change_role, public_id=public_id, changes=changes, if_match=if_match)
    return _to_role(public_id, "saved", form.text("project"))


async def _set_open(public_id: UUID, form: SentForm, *, is_open: bool) -> Response:
    async with form.show_on_refusal(listing, role=public_id):
        await form.transact(roles.set_role_open, public_id=public_id, is_open=is_open)
    return _to_role(public_id, "opened" if is_open else "closed", form.text("project"))


def _to_role(role: UUID, done: str, project: str | None) -> Response:
    return RedirectResponse(f"{HOME}?role={role}&done={done}" + (f"&project={project}" if project else ""), 303)


@router.get("")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    state: Shown,
    project: Annotated[str, Query(max_length=40)] = "",
    role: UUID | None = None,
    copy: UUID | None = None,
) -> Response:
    """
    :param role: the role that a narrow screen shows, or whose form was sent
    :param copy: the role to copy in the form of a new one
    """
    typed = str(state.form.get("project") or state.form.get("projectPublicId") or project)
    place = next((item.public_id for item in page.projects if str(item.public_id) == typed), None)
    all_roles = (await roles.list_roles(page.context, session, project_public_id=place)).items
    visible_roles = _sort_roles(all_roles, place)
    homes = [item for item in page.projects if page.may(CREATE, item)]
    everywhere = page.caller.may(CREATE, Scope())
    return page.show(
        RolesPage(
            roles=visible_roles,
            own=[item for item in visible_roles if not item.is_shipped],
            groups=[
                (words, tuple(permissions))
                for words, permissions in groupby(
                    await roles.list_permissions(session), key=lambda item: item.module_says
                )
            ],
            levels=catalogue.LEVELS,
            chosen=next(
                (item.public_id for item in visible_roles if item.public_id == role), visible_roles[0].public_id
            ),
            copied=next((item for item in visible_roles if item.public_id == copy), None),
            place=place,
            places=page.projects,
            homes=homes,
            may_make=everywhere or bool(homes),
            may_make_everywhere=everywhere,
            state=state,
        )
    )


def _sort_roles(candidates: Sequence[RoleView], project: UUID | None) -> list[RoleView]:
    """Sort shipped roles in the matrix's order, then custom ones; omit other projects' roles."""
    rank = {offer.name: place for place, offer in enumerate(catalogue.ROLES)}
    visible = [role for role in candidates if role.project_public_id in {None, project}]
    return sorted(visible, key=lambda role: (rank.get(role.name, len(rank)), not role.is_active, role.name))
