"""Assignees of instances. Only `pending_with_exactly` reads the members of organizations one by one."""

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

BATCH_SIZE = 50
MAX_NAMED_PEOPLE = 10


def is_first_draft(row: Instance, definition: Definition) -> bool:
    """Return whether an instance never left its first editable state; it is in no inbox."""
    return row.last_transition_at == row.created_at and definition.state(row.current_state).editable


async def people(session: AsyncSession, requires: Iterable[Require], *, facts: SubjectFacts) -> dict[int, Caller]:
    """Return the callers who meet a requirement, by user id; they may be unable to see the subject."""
    required = tuple(requires)
    callers = (
        await identity.load_callers(session, sorted(await _find_holders(session, required, facts))) if required else {}
    )
    return {
        person.user_id: person
        for person in callers.values()
        if any(pending_assignees.meets(require, person, facts) for require in required)
    }


async def _find_holders(session: AsyncSession, required: Collection[Require], facts: SubjectFacts) -> frozenset[UUID]:
    roles = frozenset[str]().union(*(require.roles for require in required))
    permissions = frozenset[str]().union(*(require.permissions for require in required))
    return await assignee_rows.holders(session, roles=roles, permissions=permissions, scope=facts.scope)


async def asked_by_person(session: AsyncSession, pending: PendingAssignees, instance: InstanceState) -> frozenset[int]:
    """
    Return the users, asked by name or by their rights, who may see the subject.

    Locks the rights of people until the transaction ends.
    """
    if not (pending.named or pending.holders):
        return frozenset()
    await identity.share_rights(session)
    named = await identity.load_callers(session, sorted(pending.named))
    callers = {person.user_id: person for person in named.values() if not person.is_service}
    callers |= await people(session, pending.holders, facts=instance.facts)
    return frozenset(
        key for key, person in callers.items() if instance.facts.seen_by(person, instance.row.current_state)
    )


async def checked(session: AsyncSession, pending: PendingAssignees, instance: InstanceState) -> PendingAssignees:
    """Set `nobody` if no member may see the subject and act; not read if an organization is sure to see it."""
    if pending.users or _sure_organizations(instance, pending) or not pending_assignees.expects(instance.state):
        return pending
    members = (await members_of(session, pending.organizations)).values()
    return replace(pending, nobody=not any(_may_act(instance, person) for callers in members for person in callers))


async def renew_work_items(session: AsyncSession, instance: InstanceState, *, since: datetime) -> None:
    await repository.write_work_items(
        session, work_items_of(instance, await pending_in(session, instance), since=since)
    )


def work_items_of(instance: InstanceState, waiting: PendingAssignees, *, since: datetime) -> repository.WorkItems:
    return repository.WorkItems(
        instance.row.id, instance.row.current_state, waiting.organizations, waiting.users, since
    )


async def pending_in(session: AsyncSession, instance: InstanceState) -> PendingAssignees:
    """Return the assignees in the present state, people by key, with `nobody` set."""
    pending = pending_assignees.assignees_of(instance.definition, instance.row.current_state, instance.facts)
    if instance.row.assigned_user_id is not None:
        pending = PendingAssignees(users=frozenset({instance.row.assigned_user_id}))
    users = pending.users | await asked_by_person(session, pending, instance)
    if instance.state.review is None:
        return await checked(session, PendingAssignees(pending.organizations, users), instance)
    users_by_assignee = await branches.people(session, instance)
    return PendingAssignees(
        pending.organizations, users.union(*users_by_assignee.values()), nobody=not all(users_by_assignee.values())
    )


def _may_act(instance: InstanceState, person: Caller) -> bool:
    return pending_assignees.may_act(instance.definition, instance.row.current_state, person, instance.facts)


async def act_for(session: AsyncSession, organizations: Collection[int], instance: InstanceState) -> bool:
    required = [
        require
        for require in instance.state.required
        if require.user is None and not pending_assignees.asks_holders(require)
    ]
    if all(require.roles or require.permissions for require in required):
        public_ids = await _find_holders(session, required, instance.facts)
    else:
        public_ids = frozenset(each.public_id for each in await identity.users_of(session, frozenset(organizations)))
    keys, organization_ids = sorted(public_ids), frozenset(organizations)
    for start in range(0, len(keys), BATCH_SIZE):
        callers = (await identity.load_callers(session, keys[start : start + BATCH_SIZE])).values()
        if any(organization_ids & person.organization_ids and _may_act(instance, person) for person in callers):
            return True
    return False


