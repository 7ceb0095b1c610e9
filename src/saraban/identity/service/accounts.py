"""Open, change, close and unlock accounts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity import repository
from saraban.identity.domain.account import (
    FieldChecks,
    UserState,
    acceptable_address,
    acceptable_name,
    acceptable_username,
)
from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.models import User
from saraban.identity.repository import account_rows
from saraban.identity.schemas import UserIn
from saraban.identity.service import passwords
from saraban.identity.service.assignments import (
    Person,
    Placed,
    RolesAfterMove,
    anywhere,
    canonical,
    end_roles_elsewhere,
    entry,
    home_of,
    record,
    require_another_administrator,
    require_power_over,
    tell_changed,
    unknown_code,
)
from saraban.identity.service.callers import display_name, lock_rights
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Forbidden, NotFound, Text, required
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.kit.text import fold, normal_form
from saraban.search_index import service as search_index

CREATE: Final = "user.create"


class UsernameTaken(DomainError):
    """Another account has this user name or e-mail address."""

    kind, code = ErrorKind.CONFLICT, "USERNAME_TAKEN"
    says = Text("ชื่อผู้ใช้หรืออีเมล “{value}” มีผู้ใช้แล้ว", "“{value}” is already used by another account.")
    recovery = (Text("เลือกชื่ออื่น", "Choose another name."),)

    @classmethod
    def at(cls, pointer: str, value: str) -> "UsernameTaken":
        values = {"value": value}
        return cls(values=values, fields=[FieldProblem(pointer, "taken", cls.says, values)])


@dataclass(frozen=True, slots=True)
class AccountSummary:
    public_id: UUID
    username: str
    display_name: str
    email: str
    organization_code: str | None
    roles: str
    is_active: bool
    is_service: bool
    state: UserState


@dataclass(frozen=True, slots=True)
class NewAccount:
    username: str
    email: str
    first_name: str = ""
    last_name: str = ""
    organization_code: str | None = None
    is_service: bool = False
    organization_public_id: UUID | None = None
    must_change_password: bool = False  # an administrator set the password, not its person

    @property
    def home(self) -> tuple[str, str | UUID | None]:
        """Return the field that names the organization, and its value."""
        if self.organization_public_id is not None:
            return "/organizationPublicId", self.organization_public_id
        return "/organizationCode", None if self.organization_code is None else fold(self.organization_code)


async def create_user(ctx: RequestContext, session: AsyncSession, new: NewAccount, *, password: str) -> UUID:
    """:raises Invalid, UsernameTaken:"""
    await check_new_password(session, new, password)
    return await create_account(ctx, session, new, password_hash=await passwords.hash_password(password))


async def check_new_password(
    session: AsyncSession, account: NewAccount | UserIn | User, password: str, *, pointer: str = "/password"
) -> None:
    """:raises Invalid:"""
    names = [account.username, account.email.partition("@")[0], account.first_name or "", account.last_name or ""]
    passwords.require_strong(password, [*names, *await account_rows.place_names(session)], pointer=pointer)


async def create_account(ctx: RequestContext, session: AsyncSession, new: NewAccount, *, password_hash: str) -> UUID:
    (user,) = await open_accounts(ctx, session, [new], password_hash=password_hash)
    return user.public_id


async def open_accounts(
    ctx: RequestContext, session: AsyncSession, new: Sequence[NewAccount], *, password_hash: str, at: Placed = anywhere
) -> list[User]:
    """
    :param at: context of each account's error; it may suppress the error
    :raises Invalid, UsernameTaken:
    """
    homes = await repository.organization_keys(session, [account.home[1] for account in new])
    taken_names = await repository.taken_names(
        session,
        [fold(account.username.strip()).casefold() for account in new],
        [fold(account.email.strip()).casefold() for account in new],
    )
    users: list[User] = []
    for index, account in enumerate(new):
        with at(index):
            users.append(_new_user(ctx, account, homes, taken_names, password_hash))
    session.add_all(users)
    try:
        await session.flush()
    except IntegrityError as error:  # another transaction created it after the check
        raise UsernameTaken(values={"value": ", ".join(user.username for user in users[:3])}) from error
    await audit.record_all(ctx, session, [entry("user.create", user, _details_of_new(user)) for user in users])
    return users


def _new_user(
    ctx: RequestContext, new: NewAccount, homes: dict[str | UUID, int], taken: dict[str, str], password_hash: str
) -> User:
    name, mail, first, last, home = _check_fields(new, homes)
    ctx.caller.require(CREATE, Scope(organizations=frozenset({home} if home else ())))
    for field, value in (("/username", name), ("/email", mail)):
        if other := taken.get(normal_form(value)):
            raise UsernameTaken.at(field, other)
    taken |= {normal_form(name): name, normal_form(mail): mail}
    return User(
        public_id=new_id(),
        username=name,
        password_hash=password_hash,
        email=mail,
        first_name=first or None,
        last_name=last or None,
        primary_organization_id=home,
        is_service=new.is_service,
        must_change_password=new.must_change_password and not new.is_service,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def _check_fields(new: NewAccount, homes: dict[str | UUID, int]) -> tuple[str, str, str, str, int | None]:
    """:raises Invalid: naming each field"""
    checks = FieldChecks()
    name, mail = checks.run(acceptable_username, new.username), checks.run(acceptable_address, new.email)
    first = checks.run(acceptable_name, "/firstName", new.first_name)
    last = checks.run(acceptable_name, "/lastName", new.last_name)
    pointer, code = new.home
    home = None if code is None else homes.get(code)
    if code is not None and home is None:
        checks.faults += unknown_code(pointer, str(code)).fields
    checks.require_none()
    return name or "", mail or "", first or "", last or "", home


def _details_of_new(user: User) -> dict[str, object]:
    facts = {"email": user.email, "firstName": user.first_name, "lastName": user.last_name}
    return {"after": facts | {"isService": bool(user.is_service)}}


async def list_users(session: AsyncSession) -> tuple[AccountSummary, ...]:
    return tuple(
        AccountSummary(
            public_id=user.public_id,
            username=user.username,
            display_name=display_name(user),
            email=user.email,
            organization_code=organization_code,
            roles=role_names or "",
            is_active=user.is_active,
            is_service=user.is_service,
            state=UserState(state),
        )
        for user, organization_code, role_names, state in await account_rows.all_accounts(session)
    )


async def set_active(ctx: RequestContext, session: AsyncSession, *, username: Person, active: bool) -> Receipt:
    """:raises LastSuperAdmin:"""
    await lock_rights(session)
    user = await load_manageable(ctx, session, username, "user.edit" if active else "user.delete")
    receipt = Receipt("user", user.public_id)
    if user.is_active == active:
        return receipt
    if not active:
        await require_another_administrator(session, user)
        await repository.revoke_tokens(session, user_id=user.user_id, now=ctx.now)
        await repository.delete_invitation(session, user_id=user.user_id)
    user.is_active, user.updated_at = active, ctx.now
    details = {"before": {"isActive": not active}, "after": {"isActive": active}}
    await record(ctx, session, "user.enable" if active else "user.disable", user, details)
    await tell_changed(session, [user], ctx.now, has_left=not active)
    return receipt


async def limit_draws(ctx: RequestContext, session: AsyncSession, *, username: Person, per_minute: int | None) -> None:
    """:param per_minute: None for the general limit, 0 for no limit"""
    await change_user(ctx, session, person=username, change=AccountChange(draws_per_minute=per_minute))


async def unlock(ctx: RequestContext, session: AsyncSession, *, username: Person) -> Receipt:
    user = await load_manageable(ctx, session, username, "user.edit")
    before, user.failed_attempts = user.failed_attempts, 0
    user.locked_until, user.updated_at = ctx.now, ctx.now
    details = {"before": {"failedAttempts": before}, "after": {"failedAttempts": 0}}
    await record(ctx, session, "user.unlock", user, details)
    return Receipt("user", user.public_id)


async def set_password(ctx: RequestContext, session: AsyncSession, *, username: Person, password: str) -> None:
    """
    Replace the password, unlock, end the sessions; the person must choose another one.

    :raises Invalid:
    """
    user = await load_manageable(ctx, session, username, "user.edit")
    await check_new_password(session, user, password)
    await _reset(ctx, session, user, await passwords.hash_password(password))


async def reset_password(
    ctx: RequestContext, db: Database, *, person: UUID, password: str | None
) -> tuple[str, str | None]:
    """Return a hash for `keep_password` and a program's new password; holds no connection."""
    async with db.reading() as session:
        user = await load_manageable(ctx, session, person, "user.edit")
        if password is None and not user.is_service:
            raise required("/password")
        generated = passwords.make_password() if password is None else None
        chosen = password or generated or ""
        await check_new_password(session, user, chosen)
    return await passwords.hash_password(chosen), generated


