"""
Assign and revoke roles.

Each change runs under `lock_rights` and records `account.changed`, because other packages store assignees.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.events.service import NewEvent, record_all
from saraban.identity import repository
from saraban.identity.domain import catalogue
from saraban.identity.domain.account import canonical_username
from saraban.identity.domain.context import EVERYTHING, Caller, RequestContext, Scope
from saraban.identity.domain.period import PeriodState, RolePeriod
from saraban.identity.models import Role, User, UserAssignment
from saraban.identity.repository import account_rows, held_roles, role_rows
from saraban.identity.repository.held_roles import AssignmentColumns
from saraban.identity.service.callers import lock_rights
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Forbidden, Invalid, NotFound, Text, invalid
from saraban.kit.operation import Receipt
from saraban.kit.text import fold

Person = str | UUID  # user name at the terminal and in files, otherwise public id
# Returns the context in which the error of one item is raised, by the item's index.
Placed = Callable[[int], AbstractContextManager[object]]


def anywhere(_index: int) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class RoleScope:
    """A contract contains its project, whose roles count in its contracts."""

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
    """:raises Invalid: at the field whose code is unknown"""
    organization_id = project_id = contract_id = None
    for level, code in _by_level(organization, project, contract):
        row = await held_roles.place_keys(session, level, fold(code))
        if row is None:
            raise unknown_code(f"/{level.lower()}Code", code)
        organization_id = row.id if level == catalogue.ORGANIZATION else organization_id
        project_id = row.project_id or project_id
        contract_id = row.id if level == catalogue.CONTRACT else contract_id
    return RoleScope(organization_id, project_id, contract_id)


def _by_level(organization: str | None, project: str | None, contract: str | None) -> list[tuple[str, str]]:
    codes = (
        (catalogue.ORGANIZATION, organization),
        (catalogue.PROJECT, project),
        (catalogue.CONTRACT, contract),
    )
    return [(level, code) for level, code in codes if code is not None]


def unknown_code(pointer: str, code: str) -> Invalid:
    return invalid(pointer, "unknown", "ไม่มีรหัส “{value}”", "There is no “{value}”.", value=code)


ACCOUNT_CHANGED = "account.changed"


class RoleDoesNotFit(DomainError):
    """A role can be given only at its own level: everywhere, one organization, one project or one contract."""

    kind, code = ErrorKind.CONFLICT, "ROLE_SCOPE_MISMATCH"
    says = Text("บทบาท {role} ต้องมอบที่ระดับ {scope}", "The role {role} is given at the level {scope}.")
    recovery = (Text("ระบุขอบเขตให้ตรงกับบทบาท", "Name the scope that fits the role."),)


class RoleGiven(DomainError):
    """The person has this role in this place already, during a part of the requested period."""

    kind, code = ErrorKind.CONFLICT, "ROLE_ALREADY_GIVEN"
    says = Text("มีบทบาท {role} ที่นี่อยู่แล้วในช่วงเวลานี้", "The role {role} is given there already for that time.")
    recovery = (
        Text(
            "หากต้องการเปลี่ยนช่วงเวลา ให้ถอนบทบาทเดิมแล้วมอบใหม่", "To change its period, take the role back and give it anew."
        ),
    )


class LastSuperAdmin(DomainError):
    """After this change no permanent Superadmin with an open account and a password would remain."""

    kind, code = ErrorKind.CONFLICT, "LAST_SUPER_ADMIN"
    says = Text("ต้องมีผู้ดูแลระบบที่ใช้งานได้อย่างน้อยหนึ่งคน", "Somebody has to remain who administers the whole system.")
    recovery = (
        Text(
            "มอบบทบาทผู้ดูแลระบบแบบไม่มีวันสิ้นสุดให้ผู้อื่นก่อน", "First give the role Superadmin, without an end, to somebody else."
        ),
    )


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """`last` is the last day on which the role counts."""

    role: str
    organization_code: str | None = None
    project_code: str | None = None
    contract_code: str | None = None
    level: str | None = None
    place: UUID | None = None
    first: date | None = None
    last: date | None = None

    @property
    def levels(self) -> list[str]:
        if self.level is not None:
            return [self.level]
        codes = _by_level(self.organization_code, self.project_code, self.contract_code)
        return [level for level, _ in codes] or [catalogue.GLOBAL]


@dataclass(frozen=True, slots=True)
class RequestedAssignment:
    where: AssignmentColumns
    details: dict[str, str | None]
    scope: Scope
    period: RolePeriod


async def requested_assignment(ctx: RequestContext, session: AsyncSession, grant: RoleGrant) -> RequestedAssignment:
    """:raises Invalid, RoleDoesNotFit, Forbidden:"""
    row = await _find_role(session, grant)
    period = RolePeriod.of_days(grant.first, grant.last, ctx.zone)
    if period.state(ctx.now) is PeriodState.ENDED:
        raise invalid("/until", "past", "วันสุดท้ายผ่านไปแล้ว", "The last day is over already.")
    place, code = await _find_place(session, grant)
    if row.project_id not in {None, place.project_id}:
        th, en = "บทบาทนี้เป็นของโครงการอื่น", "This role belongs to another project."
        raise invalid("/role", "of_another_project", th, en)
    await require_no_more_than_own(session, ctx.caller, row, place.scope)
    where: AssignmentColumns = {
        "role_id": row.role_id,
        "organization_id": place.organization_id,
        "project_id": None if place.contract_id else place.project_id,
        "contract_id": place.contract_id,
    }
    return RequestedAssignment(
        where,
        {"role": row.role_name, "scope": row.scope, "place": code, **_period_details(period, ctx)},
        place.scope,
        period,
    )


async def _find_place(session: AsyncSession, grant: RoleGrant) -> tuple[RoleScope, str | None]:
    if grant.level is None:
        codes = grant.organization_code, grant.project_code, grant.contract_code
        return await find_scope(session, *codes), next((code for code in codes if code), None)
    if (grant.level == catalogue.GLOBAL) != (grant.place is None):
        raise invalid(
            "/placePublicId",
            "mismatch",
            "ระดับ Global ไม่ต้องระบุขอบเขต ระดับอื่นต้องระบุ",
            "Every level needs a place, but Global has none.",
        )
    if grant.place is None:
        return RoleScope(), None
    row = await held_roles.place_keys(session, grant.level, grant.place)
    if row is None:
        raise unknown_code("/placePublicId", str(grant.place))
    if grant.level == catalogue.ORGANIZATION:
        return RoleScope(organization_id=row.id), row.code
    contract = row.id if grant.level == catalogue.CONTRACT else None
    return RoleScope(project_id=row.project_id, contract_id=contract), row.code


def _period_details(period: RolePeriod, ctx: RequestContext) -> dict[str, str]:
    days = {"from": period.first_day(ctx.zone), "until": period.last_day(ctx.zone)}
    return {name: day.isoformat() for name, day in days.items() if day is not None}


async def _find_role(session: AsyncSession, grant: RoleGrant) -> Role:
    name = grant.role
    row = await repository.role_named(session, name)
    if row is None:
        raise invalid("/role", "unknown", "ไม่มีบทบาท “{value}”", "There is no role “{value}”.", value=name)
    if grant.levels != [row.scope]:
        raise RoleDoesNotFit(
            values={"role": row.role_name, "scope": row.scope},
            fields=[FieldProblem("/level", "mismatch", RoleDoesNotFit.says, {"role": name, "scope": row.scope})],
        )
    return row


async def require_no_more_than_own(
    session: AsyncSession, by: Caller, role: Role | held_roles.HeldRoleRow, scope: Scope
) -> None:
    """:raises Forbidden:"""
    by.require("user.manage_assignments", scope)
    if by.may(EVERYTHING, scope):
        return
    missing = [
        name for name in sorted(await role_rows.permissions_of_role(session, role.role_id)) if not by.may(name, scope)
    ]
    if missing:
        raise Forbidden(f"The role {role.role_name} may more than the one who gives it, for example {missing[0]}.")


async def grant_role(
    ctx: RequestContext, session: AsyncSession, username: Person, grant: RoleGrant, *, again: bool = True
) -> UserAssignment | None:
    """
    :param again: return None if the same grant exists
    :raises RoleDoesNotFit, RoleGiven, Forbidden:
    """
    (assignment,) = await grant_roles(ctx, session, [(username, grant)], again=again)
    return assignment


async def grant_roles(
    ctx: RequestContext,
    session: AsyncSession,
    grants: Sequence[tuple[Person, RoleGrant]],
    *,
    at: Placed = anywhere,
    again: bool = True,
) -> list[UserAssignment | None]:
    """:param at: context of each grant's error"""
    await lock_rights(session)
    people = await repository.people_named(session, [canonical(person) for person, _ in grants])
    existing = await held_roles.assignments_of_users(session, {user.user_id for user in people.values()})
    checked: dict[RoleGrant, RequestedAssignment] = {}
    assignments: list[tuple[User, RequestedAssignment, UserAssignment] | None] = []
    for index, (person, grant) in enumerate(grants):
        with at(index):
            user = _require_account(people, person)
            if grant not in checked:
                checked[grant] = await requested_assignment(ctx, session, grant)
            row = _add_assignment(ctx, user, checked[grant], existing.setdefault(user.user_id, []), again=again)
            assignments.append(None if row is None else (user, checked[grant], row))
    added = [assigned for assigned in assignments if assigned is not None]
    session.add_all(row for _, _, row in added)
    await session.flush()
    await audit.record_all(ctx, session, [entry("user.grant_role", user, wanted.details) for user, wanted, _ in added])
    await tell_changed(session, [user for user, _, _ in added], ctx.now)
    return [None if assigned is None else assigned[2] for assigned in assignments]


