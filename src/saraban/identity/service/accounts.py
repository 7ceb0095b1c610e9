"""
Opens, closes and unlocks accounts, gives them roles and takes them back; used by the command line.

Whatever changes what somebody may do is told as `account.changed`, for those who keep lists of who is asked, and excludes
those who write such a list at that moment (`lock_rights`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity import repository
from saraban.identity.domain import catalogue
from saraban.identity.domain.account import acceptable_address, acceptable_name, acceptable_username, canonical_username
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.models import Role, User, UserAssignment
from saraban.identity.repository import AssignmentColumns, role_rows
from saraban.identity.service import passwords
from saraban.identity.service.callers import display_name, lock_rights
from saraban.kit.errors import DomainError, ErrorKind, Forbidden, Invalid, NotFound, Text, invalid
from saraban.kit.text import fold


@dataclass(frozen=True, slots=True)
class RoleScope:
    """A contract carries its project too, because whoever may in the project may in its contracts."""

    organization_id: int | None = None
    project_id: int | None = None
    contract_id: int | None = None

    @property
    def scope(self) -> Scope:
        organizations = frozenset({self.organization_id} if self.organization_id is not None else ())
        return Scope(organizations, self.project_id, self.contract_id)


async def find_scope(
    session: AsyncSession, organization: str | None = None, project: str | None = None, contract: str | None = None
) -> RoleScope:
    """
    :raises Invalid: at the field whose code is not known
    """
    organization_id = project_id = contract_id = None
    if organization is not None:
        organization_id = await repository.organization_key(session, code=fold(organization))
        if organization_id is None:
            raise _unknown("/organizationCode", organization)
    if project is not None:
        project_id = await repository.project_key(session, code=fold(project))
        if project_id is None:
            raise _unknown("/projectCode", project)
    if contract is not None:
        row = await repository.contract_keys(session, code=fold(contract))
        if row is None:
            raise _unknown("/contractCode", contract)
        contract_id, project_id = row.id, row.project_id
    return RoleScope(organization_id, project_id, contract_id)


def _unknown(pointer: str, code: str) -> Invalid:
    return invalid(pointer, "unknown", "ไม่มีรหัส “{value}”", "There is no “{value}”.", value=code)


ACCOUNT_CHANGED = "account.changed"


class UsernameTaken(DomainError):
    """Another account has this user name or e-mail address."""

    kind, code = ErrorKind.CONFLICT, "USERNAME_TAKEN"
    says = Text("ชื่อผู้ใช้หรืออีเมล “{value}” มีผู้ใช้แล้ว", "“{value}” is already used by another account.")
    recovery = (Text("เลือกชื่ออื่น", "Choose another name."),)


class RoleDoesNotFit(DomainError):
    """A role is given at the level it is made for: everywhere, one organization, one project or one contract."""

    kind, code = ErrorKind.CONFLICT, "ROLE_SCOPE_MISMATCH"
    says = Text("บทบาท {role} ต้องกำหนดที่ระดับ {scope}", "The role {role} is given at the level {scope}.")
    recovery = (Text("ระบุขอบเขตให้ตรงกับบทบาท", "Name the scope that fits the role."),)


@dataclass(frozen=True, slots=True)
class AccountSummary:
    """One row of the list of accounts."""

    public_id: UUID
    username: str
    display_name: str
    email: str
    organization_code: str | None
    roles: str
    is_active: bool
    is_service: bool
    is_invited: bool
    last_login_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account as it is asked for."""

    username: str
    email: str
    first_name: str = ""
    last_name: str = ""
    organization_code: str | None = None
    is_service: bool = False


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """A role in one place, or everywhere when no code is named."""

    role: str
    organization_code: str | None = None
    project_code: str | None = None
    contract_code: str | None = None


async def create_user(ctx: RequestContext, session: AsyncSession, new: NewAccount, *, password: str) -> UUID:
    """
    Open an account without roles and give its public id.

    :raises Invalid: when a field is not acceptable
    :raises UsernameTaken: when the name or the address is in use
    """
    passwords.require_strong(password, acceptable_username(new.username))
    user = await open_account(ctx, session, new, password_hash=await passwords.hash_password(password))
    await record(ctx, session, "user.create", user)
    return user.public_id


