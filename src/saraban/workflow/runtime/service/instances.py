"""Starts, cancels and shows instances."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.identity.domain.context import RequestContext
from saraban.kit.ids import new_id
from saraban.kit.json import JsonObject
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.definition import CANCELLED
from saraban.workflow.language.registers import Matter
from saraban.workflow.language.review import BranchOut
from saraban.workflow.language.subject import Envelope, InstanceStatus, StepAttachmentOut, SubjectFacts, WaitingForOut
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import delegation, interventions
from saraban.workflow.runtime.models import Instance, WorkflowHistory
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import assignees, branches, definitions
from saraban.workflow.runtime.service.definitions import StartingWorkflow
from saraban.workflow.runtime.service.delegations import NO_DELEGATED_RIGHTS, delegated_rights_of
from saraban.workflow.runtime.service.persist_transition import due_on
from saraban.workflow.runtime.service.step_data import stated_values
from saraban.workflow.runtime.service.subjects import InstanceState
from saraban.workflow.runtime.service.transition_request import HeldInstance


class StartingWorkflowChanged(Exception):
    """The transaction must be rolled back."""


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

    A first draft has no work items.

    :param matter: the workflow chosen for it comes before `code`
    :raises WorkflowNotDefined: when no version of the workflow is active
    :raises Invalid: when the context does not fit the definition's schema
    """
    while True:
        workflow = await definitions.starting(session, code=code, matter=matter)
        try:
            await start_found(ctx, session, workflow, entity_type=entity_type, facts=facts, context=context)
        except StartingWorkflowChanged:
            continue
        return


async def start_found(
    ctx: RequestContext,
    session: AsyncSession,
    workflow: StartingWorkflow,
    *,
    entity_type: str,
    facts: SubjectFacts,
    context: JsonObject | None = None,
) -> None:
    """:raises StartingWorkflowChanged: when new instances run on another version by now"""
    definition = workflow.definition
    step_data.check_context(definition, context or {})
    state = definition.states[definition.initial]
    row = Instance(
        id=new_id(),
        definition_id=workflow.definition_id,
        contract_id=facts.scope.contract,
        entity_type=entity_type,
        entity_id=facts.entity_id,
        current_state=definition.initial,
        status=InstanceStatus.ACTIVE,
        context=dict(context or {}),
        version_no=1,
        started_by_user_id=ctx.caller.user_id,
        due_on=await due_on(session, state=state, facts=facts, now=ctx.now),
        assigned_user_id=None,
        last_transition_at=ctx.now,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    if not await repository.start(session, row, workflow.matter, otherwise=workflow.code):
        raise StartingWorkflowChanged
    if state.editable and state.review is None:
        return
    instance = InstanceState(row, definition, facts)
    if definition.reviews:
        await branches.open_round(session, instance, now=ctx.now)
    if not state.editable:
        await assignees.renew_work_items(session, instance, since=ctx.now)


async def lock(session: AsyncSession, *, entity_type: str, entity_ids: Sequence[str]) -> None:
    """Lock the instances of these subjects; call it before reading a state that a change depends on."""
    if entity_ids:
        await repository.instances_of(session, entity_type, entity_ids, lock=True)


async def running(session: AsyncSession, *, entity_type: str, entity_ids: Collection[str]) -> set[str]:
    rows = await repository.instances_of(session, entity_type, entity_ids) if entity_ids else {}
    return {key for key, row in rows.items() if row.status == InstanceStatus.ACTIVE}


async def cancel(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    entity_type: str,
    entity_id: str,
    reason: str,
    even_ended: bool = True,
) -> None:
    """
    Put an instance into `cancelled`, from any state.

    :param even_ended: False leaves an instance that has ended as it is
    """
    rows = await repository.instances_of(session, entity_type, [entity_id], lock=True)
    row = rows.get(entity_id)
    if row is None or row.status == InstanceStatus.CANCELLED:
        return
    if row.status != InstanceStatus.ACTIVE and not even_ended:
        return
    now = row.not_before(ctx.now)
    values = {
        "current_state": CANCELLED.name,
        "status": InstanceStatus.CANCELLED,
        "updated_at": now,
        "last_transition_at": now,
        "due_on": None,
        "assigned_user_id": None,
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
            acting_organization_id=ctx.caller.organization_id,
            comment=reason,
            details={"versionNo": row.version_no + 1},
            created_at=now,
        )
    )
    await assignee_rows.close(session, instance_id=row.id, now=now)
    await repository.write_work_items(session, repository.WorkItems(row.id, CANCELLED.name, (), (), now))


async def renew_pending(
    session: AsyncSession, *, entity_type: str, facts: SubjectFacts, now: datetime, answered_by: int = 0
) -> None:
    """
    Renew the work items after a subject changed its recipients or assignees.

    :param answered_by: key of the user who answered; an assignment to that user is removed
    """
    rows = await repository.instances_of(session, entity_type, [facts.entity_id], lock=True)
    row = rows.get(facts.entity_id)
    if row is None or row.status != InstanceStatus.ACTIVE:
        return
    if row.assigned_user_id == answered_by:
        row.assigned_user_id, values = None, {"assigned_user_id": None}
        await repository.compare_and_set(session, public_id=row.id, expected=row.version_no, values=values)
    instance = InstanceState(row, await definitions.load(session, row.definition_id), facts)
    if not instance.state.editable:
        await assignees.renew_work_items(session, instance, since=now)


