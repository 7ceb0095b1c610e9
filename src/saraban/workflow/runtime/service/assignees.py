"""
Whom instances wait for: who is asked for what they hold, whether there is anybody at all who may see it and act, how people
read of it, and who may hear of it.

Only steps that ask people for what they hold, or organizations that may not see the subject as such, cost a query; a list
costs a fixed number. Only for one that is read by itself are the people of such organizations looked at.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.identity.schemas import PersonRef
from saraban.identity.service.callers import display_name
from saraban.workflow.engine import pending_assignees
from saraban.workflow.engine.pending_assignees import ACTS, PendingAssignees, SubjectState
from saraban.workflow.language.definition import CANCELLED, Definition, Require
from saraban.workflow.language.subject import (
    NOBODY_ASKED,
    AskedOrganizationOut,
    InstanceStatus,
    SubjectFacts,
    WaitingForOut,
)
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import branches, definitions
from saraban.workflow.runtime.service.subjects import InstanceState, Subjects

AT_ONCE = 50
MOST = 10  # people who are named of many


def is_first_draft(row: Instance, definition: Definition) -> bool:
    """Return whether an instance has not left the state in which its author writes: that is in no inbox."""
    return row.last_transition_at == row.created_at and definition.state(row.current_state).editable


async def people(session: AsyncSession, requires: Iterable[Require], *, facts: SubjectFacts) -> dict[int, Caller]:
    """Return those who meet one of some requirements for a subject, by key; whether they may see it they are not asked."""
    asked = tuple(requires)
    callers = await identity.load_callers(session, sorted(await _holders(session, asked, facts))) if asked else {}
    return {
        person.user_id: person
        for person in callers.values()
        if any(pending_assignees.meets(one, person, facts) for one in asked)
    }


async def _holders(session: AsyncSession, asked: Collection[Require], facts: SubjectFacts) -> frozenset[UUID]:
    roles = frozenset[str]().union(*(one.roles for one in asked))
    permissions = frozenset[str]().union(*(one.permissions for one in asked))
    return await assignee_rows.holders(session, roles=roles, permissions=permissions, scope=facts.scope)


async def asked_by_person(session: AsyncSession, found: PendingAssignees, one: InstanceState) -> frozenset[int]:
    """
    Return those who may see a subject among the people whom a state asks by name or for what they hold, for those
    who write it down: what people may do is not changed until the transaction ends.
    """
    if not (found.named or found.holders):
        return frozenset()
    await identity.share_rights(session)
    named = await identity.load_callers(session, sorted(found.named))
    known = {person.user_id: person for person in named.values() if not person.is_service}
    known |= await people(session, found.holders, facts=one.facts)
    return frozenset(key for key, person in known.items() if one.facts.seen_by(person, one.row.current_state))


async def checked(session: AsyncSession, found: PendingAssignees, one: InstanceState) -> PendingAssignees:
    """
    Tell of those whom an instance waits for whether there is nobody among them who may see it and act.

    Where one of the organizations is sure to see it nobody is looked for.
    """
    if found.users or _open(one, found) or not pending_assignees.expects(one.state):
        return found
    members = (await members_of(session, found.organizations)).values()
    return replace(found, nobody=not any(_may_act(one, person) for those in members for person in those))


async def renew_work_items(session: AsyncSession, one: InstanceState, *, since: datetime) -> None:
    await repository.write_work_items(session, work_items_of(one, await pending_in(session, one), since=since))


def work_items_of(one: InstanceState, waiting: PendingAssignees, *, since: datetime) -> repository.WorkItems:
    return repository.WorkItems(one.row.id, one.row.current_state, waiting.organizations, waiting.users, since)


async def pending_in(session: AsyncSession, one: InstanceState) -> PendingAssignees:
    """
    Return whom an instance waits for in its present state, people by key, and whether that is nobody who may see it.

    What was given to one person waits for that person alone.
    """
    found = pending_assignees.assignees_of(one.definition, one.row.current_state, one.facts)
    if one.row.assigned_user_id is not None:
        found = PendingAssignees(users=frozenset({one.row.assigned_user_id}))
    users = found.users | await asked_by_person(session, found, one)
    if one.state.review is None:
        return await checked(session, PendingAssignees(found.organizations, users), one)
    asked = await branches.people(session, one)
    return PendingAssignees(found.organizations, users.union(*asked.values()), nobody=not all(asked.values()))


def _may_act(one: InstanceState, person: Caller) -> bool:
    return pending_assignees.may_act(one.definition, one.row.current_state, person, one.facts)


async def act_for(session: AsyncSession, organizations: Collection[int], one: InstanceState) -> bool:
    """Return whether there is somebody among the people of some organizations who may see an instance's subject and act."""
    asked = [
        require
        for require in one.state.required
        if require.user is None and not pending_assignees.asks_holders(require)
    ]
    if all(require.roles or require.permissions for require in asked):
        found = await _holders(session, asked, one.facts)
    else:
        found = frozenset(each.public_id for each in await identity.users_of(session, frozenset(organizations)))
    keys, places = sorted(found), frozenset(organizations)
    for start in range(0, len(keys), AT_ONCE):
        callers = (await identity.load_callers(session, keys[start : start + AT_ONCE])).values()
        if any(places & person.organization_ids and _may_act(one, person) for person in callers):
            return True
    return False


