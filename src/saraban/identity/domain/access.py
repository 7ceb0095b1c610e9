"""
Which of somebody's roles decides that they may do a thing, and which would if it counted now.

No rule stands here a second time: the guard of the thing itself is asked, of the person with fewer roles or with more.
"""

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
    """
    A role that was given to somebody, whether it counts or not.

    :param called: the role's name in both languages
    :param place: the code of its organization, project or contract; None for everywhere
    """

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
    """
    A role that carries what is missing, whether anybody has it or not.

    :param called: its name in both languages
    :param places: codes of where it would count; none for everywhere
    """

    name: str
    called: Text
    level: str
    permissions: frozenset[str]
    places: tuple[str, ...] = ()

    def scopes_in(self, scope: Scope) -> tuple[Scope, ...]:
        return (Scope(),) if self.level == GLOBAL else places_in(scope).get(self.level, ())


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """
    What the guard says, and because of what.

    :param deciding: the fewest roles that are enough; none where it takes no role
    :param not_now: a role that would be enough, if it counted
    :param elsewhere: roles that give one of the permissions in another place
    """

    allowed: bool
    deciding: tuple[GivenRole, ...] = ()
    not_now: GivenRole | None = None
    elsewhere: tuple[GivenRole, ...] = ()


def decide(
    person: Caller, held: Collection[GivenRole], guard: Guard, permissions: Collection[str] = ()
) -> GuardDecision:
    """
    Ask the guard, and find the roles because of which it says so.

    :param permissions: of which one would do, as far as it is a matter of these
    """
    now = [one for one in held if one.standing is Standing.IN_FORCE]
    if guard(person):
        return GuardDecision(allowed=True, deciding=_fewest(person, now, guard))
    asleep = (one for one in held if one.standing is not Standing.IN_FORCE)
    return GuardDecision(
        allowed=False,
        not_now=next((one for one in asleep if guard(_with(person, [*now, one]))), None),
        elsewhere=tuple(one for one in now if any(map(one.grant.gives, permissions))),
    )


def enough(person: Caller, held: Collection[GivenRole], guard: Guard) -> tuple[GivenRole, ...]:
    return tuple(one for one in held if one.standing is Standing.IN_FORCE and guard(_with(person, [one])))


def _fewest(person: Caller, held: Iterable[GivenRole], guard: Guard) -> tuple[GivenRole, ...]:
    """Leave out one after the other, the widest first, as long as the guard still says yes."""
    kept = sorted(held, key=lambda one: not one.grant.is_global)
    for one in list(kept):
        fewer = [other for other in kept if other is not one]
        if guard(_with(person, fewer)):
            kept = fewer
    return tuple(kept)


def _with(person: Caller, held: Collection[GivenRole]) -> Caller:
    """The same person with these roles alone; whoever has one in an organization acts for it."""
    grants = tuple(one.grant for one in held)
    own = {grant.organization for grant in grants if grant.organization is not None}
    return replace(person, grants=grants, organization_ids=person.organization_ids | own)


def places_in(scope: Scope) -> dict[str, tuple[Scope, ...]]:
    """Return the places of a scope by the level of the roles that are given there; none where everything is asked about."""
    found = {
        ORGANIZATION: tuple(Scope(frozenset({one})) for one in sorted(scope.organizations)),
        PROJECT: (Scope(project=scope.project),) if scope.project is not None else (),
        CONTRACT: (Scope(project=scope.project, contract=scope.contract),) if scope.contract is not None else (),
    }
    return {level: places for level, places in found.items() if places}


def fitting(roles: Iterable[CarryingRole], permissions: Collection[str], scope: Scope) -> tuple[CarryingRole, ...]:
    """Return the roles that would count in a scope; those of everywhere, and those that carry everything, where no other does."""
    here = [one for one in roles if one.scopes_in(scope)]
    narrow = [one for one in here if one.level != GLOBAL and not one.permissions.isdisjoint(permissions)]
    return tuple(narrow or here)


def can_give(person: Caller, roles: Iterable[CarryingRole], scope: Scope) -> bool:
    """Return whether somebody gives roles where one of these would count, and holds there all that it carries."""
    return any(
        person.may(MANAGES, place) and all(person.may(name, place) for name in role.permissions)
        for role in roles
        for place in role.scopes_in(scope)
    )
