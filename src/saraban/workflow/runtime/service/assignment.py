"""
Renews the assignees of running instances after changes of answers, teams, roles and accounts.

No step is missed: `identity.service.share_rights` holds a change of rights back until every step taken under the earlier
rights is committed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.service import Event, Handlers, NewEvent, record_all
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.kit.db import Database
from saraban.projects import service as projects
from saraban.workflow.engine import pending_assignees
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import review_response
from saraban.workflow.runtime.models import Instance, WorkflowBranch
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import assignees, branches, definitions
from saraban.workflow.runtime.service.subjects import InstanceState, Subjects, facts_of

UNATTENDED = "workflow.unattended"


async def renew_people(session: AsyncSession, instance: InstanceState, *, now: datetime) -> PendingAssignees:
    """
    Replace the people that an instance awaits; return all its assignees.

    People who stay keep their place in the inbox.
    """
    row, pending = instance.row, await assignees.pending_in(session, instance)
    await assignee_rows.await_people(session, instance_id=row.id, state=row.current_state, users=pending.users, now=now)
    return pending


@dataclass(frozen=True, slots=True)
class AssignmentRenewal:
    subjects: Subjects

    def subscribe(self, handlers: Handlers) -> None:
        handlers.add(projects.TEAM_CHANGED, self.team_changed)
        handlers.add(identity.ACCOUNT_CHANGED, self.account_changed)

    async def team_changed(self, session: AsyncSession, event: Event) -> None:
        project = event.uuid_in("projectPublicId")
        await renew_for_teams(session, subjects=self.subjects, project_public_id=project, now=event.created_at)

    async def account_changed(self, session: AsyncSession, event: Event) -> None:
        person, has_left = event.uuid_in("userPublicId"), bool(event.payload.get("hasLeft"))
        await renew_for_person(
            session, subjects=self.subjects, public_id=person, now=event.created_at, has_left=has_left
        )


async def renew_for_teams(session: AsyncSession, *, subjects: Subjects, project_public_id: UUID, now: datetime) -> None:
    project = await projects.find_project(session, public_id=project_public_id, pointer="")
    facts = await _facts_by_instance(session, subjects, await assignee_rows.asking_teams(session))
    # Lock the instances of this project only.
    facts_in_project = {key: subject for key, subject in facts.items() if subject.scope.project == project.id}
    await _renew_locked(session, facts_in_project, now=now)


async def renew_for_person(
    session: AsyncSession, *, subjects: Subjects, public_id: UUID, now: datetime, has_left: bool = False
) -> None:
    """
    Renew the instances that awaited a person, or await them now.

    :param has_left: the account was closed or moved; notify authors of documents that await it
    """
    person = (await identity.load_callers(session, [public_id])).get(public_id)
    awaiting = await assignee_rows.waiting_for(session, public_id=public_id)
    in_states: Sequence[Instance] = ()
    branches_asking: Sequence[tuple[Instance, WorkflowBranch]] = ()
    if person is not None and not person.is_service:
        running = await assignees.running_versions(session)
        states = pending_assignees.states_of_person(running, person)
        in_states = await assignee_rows.in_states(session, states)
        branches_asking = await assignee_rows.asking(session, person=person)
    rows = {row.id: row for row in (*awaiting, *in_states, *(row for row, _ in branches_asking))}
    facts = await _facts_by_instance(
        session, subjects, [row for row in rows.values() if await _depends_on_people(session, row)]
    )
    if has_left:
        await _notify_authors(session, subjects, awaiting, person, now=now)
    asking_ids = frozenset[UUID]()
    if person is not None:
        asking_ids |= await _instances_to_act(session, person, in_states, facts)
        asking_ids |= await _instances_to_answer(session, person, branches_asking, facts)
    changed = asking_ids ^ {row.id for row in awaiting}
    await _renew_locked(session, {key: facts[key] for key in changed & facts.keys()}, now=now)


async def _notify_authors(
    session: AsyncSession, subjects: Subjects, rows: Sequence[Instance], person: Caller | None, *, now: datetime
) -> None:
    """Notify authors of documents that await, by name, a person who cannot open them."""
    for key, facts in (await _facts_by_instance(session, subjects, rows)).items():
        row = next(row for row in rows if row.id == key)
        if person is not None and facts.seen_by(person, row.current_state):
            continue
        if assignees.pending_by_definition(
            InstanceState(row, await definitions.load(session, row.definition_id), facts)
        ).users:
            authors = await repository.user_public_ids(session, {facts.submitter_user_id or 0})
            names = {"documentPublicId": str(facts.public_id), "documentKind": facts.kind, "number": facts.number}
            subject = {"title": facts.title, "entityId": row.entity_id, "entityType": row.entity_type}
            payload = {**names, **subject, "notify": {"users": [str(author) for author in authors.values()]}}
            await record_all(session, [NewEvent(UNATTENDED, "workflow_instance", str(key), payload, now)])


async def _depends_on_people(session: AsyncSession, row: Instance) -> bool:
    definition, state = await definitions.load(session, row.definition_id), row.current_state
    asks = definition.state(state).review is not None or pending_assignees.by_person(definition, state)
    return asks and not assignees.is_first_draft(row, definition)


async def _instances_to_act(
    session: AsyncSession, person: Caller, rows: Iterable[Instance], facts_by_id: Mapping[UUID, SubjectFacts]
) -> frozenset[UUID]:
    return frozenset(
        [
            row.id
            for row in rows
            if (facts := facts_by_id.get(row.id)) is not None
            and pending_assignees.asks_in_person(
                await definitions.load(session, row.definition_id), row.current_state, person, facts
            )
        ]
    )


async def _instances_to_answer(
    session: AsyncSession,
    person: Caller,
    asking: Iterable[tuple[Instance, WorkflowBranch]],
    facts_by_id: Mapping[UUID, SubjectFacts],
) -> frozenset[UUID]:
    places = {facts.scope.project for facts in facts_by_id.values()} - {None}
    seats = await branches.seats_of(
        session, user_ids=[person.user_id], project_ids=[key for key in places if key is not None]
    )
    return frozenset(
        row.id
        for row, branch in asking
        if (facts := facts_by_id.get(row.id)) is not None
        and facts.seen_by(person, row.current_state)
        and review_response.may_answer(
            branches.assignee_of(branch),
            person,
            facts,
            seats.get((person.user_id, facts.scope.project or 0), frozenset()),
        )
    )


async def _facts_by_instance(
    session: AsyncSession, subjects: Subjects, rows: Collection[Instance]
) -> dict[UUID, SubjectFacts]:
    caller = await identity.system_caller(session)
    facts = await facts_of(session, rows, caller=caller, subjects=subjects)
    return {row.id: facts[key] for row in rows if (key := (row.entity_type, row.entity_id)) in facts}


async def _renew_locked(session: AsyncSession, facts: Mapping[UUID, SubjectFacts], *, now: datetime) -> None:
    for row in await assignee_rows.hold(session, instance_ids=facts) if facts else ():
        definition = await definitions.load(session, row.definition_id)
        if not assignees.is_first_draft(row, definition):
            await renew_people(session, InstanceState(row, definition, facts[row.id]), now=now)


BATCH_SIZE = 50


async def refill(db: Database, *, subjects: Subjects) -> None:
    """
    Renew the work items of states that ask people by name or by their rights, after an upgrade.

    It may be stopped and run again; each batch is one transaction.
    """
    async with db.reading() as session:
        states = pending_assignees.states_by_person(await assignees.running_versions(session))
    after: UUID | None = None
    more = True
    while more:
        after = await db.transact(_refill_batch, subjects, states, after)
        more = after is not None


async def _refill_batch(
    subjects: Subjects, session: AsyncSession, states: Mapping[UUID, Sequence[str]], after: UUID | None
) -> UUID | None:
    """Return the last instance id of the batch, or None after the last batch."""
    batch = await assignee_rows.in_states(session, states, after=after, most=BATCH_SIZE)
    if not batch:
        return None
    rows = await assignee_rows.hold(session, instance_ids=[row.id for row in batch])
    facts = await facts_of(session, rows, caller=await identity.system_caller(session), subjects=subjects)
    for row in rows:
        definition = await definitions.load(session, row.definition_id)
        subject = facts.get((row.entity_type, row.entity_id))
        if subject is not None and not assignees.is_first_draft(row, definition):
            since = row.last_transition_at
            pending = await renew_people(session, InstanceState(row, definition, subject), now=since)
            await assignee_rows.await_organizations(
                session,
                instance_id=row.id,
                state=row.current_state,
                organizations=pending.organizations,
                since=since,
            )
    return batch[-1].id
