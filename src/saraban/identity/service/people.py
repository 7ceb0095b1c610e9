"""Show and change people that the caller administers or gives roles to."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from textwrap import shorten
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.domain.account import UserState, device_name
from saraban.identity.domain.catalogue import CONTRACT, GLOBAL, ORGANIZATION
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.domain.period import RolePeriod
from saraban.identity.models import Role, User
from saraban.identity.repository import account_rows, held_roles, role_rows
from saraban.identity.schemas import (
    HeldRoleOut,
    RoleGrantIn,
    SessionOut,
    UserChangeIn,
    UserIn,
    UserOrganization,
    UserOut,
    UserSearch,
)
from saraban.identity.service import accounts, passwords
from saraban.identity.service.accounts import UNCHANGED, AccountChange, NewAccount, change_user, load_manageable
from saraban.identity.service.assignments import (
    RoleGrant,
    grant_role,
    home_of,
    record,
    visible_assignments,
)
from saraban.identity.service.callers import display_name, held_scope, lock_rights
from saraban.identity.service.invitations import invite_user
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, Forbidden, NotFound, Text, invalid, required
from saraban.kit.etags import Stale, require_match
from saraban.kit.operation import Receipt
from saraban.kit.pagination import decode_cursor, encode_cursor, list_mark, page_of
from saraban.kit.schema import Items, PageOut

VIEW, GIVE = account_rows.VIEW, account_rows.GIVE
_BY_NAME: Final = list_mark("users", "name")
_MOST_LISTED: Final = 700  # characters of a list of roles in a receipt


class AccountChanged(Stale):
    """`If-Match` names another version of the account than the current one."""

    code = "ACCOUNT_CHANGED"
    says = Text("มีผู้แก้ไขบัญชีนี้ไปแล้ว", "This account has changed in the meantime.")


def new_account(order: UserIn) -> NewAccount:
    return NewAccount(
        order.username,
        order.email,
        order.first_name,
        order.last_name,
        is_service=order.is_service,
        organization_public_id=order.organization_public_id,
        must_change_password=order.password is not None,
    )


async def first_password(db: Database, order: UserIn) -> tuple[str | None, str | None]:
    """
    Return the hash (None with an invitation) and a program's generated password.

    :raises Invalid:
    """
    if order.invite and (order.is_service or order.password is not None):
        th, en = (
            "เลือกอย่างใดอย่างหนึ่ง: รหัสผ่านหรือคำเชิญ บัญชีของโปรแกรมเชิญไม่ได้",
            "Either a password or an invitation; a program is not invited.",
        )
        raise invalid("/invite", "either", th, en)
    generated = passwords.make_password() if order.is_service and order.password is None else None
    password = order.password or generated
    if password is None and not order.invite:
        raise required("/password")
    if password is None:
        return None, None
    async with db.reading() as session:
        await accounts.check_new_password(session, order, password)
    return await passwords.hash_password(password), generated


async def open_account(
    ctx: RequestContext, session: AsyncSession, order: UserIn, *, password_hash: str | None, token: str
) -> Receipt:
    """:param token: of the invitation's link, if `password_hash` is None"""
    new = new_account(order)
    if password_hash is None:
        return Receipt("user", (await invite_user(ctx, session, new, token=token)).public_id)
    return Receipt("user", await accounts.create_account(ctx, session, new, password_hash=password_hash))


async def list_people(
    ctx: RequestContext, session: AsyncSession, wanted: UserSearch, *, cursor: str | None, limit: int
) -> PageOut[UserOut]:
    """:raises Forbidden:"""
    if not ctx.caller.may_anywhere(GIVE):
        ctx.caller.require_somewhere(VIEW)
    after = decode_cursor(cursor, _BY_NAME, str)[0] if cursor and wanted.sort == "name" else None
    rows = await account_rows.list_accounts(session, wanted, ctx.caller, cursor=cursor, after=after, limit=limit)
    if wanted.sort == "newest":
        page = page_of(rows, limit=limit, key=attrgetter("user.created_at", "user.public_id"))
        return PageOut[UserOut](items=[user_out(row) for row in page.items], next_cursor=page.next_cursor)
    end = encode_cursor(_BY_NAME, rows[limit - 1].user.username) if len(rows) > limit else None
    return PageOut[UserOut](items=[user_out(row) for row in rows[:limit]], next_cursor=end)