async def members_of(session: AsyncSession, organizations: Collection[int]) -> dict[int, Sequence[Caller]]:
    members = await identity.users_of(session, frozenset(organizations)) if organizations else ()
    callers = (await identity.load_callers(session, [member.public_id for member in members])).values()
    return {key: [person for person in callers if key in person.organization_ids] for key in organizations}


async def running_versions(session: AsyncSession) -> dict[UUID, Definition]:
    return {key: await definitions.load(session, key) for key in await assignee_rows.versions_running(session)}


def pending_by_definition(instance: InstanceState) -> PendingAssignees:
    if instance.row.assigned_user_id is not None:
        return PendingAssignees(users=frozenset({instance.row.assigned_user_id}))
    if is_first_draft(instance.row, instance.definition):
        return PendingAssignees(frozenset({instance.facts.originator_organization_id}))
    return pending_assignees.assignees_of(instance.definition, instance.row.current_state, instance.facts)


def pending_without_query(instance: InstanceState, pending: PendingAssignees | None = None) -> WaitingForOut | None:
    """
    Return the assignees, or None if that needs a query.

    :param pending: the assignees, if they were just read
    """
    row, state = instance.row, instance.state
    if state.terminal or row.status != InstanceStatus.ACTIVE:
        return NOBODY_ASKED
    if row.assigned_user_id is not None or state.review is not None:
        return None
    assignees = pending or pending_by_definition(instance)
    if assignees.users or assignees.named or assignees.holders:
        return None
    names, sure = instance.facts.organizations, _sure_organizations(instance, assignees)
    shown = [_organization_out(*names[key]) for key in sure if key in names]
    if len(shown) < len(sure) or not sure:
        return None
    return NOBODY_ASKED.model_copy(update={"organizations": sorted(shown, key=_organization_code)})


def _sure_organizations(instance: InstanceState, pending: PendingAssignees) -> list[int]:
    return [key for key in pending.organizations if instance.facts.open_to(key, instance.row.current_state)]


def _organization_out(public_id: UUID, code: str) -> AskedOrganizationOut:
    return AskedOrganizationOut(public_id=public_id, code=code)


def _organization_code(organization: AskedOrganizationOut) -> str:
    return organization.code


async def pending_with(session: AsyncSession, instances: Iterable[InstanceState]) -> dict[UUID, WaitingForOut]:
    waits: dict[UUID, WaitingForOut] = {}
    to_read: dict[UUID, tuple[InstanceState, PendingAssignees]] = {}
    for instance in instances:
        shown = pending_without_query(instance)
        if shown is not None:
            waits[instance.row.id] = shown
        else:
            to_read[instance.row.id] = (instance, pending_by_definition(instance))
    return waits | (await _read_pending(session, to_read) if to_read else {})


async def pending_with_exactly(session: AsyncSession, instance: InstanceState) -> WaitingForOut:
    """Return the assignees, and check the members of organizations, which lists and steps do not."""
    waits = (await pending_with(session, [instance]))[instance.row.id]
    reviewed = instance.state.review is not None  # its branches set `nobody`
    is_exact = waits.nobody or waits.people_count or reviewed or is_first_draft(instance.row, instance.definition)
    if is_exact or not waits.organizations:
        return waits
    is_stuck = not await act_for(session, pending_by_definition(instance).organizations, instance)
    return waits.model_copy(update={"nobody": is_stuck})


async def _read_pending(
    session: AsyncSession, instances: Mapping[UUID, tuple[InstanceState, PendingAssignees]]
) -> dict[UUID, WaitingForOut]:
    people = await _visible_assignees(session, instances)
    names = {key: words for instance, _ in instances.values() for key, words in instance.facts.organizations.items()}
    missing = {key for _, pending in instances.values() for key in pending.organizations} - names.keys()
    if missing:
        names |= await repository.organizations(session, sorted(missing))
    able_organizations = await _organizations_able_to_act(session, instances, people)
    stuck_ids = {key for key, organizations in able_organizations.items() if not organizations}
    waits = {}
    for key, (instance, pending) in instances.items():
        shown, count = _person_refs(instance, people.get(key, ()))
        asked_organizations = [
            _organization_out(*names[each])
            for each in able_organizations.get(key) or _sure_organizations(instance, pending)
            if each in names
        ]
        waits[key] = WaitingForOut(
            organizations=sorted(asked_organizations, key=_organization_code),
            people=shown,
            people_count=count,
            nobody=key in stuck_ids or (bool(pending.users) and key not in people),
        )
    return waits