async def members_of(session: AsyncSession, organizations: Collection[int]) -> dict[int, Sequence[Caller]]:
    members = await identity.users_of(session, frozenset(organizations)) if organizations else ()
    callers = (await identity.load_callers(session, [one.public_id for one in members])).values()
    return {key: [person for person in callers if key in person.organization_ids] for key in organizations}


async def running_versions(session: AsyncSession) -> dict[UUID, Definition]:
    return {key: await definitions.load(session, key) for key in await assignee_rows.versions_running(session)}


def pending_by_definition(one: InstanceState) -> PendingAssignees:
    """Return whom an instance waits for by its definition; what was given to one person waits for them alone."""
    if one.row.assigned_user_id is not None:
        return PendingAssignees(users=frozenset({one.row.assigned_user_id}))
    if is_first_draft(one.row, one.definition):
        return PendingAssignees(frozenset({one.facts.originator_organization_id}))
    return pending_assignees.assignees_of(one.definition, one.row.current_state, one.facts)


def pending_without_query(one: InstanceState, ahead: PendingAssignees | None = None) -> WaitingForOut | None:
    """
    Return whom an instance waits for where that needs no query, or None: where it is organizations alone, whose codes
    are known, and one of them is sure to see it.

    :param ahead: whom it waits for, where that was just asked
    """
    row, state = one.row, one.state
    if state.terminal or row.status != InstanceStatus.ACTIVE:
        return NOBODY_ASKED
    if row.assigned_user_id is not None or state.review is not None:
        return None
    found = ahead or pending_by_definition(one)
    if found.users or found.named or found.holders:
        return None
    known, open_ = one.facts.organizations, _open(one, found)
    asked = [_asked(*known[key]) for key in open_ if key in known]
    if len(asked) < len(open_) or not open_:
        return None
    return NOBODY_ASKED.model_copy(update={"organizations": sorted(asked, key=_code)})


def _open(one: InstanceState, ahead: PendingAssignees) -> list[int]:
    """Those of the organizations that are sure to see it: nobody is said to be waited for who could not open it."""
    return [key for key in ahead.organizations if one.facts.open_to(key, one.row.current_state)]


def _asked(public_id: UUID, code: str) -> AskedOrganizationOut:
    return AskedOrganizationOut(public_id=public_id, code=code)


def _code(asked: AskedOrganizationOut) -> str:
    return asked.code


async def pending_with(session: AsyncSession, asked: Iterable[InstanceState]) -> dict[UUID, WaitingForOut]:
    """Return whom each instance waits for; one that has ended waits for nobody."""
    told: dict[UUID, WaitingForOut] = {}
    found: dict[UUID, tuple[InstanceState, PendingAssignees]] = {}
    for one in asked:
        plainly = pending_without_query(one)
        if plainly is not None:
            told[one.row.id] = plainly
        else:
            found[one.row.id] = (one, pending_by_definition(one))
    return told | (await _looked_up(session, found) if found else {})


async def pending_with_exactly(session: AsyncSession, one: InstanceState) -> WaitingForOut:
    """
    Tell the same of one instance, and look besides among the people of organizations that see it for one who may
    act: what a step, and a list of many, do not look for.
    """
    found = (await pending_with(session, [one]))[one.row.id]
    reviewed = one.state.review is not None  # its branches say it
    plainly = found.nobody or found.people_count or reviewed or is_first_draft(one.row, one.definition)
    if plainly or not found.organizations:
        return found
    stuck = not await act_for(session, pending_by_definition(one).organizations, one)
    return found.model_copy(update={"nobody": stuck})


async def _looked_up(
    session: AsyncSession, found: Mapping[UUID, tuple[InstanceState, PendingAssignees]]
) -> dict[UUID, WaitingForOut]:
    people = await _people(session, found)
    known = {key: words for one, _ in found.values() for key, words in one.facts.organizations.items()}
    unknown = {key for _, ahead in found.values() for key in ahead.organizations} - known.keys()
    if unknown:
        known |= await repository.organizations(session, sorted(unknown))
    able = await _able(session, found, people)
    stuck = {key for key, those in able.items() if not those}
    waits = {}
    for key, (one, ahead) in found.items():
        shown, count = _shown(one, people.get(key, ()))
        asked = [_asked(*known[each]) for each in able.get(key) or _open(one, ahead) if each in known]
        waits[key] = WaitingForOut(
            organizations=sorted(asked, key=_code),
            people=shown,
            people_count=count,
            nobody=key in stuck or (bool(ahead.users) and key not in people),
        )
    return waits


