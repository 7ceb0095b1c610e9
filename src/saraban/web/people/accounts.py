"""Pages of accounts of people and programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import invitation_base
from saraban.identity.domain.account import UserState
from saraban.identity.domain.catalogue import GLOBAL, ORGANIZATION, role_words
from saraban.identity.domain.period import PeriodState
from saraban.identity.schemas import HeldRoleOut, RoleGrantIn, UserChangeIn, UserIn, UserOut, UserSearch
from saraban.identity.service import accounts, assignments, invitations, people
from saraban.identity.service.people import OfferedRoles
from saraban.kit.errors import NotFound, Text, required
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.schema import Schema
from saraban.web.shell.form_state import FormState
from saraban.web.shell.forms import CurrentForm, SentForm, Shown, number_or_text, text, usable_query
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/people")

HOME: Final = "/people"
ROWS: Final = 50
STATES: Final = {
    UserState.ACTIVE: (Text("ใช้งานได้", "Active"), "green"),
    UserState.INVITED: (Text("รอตอบรับคำเชิญ", "Invited"), "blue"),
    UserState.LOCKED: (Text("ถูกล็อก", "Locked"), "orange"),
    UserState.CLOSED: (Text("ปิดบัญชีแล้ว", "Closed"), "grey"),
}
PERIODS: Final = {
    PeriodState.UPCOMING: (Text("ยังไม่เริ่ม", "Not yet"), "blue"),
    PeriodState.ACTIVE: (Text("ใช้งานอยู่", "Active"), "green"),
    PeriodState.ENDED: (Text("สิ้นสุดแล้ว", "Ended"), "grey"),
}
LEVELS: Final = {
    "Global": Text("ทั้งระบบ", "Everywhere"),
    "Organization": Text("องค์กร", "Organization"),
    "Project": Text("โครงการ", "Project"),
    "Contract": Text("สัญญา", "Contract"),
}

PersonId = Annotated[UUID, Path(alias="publicId")]
Typed = Annotated[str, Query(max_length=100)]


class HeldRoleRef(Schema):
    role_public_id: UUID


@dataclass(frozen=True, slots=True)
class TellOnce:
    """A link, or a program's password, that only this response shows."""

    link: str = ""
    password: str = ""
    mailed: bool = False


NOTHING_TOLD: Final = TellOnce()


class PeoplePage(
    PageModel,
    template="people/people.html",
    fragments=("people/parts/people_rows.html", "people/parts/people_list.html"),
):
    rows: Sequence[UserOut]
    next_cursor: str | None
    query: str
    wanted: Mapping[str, str]
    offer: OfferedRoles
    states: Mapping[UserState, tuple[Text, str]]
    may_open: bool


class NewPersonPage(PageModel, template="people/new_person.html"):
    offer: OfferedRoles
    levels: Mapping[str, Text]
    role_name: Callable[[str], Text]


class PersonPage(PageModel, template="people/person.html"):
    """:param sessions: None for callers who may only assign roles"""

    user: UserOut
    tag: str
    roles: Sequence[HeldRoleOut]
    sessions: Sequence[Any] | None
    offer: OfferedRoles
    levels: Mapping[str, Text]
    states: Mapping[UserState, tuple[Text, str]]
    periods: Mapping[PeriodState, tuple[Text, str]]
    role_name: Callable[[str], Text]
    may_edit: bool
    may_close: bool
    told: TellOnce


@router.get("")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    q: Typed = "",
    organization: Typed = "",
    role: Typed = "",
    state: Typed = "",
    kind: Typed = "",
    cursor: PageCursor = None,
) -> Response:
    wanted = {"q": q.strip(), "organization": organization, "role": role, "state": state, "kind": kind}
    people_page = await people.list_people(page.context, session, _search(page, wanted), cursor=cursor, limit=ROWS)
    offer = await people.offered_roles(page.context, session)
    model = PeoplePage(
        rows=people_page.items,
        next_cursor=people_page.next_cursor,
        query="&".join(f"{name}={value}" for name, value in wanted.items() if value),
        wanted=wanted,
        offer=offer,
        states=STATES,
        may_open=page.caller.may_anywhere("user.create"),
    )
    return page.show_list(model, cursor)


