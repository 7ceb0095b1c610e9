"""
The people whom an instance waits for because of what they are or hold: written again with each answer of a review, and when
teams, roles or accounts change.

Nobody is missed between the two: `branches.people` and `assignees.asked_by_person` keep the rights by which they read whom to
ask until that is committed, and whoever changes teams, roles or accounts waits for it (`identity.service.share_rights`). So by the
time a change is heard of here, every step that was taken by the rights of before is there to be found.
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


async def renew_people(session: AsyncSession, one: InstanceState, *, now: datetime) -> PendingAssignees:
    """
    Make those who may still answer, beside those of its actions, the people whom an instance waits for, and return whom
    it waits for. Whoever was waited for before keeps their place in the inbox.
    """
    row, ahead = one.row, await assignees.pending_in(session, one)
    await assignee_rows.await_people(session, instance_id=row.id, state=row.current_state, users=ahead.users, now=now)
    return ahead


@dataclass(frozen=True, slots=True)
class AssignmentRenewal:
    """The event handlers that let steps ask who belongs to a team now, and who has a role now."""

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
    """Rewrite whom the open reviews of a project wait for, after its teams have changed."""
    project = await projects.find_project(session, public_id=project_public_id, pointer="")
    known = await _known(session, subjects, await assignee_rows.asking_teams(session))
    # Only this project's are held up by a change of its teams.
    await _ask_anew(session, {key: facts for key, facts in known.items() if facts.scope.project == project.id}, now=now)


async def renew_for_person(
    session: AsyncSession, *, subjects: Subjects, public_id: UUID, now: datetime, has_left: bool = False
) -> None:
    """
    Rewrite whom instances wait for, where they ask somebody since their roles or their account have changed, or did
    until then: by name, for what they hold, or for an answer.

    :param has_left: the account was closed or moved to another organization
    """
    person = (await identity.load_callers(session, [public_id])).get(public_id)
    there = await assignee_rows.waiting_for(session, public_id=public_id)
    more: Sequence[Instance] = ()
    branched: Sequence[tuple[Instance, WorkflowBranch]] = ()
    if person is not None and not person.is_service:
        running = await assignees.running_versions(session)
        states = pending_assignees.states_of_person(running, person)
        more = await assignee_rows.in_states(session, states)
        branched = await assignee_rows.asking(session, person=person)
    rows = {row.id: row for row in (*there, *more, *(row for row, _ in branched))}
    known = await _known(session, subjects, [row for row in rows.values() if await _asks_people(session, row)])
    if has_left:
        await _tell_authors(session, subjects, there, person, now=now)
    asked = frozenset[UUID]()
    if person is not None:
        asked |= await _asked_to_act(session, person, more, known)
        asked |= await _asked_to_answer(session, person, branched, known)
    # Where they were asked and still are, nothing has changed for anybody.
    changed = asked ^ {row.id for row in there}
    await _ask_anew(session, {key: known[key] for key in changed & known.keys()}, now=now)


async def _tell_authors(
    session: AsyncSession, subjects: Subjects, rows: Sequence[Instance], person: Caller | None, *, now: datetime
) -> None:
    """Notify the authors of documents that await, by name, a person who cannot open them any more."""
    for key, facts in (await _known(session, subjects, rows)).items():
        row = next(one for one in rows if one.id == key)
        if person is not None and facts.seen_by(person, row.current_state):
            continue
        if assignees.pending_by_definition(
            InstanceState(row, await definitions.load(session, row.definition_id), facts)
        ).users:
            authors = await repository.user_public_ids(session, {facts.submitter_user_id or 0})
            names = {"documentPublicId": str(facts.public_id), "documentKind": facts.kind, "number": facts.number}
            at = {"title": facts.title, "entityId": row.entity_id, "entityType": row.entity_type}
            told = {**names, **at, "notify": {"users": [str(one) for one in authors.values()]}}
            await record_all(session, [NewEvent(UNATTENDED, "workflow_instance", str(key), told, now)])


async def _asks_people(session: AsyncSession, row: Instance) -> bool:
    """Whether who is asked there changes with what people hold; a first draft asks nobody."""
    definition, state = await definitions.load(session, row.definition_id), row.current_state
    asks = definition.state(state).review is not None or pending_assignees.by_person(definition, state)
    return asks and not assignees.is_first_draft(row, definition)


async def _asked_to_act(
    session: AsyncSession, person: Caller, rows: Iterable[Instance], known: Mapping[UUID, SubjectFacts]
) -> frozenset[UUID]:
    return frozenset(
        [
            row.id
            for row in rows
            if (facts := known.get(row.id)) is not None
            and pending_assignees.asks_in_person(
                await definitions.load(session, row.definition_id), row.current_state, person, facts
            )
        ]
    )


async def _asked_to_answer(
    session: AsyncSession,
    person: Caller,
    asking: Iterable[tuple[Instance, WorkflowBranch]],
    known: Mapping[UUID, SubjectFacts],
) -> frozenset[UUID]:
    """The instances among those `asking` that they may see and answer for, as they are now."""
    places = {facts.scope.project for facts in known.values()} - {None}
    seats = await branches.seats_of(
        session, user_ids=[person.user_id], project_ids=[key for key in places if key is not None]
    )
    return frozenset(
        row.id
        for row, branch in asking
        if (facts := known.get(row.id)) is not None
        and facts.seen_by(person, row.current_state)
        and review_response.may_answer(
            branches.assignee_of(branch),
            person,
            facts,
            seats.get((person.user_id, facts.scope.project or 0), frozenset()),
        )
    )


async def _known(session: AsyncSession, subjects: Subjects, rows: Collection[Instance]) -> dict[UUID, SubjectFacts]:
    caller = await identity.system_caller(session)
    facts = await facts_of(session, rows, caller=caller, subjects=subjects)
    return {row.id: facts[key] for row in rows if (key := (row.entity_type, row.entity_id)) in facts}


async def _ask_anew(session: AsyncSession, known: Mapping[UUID, SubjectFacts], *, now: datetime) -> None:
    """Make those who may act or answer now the people whom instances wait for, as these stand when they are locked."""
    for row in await assignee_rows.hold(session, instance_ids=known) if known else ():
        definition = await definitions.load(session, row.definition_id)
        if not assignees.is_first_draft(row, definition):
            await renew_people(session, InstanceState(row, definition, known[row.id]), now=now)


AT_ONCE = 50


async def refill(db: Database, *, subjects: Subjects) -> None:
    """
    Make the work items of running instances, whose state asks people by name or for what they hold, those of today.

    After an upgrade: by the rules of before, or of another version of the product, somebody else was asked or nobody, and
    until the next step nothing else would ask anew. It changes nothing that is right already, so it may be broken off and run again; each batch is a transaction of its own.
    """
    async with db.reading() as session:
        asking = pending_assignees.states_by_person(await assignees.running_versions(session))
    after: UUID | None = None
    more = True
    while more:
        after = await db.transact(_refill_batch, subjects, asking, after)
        more = after is not None


async def _refill_batch(
    subjects: Subjects, session: AsyncSession, asking: Mapping[UUID, Sequence[str]], after: UUID | None
) -> UUID | None:
    """The last of those that were looked at, None where there are no more."""
    found = await assignee_rows.in_states(session, asking, after=after, most=AT_ONCE)
    if not found:
        return None
    rows = await assignee_rows.hold(session, instance_ids=[row.id for row in found])
    facts = await facts_of(session, rows, caller=await identity.system_caller(session), subjects=subjects)
    for row in rows:
        definition = await definitions.load(session, row.definition_id)
        seen = facts.get((row.entity_type, row.entity_id))
        if seen is not None and not assignees.is_first_draft(row, definition):
            since = row.last_transition_at
            ahead = await renew_people(session, InstanceState(row, definition, seen), now=since)
            await assignee_rows.await_organizations(
                session,
                instance_id=row.id,
                state=row.current_state,
                organizations=ahead.organizations,
                since=since,
            )
    return found[-1].id
