"""
Gives roles in places, from a day until a day, and takes them back. Nobody gives what they do not have, and somebody always
administers the installation.

Whatever changes what somebody may do is told as `account.changed`, for those who keep lists of who is asked, and excludes
those who write such a list at that moment (`lock_rights`). Whether a period has begun or ended is asked of the database's clock
by every statement that reads assignments; that one has is told by `announce_periods`, so that the lists follow.
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

Person = str | UUID  # the user name at the terminal and in files, the public id elsewhere
# What the refusal of one of many is told in, by its place among them.
Placed = Callable[[int], AbstractContextManager[object]]


def anywhere(_index: int) -> AbstractContextManager[object]:
    """Let a refusal of one of many be what it is."""
    return nullcontext()


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
    """:raises Invalid: at the field whose code is not known"""
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
    """Return the codes that are given, each with its level."""
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
    """A role is given at the level it is made for: everywhere, one organization, one project or one contract."""

    kind, code = ErrorKind.CONFLICT, "ROLE_SCOPE_MISMATCH"
    says = Text("บทบาท {role} ต้องมอบที่ระดับ {scope}", "The role {role} is given at the level {scope}.")
    recovery = (Text("ระบุขอบเขตให้ตรงกับบทบาท", "Name the scope that fits the role."),)


class RoleGiven(DomainError):
    """The person has this role in this place already, at some time of the period that was asked for."""

    kind, code = ErrorKind.CONFLICT, "ROLE_ALREADY_GIVEN"
    says = Text("มีบทบาท {role} ที่นี่อยู่แล้วในช่วงเวลานี้", "The role {role} is given there already for that time.")
    recovery = (
        Text(
            "หากต้องการเปลี่ยนช่วงเวลา ให้ถอนบทบาทเดิมแล้วมอบใหม่", "To change its period, take the role back and give it anew."
        ),
    )


class LastSuperAdmin(DomainError):
    """Nobody else with an open account and a password of their own would administer the installation without an end."""

    kind, code = ErrorKind.CONFLICT, "LAST_SUPER_ADMIN"
    says = Text("ต้องมีผู้ดูแลระบบที่ใช้งานได้อย่างน้อยหนึ่งคน", "Somebody has to remain who administers the whole system.")
    recovery = (
        Text(
            "มอบบทบาทผู้ดูแลระบบแบบไม่มีวันสิ้นสุดให้ผู้อื่นก่อน", "First give the role Superadmin, without an end, to somebody else."
        ),
    )


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """
    A role in one place, or everywhere when none is named: by its code, or by its level and public id.

    :param first: day from which it counts; `last`: the last day on which it does
    """

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
    """A role in a place: as the columns of its assignment, and as the audit trail names it."""

    where: AssignmentColumns
    details: dict[str, str | None]
    scope: Scope
    period: RolePeriod


async def requested_assignment(ctx: RequestContext, session: AsyncSession, grant: RoleGrant) -> RequestedAssignment:
    """
    :raises Invalid: when either is unknown, the role was made for another project, or the period is over already or ends before
        it begins
    :raises RoleDoesNotFit: when the role is made for another level
    :raises Forbidden: when the caller may not assign there, or the role may more than the caller may
    """
    row = await _fitting_role(session, grant)
    period = RolePeriod.of_days(grant.first, grant.last, ctx.zone)
    if period.state(ctx.now) is PeriodState.ENDED:
        raise invalid("/until", "past", "วันสุดท้ายผ่านไปแล้ว", "The last day is over already.")
    place, code = await _place(session, grant)
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
        where, {"role": row.role_name, "scope": row.scope, "place": code, **_days(period, ctx)}, place.scope, period
    )


async def _place(session: AsyncSession, grant: RoleGrant) -> tuple[RoleScope, str | None]:
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


def _days(period: RolePeriod, ctx: RequestContext) -> dict[str, str]:
    days = {"from": period.first_day(ctx.zone), "until": period.last_day(ctx.zone)}
    return {name: day.isoformat() for name, day in days.items() if day is not None}


async def _fitting_role(session: AsyncSession, grant: RoleGrant) -> Role:
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
    """:raises Forbidden: when they may not give roles there, or the role may more there than they may"""
    by.require("user.manage_assignments", scope)
    if by.may(EVERYTHING, scope):
        return
    beyond = [
        name for name in sorted(await role_rows.permissions_of_role(session, role.role_id)) if not by.may(name, scope)
    ]
    if beyond:
        raise Forbidden(f"The role {role.role_name} may more than the one who gives it, for example {beyond[0]}.")


async def grant_role(
    ctx: RequestContext, session: AsyncSession, username: Person, grant: RoleGrant, *, again: bool = True
) -> UserAssignment | None:
    """
    :param again: leave a role that is given there for the same time as it is, and return nothing
    :raises RoleDoesNotFit: when the role is made for another level
    :raises RoleGiven: when it is given there for some of that time
    :raises Forbidden: when the caller may not assign there, or the role may more than the caller may
    """
    (made,) = await grant_roles(ctx, session, [(username, grant)], again=again)
    return made


async def grant_roles(
    ctx: RequestContext,
    session: AsyncSession,
    grants: Sequence[tuple[Person, RoleGrant]],
    *,
    at: Placed = anywhere,
    again: bool = True,
) -> list[UserAssignment | None]:
    """
    Give many roles, each as `grant_role` does, with a bounded number of statements.

    :param at: what the refusal of each is told in
    """
    await lock_rights(session)
    people = await repository.people_named(session, [canonical(person) for person, _ in grants])
    there = await held_roles.of_users(session, {user.user_id for user in people.values()})
    found: dict[RoleGrant, RequestedAssignment] = {}
    made: list[tuple[User, RequestedAssignment, UserAssignment] | None] = []
    for index, (person, grant) in enumerate(grants):
        with at(index):
            user = _known(people, person)
            if grant not in found:
                found[grant] = await requested_assignment(ctx, session, grant)
            row = _new(ctx, user, found[grant], there.setdefault(user.user_id, []), again=again)
            made.append(None if row is None else (user, found[grant], row))
    done = [one for one in made if one is not None]
    session.add_all(row for _, _, row in done)
    await session.flush()
    await audit.record_all(ctx, session, [entry("user.grant_role", user, wanted.details) for user, wanted, _ in done])
    await tell_changed(session, [user for user, _, _ in done], ctx.now)
    return [None if one is None else one[2] for one in made]


def canonical(person: Person) -> Person:
    return person if isinstance(person, UUID) else canonical_username(person)


def _known(people: Mapping[Person, User], person: Person) -> User:
    user = people.get(canonical(person))
    if user is None:
        raise NotFound(f"There is no account “{person}”.")
    return user


def _new(
    ctx: RequestContext, user: User, wanted: RequestedAssignment, there: list[UserAssignment], *, again: bool
) -> UserAssignment | None:
    """The row of a new assignment, added to those that are there; None where the same is given already."""
    period, where = wanted.period, wanted.where
    same = [row for row in there if all(getattr(row, name) == value for name, value in where.items())]
    meeting = [row for row in same if period_of(row).meets(period, ctx.now)]
    if again and any(period_of(row) == period for row in meeting):
        return None
    if meeting:
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
    there.append(row)
    return row


def period_of(row: UserAssignment) -> RolePeriod:
    return RolePeriod(row.valid_from, row.valid_until)


async def revoke_role(ctx: RequestContext, session: AsyncSession, username: Person, grant: RoleGrant) -> None:
    """
    Take a role back that was given in one place, or everywhere, for whatever time; what is given elsewhere stays.

    :raises NotFound: when it is not given there
    :raises RoleDoesNotFit: when the role is made for another level
    :raises Forbidden: when the caller could not have given it
    :raises LastSuperAdmin: when nobody would administer the installation
    """
    await lock_rights(session)
    user = _known(await repository.people_named(session, [canonical(username)]), username)
    wanted = await requested_assignment(ctx, session, grant)
    there = (await held_roles.of_users(session, {user.user_id})).get(user.user_id, [])
    rows = [row for row in there if all(getattr(row, name) == value for name, value in wanted.where.items())]
    if not rows:
        raise NotFound(f"The account “{username}” does not have the role {grant.role} there.")
    for row in rows:
        await _take_back(ctx, session, user, row, wanted.details)


async def revoke_assignment(ctx: RequestContext, session: AsyncSession, *, person: UUID, assignment: UUID) -> Receipt:
    """
    :raises NotFound: when the person has none such, or it is not the caller's to know of
    :raises Forbidden: when the caller could not have given it
    :raises LastSuperAdmin: when nobody would administer the installation
    """
    await lock_rights(session)
    user, seen = await visible_assignments(ctx, session, person)
    found = next((row for row in seen if row.public_id == assignment), None)
    row = None if found is None else await session.get(UserAssignment, found.id)
    if found is None or row is None:
        raise NotFound("The person has no such role.")
    await require_no_more_than_own(session, ctx.caller, found, scope_of(found))
    details = {"role": found.role_name, "scope": found.level, "place": found.place_code}
    await _take_back(ctx, session, user, row, details | _days(period_of(row), ctx))
    return Receipt("user_assignment", assignment)


async def _take_back(
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
    """Take back the roles in other organizations than a person's own; those in projects and contracts are kept."""
    rows = await held_roles.with_places(session, user_id=user.user_id)
    ended = [row for row in rows if row.organization_id not in {None, user.primary_organization_id}]
    for row in ended:
        details = {"role": row.role_name, "scope": row.level, "place": row.place_code}
        await _take_back(ctx, session, user, await session.get_one(UserAssignment, row.id), details)
    kept = [row for row in rows if row.project_id or row.contract_id]
    return RolesAfterMove(tuple(map(_named_place, ended)), tuple(map(_named_place, kept)))