def _search(page: PageRequest, parameters: Mapping[str, str]) -> UserSearch:
    """Ignore invalid filters."""
    filters = {
        "search": parameters["q"],
        "organizationPublicId": parameters["organization"],
        "role": parameters["role"],
        "state": parameters["state"],
        "isService": {"people": False, "programs": True}.get(parameters["kind"]),
        "sort": "name",
    }
    return usable_query(page, UserSearch, {name: value for name, value in filters.items() if value not in {"", None}})[
        0
    ]


@router.get("/new")
async def new_person(page: CurrentPage, session: ReadSession, state: Shown) -> Response:
    page.caller.require_somewhere("user.create")
    return page.show(
        NewPersonPage(
            state=state,
            offer=await people.offered_roles(page.context, session),
            levels=LEVELS,
            role_name=role_words,
        )
    )


@router.post("")
async def create(form: CurrentForm) -> Response:
    """Create an account, optionally with a role; the response shows its link or password once."""
    async with form.show_on_refusal(new_person):
        order = form.order(UserIn, _order(form))
        password_hash, password = await people.first_password(form.db, order)
        person, link = await form.db.transact(_create, form, order, password_hash)
    async with form.db.reading() as session:
        return await _show(
            form.page, session, FormState(done="made"), person, _shown_once(form.page.request, link, password)
        )


def _order(form: SentForm) -> dict[str, object]:
    filled: dict[str, object] = {
        **form.filled("username", "email", "firstName", "lastName", "organizationPublicId", "password")
    }
    how = form.text("how") or "invite"
    if how != "password":
        filled.pop("password", None)
    return filled | {"invite": how == "invite", "isService": how == "service"}


async def _create(
    form: SentForm, session: AsyncSession, order: UserIn, password_hash: str | None
) -> tuple[UUID, str | None]:
    new, link = people.new_account(order), None
    if password_hash is None:
        invitation = await invitations.invite_user(form.context, session, new)
        person, link = invitation.public_id, invitation.path
    else:
        person = await accounts.create_account(form.context, session, new, password_hash=password_hash)
    if form.text("role"):
        grant = await _grant(form, session, home=order.organization_public_id)
        await people.give_role(form.context, session, person=person, wanted=grant)
    return person, link


async def _grant(form: SentForm, session: AsyncSession, home: UUID | None) -> RoleGrantIn:
    """Return the form's role; its place defaults to the person's organization, or the only place."""
    offer = await people.offered_roles(form.context, session)
    name = form.text("role")
    if name is None:
        raise required("/role")
    role = next((offered for offered in offer.roles if offered.role_name == name), None)
    level = role.scope if role else GLOBAL
    place: object = form.text("placePublicId")
    if place is None and level == ORGANIZATION:
        place = home
    elif place is None and len(places := offer.levels.get(level, [])) == 1:
        place = places[0].public_id
    if place is None and level != GLOBAL:
        raise required("/placePublicId")
    return form.order(
        RoleGrantIn, {"role": name, "level": level, "placePublicId": place, **form.filled("from", "until")}
    )


def _shown_once(
    request: Request, path: str | None, password: str | None = None, *, handed_over: bool = False
) -> TellOnce:
    base = invitation_base(request, handed_over=handed_over)
    link = "" if path is None or base is None else base + path
    return TellOnce(link, password or "", mailed=path is not None and base is None)


@router.get("/{publicId}")
async def show(public_id: PersonId, page: CurrentPage, session: ReadSession, state: Shown) -> Response:
    return await _show(page, session, state, public_id)