async def states_of(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    entity_type: str,
    entity_ids: Collection[str],
    facts: Mapping[str, SubjectFacts],
    now: datetime | None = None,
) -> dict[str, InstanceState]:
    rows = await repository.instances_with_files(session, entity_type, entity_ids)
    rights = await delegated_rights_of(replace(ctx, now=now), session) if now is not None else NO_DELEGATED_RIGHTS
    states: dict[str, InstanceState] = {}
    for key, (row, has_files) in rows.items():
        definition = await definitions.load(session, row.definition_id)
        seats = rights.of(definition.code, facts[key].scope.project)
        states[key] = InstanceState(row, definition, facts[key], seats, has_files=has_files)
    return states


async def envelopes(
    ctx: RequestContext, session: AsyncSession, states: Mapping[str, InstanceState], *, alone: str | None = None
) -> dict[str, Envelope]:
    """
    Return the envelope of each subject that has an instance, in a fixed number of queries.

    :param alone: the id for which the members of organizations are checked, too
    """
    if not states:
        return {}
    listed = [instance for key, instance in states.items() if key != alone]
    # Each step raises the version, but for an answer within a review.
    with_files = [
        instance.row.id
        for instance in states.values()
        if instance.has_files and (instance.row.version_no > 1 or instance.state.review is not None)
    ]
    files = await step_files(session, with_files)
    asked = await branches.visible_branches(ctx, session, states.values())
    waits = await assignees.pending_with(session, listed)
    if alone is not None and alone in states:
        waits[states[alone].row.id] = await assignees.pending_with_exactly(session, states[alone])
    return {
        key: envelope(
            ctx,
            instance,
            files=files.get(instance.row.id, ()),
            asked=asked.get(instance.row.id, ()),
            waits=waits[instance.row.id],
        )
        for key, instance in states.items()
    }


async def envelope_of(
    ctx: RequestContext,
    session: AsyncSession,
    instance: InstanceState,
    *,
    files: Sequence[StepAttachmentOut],
    waits: WaitingForOut,
) -> Envelope:
    asked = await branches.visible_branches(ctx, session, [instance])
    return envelope(ctx, instance, files=files, asked=asked.get(instance.row.id, ()), waits=waits, whole=True)


def envelope_without_query(after: HeldInstance, waiting: PendingAssignees | None) -> Envelope | None:
    waits = assignees.pending_without_query(after, waiting)
    if waits is None or after.has_files or after.definition.reviews:
        return None
    return envelope(after.ctx, after, waits=waits, whole=True)


async def envelope_after(session: AsyncSession, after: HeldInstance, waiting: PendingAssignees | None) -> Envelope:
    key = after.row.id
    files = (await step_files(session, [key])).get(key, ()) if after.has_files else ()
    waits = assignees.pending_without_query(after, waiting)
    waits = waits or (await assignees.pending_with(session, [after]))[key]
    return await envelope_of(after.ctx, session, after, files=files, waits=waits)


def envelope(
    ctx: RequestContext,
    instance: InstanceState,
    *,
    files: Sequence[StepAttachmentOut] = (),
    asked: Sequence[BranchOut] = (),
    waits: WaitingForOut,
    whole: bool = False,
) -> Envelope:
    """:param whole: include the values of its steps"""
    row, definition, facts, state = instance.row, instance.definition, instance.facts, instance.state
    is_active = row.status == InstanceStatus.ACTIVE
    decision_facts = decisions.Facts(
        ctx.caller, facts, context=row.context or {}, assigned_user_id=row.assigned_user_id
    )
    return Envelope(
        instance_public_id=row.id,
        workflow_code=definition.code,
        status=row.status,
        current_state=row.current_state,
        state_label=state.label,
        terminal=state.terminal or not is_active,
        actions=delegation.choices(definition, row.current_state, decision_facts, instance.seats) if is_active else (),
        can_edit=is_active and decisions.can_edit(state, ctx.caller, facts),
        last_transition_at=row.last_transition_at,
        version_no=row.version_no,
        entity_type=row.entity_type,
        facts=facts,
        values=stated_values(definition, row.context) if whole else (),
        step_attachments=tuple(files),
        state_help=state.help,
        due_on=row.due_on if is_active else None,
        branches=tuple(asked),
        outcome=state.means,
        # Under review it waits for nobody when one of its branches does.
        waiting_for=waits.model_copy(update={"nobody": True}) if any(branch.nobody for branch in asked) else waits,
    )


async def step_files(session: AsyncSession, instance_ids: Sequence[UUID]) -> dict[UUID, tuple[StepAttachmentOut, ...]]:
    """Return the files of the last two steps of each instance, newest step first (REQ-WFL-14)."""
    steps = await repository.latest_steps_with_files(session, instance_ids, each=2)
    attachments_by_step = (
        await attachments.step_attachments(session, [history for _, history, _ in steps]) if steps else {}
    )
    files: dict[UUID, list[StepAttachmentOut]] = {}
    for instance_id, history_id, state in steps:
        for row in attachments_by_step.get(str(history_id), ()):
            file = StepAttachmentOut(
                public_id=row.public_id, file_name=row.file_name, step_code=state, download_url=row.download_url
            )
            files.setdefault(instance_id, []).append(file)
    return {key: tuple(each) for key, each in files.items()}
