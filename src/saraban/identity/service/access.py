"""
Why somebody may, or may not: the roles they were given, those who could give what is missing, and the answer for a place.

About oneself everybody may ask; about another person whoever sees them in the list of people. Their roles in places where the asker
neither sees people nor gives roles are counted and not told.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.domain import access, catalogue
from saraban.identity.domain.access import CarryingRole, GivenRole, Guard, GuardDecision, Reason, Standing
from saraban.identity.domain.account import canonical_username
from saraban.identity.domain.context import Caller, Grant, RequestContext, Scope
from saraban.identity.domain.period import RolePeriod
from saraban.identity.repository import held_roles, role_rows
from saraban.identity.schemas import PersonRef
from saraban.identity.service.assignments import visible_assignments
from saraban.identity.service.callers import NotSignedIn, display_name, load_caller, load_callers
from saraban.identity.service.roles import role_text
from saraban.kit.errors import NotFound, invalid

MOST_GIVERS, MOST_ASKED = 10, 200

_ASLEEP: Mapping[Standing, Reason] = {
    Standing.UPCOMING: Reason.UPCOMING,
    Standing.ENDED: Reason.ENDED,
    Standing.CLOSED: Reason.ROLE_CLOSED,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """
    Whom the question is about.

    :param caller: as they may act now; None when the account is closed
    :param told: which of their roles the asker may know of wherever they are; None for all
    """

    public_id: UUID
    display_name: str
    caller: Caller | None
    held: tuple[GivenRole, ...]
    told: frozenset[UUID] | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    An answer with its reason.

    :param roles: that decide, or that would: in another place, at another time, or if they were open
    :param missing: permissions of which one is needed
    :param role_names: roles of which a step asks for one
    :param carriers: roles that carry what is missing, with where they would count
    :param givers: people who can give one of these
    :param on_behalf_of: in whose place it is allowed
    :param asked: whom it waits for instead, organizations by their codes, then people
    """

    allowed: bool
    reason: Reason
    roles: tuple[GivenRole, ...] = ()
    missing: tuple[str, ...] = ()
    role_names: tuple[str, ...] = ()
    carriers: tuple[CarryingRole, ...] = ()
    givers: tuple[PersonRef, ...] = ()
    on_behalf_of: tuple[PersonRef, ...] = ()
    asked: tuple[str, ...] = field(default=())


async def load_subject(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID | None = None, username: str = ""
) -> Subject:
    """
    :param public_id: None, and no `username`, for the caller
    :raises NotFound: when there is nobody, or the caller does not see them among people
    """
    wanted = ctx.caller.public_id if public_id is None and not username else public_id
    named = wanted or canonical_username(username)
    user = (await repository.people_named(session, [named])).get(named)
    if user is None:
        raise NotFound("There is no such person.")
    _, told = await visible_assignments(ctx, session, user.public_id)
    try:
        caller = await load_caller(session, user.public_id) if user.is_active else None
    except NotSignedIn:
        caller = None
    held = await _held(ctx, session, user.user_id)
    return Subject(user.public_id, display_name(user), caller, held, frozenset(one.public_id for one in told))


async def _held(ctx: RequestContext, session: AsyncSession, user_id: int) -> tuple[GivenRole, ...]:
    rows = await held_roles.with_places(session, user_id=user_id, closed=True)
    given = await role_rows.permissions_of_roles(session, {row.role_id for row in rows})
    return tuple(_given_role(row, given.get(row.role_id, frozenset()), ctx.now) for row in rows)


def _given_role(row: held_roles.HeldRoleRow, permissions: frozenset[str], now: datetime) -> GivenRole:
    period = RolePeriod(row.valid_from, row.valid_until)
    return GivenRole(
        public_id=row.public_id,
        grant=Grant(row.role_name, permissions, row.organization_id, row.project_id, row.contract_id),
        standing=Standing.CLOSED if row.closed_at else access.OF_PERIOD[period.state(now)],
        called=role_text(row.role_name, row.role_name_en),
        level=row.level,
        place=row.place_code,
        starts=row.valid_from,
        ends=row.valid_until,
        given_by=display_name(row.giver) if row.giver.username else None,
        given_at=row.assigned_at,
    )


