"""
Who is asked for what he holds, and whether there is anybody at all who may see what a step asks for.

Only steps that ask people for what they hold, or organizations that may not see the subject as such, cost a query.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.identity.service import rights_lock
from saraban.workflow.engine import pending_assignees
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.definition import Definition, Require
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.repository import assignees as repository
from saraban.workflow.runtime.service import definitions

AT_ONCE = 50


def is_first_draft(row: Instance, definition: Definition) -> bool:
    """Return whether an instance has not left the state in which its author writes: that is in no inbox."""
    return row.last_transition_at == row.created_at and definition.state(row.current_state).editable


async def people(session: AsyncSession, requires: Iterable[Require], *, facts: SubjectFacts) -> dict[int, Caller]:
    """Return those who meet one of some requirements for a subject, by key; whether they may see it they are not asked."""
    asked = tuple(requires)
    if not asked:
        return {}
    roles = frozenset[str]().union(*(one.roles for one in asked))
    permissions = frozenset[str]().union(*(one.permissions for one in asked))
    found = await repository.holders(session, roles=roles, permissions=permissions, scope=facts.scope)
    callers = await identity.load_callers(session, sorted(found))
    return {
        person.user_id: person
        for person in callers.values()
        if any(pending_assignees.meets(one, person, facts) for one in asked)
    }


async def asked_by_person(
    session: AsyncSession, found: PendingAssignees, *, facts: SubjectFacts, state: str
) -> frozenset[int]:
    """
    Return those who may see a subject among the people whom a state asks by name or for what they hold, for those
    who write it down: what people may do is not changed until the transaction ends.
    """
    if not (found.named or found.holders):
        return frozenset()
    await rights_lock.hold_shared(session)
    named = await identity.load_callers(session, sorted(found.named))
    known = {person.user_id: person for person in named.values() if not person.is_service}
    known |= await people(session, found.holders, facts=facts)
    return frozenset(key for key, person in known.items() if facts.seen_by(person, state))


async def checked(
    session: AsyncSession, found: PendingAssignees, *, definition: Definition, state: str, facts: SubjectFacts
) -> PendingAssignees:
    """
    Tell of those whom an instance waits for whether there is nobody among them who may see it and act.

    Where one of the organizations is sure to see it nobody is looked for.
    """
    plainly = found.users or any(facts.open_to(one, state) for one in found.organizations)
    if plainly or not pending_assignees.expects(definition, state):
        return found
    found = replace(found, nobody=True)
    for members in (await members_of(session, found.organizations)).values():
        if any(pending_assignees.may_act(definition, state, person, facts) for person in members):
            return replace(found, nobody=False)
    return found


async def act_for(
    session: AsyncSession, organizations: Collection[int], *, definition: Definition, state: str, facts: SubjectFacts
) -> bool:
    """Return whether there is somebody among the people of some organizations who may see a subject and act."""
    asked = [
        one
        for one in pending_assignees.asking(definition, state)
        if one.user is None and not pending_assignees.asks_holders(one)
    ]
    if all(one.roles or one.permissions for one in asked):
        roles = frozenset[str]().union(*(one.roles for one in asked))
        permissions = frozenset[str]().union(*(one.permissions for one in asked))
        found = await repository.holders(session, roles=roles, permissions=permissions, scope=facts.scope)
    else:
        found = frozenset(one.public_id for one in await identity.users_of(session, frozenset(organizations)))
    keys, places = sorted(found), frozenset(organizations)
    for start in range(0, len(keys), AT_ONCE):
        callers = (await identity.load_callers(session, keys[start : start + AT_ONCE])).values()
        if any(
            places & person.organization_ids and pending_assignees.may_act(definition, state, person, facts)
            for person in callers
        ):
            return True
    return False


async def members_of(session: AsyncSession, organizations: Collection[int]) -> dict[int, Sequence[Caller]]:
    """Return the people who work for each of some organizations, with what they may do."""
    members = await identity.users_of(session, frozenset(organizations)) if organizations else ()
    callers = (await identity.load_callers(session, [one.public_id for one in members])).values()
    return {key: [person for person in callers if key in person.organization_ids] for key in organizations}


async def places_of(session: AsyncSession, person: Caller) -> Mapping[UUID, Collection[str]]:
    """Return the states, by version, that may ask a person by name or for what he holds."""
    found: dict[UUID, list[str]] = {}
    for key in await repository.versions_running(session):
        definition = await definitions.load(session, key)
        states = [name for name in definition.states if pending_assignees.concerns(definition, name, person)]
        if states:
            found[key] = states
    return found