@router.post("/{publicId}")
async def save(public_id: PersonId, form: CurrentForm) -> Response:
    async with form.show_on_refusal(_show, public_id):
        changes: dict[str, object] = {name: form.text(name) or "" for name in ("firstName", "lastName", "email")}
        if "organizationPublicId" in form.values:
            changes["organizationPublicId"] = form.text("organizationPublicId")
        if "drawsPerMinute" in form.values:
            limit = form.text("drawsPerMinute")
            changes["drawsPerMinute"] = None if limit is None else number_or_text(limit)
        change, if_match = form.order(UserChangeIn, changes), form.text("tag")
        await form.transact(people.change_person, person=public_id, change=change, if_match=if_match)
    return RedirectResponse(f"{HOME}/{public_id}?done=saved", 303)


@router.post("/{publicId}/{action}")
async def act(public_id: PersonId, action: str, form: CurrentForm) -> Response:
    async with form.show_on_refusal(_show, public_id):
        match action:
            case "close" | "reopen":
                await form.transact(accounts.set_active, username=public_id, active=action == "reopen")
            case "unlock":
                await form.transact(accounts.unlock, username=public_id)
            case "sign-out":
                await form.transact(people.end_sessions, person=public_id)
            case "roles":
                await form.db.transact(_give_role, form, public_id)
            case "take-role":
                role = form.order(HeldRoleRef, form.filled("rolePublicId")).role_public_id
                await form.transact(assignments.revoke_assignment, person=public_id, assignment=role)
            case "invite" | "reset-link":
                return await _invite(public_id, form, handed_over=action == "reset-link")
            case "password":
                return await _set_password(public_id, form)
            case _:
                raise NotFound("There is no such action.")
    done = {"roles": "given#roles", "take-role": "taken#roles"}.get(action, action)
    return RedirectResponse(f"{HOME}/{public_id}?done={done}", 303)


async def _give_role(form: SentForm, session: AsyncSession, public_id: UUID) -> None:
    person = await people.read_person(form.context, session, public_id)
    home = person.organization.public_id if person.organization else None
    wanted = await _grant(form, session, home)
    await people.give_role(form.context, session, person=public_id, wanted=wanted)


async def _invite(public_id: UUID, form: SentForm, *, handed_over: bool) -> Response:
    invitation = await form.transact(invitations.invite_again, username=public_id, handed_over=handed_over)
    shown_once = _shown_once(form.page.request, invitation.path, handed_over=handed_over)
    state = FormState(done="reset-link" if handed_over else "invited")
    async with form.db.reading() as session:
        return await _show(form.page, session, state, public_id, shown_once)


async def _set_password(public_id: UUID, form: SentForm) -> Response:
    """Set the typed password; without one, generate a program's password and show it once."""
    password_hash, generated = await accounts.reset_password(
        form.context, form.db, person=public_id, password=form.text("password")
    )
    await form.transact(accounts.keep_password, person=public_id, password_hash=password_hash)
    if generated is None:
        return RedirectResponse(f"{HOME}/{public_id}?done=password", status_code=303)
    shown_once = _shown_once(form.page.request, None, generated)
    async with form.db.reading() as session:
        return await _show(form.page, session, FormState(done="password"), public_id, shown_once)


async def _show(
    page: PageRequest, session: AsyncSession, state: FormState, public_id: UUID, shown_once: TellOnce = NOTHING_TOLD
) -> Response:
    user = await people.read_person(page.context, session, public_id)
    rights = await accounts.rights_over(page.context, session, public_id)
    return page.show(
        PersonPage(
            user=user,
            tag=text(state.form, "tag") or people.etag(user),
            roles=(await people.list_roles(page.context, session, public_id)).items,
            sessions=await people.open_sessions(page.context, session, public_id),
            offer=await people.offered_roles(page.context, session),
            levels=LEVELS,
            states=STATES,
            periods=PERIODS,
            role_name=role_words,
            may_edit="user.edit" in rights,
            may_close="user.delete" in rights,
            told=shown_once,
            state=state,
        )
    )