def _awaits_people(instance: InstanceState, pending: PendingAssignees) -> bool:
    return instance.state.review is not None or bool(pending.users or pending.named or pending.holders)


async def _visible_assignees(
    session: AsyncSession, pending: Mapping[UUID, tuple[InstanceState, PendingAssignees]]
) -> dict[UUID, list[Any]]:
    asking = [key for key, (instance, assignees) in pending.items() if _awaits_people(instance, assignees)]
    rows = await assignee_rows.asked_people(session, asking, most=MAX_NAMED_PEOPLE) if asking else ()
    assigned = {row.public_id for row in rows if pending[row.instance_id][1].users}
    callers = await identity.load_callers(session, assigned)
    people: dict[UUID, list[Any]] = {}
    for row in rows:
        instance, assignees = pending[row.instance_id]
        person = callers.get(row.public_id)
        if not assignees.users or (person is not None and instance.facts.seen_by(person, instance.row.current_state)):
            people.setdefault(row.instance_id, []).append(row)
    return people


def _person_refs(instance: InstanceState, rows: Sequence[Any]) -> tuple[list[PersonRef], int]:
    review = instance.state.review
    if not rows or (review is not None and review.hidden):
        return [], 0
    people = [PersonRef(public_id=row.public_id, display_name=display_name(row)) for row in rows]
    return people, max(len(rows), rows[0].count if len(rows) == MAX_NAMED_PEOPLE else 0)


async def _organizations_able_to_act(
    session: AsyncSession,
    instances: Mapping[UUID, tuple[InstanceState, PendingAssignees]],
    people: Mapping[UUID, Sequence[Any]],
) -> dict[UUID, list[int]]:
    """Return the organizations with a member who may act, where none is sure to see the subject."""
    doubtful = {
        key: (instance, pending)
        for key, (instance, pending) in instances.items()
        if key not in people
        and not _sure_organizations(instance, pending)
        and pending_assignees.expects(instance.state)
        and instance.state.review is None  # its branches set `nobody`
    }
    places = {each for _, pending in doubtful.values() for each in pending.organizations}
    members = await members_of(session, places) if places else {}
    return {
        key: [each for each in pending.organizations if any(_may_act(instance, person) for person in members[each])]
        for key, (instance, pending) in doubtful.items()
    }


@dataclass(frozen=True, slots=True)
class NotificationAudience:
    """:param states: present states, where the event has none"""

    facts: Mapping[str, SubjectFacts] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[UUID, Definition] = field(default_factory=dict)

    def sees(self, person: Caller, stand: SubjectState) -> bool:
        facts = self.facts.get(stand.entity_id)
        if facts is None:
            # The sender of an event chooses the readers of a subject without a workflow.
            return not stand.entity_type and stand.entity_id not in self.states
        state, version = stand.state or self.states.get(stand.entity_id, ""), self._version(stand)
        # A withdrawn draft was never issued: its end opens it to nobody.
        is_withdrawn = version is not None and version.state(state).means == "withdrawn"
        return facts.seen_by(person, CANCELLED.name if is_withdrawn else state)

    def asks(self, person: Caller, stand: SubjectState) -> bool:
        facts, version = self.facts.get(stand.entity_id), self._version(stand)
        if facts is None or version is None or stand.state is None:
            return person.may_anywhere(ACTS)
        return pending_assignees.asks(version, stand.state, person, facts)

    def permissions(self, stand: SubjectState) -> frozenset[str] | None:
        """Return permissions of which every person that `asks` accepts has one; None if some need none."""
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
    kinds = {event_state.entity_id: event_state.entity_type for event_state in stands if event_state.entity_type}
    states: dict[str, str] = {}
    without_type = {event_state.entity_id for event_state in stands} - kinds.keys()
    for entity_type, entity_id, state in (
        await assignee_rows.current_states(session, without_type) if without_type else ()
    ):
        kinds[entity_id], states[entity_id] = entity_type, state
    system = await identity.system_caller(session)
    facts: dict[str, SubjectFacts] = {}
    for kind in sorted(set(kinds.values())):
        if kind in subjects:
            entity_ids = [key for key, event_state in kinds.items() if event_state == kind]
            facts |= await subjects.port(kind).facts(session, caller=system, entity_ids=entity_ids)
    keys = {event_state.definition for event_state in stands} - {None}
    versions = {key: await definitions.load(session, key) for key in keys if key is not None}
    return NotificationAudience(facts, states, versions)