async def read_person(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> UserOut:
    """:raises NotFound: never for the caller's own account"""
    row = await account_rows.find_account(session, public_id, ctx.caller)
    if row is None:
        raise NotFound("There is no such person.")
    return user_out(row)


def user_out(row: account_rows.AccountRow) -> UserOut:
    user, organization = row.user, None
    if row.organization_public_id is not None:
        organization = UserOrganization(
            public_id=row.organization_public_id,
            organization_code=row.organization_code or "",
            organization_name=row.organization_name or "",
        )
    return UserOut(
        public_id=user.public_id,
        username=user.username,
        email=user.email,
        first_name=user.first_name or "",
        last_name=user.last_name or "",
        display_name=display_name(user),
        organization=organization,
        state=UserState(row.state),
        is_active=user.is_active,
        is_service=user.is_service,
        draws_per_minute=user.draws_per_minute,
        last_login_at=user.last_login_at,
        created_at=user.created_at,
        updated_at=user.updated_at,
    )


def etag(user: UserOut) -> str:
    shown = user.model_dump_json(include=_CHANGEABLE)
    return f'"{blake2b(shown.encode(), digest_size=12).hexdigest()}"'


_CHANGEABLE = {
    "username",
    "email",
    "first_name",
    "last_name",
    "organization",
    "is_active",
    "is_service",
    "draws_per_minute",
}


ROLES_AFTER_MOVE: Final = Text(
    "บทบาทที่สิ้นสุด: {ended} บทบาทในโครงการที่ยังอยู่ กรุณาตรวจสอบ: {kept}",
    "Roles that have ended: {ended}. Roles in projects that stay, check them: {kept}.",
)


async def change_person(
    ctx: RequestContext, session: AsyncSession, *, person: UUID, change: UserChangeIn, if_match: str | None = None
) -> Receipt:
    """
    Change or move an account; the receipt names `ended` and `kept` roles.

    :raises AccountChanged, Invalid:
    """
    sent = change.model_fields_set
    if "organization_public_id" in sent:
        await lock_rights(session)
    user = await load_manageable(ctx, session, person, "user.edit", lock=True)
    present = await read_person(ctx, session, person)
    require_match(if_match, etag(present), AccountChanged)
    if "email" in sent and change.email is None:
        raise required("/email")
    if change.draws_per_minute is not None and not user.is_service:
        th, en = "กำหนดได้เฉพาะบัญชีของโปรแกรม", "Only the account of a program has a limit of its own."
        raise invalid("/drawsPerMinute", "not_service", th, en)
    account_change = AccountChange(
        email=change.email or UNCHANGED,
        first_name=change.first_name if "first_name" in sent else UNCHANGED,
        last_name=change.last_name if "last_name" in sent else UNCHANGED,
        organization=change.organization_public_id if "organization_public_id" in sent else UNCHANGED,
        draws_per_minute=change.draws_per_minute if "draws_per_minute" in sent else UNCHANGED,
    )
    ended, kept = await change_user(ctx, session, person=person, change=account_change, user=user)
    if not (ended or kept):
        return Receipt("user", person)
    return Receipt("user", person, {"ended": _join_roles(ended), "kept": _join_roles(kept)})


def _join_roles(roles: Sequence[str]) -> str:
    return shorten(", ".join(roles) or "–", _MOST_LISTED, placeholder="…")


async def end_sessions(ctx: RequestContext, session: AsyncSession, *, person: UUID) -> None:
    user = await load_manageable(ctx, session, person, "user.edit")
    await repository.revoke_tokens(session, user_id=user.user_id, now=ctx.now)
    await record(ctx, session, "user.end_sessions", user)


async def end_own_session(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> None:
    """:raises NotFound:"""
    sessions = await account_rows.sessions(session, ctx.caller.public_id, now=ctx.now)
    row = next((row for row in sessions if row.public_id == public_id), None)
    if row is None:
        raise NotFound("There is no such session.")
    await repository.revoke_family(session, family=public_id, now=ctx.now)
    details = {"device": device_name(row.user_agent or ""), "address": row.ip_address}
    await record(ctx, session, "user.end_session", await session.get_one(User, ctx.caller.user_id), details)


async def end_own_sessions(ctx: RequestContext, session: AsyncSession, *, keep_current: bool) -> None:
    kept_session = ctx.caller.session if keep_current else None
    await repository.revoke_tokens(session, user_id=ctx.caller.user_id, but=kept_session, now=ctx.now)
    user = await session.get_one(User, ctx.caller.user_id)
    await record(ctx, session, "user.end_sessions", user, {"keptCurrent": kept_session is not None})


async def open_sessions(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> list[SessionOut] | None:
    """Return None if the caller sees the account but not its sessions."""
    row = await account_rows.find_account(session, public_id, ctx.caller)
    home = home_of(row.user) if row else Scope()
    if public_id != ctx.caller.public_id and not ctx.caller.may(VIEW, home):
        return None
    return [
        SessionOut(
            public_id=row.public_id,
            device=device_name(row.user_agent or ""),
            ip_address=row.ip_address,
            signed_in_at=row.session_started_at,
            last_active_at=row.last_active_at,
            is_current=row.public_id == ctx.caller.session,
        )
        for row in await account_rows.sessions(session, public_id, now=ctx.now)
    ]


async def list_roles(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Items[HeldRoleOut]:
    """:raises NotFound:"""
    _, rows = await visible_assignments(ctx, session, public_id)
    return Items[HeldRoleOut](items=[_held_role_out(row, ctx) for row in rows])


def _held_role_out(row: held_roles.HeldRoleRow, ctx: RequestContext) -> HeldRoleOut:
    period = RolePeriod(row.valid_from, row.valid_until)
    facts = {
        "public_id": row.public_id,
        "role": row.role_name,
        "level": row.level,
        "place": held_scope(row),
        "from": period.first_day(ctx.zone),
        "until": period.last_day(ctx.zone),
        "state": period.state(ctx.now),
        "assigned_at": row.assigned_at,
        "assigned_by": row.giver.username,
    }
    return HeldRoleOut.model_validate(facts)


async def give_role(ctx: RequestContext, session: AsyncSession, *, person: UUID, wanted: RoleGrantIn) -> Receipt:
    """:raises NotFound: if the caller may see neither person nor place"""
    grant = RoleGrant(
        wanted.role, level=wanted.level, place=wanted.place_public_id, first=wanted.first, last=wanted.last
    )
    try:
        assignment = await grant_role(ctx, session, person, grant, again=False)
    except DomainError as refusal:
        # The error must not disclose a person that the caller may not see.
        if isinstance(refusal, Forbidden) or not ctx.caller.may_anywhere(GIVE):
            await visible_assignments(ctx, session, person)
        raise
    assert assignment is not None
    return Receipt("user_assignment", assignment.public_id)


async def read_role(ctx: RequestContext, session: AsyncSession, person: UUID, assignment: UUID) -> HeldRoleOut:
    """:raises NotFound:"""
    for role in (await list_roles(ctx, session, person)).items:
        if role.public_id == assignment:
            return role
    raise NotFound("The person has no such role.")


@dataclass(frozen=True, slots=True)
class OfferedRoles:
    """:param homes: organizations for whose people the caller opens accounts"""

    roles: Sequence[Role]
    places: Sequence[held_roles.PlaceRow]
    homes: Sequence[held_roles.PlaceRow]

    @property
    def levels(self) -> dict[str, list[held_roles.PlaceRow]]:
        return {level: list(rows) for level, rows in groupby(self.places, key=attrgetter("level"))}


async def offered_roles(ctx: RequestContext, session: AsyncSession) -> OfferedRoles:
    caller, places = ctx.caller, await held_roles.places(session)
    homes = [place for place in places if place.level == ORGANIZATION and caller.may("user.create", _scope(place))]
    giving_places = [place for place in places if caller.may(GIVE, _scope(place))]
    open_roles = await held_roles.roles(session)
    rights = await role_rows.permissions_of_roles(session, [role.role_id for role in open_roles])

    roles = [
        role
        for role in open_roles
        if _can_give_somewhere(caller, role, giving_places, rights.get(role.role_id, frozenset()))
    ]
    levels = {role.scope for role in roles}
    return OfferedRoles(roles, [place for place in giving_places if place.level in levels], homes)


def _can_give_somewhere(
    caller: Caller, role: Role, places: Sequence[held_roles.PlaceRow], rights: frozenset[str]
) -> bool:
    if role.scope == GLOBAL:
        return _can_give(caller, rights, Scope())
    # A project's role counts in that project only.
    fits = [place for place in places if place.level == role.scope and role.project_id in {None, place.project_id}]
    return any(_can_give(caller, rights, _scope(place)) for place in fits)


def _can_give(caller: Caller, rights: frozenset[str], scope: Scope) -> bool:
    return caller.may(GIVE, scope) and all(caller.may(name, scope) for name in rights)


def _scope(place: held_roles.PlaceRow) -> Scope:
    organizations = frozenset({place.id} if place.level == ORGANIZATION else ())
    return Scope(organizations, place.project_id, place.id if place.level == CONTRACT else None)