async def place_scope(session: AsyncSession, level: str, public_id: UUID) -> Scope | None:
    row = await held_roles.place_keys(session, level, public_id)
    if row is None:
        return None
    if level == catalogue.ORGANIZATION:
        return Scope(frozenset({row.id}))
    return Scope(project=row.project_id, contract=row.id if level == catalogue.CONTRACT else None)


async def explain_permission(session: AsyncSession, subject: Subject, *, permission: str, scope: Scope) -> Explanation:
    """:raises Invalid: at `query:permission`, when there is none of that name"""
    if permission not in await role_rows.permission_names(session):
        th, en = "ไม่มีสิทธิ์ “{value}”", "There is no permission “{value}”."
        raise invalid("query:permission", "unknown", th, en, value=permission)
    return await explain_guard(
        session, subject, lambda person: person.may(permission, scope), permissions=(permission,), scope=scope
    )


async def explain_guard(
    session: AsyncSession, subject: Subject, guard: Guard, *, permissions: Collection[str], scope: Scope
) -> Explanation:
    """
    Say what a guard says of somebody, and why; what it refuses is a matter of permissions or roles.

    :param scope: where one of the permissions would do
    """
    if subject.caller is None:
        return Explanation(allowed=False, reason=Reason.ACCOUNT_CLOSED)
    found = access.decide(subject.caller, subject.held, guard, permissions)
    if found.allowed:
        reason = Reason.GRANTED if found.deciding else Reason.NO_ROLE_NEEDED
        return Explanation(allowed=True, reason=reason, roles=found.deciding)
    carriers = await _carriers(session, permissions, scope)
    givers = await _givers(session, carriers, scope)
    missing = tuple(sorted(permissions))
    return replace(_refused(found, subject.told), missing=missing, carriers=carriers, givers=givers)


def _refused(found: GuardDecision, told: frozenset[UUID] | None) -> Explanation:
    if found.not_now is not None:
        return Explanation(allowed=False, reason=_ASLEEP[found.not_now.standing], roles=(found.not_now,))
    reason = Reason.ELSEWHERE if found.elsewhere else Reason.MISSING
    roles = tuple(one for one in found.elsewhere if told is None or one.public_id in told)
    return Explanation(allowed=False, reason=reason, roles=roles)


async def _carriers(session: AsyncSession, permissions: Collection[str], scope: Scope) -> tuple[CarryingRole, ...]:
    if not permissions:
        return ()
    rows = await role_rows.carrying(session, permissions, project=scope.project)
    given = await role_rows.permissions_of_roles(session, [one.role_id for one in rows])
    codes = await held_roles.place_codes(session, scope)
    roles = (
        CarryingRole(
            one.role_name,
            role_text(one.role_name, one.role_name_en),
            one.scope,
            given.get(one.role_id, frozenset()),
            tuple(codes.get(one.scope, ())),
        )
        for one in rows
    )
    return access.fitting(roles, permissions, scope)


async def _givers(session: AsyncSession, roles: Sequence[CarryingRole], scope: Scope) -> tuple[PersonRef, ...]:
    """Those who can give one of the roles, who look after one place before who looks after all."""
    if not roles:
        return ()
    keys = await held_roles.holders_at(session, access.MANAGES, scope, limit=MOST_ASKED)
    people = await load_callers(session, keys)
    able: Sequence[Caller] = [people[key] for key in keys if key in people]
    found = [one for one in able if not one.is_service and access.can_give(one, roles, scope)]
    return tuple(PersonRef.model_validate(one) for one in found[:MOST_GIVERS])
