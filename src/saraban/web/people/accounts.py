"""People and programs with an account: the list, the form for a new one, and one of them with what may be done about it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import invitation_base
from saraban.identity.domain.account import UserState
from saraban.identity.domain.catalogue import GLOBAL, ORGANIZATION, role_words
from saraban.identity.domain.period import PeriodState
from saraban.identity.schemas import HeldRoleOut, RoleGrantIn, UserChangeIn, UserIn, UserOut, UserSearch
from saraban.identity.service import accounts, assignments, invitations, people
from saraban.identity.service.people import OfferedRoles
from saraban.kit.errors import DomainError, NotFound, Text, required
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.schema import Schema
from saraban.web.shell.forms import (
    NEW_FORM,
    CurrentForm,
    FormState,
    FormValues,
    SentForm,
    form_errors,
    number_or_text,
    show_again,
    submit,
    text,
)
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
    """What the page says in this answer only: a link, or the password of a program."""

    link: str = ""
    password: str = ""
    mailed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage(PageModel):
    template: ClassVar[str] = "people/people.html"
    fragments: ClassVar[tuple[str, ...]] = ("people/parts/people_rows.html", "people/parts/people_list.html")

    rows: Sequence[UserOut]
    next_cursor: str | None
    query: str
    wanted: Mapping[str, str]
    offer: OfferedRoles
    states: Mapping[UserState, tuple[Text, str]]
    may_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPersonPage(PageModel):
    template: ClassVar[str] = "people/new_person.html"

    form: FormValues
    offer: OfferedRoles
    levels: Mapping[str, Text]
    role_name: Callable[[str], Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonPage(PageModel):
    """:param sessions: None for who sees the account because they give roles, and no more of it"""

    template: ClassVar[str] = "people/person.html"

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
    form: FormValues
    done: str


@dataclass(frozen=True, slots=True)
class PersonState:
    form: FormState = field(default_factory=FormState)
    told: TellOnce = field(default_factory=TellOnce)


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
    """Everybody whom the reader administers, by user name."""
    wanted = {"q": q.strip(), "organization": organization, "role": role, "state": state, "kind": kind}
    found = await people.list_people(page.context, session, _search(wanted), cursor=cursor, limit=ROWS)
    offer = await people.offered_roles(page.context, session)
    model = PeoplePage(
        rows=found.items,
        next_cursor=found.next_cursor,
        query="&".join(f"{name}={value}" for name, value in wanted.items() if value),
        wanted=wanted,
        offer=offer,
        states=STATES,
        may_open=page.caller.may_anywhere("user.create"),
    )
    return page.show_list(model, cursor)


def _search(wanted: Mapping[str, str]) -> UserSearch:
    """A filter that names nothing, as an address that was typed may have it, is left out."""
    asked: dict[str, Any] = {
        "search": wanted["q"],
        "organizationPublicId": wanted["organization"],
        "role": wanted["role"],
        "state": wanted["state"],
        "isService": {"people": False, "programs": True}.get(wanted["kind"]),
        "sort": "name",
    }
    asked = {name: value for name, value in asked.items() if value not in {"", None}}
    try:
        return UserSearch.model_validate(asked)
    except ValidationError as fault:
        wrong = {one["loc"][0] for one in fault.errors()}
        return UserSearch.model_validate({name: value for name, value in asked.items() if name not in wrong})


@router.get("/new")
async def new_person(page: CurrentPage, session: ReadSession) -> Response:
    return await _new(page, session)


@router.post("")
async def create(form: CurrentForm) -> Response:
    """The account, and in the same form a first role; what is told once stands on the page that this answers with."""
    try:
        order = form.order(UserIn, _order(form))
        password_hash, told = await people.first_password(form.db, order)
        person, link = await form.db.transact(partial(_create, form, order, password_hash))
    except DomainError as error:
        return await show_again(form, error, _new)
    state = PersonState(FormState(done="made"), _tell(form.page.request, link, told))
    async with form.db.reading() as session:
        return await _show(form.page, session, person, state)


def _order(form: SentForm) -> dict[str, object]:
    filled: dict[str, object] = {
        **form.filled("username", "email", "firstName", "lastName", "organizationPublicId", "password")
    }
    how = form.text("how") or "invite"
    if how != "password":
        filled.pop("password", None)
    return filled | {"invite": how == "invite", "isService": how == "service"}


async def _create(
    form: SentForm, order: UserIn, password_hash: str | None, session: AsyncSession
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
    """The role of a form; without a place that of an organization is given in the person's, another in the only place."""
    offer = await people.offered_roles(form.context, session)
    name = form.text("role")
    if name is None:
        raise required("/role")
    role = next((one for one in offer.roles if one.role_name == name), None)
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


def _tell(request: Request, path: str | None, password: str | None = None, *, handed_over: bool = False) -> TellOnce:
    base = invitation_base(request, handed_over=handed_over)
    link = "" if path is None or base is None else base + path
    return TellOnce(link, password or "", mailed=path is not None and base is None)


