"""Explain permissions; roles in places that the caller may not see are hidden."""

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

_INACTIVE_REASONS: Mapping[Standing, Reason] = {
    Standing.UPCOMING: Reason.UPCOMING,
    Standing.ENDED: Reason.ENDED,
    Standing.CLOSED: Reason.ROLE_CLOSED,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """`caller` is None when the account is closed; `told` is None for all roles."""

    public_id: UUID
    display_name: str
    caller: Caller | None
    held: tuple[GivenRole, ...]
    told: frozenset[UUID] | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """`roles` decide, or would elsewhere, at another time or if open; `asked` are other assignees."""

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
    Return the account, by default the caller's own.

    :raises NotFound:
    """
    wanted = ctx.caller.public_id if public_id is None and not username else public_id
    named = wanted or canonical_username(username)
    user = (await repository.people_named(session, [named])).get(named)
    if user is None:
        raise NotFound("There is no such person.")
    _, visible_roles = await visible_assignments(ctx, session, user.public_id)
    try:
        caller = await load_caller(session, user.public_id) if user.is_active else None
    except NotSignedIn:
        caller = None
    given_roles = await _list_given_roles(ctx, session, user.user_id)
    return Subject(
        user.public_id, display_name(user), caller, given_roles, frozenset(row.public_id for row in visible_roles)
    )


async def _list_given_roles(ctx: RequestContext, session: AsyncSession, user_id: int) -> tuple[GivenRole, ...]:
    rows = await held_roles.list_held_roles(session, user_id=user_id, closed=True)
    permissions_of_role = await role_rows.permissions_of_roles(session, {row.role_id for row in rows})
    return tuple(_given_role(row, permissions_of_role.get(row.role_id, frozenset()), ctx.now) for row in rows)


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
    """:raises Invalid:"""
    if permission not in await role_rows.permission_names(session):
        th, en = "ไม่มีสิทธิ์ “{value}”", "There is no permission “{value}”."
        raise invalid("query:permission", "unknown", th, en, value=permission)
    return await explain_guard(
        session, subject, lambda person: person.may(permission, scope), permissions=(permission,), scope=scope
    )


async def explain_guard(
    session: AsyncSession, subject: Subject, guard: Guard, *, permissions: Collection[str], scope: Scope
) -> Explanation:
    """:param scope: where one of the permissions would suffice"""
    if subject.caller is None:
        return Explanation(allowed=False, reason=Reason.ACCOUNT_CLOSED)
    decision = access.decide(subject.caller, subject.held, guard, permissions)
    if decision.allowed:
        reason = Reason.GRANTED if decision.deciding else Reason.NO_ROLE_NEEDED
        return Explanation(allowed=True, reason=reason, roles=decision.deciding)
    carriers = await _list_carriers(session, permissions, scope)
    givers = await _list_givers(session, carriers, scope)
    missing = tuple(sorted(permissions))
    return replace(_explain_refusal(decision, subject.told), missing=missing, carriers=carriers, givers=givers)


def _explain_refusal(decision: GuardDecision, visible: frozenset[UUID] | None) -> Explanation:
    if decision.not_now is not None:
        return Explanation(
            allowed=False, reason=_INACTIVE_REASONS[decision.not_now.standing], roles=(decision.not_now,)
        )
    reason = Reason.ELSEWHERE if decision.elsewhere else Reason.MISSING
    roles = tuple(role for role in decision.elsewhere if visible is None or role.public_id in visible)
    return Explanation(allowed=False, reason=reason, roles=roles)


async def _list_carriers(session: AsyncSession, permissions: Collection[str], scope: Scope) -> tuple[CarryingRole, ...]:
    if not permissions:
        return ()
    rows = await role_rows.roles_with_permissions(session, permissions, project=scope.project)
    permissions_of_role = await role_rows.permissions_of_roles(session, [row.role_id for row in rows])
    codes = await held_roles.place_codes(session, scope)
    roles = (
        CarryingRole(
            row.role_name,
            role_text(row.role_name, row.role_name_en),
            row.scope,
            permissions_of_role.get(row.role_id, frozenset()),
            tuple(codes.get(row.scope, ())),
        )
        for row in rows
    )
    return access.fitting(roles, permissions, scope)


async def _list_givers(session: AsyncSession, roles: Sequence[CarryingRole], scope: Scope) -> tuple[PersonRef, ...]:
    if not roles:
        return ()
    keys = await held_roles.holders_at(session, access.MANAGES, scope, limit=MOST_ASKED)
    people = await load_callers(session, keys)
    candidates: Sequence[Caller] = [people[key] for key in keys if key in people]
    givers = [person for person in candidates if not person.is_service and access.can_give(person, roles, scope)]
    return tuple(PersonRef.model_validate(person) for person in givers[:MOST_GIVERS])