def canonical(person: Person) -> Person:
    return person if isinstance(person, UUID) else canonical_username(person)


def _require_account(people: Mapping[Person, User], person: Person) -> User:
    user = people.get(canonical(person))
    if user is None:
        raise NotFound(f"There is no account “{person}”.")
    return user


def _add_assignment(
    ctx: RequestContext, user: User, wanted: RequestedAssignment, existing: list[UserAssignment], *, again: bool
) -> UserAssignment | None:
    """Return a new assignment and add it to `existing`; None if the same one exists."""
    period, where = wanted.period, wanted.where
    same = [row for row in existing if all(getattr(row, name) == value for name, value in where.items())]
    overlapping = [row for row in same if period_of(row).meets(period, ctx.now)]
    if again and any(period_of(row) == period for row in overlapping):
        return None
    if overlapping:
        values = {"role": wanted.details["role"]}
        raise RoleGiven(values=values, fields=[FieldProblem("/role", "given", RoleGiven.says, values)])
    row = UserAssignment(
        user_id=user.user_id,
        assigned_by_user_id=ctx.caller.user_id,
        assigned_at=ctx.now,
        valid_from=period.begins,
        valid_until=period.ends,
        changes_at=period.next_change(ctx.now),
        **where,
    )
    existing.append(row)
    return row