def _named_place(row: held_roles.HeldRoleRow) -> str:
    return f"{row.role_name} ({row.place_code})"


async def require_another_administrator(session: AsyncSession, user: User, *, assignment_id: int | None = None) -> None:
    """
    Called under `lock_rights`, so that two who close each other come one after another.

    :param assignment_id: the one that goes; None for the whole account
    :raises LastSuperAdmin: when this is the last one who may do everything everywhere, without an end
    """
    rows = await held_roles.lasting_administrations(session)
    going = [row for row in rows if row.user_id == user.user_id and assignment_id in {None, row.id}]
    if going and len(going) == len(rows):
        raise LastSuperAdmin


def scope_of(row: held_roles.HeldRoleRow) -> Scope:
    organizations = frozenset({row.organization_id} if row.organization_id is not None else ())
    return Scope(organizations, row.project_id or row.contract_project_id, row.contract_id)


def home_of(user: User) -> Scope:
    """Return where the rights over an account are asked for: in the organization of its person."""
    organization = user.primary_organization_id
    return Scope(organizations=frozenset({organization} if organization else ()))


async def visible_assignments(
    ctx: RequestContext, session: AsyncSession, person: UUID
) -> tuple[User, list[held_roles.HeldRoleRow]]:
    """
    Return somebody with their assignments: all for who has `user.view`, as everybody sees their own, otherwise those where the
    caller gives roles.

    :raises NotFound: when the caller may see neither
    """
    user = (await repository.people_named(session, [person])).get(person)
    if user is None:
        raise NotFound("There is no such person.")
    rows = await held_roles.with_places(session, user_id=user.user_id)
    if user.user_id == ctx.caller.user_id or ctx.caller.may(account_rows.VIEW, home_of(user)):
        return user, rows
    rows = [row for row in rows if ctx.caller.may(account_rows.GIVE, scope_of(row))]
    if not rows and await account_rows.one(session, person, ctx.caller) is None:
        raise NotFound("There is no such person.")
    return user, rows


