"""Decides whom a state awaits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from saraban.identity.domain.context import EVERYTHING, Caller
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Facts
from saraban.workflow.language.definition import Definition, Require, State
from saraban.workflow.language.subject import SubjectFacts

# Asked members of an organization have this permission, where a step requires no right.
ACTS = "workflow.action_review"


@dataclass(frozen=True, slots=True)
class PendingAssignees:
    """
    :param named: public ids in the definition
    :param holders: requirements whose holders are asked, whatever their organization
    :param nobody: no assignee may see the subject and act
    """

    organizations: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    named: frozenset[UUID] = frozenset()
    holders: tuple[Require, ...] = ()
    nobody: bool = False


@dataclass(frozen=True, slots=True)
class SubjectState:
    """
    The state of a subject at an event.

    :param state: None for the present state
    """

    entity_id: str
    entity_type: str = ""
    state: str | None = None
    definition: UUID | None = None


def assignees_of(definition: Definition, state: str, subject: SubjectFacts) -> PendingAssignees:
    """Return whom a state awaits, from its actions that are not optional."""
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
        organizations |= _awaited_organizations(require, subject)
    return PendingAssignees(frozenset(organizations), frozenset(users), frozenset(named), tuple(dict.fromkeys(holders)))


def asks_holders(require: Require) -> bool:
    """Return whether a step asks people by their rights alone, whatever their organization."""
    has_other_assignee = require.party or require.organization_roles or require.user is not None
    return not has_other_assignee and bool(require.roles or require.permissions)


def _awaited_organizations(require: Require, subject: SubjectFacts) -> frozenset[int]:
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
    """Return a person without the grants that give the right to everything."""
    if not any(EVERYTHING in grant.permissions for grant in person.grants):
        return person
    no_permissions = frozenset[str]()
    grants = (
        replace(grant, permissions=no_permissions) if EVERYTHING in grant.permissions else grant
        for grant in person.grants
    )
    return replace(person, grants=tuple(grants))


def meets(require: Require, person: Caller, subject: SubjectFacts) -> bool:
    return decisions.permitted(require, Facts(plain(person), subject))


def may_act(definition: Definition, state: str, person: Caller, subject: SubjectFacts) -> bool:
    """
    Return whether a person may see a subject in a state and act there, without the right to everything.

    Optional actions count only where a state has no others.
    """
    current_state = definition.state(state)
    required = current_state.required or tuple(step.require for step in current_state.on.values())
    return subject.seen_by(plain(person), state) and any(meets(require, person, subject) for require in required)


def asks(definition: Definition, state: str, person: Caller, subject: SubjectFacts) -> bool:
    """
    Return whether a state asks this member of an awaited organization.

    Where a step requires neither role nor permission, it asks members with `ACTS`.
    """
    return any(
        decisions.permitted(require, Facts(person, subject))
        and (require.permissions or require.roles or person.may_anywhere(ACTS))
        for require in definition.state(state).required
    )


def permissions_asked(definition: Definition, state: str) -> frozenset[str] | None:
    """Return permissions of which every asked member has one; None if some need none."""
    required = definition.state(state).required
    of_members = [require for require in required if require.user is None and not asks_holders(require)]
    if any(require.roles and not require.permissions for require in of_members):
        return None
    return frozenset[str]().union(*(require.permissions or {ACTS} for require in of_members))


def by_person(definition: Definition, state: str) -> bool:
    return any(require.user is not None or asks_holders(require) for require in definition.state(state).required)


def states_by_person(versions: Mapping[UUID, Definition]) -> dict[UUID, list[str]]:
    states_by_version = {
        key: [name for name in version.states if by_person(version, name)] for key, version in versions.items()
    }
    return {key: names for key, names in states_by_version.items() if names}


def states_of_person(versions: Mapping[UUID, Definition], person: Caller) -> dict[UUID, list[str]]:
    """Return the states that may ask a person by name or by rights in any scope, by version."""
    states_by_version = {
        key: [name for name in version.states if _may_ask(version, name, person)] for key, version in versions.items()
    }
    return {key: names for key, names in states_by_version.items() if names}


def _may_ask(definition: Definition, state: str, person: Caller) -> bool:
    return any(
        require.user == person.public_id
        if require.user is not None
        else asks_holders(require) and (require.roles & person.roles or require.permissions & person.permissions)
        for require in definition.state(state).required
    )


def asks_in_person(definition: Definition, state: str, person: Caller, subject: SubjectFacts) -> bool:
    return subject.seen_by(person, state) and any(
        require.user == person.public_id
        if require.user is not None
        else asks_holders(require) and meets(require, person, subject)
        for require in definition.state(state).required
    )