async def keep_password(ctx: RequestContext, session: AsyncSession, *, person: UUID, password_hash: str) -> Receipt:
    await _reset(ctx, session, await load_manageable(ctx, session, person, "user.edit"), password_hash)
    return Receipt("user", person)


async def _reset(ctx: RequestContext, session: AsyncSession, user: User, password_hash: str) -> None:
    await replace_password(session, user, password_hash, now=ctx.now)
    user.must_change_password = not user.is_service and user.user_id != ctx.caller.user_id
    await record(ctx, session, "user.reset_password", user)


UNCHANGED: Final = "…"  # no address, name or organization is this


@dataclass(frozen=True, slots=True)
class AccountChange:
    email: str = UNCHANGED
    first_name: str | None = UNCHANGED
    last_name: str | None = UNCHANGED
    organization: str | UUID | None = UNCHANGED
    draws_per_minute: int | str | None = UNCHANGED


async def change_user(
    ctx: RequestContext, session: AsyncSession, *, person: Person, change: AccountChange, user: User | None = None
) -> RolesAfterMove:
    """
    Change or move an account; a move ends its roles in other organizations.

    :param user: the locked account, if loaded
    :raises Invalid, UsernameTaken, Forbidden:
    """
    moves = change.organization != UNCHANGED
    if moves and user is None:
        await lock_rights(session)
    user = user or await load_manageable(ctx, session, person, "user.edit", lock=True)
    before = await _facts(session, user)
    await _change_fields(session, user, change)
    if moves:
        await _move(ctx, session, user, change.organization)
    if change.draws_per_minute != UNCHANGED:
        limit = change.draws_per_minute
        user.draws_per_minute = limit if isinstance(limit, int) else None
    await session.flush()
    after = await _facts(session, user)
    changed = [key for key, value in after.items() if value != before[key]]
    if not changed:
        return RolesAfterMove()
    user.updated_at = ctx.now
    details = {"before": {key: before[key] for key in changed}, "after": {key: after[key] for key in changed}}
    await record(ctx, session, "user.change", user, details)
    if not {"firstName", "lastName"}.isdisjoint(changed):
        await search_index.queue_renamed(session, people=[user.public_id])
    if "organization" not in changed:
        return RolesAfterMove()
    await tell_changed(session, [user], ctx.now, has_left=True)
    return await end_roles_elsewhere(ctx, session, user) if before["organization"] else RolesAfterMove()