async def require_power_over(ctx: RequestContext, session: AsyncSession, user: User, permission: str) -> None:
    """
    Keep accounts from those whose own rights reach less far: who changes an address or a password acts as that person next.

    :raises Forbidden: when the person has a role, now or later, where the caller does not have `permission`
    """
    ctx.caller.require(permission, home_of(user))
    if user.user_id == ctx.caller.user_id or ctx.caller.may(EVERYTHING, Scope()):
        return
    for row in await held_roles.with_places(session, user_id=user.user_id):
        scope = scope_of(row)
        within = ctx.caller.may(permission, scope) and (not row.gives_everything or ctx.caller.may(EVERYTHING, scope))
        if not within and (row.valid_until is None or row.valid_until > ctx.now):
            raise Forbidden(f"The person has the role {row.role_name} where you may not {permission}.")


async def announce_periods(db: Database, *, now: datetime) -> int:
    """
    Tell once of each role that has begun or ended, however late, and return how many were told of.

    Several workers may do it at once: each moment is told of in the transaction that strikes it from its row.
    """
    total = 0
    while await _is_any_period_due(db) and (count := await db.transact(_announce, now)):
        total += count
    return total


async def _is_any_period_due(db: Database) -> bool:
    async with db.reading() as session:
        return await held_roles.any_period_due(session)


async def _announce(now: datetime, session: AsyncSession) -> int:
    await lock_rights(session)  # a step that read the rights of before is committed, and is found
    due = await held_roles.lock_due_periods(session, limit=500)
    for assignment, _user in due:
        later = assignment.valid_until
        assignment.changes_at = later if later is not None and later != assignment.changes_at else None
    await session.flush()
    await tell_changed(session, [user for _, user in due], now)
    return len(due)


async def tell_changed(session: AsyncSession, users: Iterable[User], now: datetime, *, has_left: bool = False) -> None:
    """Record a change, whose rights each handler reads; `has_left`: closed, or moved to another organization."""
    people = dict.fromkeys(str(user.public_id) for user in users)
    news = [NewEvent(ACCOUNT_CHANGED, "user", key, {"userPublicId": key, "hasLeft": has_left}, now) for key in people]
    await record_all(session, news)


def entry(action: str, user: User, details: Mapping[str, object] | None = None) -> audit.AuditEntry:
    return audit.AuditEntry(action, "user", str(user.public_id), {"username": user.username, **(details or {})})


async def record(
    ctx: audit.AuditContext, session: AsyncSession, action: str, user: User, details: Mapping[str, object] | None = None
) -> None:
    await audit.record(ctx, session, entry(action, user, details))