def _by_person(one: InstanceState, ahead: PendingAssignees) -> bool:
    return one.state.review is not None or bool(ahead.users or ahead.named or ahead.holders)


async def _people(
    session: AsyncSession, pending: Mapping[UUID, tuple[InstanceState, PendingAssignees]]
) -> dict[UUID, list[Any]]:
    """Return the people whom instances wait for, without assignees who cannot see the subject after a move."""
    asking = [key for key, (one, ahead) in pending.items() if _by_person(one, ahead)]
    rows = await assignee_rows.asked_people(session, asking, most=MOST) if asking else ()
    assigned = {row.public_id for row in rows if pending[row.instance_id][1].users}
    callers = await identity.load_callers(session, assigned)
    people: dict[UUID, list[Any]] = {}
    for row in rows:
        one, ahead = pending[row.instance_id]
        person = callers.get(row.public_id)
        if not ahead.users or (person is not None and one.facts.seen_by(person, one.row.current_state)):
            people.setdefault(row.instance_id, []).append(row)
    return people


def _shown(one: InstanceState, rows: Sequence[Any]) -> tuple[list[PersonRef], int]:
    review = one.state.review
    if not rows or (review is not None and review.hidden):
        return [], 0
    people = [PersonRef(public_id=row.public_id, display_name=display_name(row)) for row in rows]
    return people, max(len(rows), rows[0].count if len(rows) == MOST else 0)


async def _able(
    session: AsyncSession,
    found: Mapping[UUID, tuple[InstanceState, PendingAssignees]],
    people: Mapping[UUID, Sequence[Any]],
) -> dict[UUID, list[int]]:
    """
    The organizations with somebody who may see it and act, for those instances that no organization is sure to see.

    For organizations that are sure to see it nobody is looked for.
    """
    doubtful = {
        key: (one, ahead)
        for key, (one, ahead) in found.items()
        if key not in people
        and not _open(one, ahead)
        and pending_assignees.expects(one.state)
        and one.state.review is None  # its branches say it
    }
    places = {each for _, ahead in doubtful.values() for each in ahead.organizations}
    members = await members_of(session, places) if places else {}
    return {
        key: [each for each in ahead.organizations if any(_may_act(one, person) for person in members[each])]
        for key, (one, ahead) in doubtful.items()
    }


@dataclass(frozen=True, slots=True)
class NotificationAudience:
    """
    What is known of some subjects, by their ids.

    :param states: where they stand now
    """

    facts: Mapping[str, SubjectFacts] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[UUID, Definition] = field(default_factory=dict)

    def sees(self, person: Caller, stand: SubjectState) -> bool:
        """Return whether a person may see a subject in the state that is told of; nobody sees what cannot be read."""
        facts = self.facts.get(stand.entity_id)
        if facts is None:
            # What no workflow moves is addressed by those who tell of it.
            return not stand.entity_type and stand.entity_id not in self.states
        state, version = stand.state or self.states.get(stand.entity_id, ""), self._version(stand)
        # Whatever its end is called, what never left its draft is open to nobody because of it.
        given_up = version is not None and version.state(state).means == "withdrawn"
        return facts.seen_by(person, CANCELLED.name if given_up else state)

    def asks(self, person: Caller, stand: SubjectState) -> bool:
        """Return whether the state that is told of asks a member of an organization that it waits for."""
        facts, version = self.facts.get(stand.entity_id), self._version(stand)
        if facts is None or version is None or stand.state is None:
            return person.may_anywhere(ACTS)
        return pending_assignees.asks(version, stand.state, person, facts)

    def permissions(self, stand: SubjectState) -> frozenset[str] | None:
        """Return permissions of which everybody has one whom `asks` may say yes to, None where some need none."""
        version = self._version(stand)
        if version is None or stand.state is None:
            return frozenset({ACTS})
        return pending_assignees.permissions_asked(version, stand.state)

    def _version(self, stand: SubjectState) -> Definition | None:
        version = self.versions.get(stand.definition) if stand.definition else None
        return version if version is not None and stand.state in version.states else None


async def audience_of(
    session: AsyncSession, stands: Collection[SubjectState], *, subjects: Subjects
) -> NotificationAudience:
    if not stands:
        return NotificationAudience()
    kinds = {one.entity_id: one.entity_type for one in stands if one.entity_type}
    states: dict[str, str] = {}
    unknown = {one.entity_id for one in stands} - kinds.keys()
    for entity_type, entity_id, state in await assignee_rows.current_states(session, unknown) if unknown else ():
        kinds[entity_id], states[entity_id] = entity_type, state
    system = await identity.system_caller(session)
    facts: dict[str, SubjectFacts] = {}
    for kind in sorted(set(kinds.values())):
        if kind in subjects:
            asked = [key for key, one in kinds.items() if one == kind]
            facts |= await subjects.port(kind).facts(session, caller=system, entity_ids=asked)
    keys = {one.definition for one in stands} - {None}
    versions = {key: await definitions.load(session, key) for key in keys if key is not None}
    return NotificationAudience(facts, states, versions)
