"""Find the deciding roles by calling the action's guard with fewer or more roles."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from saraban.identity.domain.catalogue import CONTRACT, GLOBAL, ORGANIZATION, PROJECT
from saraban.identity.domain.context import Caller, Grant, Scope
from saraban.identity.domain.period import PeriodState
from saraban.kit.errors import Text

Guard = Callable[[Caller], bool]

MANAGES = "user.manage_assignments"


class Standing(StrEnum):
    IN_FORCE = "in_force"
    UPCOMING = "upcoming"
    ENDED = "ended"
    CLOSED = "role_closed"


OF_PERIOD = {
    PeriodState.ACTIVE: Standing.IN_FORCE,
    PeriodState.UPCOMING: Standing.UPCOMING,
    PeriodState.ENDED: Standing.ENDED,
}


class Reason(StrEnum):
    GRANTED = "granted"
    GRANTED_WITHIN = "granted_within"
    NO_ROLE_NEEDED = "no_role_needed"
    DELEGATED = "delegated"
    MISSING = "missing"
    ELSEWHERE = "elsewhere"
    UPCOMING = "upcoming"
    ENDED = "ended"
    ROLE_CLOSED = "role_closed"
    ACCOUNT_CLOSED = "account_closed"
    # Of a document and its workflow.
    NOT_ISSUED = "not_issued"
    NO_PARTY = "no_party"
    FINISHED = "finished"
    NO_ACTION = "no_action"
    ASSIGNED = "assigned"
    SUBMITTER = "submitter"
    NAMED = "named"
    ROLE = "role"
    SEAT = "seat"
    CONDITION = "condition"
    NOT_EDITABLE = "not_editable"


@dataclass(frozen=True, slots=True)
class GivenRole:
    """:param place: code of its organization, project or contract; None for everywhere"""

    public_id: UUID
    grant: Grant
    standing: Standing
    called: Text
    level: str
    place: str | None
    starts: datetime | None
    ends: datetime | None
    given_by: str | None
    given_at: datetime


@dataclass(frozen=True, slots=True)
class CarryingRole:
    """:param places: codes of the places where it would count; none for everywhere"""

    name: str
    called: Text
    level: str
    permissions: frozenset[str]
    places: tuple[str, ...] = ()

    def scopes_in(self, scope: Scope) -> tuple[Scope, ...]:
        return (Scope(),) if self.level == GLOBAL else places_in(scope).get(self.level, ())


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """`deciding` are the fewest roles that suffice; `not_now` would suffice if it counted now."""

    allowed: bool
    deciding: tuple[GivenRole, ...] = ()
    not_now: GivenRole | None = None
    elsewhere: tuple[GivenRole, ...] = ()


def decide(
    person: Caller, held: Collection[GivenRole], guard: Guard, permissions: Collection[str] = ()
) -> GuardDecision:
    """:param permissions: of which one would suffice"""
    active = [role for role in held if role.standing is Standing.IN_FORCE]
    if guard(person):
        return GuardDecision(allowed=True, deciding=_minimal_roles(person, active, guard))
    inactive = (role for role in held if role.standing is not Standing.IN_FORCE)
    return GuardDecision(
        allowed=False,
        not_now=next((role for role in inactive if guard(_replace_roles(person, [*active, role]))), None),
        elsewhere=tuple(role for role in active if any(map(role.grant.gives, permissions))),
    )


def enough(person: Caller, held: Collection[GivenRole], guard: Guard) -> tuple[GivenRole, ...]:
    return tuple(role for role in held if role.standing is Standing.IN_FORCE and guard(_replace_roles(person, [role])))


def _minimal_roles(person: Caller, held: Iterable[GivenRole], guard: Guard) -> tuple[GivenRole, ...]:
    """Remove roles, global ones first, while the guard still allows."""
    roles = sorted(held, key=lambda role: not role.grant.is_global)
    for role in list(roles):
        remaining = [other for other in roles if other is not role]
        if guard(_replace_roles(person, remaining)):
            roles = remaining
    return tuple(roles)


def _replace_roles(person: Caller, held: Collection[GivenRole]) -> Caller:
    grants = tuple(role.grant for role in held)
    organizations = {grant.organization for grant in grants if grant.organization is not None}
    return replace(person, grants=grants, organization_ids=person.organization_ids | organizations)


def places_in(scope: Scope) -> dict[str, tuple[Scope, ...]]:
    places_of_level = {
        ORGANIZATION: tuple(Scope(frozenset({organization})) for organization in sorted(scope.organizations)),
        PROJECT: (Scope(project=scope.project),) if scope.project is not None else (),
        CONTRACT: (Scope(project=scope.project, contract=scope.contract),) if scope.contract is not None else (),
    }
    return {level: places for level, places in places_of_level.items() if places}


def fitting(roles: Iterable[CarryingRole], permissions: Collection[str], scope: Scope) -> tuple[CarryingRole, ...]:
    """Return roles that would count in the scope; global ones only without a narrower one."""
    applicable = [role for role in roles if role.scopes_in(scope)]
    narrow = [role for role in applicable if role.level != GLOBAL and not role.permissions.isdisjoint(permissions)]
    return tuple(narrow or applicable)


def can_give(person: Caller, roles: Iterable[CarryingRole], scope: Scope) -> bool:
    """Return whether the person gives roles there and holds all of the role's permissions."""
    return any(
        person.may(MANAGES, place) and all(person.may(name, place) for name in role.permissions)
        for role in roles
        for place in role.scopes_in(scope)
    )