def period_of(row: UserAssignment) -> RolePeriod:
    return RolePeriod(row.valid_from, row.valid_until)


async def revoke_role(ctx: RequestContext, session: AsyncSession, username: Person, grant: RoleGrant) -> None:
    """:raises NotFound, RoleDoesNotFit, Forbidden, LastSuperAdmin:"""
    await lock_rights(session)
    user = _require_account(await repository.people_named(session, [canonical(username)]), username)
    wanted = await requested_assignment(ctx, session, grant)
    existing = (await held_roles.assignments_of_users(session, {user.user_id})).get(user.user_id, [])
    rows = [row for row in existing if all(getattr(row, name) == value for name, value in wanted.where.items())]
    if not rows:
        raise NotFound(f"The account “{username}” does not have the role {grant.role} there.")
    for row in rows:
        await _end_assignment(ctx, session, user, row, wanted.details)


async def revoke_assignment(ctx: RequestContext, session: AsyncSession, *, person: UUID, assignment: UUID) -> Receipt:
    """:raises NotFound, Forbidden, LastSuperAdmin:"""
    await lock_rights(session)
    user, visible = await visible_assignments(ctx, session, person)
    held_role = next((row for row in visible if row.public_id == assignment), None)
    row = None if held_role is None else await session.get(UserAssignment, held_role.id)
    if held_role is None or row is None:
        raise NotFound("The person has no such role.")
    await require_no_more_than_own(session, ctx.caller, held_role, scope_of(held_role))
    details = {"role": held_role.role_name, "scope": held_role.level, "place": held_role.place_code}
    await _end_assignment(ctx, session, user, row, details | _period_details(period_of(row), ctx))
    return Receipt("user_assignment", assignment)


async def _end_assignment(
    ctx: RequestContext, session: AsyncSession, user: User, row: UserAssignment, details: Mapping[str, str | None]
) -> None:
    await require_another_administrator(session, user, assignment_id=row.id)
    await session.delete(row)
    await session.flush()
    await record(ctx, session, "user.revoke_role", user, details)
    await tell_changed(session, [user], ctx.now)


class RolesAfterMove(NamedTuple):
    ended: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


async def end_roles_elsewhere(ctx: RequestContext, session: AsyncSession, user: User) -> RolesAfterMove:
    """Revoke roles in other organizations; keep those in projects and contracts."""
    rows = await held_roles.list_held_roles(session, user_id=user.user_id)
    ended = [row for row in rows if row.organization_id not in {None, user.primary_organization_id}]
    for row in ended:
        details = {"role": row.role_name, "scope": row.level, "place": row.place_code}
        await _end_assignment(ctx, session, user, await session.get_one(UserAssignment, row.id), details)
    kept = [row for row in rows if row.project_id or row.contract_id]
    return RolesAfterMove(tuple(map(_role_and_place, ended)), tuple(map(_role_and_place, kept)))


