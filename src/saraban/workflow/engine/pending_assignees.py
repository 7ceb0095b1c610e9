"""
Decides whom a state waits for: organizations, people by key or by name, and people because of what they hold.

Who those people are, rows know; whether one of them is asked is decided here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from saraban.identity.domain.context import EVERYTHING, Caller
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Facts
from saraban.workflow.language.definition import Definition, Require, State
from saraban.workflow.language.subject import SubjectFacts

# Where a step asks an organization and says nothing of what its people must hold, these of them are told.
ACTS = "workflow.action_review"


@dataclass(frozen=True, slots=True)
class PendingAssignees:
    """
    Whom a state waits for: organizations, people by key, people that the definition names.

    :param holders: what others hold who are asked, each for themselves: no organization stands for them
    :param nobody: there is nobody among all of them who may see what it is about, and act
    """

    organizations: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    named: frozenset[UUID] = frozenset()
    holders: tuple[Require, ...] = ()
    nobody: bool = False


@dataclass(frozen=True, slots=True)
class SubjectState:
    """
    Where something stood when it was told of.

    :param entity_type: empty where only its id is known
    :param state: None for the one in which it stands now
    :param definition: the version that it ran on
    """

    entity_id: str
    entity_type: str = ""
    state: str | None = None
    definition: UUID | None = None


def assignees_of(definition: Definition, state: str, subject: SubjectFacts) -> PendingAssignees:
    """Return whom a state waits for, from its actions that are not optional."""
    organizations: set[int] = set()
    users: set[int] = set()
    named: set[UUID] = set()
    holders: list[Require] = []
    for require in definition.state(state).required:
        if require.user is not None:
            named.add(require.user)
            continue
        if asks_holders(require):
            holders.append(require)
            continue
        if "assignee" in require.party:
            users |= subject.assignee_user_ids
        organizations |= _awaited(require, subject)
    return PendingAssignees(frozenset(organizations), frozenset(users), frozenset(named), tuple(dict.fromkeys(holders)))


def asks_holders(require: Require) -> bool:
    """Return whether a step asks people for what they hold alone, whatever organization they work for."""
    placed = require.party or require.organization_roles or require.user is not None
    return not placed and bool(require.roles or require.permissions)


def _awaited(require: Require, subject: SubjectFacts) -> frozenset[int]:
    if require.party and require.organization_roles:
        return decisions.party(require, subject) & decisions.with_part(require, subject)
    if require.party:
        return decisions.party(require, subject)
    if require.organization_roles:
        return decisions.with_part(require, subject)
    return subject.recipient_organization_ids | {subject.originator_organization_id}


def expects(state: State) -> bool:
    return state.review is not None or bool(state.required)


def plain(person: Caller) -> Caller:
    """Return a person without what a role for everything lets them do: nobody is looked for because of that alone."""
    if not any(EVERYTHING in grant.permissions for grant in person.grants):
        return person
    nothing = frozenset[str]()
    grants = (replace(one, permissions=nothing) if EVERYTHING in one.permissions else one for one in person.grants)
    return replace(person, grants=tuple(grants))


def meets(require: Require, person: Caller, subject: SubjectFacts) -> bool:
    """Return whether a person meets what a step requires, in their own right."""
    return decisions.permitted(require, Facts(plain(person), subject))


def may_act(definition: Definition, state: str, person: Caller, subject: SubjectFacts) -> bool:
    """
    Return whether a person may see a subject that stands in a state and act there, in their own right.

    What is optional counts only where a state asks for nothing else.
    """
    here = definition.state(state)
    asked = here.required or tuple(step.require for step in here.on.values())
    return subject.seen_by(plain(person), state) and any(meets(require, person, subject) for require in asked)


def asks(definition: Definition, state: str, person: Caller, subject: SubjectFacts) -> bool:
    """
    Return whether a member of an organization that a state waits for is one whom it asks.

    Where a step says nothing of what they must hold, those are asked who act in workflows at all.
    """
    return any(
        decisions.permitted(require, Facts(person, subject))
        and (require.permissions or require.roles or person.may_anywhere(ACTS))
        for require in definition.state(state).required
    )


def permissions_asked(definition: Definition, state: str) -> frozenset[str] | None:
    """Return permissions of which everybody has one whom a state asks in its organizations; None where some need none."""
    required = definition.state(state).required
    asked = [require for require in required if require.user is None and not asks_holders(require)]
    if any(require.roles and not require.permissions for require in asked):
        return None
    return frozenset[str]().union(*(require.permissions or {ACTS} for require in asked))


def by_person(definition: Definition, state: str) -> bool:
    """Return whether a state asks people by name, or for what they hold: who that is changes with their rights."""
    return any(require.user is not None or asks_holders(require) for require in definition.state(state).required)


def states_by_person(versions: Mapping[UUID, Definition]) -> dict[UUID, list[str]]:
    """Return the states that ask people by name or for what they hold, by the key of the version."""
    found = {key: [name for name in one.states if by_person(one, name)] for key, one in versions.items()}
    return {key: names for key, names in found.items() if names}


def states_of_person(versions: Mapping[UUID, Definition], person: Caller) -> dict[UUID, list[str]]:
    """Return the states that may ask a person by name or for what they hold, wherever they hold it."""
    found = {key: [name for name in one.states if _concerns(one, name, person)] for key, one in versions.items()}
    return {key: names for key, names in found.items() if names}


def _concerns(definition: Definition, state: str, person: Caller) -> bool:
    return any(
        require.user == person.public_id
        if require.user is not None
        else asks_holders(require) and (require.roles & person.roles or require.permissions & person.permissions)
        for require in definition.state(state).required
    )


def asks_in_person(definition: Definition, state: str, person: Caller, subject: SubjectFacts) -> bool:
    """Return whether a state asks a person by name or for what they hold, and they may see what it is about."""
    return subject.seen_by(person, state) and any(
        require.user == person.public_id
        if require.user is not None
        else asks_holders(require) and meets(require, person, subject)
        for require in definition.state(state).required
    )
