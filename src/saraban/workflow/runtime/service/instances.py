"""
Starts and ends instances, says on what terms a state is entered (its due date, the one person it is given to), and shows
where each stands and what a caller may do there.

A due date moves nothing by itself: a day that has passed is reminded of, and that is all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.dates import local_date
from saraban.kit.ids import new_id
from saraban.kit.json import JsonObject
from saraban.projects import service as projects
from saraban.projects.domain.calendar import WorkCalendar, working_days_after
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.engine.decisions import Step
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.engine.pending_assignees import assignees_of as waiting_of
from saraban.workflow.language.definition import CANCELLED, Definition, State
from saraban.workflow.language.registers import Matter
from saraban.workflow.language.review import BranchView
from saraban.workflow.language.subject import NOBODY_ASKED, Envelope, InstanceStatus, StepFile, SubjectFacts, WaitingFor
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import delegation, interventions
from saraban.workflow.runtime.models import Instance, WorkflowHistory, WorkflowInstance
from saraban.workflow.runtime.service import assignees, definitions
from saraban.workflow.runtime.service import branches as reviews
from saraban.workflow.runtime.service.assignees import (
    InstanceState,
    pending_with,
    pending_with_exactly,
    pending_without_query,
    with_branches,
)
from saraban.workflow.runtime.service.delegations import DelegatedRights, delegated_rights_of
from saraban.workflow.runtime.service.step_data import stated_values
from saraban.workflow.runtime.service.transition_request import HeldInstance


async def start(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    code: str,
    entity_type: str,
    facts: SubjectFacts,
    context: JsonObject | None = None,
    matter: Matter | None = None,
) -> None:
    """
    Start an instance of the active version, in the transaction that creates its subject.

    A first draft waits for nobody but its author, so it is in no inbox; one that comes back is.

    :param matter: what starts: the workflow that is chosen for it comes before `code`
    :raises WorkflowNotDefined: when no version of the workflow is active
    :raises Invalid: when the context does not fit the definition's schema
    """
    definition_id, definition = await definitions.active(session, code=code, matter=matter)
    step_data.check_context(definition, context or {})
    stored = WorkflowInstance(
        id=new_id(),
        definition_id=definition_id,
        contract_id=facts.scope.contract,
        entity_type=entity_type,
        entity_id=facts.entity_id,
        current_state=definition.initial,
        status=InstanceStatus.ACTIVE,
        context=dict(context or {}),
        version_no=1,
        started_by_user_id=ctx.caller.user_id,
        due_on=await due_on(session, state=definition.states[definition.initial], facts=facts, now=ctx.now),
        last_transition_at=ctx.now,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    session.add(stored)
    await session.flush()
    session.expunge(stored)
    row = Instance.of(stored)
    await reviews.open_round(session, instance=row, definition=definition, now=ctx.now)
    if not definition.states[definition.initial].editable:
        await renew_work_items(session, EnteredState(row, definition, facts, ctx.now))


async def lock(session: AsyncSession, *, entity_type: str, entity_ids: Sequence[str]) -> None:
    """
    Hold the instances of these subjects until the transaction ends, so that nobody takes a step meanwhile.

    Whoever changes a subject because of where its workflow stands comes here first, and reads where it stands after it.
    """
    if entity_ids:
        await repository.instances_of(session, entity_type, entity_ids, lock=True)


async def cancel(ctx: RequestContext, session: AsyncSession, *, entity_type: str, entity_id: str, reason: str) -> None:
    """
    Put an instance into `cancelled`, wherever it stands; what was cancelled before stays as it is.

    Its subject was withdrawn: that can happen in every state, the final ones too, so no definition needs to provide it.
    """
    found = await repository.instances_of(session, entity_type, [entity_id], lock=True)
    row = found.get(entity_id)
    if row is None or row.status == InstanceStatus.CANCELLED:
        return
    now = row.not_before(ctx.now)
    gone = {"due_on": None, "assigned_user_id": None}
    values = {
        "current_state": CANCELLED.name,
        "status": InstanceStatus.CANCELLED,
        "updated_at": now,
        "last_transition_at": now,
        **gone,
    }
    await repository.compare_and_set(session, public_id=row.id, expected=row.version_no, values=values)
    session.add(
        WorkflowHistory(
            id=new_id(),
            instance_id=row.id,
            from_state=row.current_state,
            to_state=CANCELLED.name,
            action=interventions.CANCEL,
            action_by_user_id=ctx.caller.user_id,
            action_by_user_uuid=str(ctx.caller.public_id),
            comment=reason,
            details={"versionNo": row.version_no + 1},
            created_at=now,
        )
    )
    await reviews.close(session, instance_id=row.id, now=now)
    await repository.write_work_items(session, repository.WorkItems(row.id, CANCELLED.name, (), (), now))


async def renew_pending(session: AsyncSession, *, entity_type: str, facts: SubjectFacts, now: datetime) -> None:
    """Rewrite whom an instance waits for, after its subject changed its recipients or assignees."""
    found = await repository.instances_of(session, entity_type, [facts.entity_id], lock=True)
    row = found.get(facts.entity_id)
    if row is None or row.status != InstanceStatus.ACTIVE:
        return
    definition = await definitions.load(session, row.definition_id)
    if not definition.states[row.current_state].editable:
        await renew_work_items(session, EnteredState(row, definition, facts, now))


@dataclass(frozen=True, slots=True)
class EnteredState:
    """An instance in the state for which somebody is to be asked, from the moment `at`."""

    row: Instance
    definition: Definition
    facts: SubjectFacts
    at: datetime


async def renew_work_items(session: AsyncSession, entered: EnteredState) -> None:
    """Make the work items of an instance those of its present state."""
    waiting = await pending_in(session, entered)
    await repository.write_work_items(session, work_items_of(entered, waiting))


def work_items_of(entered: EnteredState, waiting: PendingAssignees) -> repository.WorkItems:
    """Return the work items of an instance, as they are written."""
    row = entered.row
    return repository.WorkItems(row.id, row.current_state, waiting.organizations, waiting.users, entered.at)


async def pending_in(session: AsyncSession, entered: EnteredState) -> PendingAssignees:
    """
    Return whom an instance waits for in its present state, people by key, and whether that is nobody who may see it.

    What was given to one person waits for that person alone.
    """
    row, definition, facts = entered.row, entered.definition, entered.facts
    state = row.current_state
    found = waiting_of(definition, state, facts)
    if row.assigned_user_id is not None:
        found = PendingAssignees(users=frozenset({row.assigned_user_id}))
    users = found.users | await assignees.asked_by_person(session, found, facts=facts, state=state)
    if definition.state(state).review is None:
        found = PendingAssignees(found.organizations, users)
        return await assignees.checked(session, found, definition=definition, state=state, facts=facts)
    asked = await reviews.people(session, instance_id=row.id, facts=facts)
    return PendingAssignees(found.organizations, users.union(*asked.values()), nobody=not all(asked.values()))


async def envelopes(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    entity_type: str,
    facts: Mapping[str, SubjectFacts],
    with_files: bool = True,
    now: datetime | None = None,
    alone: bool = False,
) -> dict[str, Envelope]:
    """
    Return the envelope of each subject that has an instance, in a fixed number of queries.

    :param facts: by entity id, as the caller sees them
    :param alone: where it is one that is read by itself: whether somebody may act is looked at closely
    :param now: when given, what the caller may do in the place of others at that moment counts too
    """
    if not facts:
        return {}
    lent = await delegated_rights_of(replace(ctx, now=now), session) if now is not None else DelegatedRights()
    rows = await repository.instances_of(session, entity_type, list(facts))
    files = await step_files(session, [row.id for row in rows.values()]) if with_files else {}
    known = {row.definition_id: await definitions.load(session, row.definition_id) for row in rows.values()}
    seats = {key: lent.of(known[row.definition_id].code, facts[key].scope.project) for key, row in rows.items()}
    reviewed = [
        reviews.ReviewedInstance(row, known[row.definition_id], facts[key], seats[key]) for key, row in rows.items()
    ]
    asked = await reviews.visible_branches(ctx, session, instances=reviewed)
    stand = [InstanceState(one.row, one.definition, one.facts) for one in reviewed]
    waits = (
        {one.row.id: await pending_with_exactly(session, one) for one in stand}
        if alone
        else await pending_with(session, stand)
    )
    return {
        key: envelope(
            ctx,
            row,
            known[row.definition_id],
            facts=facts[key],
            files=files.get(row.id, ()),
            branches=asked.get(row.id, ()),
            seats=seats[key],
            waits=waits.get(row.id, NOBODY_ASKED),
        )
        for key, row in rows.items()
    }


async def envelope_of(
    ctx: RequestContext,
    session: AsyncSession,
    one: reviews.ReviewedInstance,
    *,
    files: Sequence[StepFile] = (),
    ahead: PendingAssignees | None = None,
    alone: bool = False,
) -> Envelope:
    """
    Return the envelope of one instance with the branches and the names that belong to it.

    :param ahead: whom it waits for, where that was just asked
    :param alone: where it is read by itself: whether somebody may act is looked at closely
    """
    row, definition, facts = one.row, one.definition, one.facts
    asked = (await reviews.visible_branches(ctx, session, instances=[one])).get(row.id, ())
    stands = InstanceState(row, definition, facts)
    if alone:
        waits = await pending_with_exactly(session, stands)
    else:
        waits = pending_without_query(stands, ahead) or (await pending_with(session, [stands]))[row.id]
    found = envelope(ctx, row, definition, facts=facts, files=files, branches=asked, seats=one.seats, waits=waits)
    return replace(found, values=stated_values(definition, row.context))


def envelope_without_query(after: HeldInstance) -> Envelope | None:
    """Return the envelope of an instance as a request left it, for who asked, where all is known that it shows."""
    waits = pending_without_query(InstanceState(after.row, after.definition, after.facts), after.ahead)
    if waits is None or after.has_files or after.definition.reviews:
        return None
    found = envelope(after.ctx, after.row, after.definition, facts=after.facts, seats=after.seats, waits=waits)
    return replace(found, values=stated_values(after.definition, after.row.context))


async def envelope_after(session: AsyncSession, after: HeldInstance) -> Envelope:
    """Return the same, with what has to be read: files, branches, names of people."""
    files = (await step_files(session, [after.row.id])).get(after.row.id, ()) if after.has_files else ()
    one = reviews.ReviewedInstance(after.row, after.definition, after.facts, after.seats)
    return await envelope_of(after.ctx, session, one, files=files, ahead=after.ahead)


def envelope(
    ctx: RequestContext,
    row: Instance,
    definition: Definition,
    *,
    facts: SubjectFacts,
    files: Sequence[StepFile] = (),
    branches: Sequence[BranchView] = (),
    seats: Sequence[Caller] = (),
    waits: WaitingFor = NOBODY_ASKED,
) -> Envelope:
    """
    Put together what one caller sees of one instance.

    :param seats: in whose place the caller may act in this matter
    :param waits: whom it waits for, apart from its branches
    """
    state = definition.state(row.current_state)
    runs = row.status == InstanceStatus.ACTIVE
    moment = decisions.Facts(ctx.caller, facts, context=row.context or {}, assigned_user_id=row.assigned_user_id)
    return Envelope(
        instance_public_id=row.id,
        workflow_code=definition.code,
        status=row.status,
        current_state=row.current_state,
        state_label=state.label,
        terminal=state.terminal or not runs,
        actions=delegation.choices(definition, row.current_state, moment, seats) if runs else (),
        can_edit=runs and decisions.can_edit(state, ctx.caller, facts),
        last_transition_at=row.last_transition_at,
        version_no=row.version_no,
        entity_type=row.entity_type,
        facts=facts,
        step_attachments=tuple(files),
        state_help=state.help,
        due_on=row.due_on if runs else None,
        branches=tuple(branches),
        outcome=state.means,
        waiting_for=with_branches(waits, branches),
    )


async def step_files(session: AsyncSession, instance_ids: Sequence[UUID]) -> dict[UUID, tuple[StepFile, ...]]:
    """Return the files of the last two steps of each instance, newest step first (REQ-WFL-14)."""
    steps = await repository.latest_steps_with_files(session, instance_ids, each=2)
    found = await attachments.step_attachments(session, [history for _, history, _ in steps]) if steps else {}
    files: dict[UUID, list[StepFile]] = {}
    for instance_id, history_id, state in steps:
        for row in found.get(str(history_id), ()):
            file = StepFile(row.public_id, row.file_name, state, row.download_url)
            files.setdefault(instance_id, []).append(file)
    return {key: tuple(each) for key, each in files.items()}


INACTIVE, NOT_VISIBLE, NOT_PERMITTED = "inactive", "not_visible", "not_permitted"


@dataclass(frozen=True, slots=True)
class StepRules:
    """
    :param values: columns of the instance, for the step's own compare-and-set
    :param details: what the history says of an assignment, one that was dropped too
    """

    values: Mapping[str, object]
    details: JsonObject = field(default_factory=dict)


async def rules_of(
    session: AsyncSession, *, definition: Definition, step: Step, facts: SubjectFacts, now: datetime
) -> StepRules:
    """Return the terms of the state that a step leads to; whoever was in charge of the one before is not any more."""
    state = definition.state(step.next_state)
    due = await due_on(session, state=state, facts=facts, now=now)
    wanted = next((event["target"] for event in step.events if event["type"] == "assign"), None)
    if wanted is None or state.terminal:
        return StepRules({"due_on": due, "assigned_user_id": None})
    public_id, person = await _person(session, wanted, facts)
    dropped = _why_not(definition, state, person, facts)
    told = {"userPublicId": str(public_id) if public_id else None, "dropped": dropped}
    user_id = person.user_id if person is not None and dropped is None else None
    return StepRules({"due_on": due, "assigned_user_id": user_id}, {"assigned": told})


async def due_on(session: AsyncSession, *, state: State, facts: SubjectFacts, now: datetime) -> date | None:
    """Count the working days of a state from the day it is entered, in the calendar of the subject's project."""
    if state.due_days is None:
        return None
    project = facts.scope.project
    calendar = WorkCalendar() if project is None else await projects.work_calendar(session, project_id=project)
    return working_days_after(calendar, local_date(now, facts.zone), state.due_days)


async def _person(session: AsyncSession, wanted: str, facts: SubjectFacts) -> tuple[UUID | None, Caller | None]:
    """The one who is meant, and as a caller while the account is open."""
    if wanted == "submitter":
        if facts.submitter_user_id is None:
            return None, None
        known = await repository.user_public_ids(session, [facts.submitter_user_id])
        public_id = known[facts.submitter_user_id]
    else:
        public_id = UUID(wanted)
    return public_id, (await identity.load_callers(session, [public_id])).get(public_id)


def _why_not(definition: Definition, state: State, person: Caller | None, facts: SubjectFacts) -> str | None:
    if person is None:
        return INACTIVE
    if not facts.seen_by(person, state.name):
        return NOT_VISIBLE
    may = decisions.may_act(definition, state.name, decisions.Facts(person, facts))
    return None if may else NOT_PERMITTED