@router.get("/{publicId}")
async def show(
    public_id: PersonId, page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    return await _show(page, session, public_id, PersonState(FormState(done=done)))


@router.post("/{publicId}")
async def save(public_id: PersonId, form: CurrentForm) -> Response:
    """Names, address and organization, as the form was opened with them."""
    return await submit(form, partial(_save, public_id), partial(_show_again, public_id))


async def _save(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    changes: dict[str, object] = {name: form.text(name) or "" for name in ("firstName", "lastName", "email")}
    if "organizationPublicId" in form.values:
        changes["organizationPublicId"] = form.text("organizationPublicId")
    if "drawsPerMinute" in form.values:
        limit = form.text("drawsPerMinute")
        changes["drawsPerMinute"] = None if limit is None else number_or_text(limit)
    await people.change_person(
        form.context,
        session,
        person=public_id,
        change=form.order(UserChangeIn, changes),
        if_match=form.text("tag"),
    )
    return f"{HOME}/{public_id}?done=saved"


ACTIONS: Final[dict[str, Callable[..., Awaitable[object]]]] = {
    "close": lambda ctx, session, person: accounts.set_active(ctx, session, username=person, active=False),
    "reopen": lambda ctx, session, person: accounts.set_active(ctx, session, username=person, active=True),
    "unlock": lambda ctx, session, person: accounts.unlock(ctx, session, username=person),
    "sign-out": lambda ctx, session, person: people.end_sessions(ctx, session, person=person),
}


@router.post("/{publicId}/{action}")
async def act(public_id: PersonId, action: str, form: CurrentForm) -> Response:
    """What is done with one button or one small form."""
    if action in ACTIONS:
        return await submit(form, partial(_act, public_id, action), partial(_show_again, public_id))
    if action in {"invite", "reset-link"}:
        return await _invite(public_id, form, handed_over=action == "reset-link")
    if action == "password":
        return await _password(public_id, form)
    if action == "roles":
        return await submit(form, partial(_give, public_id), partial(_show_again, public_id))
    if action == "take-role":
        return await submit(form, partial(_take, public_id), partial(_show_again, public_id))
    raise NotFound("There is no such action.")


async def _act(public_id: UUID, action: str, form: SentForm, session: AsyncSession) -> str:
    await ACTIONS[action](form.context, session, public_id)
    return f"{HOME}/{public_id}?done={action}"


async def _give(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    person = await people.read_person(form.context, session, public_id)
    home = person.organization.public_id if person.organization else None
    wanted = await _grant(form, session, home)
    await people.give_role(form.context, session, person=public_id, wanted=wanted)
    return f"{HOME}/{public_id}?done=given#roles"


async def _take(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    role = form.order(HeldRoleRef, form.filled("rolePublicId"))
    await assignments.revoke_assignment(form.context, session, person=public_id, assignment=role.role_public_id)
    return f"{HOME}/{public_id}?done=taken#roles"


async def _invite(public_id: UUID, form: SentForm, *, handed_over: bool) -> Response:
    invite = partial(invitations.invite_again, form.context, username=public_id, handed_over=handed_over)
    try:
        invited = await form.db.transact(invite)
    except DomainError as error:
        return await show_again(form, error, partial(_show_again, public_id))
    async with form.db.reading() as session:
        told = _tell(form.page.request, invited.path, handed_over=handed_over)
        done = "reset-link" if handed_over else "invited"
        return await _show(form.page, session, public_id, PersonState(FormState(done=done), told))


async def _password(public_id: UUID, form: SentForm) -> Response:
    """Of a person the one that was typed; of a program, where none was, one that is made and told once."""
    try:
        password_hash, made = await accounts.reset_password(
            form.context, form.db, person=public_id, password=form.text("password")
        )
        keep = partial(accounts.keep_password, form.context, person=public_id, password_hash=password_hash)
        await form.db.transact(keep)
    except DomainError as error:
        return await show_again(form, error, partial(_show_again, public_id))
    if made is None:
        return RedirectResponse(f"{HOME}/{public_id}?done=password", status_code=303)
    async with form.db.reading() as session:
        told = _tell(form.page.request, None, made)
        return await _show(form.page, session, public_id, PersonState(FormState(done="password"), told))


async def _show_again(public_id: UUID, page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    return await _show(page, session, public_id, PersonState(state))


async def _show(page: PageRequest, session: AsyncSession, public_id: UUID, state: PersonState) -> Response:
    user = await people.read_person(page.context, session, public_id)
    rights = await accounts.rights_over(page.context, session, public_id)
    return page.show(
        PersonPage(
            user=user,
            tag=text(state.form.form, "tag") or people.etag(user),
            roles=(await people.list_roles(page.context, session, public_id)).items,
            sessions=await people.open_sessions(page.context, session, public_id),
            offer=await people.offered_roles(page.context, session),
            levels=LEVELS,
            states=STATES,
            periods=PERIODS,
            role_name=role_words,
            may_edit="user.edit" in rights,
            may_close="user.delete" in rights,
            told=state.told,
            form=state.form.form,
            done=state.form.done,
            faults=form_errors(state.form.error, page.language),
        )
    )


async def _new(page: PageRequest, session: AsyncSession, state: FormState = NEW_FORM) -> Response:
    page.caller.require_somewhere("user.create")
    return page.show(
        NewPersonPage(
            form=state.form,
            offer=await people.offered_roles(page.context, session),
            levels=LEVELS,
            role_name=role_words,
            faults=form_errors(state.error, page.language),
        )
    )