async def _change_fields(session: AsyncSession, user: User, change: AccountChange) -> None:
    if change.first_name != UNCHANGED:
        user.first_name = acceptable_name("/firstName", change.first_name or "") or None
    if change.last_name != UNCHANGED:
        user.last_name = acceptable_name("/lastName", change.last_name or "") or None
    if change.email != UNCHANGED:
        mail = acceptable_address(change.email)
        if mail != user.email and await repository.taken_names(session, [], [mail]):
            raise UsernameTaken.at("/email", mail)
        user.email = mail


async def _move(ctx: RequestContext, session: AsyncSession, user: User, organization: str | UUID | None) -> None:
    homes = await repository.organization_keys(session, [organization])
    if organization is not None and organization not in homes:
        pointer = "/organizationPublicId" if isinstance(organization, UUID) else "/organizationCode"
        raise unknown_code(pointer, str(organization))
    user.primary_organization_id = None if organization is None else homes[organization]
    ctx.caller.require("user.edit", home_of(user))


async def _facts(session: AsyncSession, user: User) -> dict[str, object]:
    code = None
    if user.primary_organization_id is not None:
        code = await repository.organization_code(session, user.primary_organization_id)
    facts: dict[str, object] = {"email": user.email, "firstName": user.first_name, "lastName": user.last_name}
    return facts | {"organization": code, "drawsPerMinute": user.draws_per_minute}


async def load_manageable(
    ctx: RequestContext, session: AsyncSession, username: Person, permission: str, *, lock: bool = False
) -> User:
    """:raises NotFound, Forbidden: also if the person's roles reach further"""
    user = (await repository.people_named(session, [canonical(username)], lock=lock)).get(canonical(username))
    if user is None or not (
        ctx.caller.may("user.view", home_of(user))
        or await account_rows.find_account(session, user.public_id, ctx.caller)
    ):
        raise NotFound(f"There is no account “{username}”.")
    await require_power_over(ctx, session, user, permission)
    return user


async def rights_over(ctx: RequestContext, session: AsyncSession, person: UUID) -> frozenset[str]:
    rights = set()
    for permission in ("user.edit", "user.delete"):
        try:
            await load_manageable(ctx, session, person, permission)
        except Forbidden:
            continue
        rights.add(permission)
    return frozenset(rights)


async def replace_password(
    session: AsyncSession, user: User, password_hash: str, *, but: str | None = None, now: datetime
) -> None:
    """Replace a password; end the invitation and sessions, except that of the digest `but`."""
    user.password_hash, user.updated_at = password_hash, now
    user.failed_attempts, user.locked_until = 0, now
    user.must_change_password = False
    await repository.delete_invitation(session, user_id=user.user_id)
    await repository.revoke_tokens(session, user_id=user.user_id, but=but, now=now)