def _role_and_place(row: held_roles.HeldRoleRow) -> str:
    return f"{row.role_name} ({row.place_code})"


async def require_another_administrator(session: AsyncSession, user: User, *, assignment_id: int | None = None) -> None:
    """
    Call it under `lock_rights`, so that two administrators cannot remove each other.

    :raises LastSuperAdmin:
    """
    rows = await held_roles.lasting_administrations(session)
    ending = [row for row in rows if row.user_id == user.user_id and assignment_id in {None, row.id}]
    if ending and len(ending) == len(rows):
        raise LastSuperAdmin


def scope_of(row: held_roles.HeldRoleRow) -> Scope:
    organizations = frozenset({row.organization_id} if row.organization_id is not None else ())
    return Scope(organizations, row.project_id or row.contract_project_id, row.contract_id)


def home_of(user: User) -> Scope:
    organization = user.primary_organization_id
    return Scope(organizations=frozenset({organization} if organization else ()))


async def visible_assignments(
    ctx: RequestContext, session: AsyncSession, person: UUID
) -> tuple[User, list[held_roles.HeldRoleRow]]:
    """
    Return all assignments with `user.view`, else those where the caller gives roles.

    :raises NotFound:
    """
    user = (await repository.people_named(session, [person])).get(person)
    if user is None:
        raise NotFound("There is no such person.")
    rows = await held_roles.list_held_roles(session, user_id=user.user_id)
    if user.user_id == ctx.caller.user_id or ctx.caller.may(account_rows.VIEW, home_of(user)):
        return user, rows
    rows = [row for row in rows if ctx.caller.may(account_rows.GIVE, scope_of(row))]
    if not rows and await account_rows.find_account(session, person, ctx.caller) is None:
        raise NotFound("There is no such person.")
    return user, rows


async def require_power_over(ctx: RequestContext, session: AsyncSession, user: User, permission: str) -> None:
    """
    Protect the account: a changed address or password lets the caller act as the person.

    :raises Forbidden: if a present or future role reaches further than `permission`
    """
    ctx.caller.require(permission, home_of(user))
    if user.user_id == ctx.caller.user_id or ctx.caller.may(EVERYTHING, Scope()):
        return
    for row in await held_roles.list_held_roles(session, user_id=user.user_id):
        scope = scope_of(row)
        within = ctx.caller.may(permission, scope) and (not row.gives_everything or ctx.caller.may(EVERYTHING, scope))
        if not within and (row.valid_until is None or row.valid_until > ctx.now):
            raise Forbidden(f"The person has the role {row.role_name} where you may not {permission}.")


async def announce_periods(db: Database, *, now: datetime) -> int:
    """Record each begin or end once, also with several workers; return the number."""
    total = 0
    while await _is_any_period_due(db) and (count := await db.transact(_announce, now)):
        total += count
    return total


async def _is_any_period_due(db: Database) -> bool:
    async with db.reading() as session:
        return await held_roles.any_period_due(session)


async def _announce(now: datetime, session: AsyncSession) -> int:
    await lock_rights(session)  # then steps that read the former rights are committed, and handlers find them
    due = await held_roles.lock_due_periods(session, limit=500)
    for assignment, _user in due:
        later = assignment.valid_until
        assignment.changes_at = later if later is not None and later != assignment.changes_at else None
    await session.flush()
    await tell_changed(session, [user for _, user in due], now)
    return len(due)


async def tell_changed(session: AsyncSession, users: Iterable[User], now: datetime, *, has_left: bool = False) -> None:
    """:param has_left: closed, or moved to another organization"""
    people = dict.fromkeys(str(user.public_id) for user in users)
    news = [NewEvent(ACCOUNT_CHANGED, "user", key, {"userPublicId": key, "hasLeft": has_left}, now) for key in people]
    await record_all(session, news)


def entry(action: str, user: User, details: Mapping[str, object] | None = None) -> audit.AuditEntry:
    return audit.AuditEntry(action, "user", str(user.public_id), {"username": user.username, **(details or {})})


async def record(
    ctx: audit.AuditContext, session: AsyncSession, action: str, user: User, details: Mapping[str, object] | None = None
) -> None:
    await audit.record(ctx, session, entry(action, user, details))