async def open_account(ctx: RequestContext, session: AsyncSession, new: NewAccount, *, password_hash: str) -> User:
    """
    Write the row of an account; what it is called in the audit trail is for the caller to say.

    :raises Invalid: when a field is not acceptable
    :raises UsernameTaken: when the name or the address is in use
    """
    name, mail = acceptable_username(new.username), acceptable_address(new.email)
    first, last = acceptable_name("/firstName", new.first_name), acceptable_name("/lastName", new.last_name)
    home = await find_scope(session, organization=new.organization_code)
    ctx.caller.require("user.create", home.scope)
    if await repository.is_taken(session, username=name, email=mail):
        raise UsernameTaken(values={"value": new.username})
    user = User(
        username=name,
        password_hash=password_hash,
        email=mail,
        first_name=first or None,
        last_name=last or None,
        primary_organization_id=home.organization_id,
        is_service=new.is_service,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    session.add(user)
    await session.flush()
    return user


async def list_users(session: AsyncSession) -> tuple[AccountSummary, ...]:
    rows = await repository.list_accounts(session, no_password=passwords.NO_PASSWORD)
    return tuple(_account(*row) for row in rows)


async def set_active(ctx: RequestContext, session: AsyncSession, *, username: str, active: bool) -> None:
    """Open or close an account; a closed one is refused at its next request."""
    await lock_rights(session)
    user = await load_manageable(ctx, session, username, "user.edit" if active else "user.delete")
    user.is_active, user.updated_at = active, ctx.now
    if not active:
        await repository.revoke_tokens(session, user_id=user.user_id, now=ctx.now)
    await record(ctx, session, "user.enable" if active else "user.disable", user)
    await _record_event(session, user, ctx.now)


async def limit_draws(ctx: RequestContext, session: AsyncSession, *, username: str, per_minute: int | None) -> None:
    """
    Set how many numbers an account may draw in a minute.

    :param per_minute: None for the limit that everybody has, 0 for none at all
    """
    user = await load_manageable(ctx, session, username, "user.edit")
    user.draws_per_minute, user.updated_at = per_minute, ctx.now
    await record(ctx, session, "user.limit", user)


async def unlock(ctx: RequestContext, session: AsyncSession, *, username: str) -> None:
    user = await load_manageable(ctx, session, username, "user.edit")
    user.failed_attempts, user.locked_until, user.updated_at = 0, ctx.now, ctx.now
    await record(ctx, session, "user.unlock", user)


async def set_password(ctx: RequestContext, session: AsyncSession, *, username: str, password: str) -> None:
    """
    Replace a password, unlock the account and end its sessions.

    :raises Invalid: when the password is too weak
    """
    user = await load_manageable(ctx, session, username, "user.edit")
    passwords.require_strong(password, user.username)
    await replace_password(session, user, await passwords.hash_password(password), now=ctx.now)
    await record(ctx, session, "user.reset_password", user)


async def grant_role(ctx: RequestContext, session: AsyncSession, username: str, grant: RoleGrant) -> None:
    """
    Give a role in one place, or everywhere; a role that is already given there is left as it is.

    :raises RoleDoesNotFit: when the role is made for another level
    :raises Forbidden: when `by` may not assign there, or the role may more than `by` may
    """
    await lock_rights(session)
    user = await _existing(session, username)
    wanted = await requested_assignment(session, ctx.caller, grant)
    if await repository.assignment(session, user.user_id, wanted.where):
        return
    session.add(
        UserAssignment(
            user_id=user.user_id, assigned_by_user_id=ctx.caller.user_id, assigned_at=ctx.now, **wanted.where
        )
    )
    await session.flush()
    await record(ctx, session, "user.grant_role", user, wanted.details)
    await _record_event(session, user, ctx.now)


async def revoke_role(ctx: RequestContext, session: AsyncSession, username: str, grant: RoleGrant) -> None:
    """
    Take a role back that was given in one place, or everywhere; what is given elsewhere stays.

    :raises NotFound: when it is not given there
    :raises RoleDoesNotFit: when the role is made for another level
    :raises Forbidden: when `by` could not have given it
    """
    await lock_rights(session)
    user = await _existing(session, username)
    wanted = await requested_assignment(session, ctx.caller, grant)
    assignment = await repository.assignment(session, user.user_id, wanted.where)
    if assignment is None:
        raise NotFound(f"The account “{username}” does not have the role {grant.role} there.")
    await session.delete(assignment)
    await session.flush()
    await record(ctx, session, "user.revoke_role", user, wanted.details)
    await _record_event(session, user, ctx.now)


async def _require_no_more_than_own(session: AsyncSession, by: Caller, role: Role, scope: Scope) -> None:
    by.require("user.manage_assignments", scope)
    given = await role_rows.permissions_of_role(session, role.role_id)
    beyond = [name for name in sorted(given) if not by.may(name, scope)]
    if beyond:
        raise Forbidden(f"The role {role.role_name} may more than the one who gives it, for example {beyond[0]}.")


@dataclass(frozen=True, slots=True)
class RequestedAssignment:
    """A role in a place: as the columns of its assignment, and as the audit trail names it."""

    where: AssignmentColumns
    details: dict[str, str | None]


async def requested_assignment(session: AsyncSession, by: Caller, grant: RoleGrant) -> RequestedAssignment:
    """
    Find the role and the place of a grant.

    :raises Invalid: when either is unknown, or the role was made for another project
    :raises RoleDoesNotFit: when the role is made for another level
    :raises Forbidden: when `by` may not assign there, or the role may more than `by` may
    """
    row = await _fitting_role(session, grant)
    place = await find_scope(session, grant.organization_code, grant.project_code, grant.contract_code)
    if row.project_id not in {None, place.project_id}:
        th, en = "บทบาทนี้ใช้ได้เฉพาะในโครงการที่สร้างไว้", "This role belongs to another project."
        raise invalid("/role", "of_another_project", th, en)
    await _require_no_more_than_own(session, by, row, place.scope)
    where: AssignmentColumns = {
        "role_id": row.role_id,
        "organization_id": place.organization_id,
        "project_id": None if place.contract_id else place.project_id,
        "contract_id": place.contract_id,
    }
    code = grant.organization_code or grant.contract_code or grant.project_code
    return RequestedAssignment(where, {"role": row.role_name, "scope": row.scope, "place": code})


async def _fitting_role(session: AsyncSession, grant: RoleGrant) -> Role:
    name = grant.role
    row = await repository.role_named(session, name)
    if row is None:
        raise invalid("/role", "unknown", "ไม่มีบทบาท “{value}”", "There is no role “{value}”.", value=name)
    given = [
        level
        for level, value in (
            (catalogue.ORGANIZATION, grant.organization_code),
            (catalogue.PROJECT, grant.project_code),
            (catalogue.CONTRACT, grant.contract_code),
        )
        if value is not None
    ] or [catalogue.GLOBAL]
    if given != [row.scope]:
        raise RoleDoesNotFit(values={"role": row.role_name, "scope": row.scope})
    return row


async def _existing(session: AsyncSession, username: str) -> User:
    user = await repository.user_named(session, username=canonical_username(username))
    if user is None:
        raise NotFound(f"There is no account “{username}”.")
    return user


async def load_manageable(ctx: RequestContext, session: AsyncSession, username: str, permission: str) -> User:
    user = await _existing(session, username)
    organization = user.primary_organization_id
    ctx.caller.require(permission, Scope(organizations=frozenset({organization} if organization else ())))
    return user


async def replace_password(
    session: AsyncSession, user: User, password_hash: str, *, but: str | None = None, now: datetime
) -> None:
    """
    Replace the password of an account: its lock, its invitation and its sessions end.

    :param but: the digest of a refresh token whose session goes on
    """
    user.password_hash, user.updated_at = password_hash, now
    user.failed_attempts, user.locked_until = 0, now
    await repository.delete_invitation(session, user_id=user.user_id)
    await repository.revoke_tokens(session, user_id=user.user_id, but=but, now=now)


def _account(user: User, organization_code: str | None, roles: str | None, is_unset: bool) -> AccountSummary:
    return AccountSummary(
        public_id=user.public_id,
        username=user.username,
        display_name=display_name(user),
        email=user.email,
        organization_code=organization_code,
        roles=roles or "",
        is_active=user.is_active,
        is_service=user.is_service,
        is_invited=is_unset and not user.is_service,
        last_login_at=user.last_login_at,
    )


async def _record_event(session: AsyncSession, user: User, now: datetime) -> None:
    """Record the change without the rights themselves: each handler reads them, so two events may come in any order."""
    await events.record(
        session,
        events.NewEvent(ACCOUNT_CHANGED, "user", str(user.public_id), {"userPublicId": str(user.public_id)}, now),
    )


async def record(
    ctx: audit.AuditContext, session: AsyncSession, action: str, user: User, details: Mapping[str, object] | None = None
) -> None:
    """Write an account's row of the audit trail."""
    details = {"username": user.username, **(details or {})}
    await audit.record(ctx, session, audit.AuditEntry(action, "user", str(user.public_id), details))
