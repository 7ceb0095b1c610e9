"""
Writes a decided step and the automatic steps after it: history, instance, subject, events, audit.

The compare-and-set of `version_no` has the last word in every race.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import EVERYTHING, Caller
from saraban.kit.operation import Receipt
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.engine.decisions import Step
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.outcome import Meaning
from saraban.workflow.language.subject import InstanceStatus, SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.service import assignment, branches, instances, workflow_events
from saraban.workflow.runtime.service.subjects import SubjectStep
from saraban.workflow.runtime.service.transition_metrics import TakenTransition
from saraban.workflow.runtime.service.transition_request import (
    ORDINARY,
    Command,
    Decision,
    HeldInstance,
    StepRecord,
    StepTaken,
    Transitioned,
    VersionLost,
    acting_organization,
    behalf_of,
    item_details,
)


async def persist_transition(session: AsyncSession, decision: Decision) -> Transitioned:
    """
    Write a decided step and the automatic steps that its definition lets follow, each with its history, version and event.

    :raises VersionConflict: when a compare-and-set found another version; nothing may be committed then
    """
    held = decision.held
    if decision.step is None:
        assert decision.receipt is not None  # a policy that decides no step says what it has done
        return Transitioned(held.row.id, decision.receipt, after=held)
    last = await _take_step(session, held, decision.step, decision.command, decision.record)
    taken = [last.taken]
    while (following := await _automatic_step(session, last.after, last.step)) is not None:
        system_held, step = following
        last = await _take_step(session, system_held, step, Command(step.action), ORDINARY)
        taken.append(last.taken)
    after = last.after if len(taken) == 1 else replace(last.after, ctx=held.ctx, seats=held.seats)
    receipt = decision.receipt or receipt_of(after.row.id, taken[0])
    return Transitioned(after.row.id, receipt, tuple(taken), after, last.waiting if last.record.asks is None else None)


def receipt_of(instance_id: UUID, taken: TakenTransition) -> Receipt:
    """Return what is kept of a step: enough to answer a repetition."""
    outcome: dict[str, str | int | None] = {
        "history": str(taken.history_id),
        "from": taken.from_state,
        "to": taken.to_state,
        "version": taken.version_no,
    }
    return Receipt("workflow_instance", instance_id, outcome)


async def _take_step(
    session: AsyncSession, held: HeldInstance, step: Step, command: Command, record: StepRecord
) -> StepTaken:
    now = held.row.not_before(held.ctx.now)
    values, details = await instances.rules_of(session, held, step, now=now)
    record = replace(record, values={**values, **record.values}, details={**details, **record.details})
    taken = StepTaken(held, step, command, now, record, after=held)
    await _apply(session, taken)
    if record.applies:
        await branches.open_round(session, taken.after, now=now)
    work_items = await _pending(session, taken)
    if not await repository.update_instance(session, taken.after.row):
        raise VersionLost("The version changed between the lock and the update.")
    await repository.insert_history(session, _history(taken))
    if work_items is not None:
        await repository.write_work_items(session, work_items)
    await events.record_all(session, await workflow_events.events_of(session, taken))
    await audit.record(replace(taken.after.ctx, now=now), session, _entry(taken))
    if command.attachment_public_ids:
        at, project = replace(held.ctx, now=now), held.facts.scope.project
        await attachments.attach_to_step(at, session, command.attachment_public_ids, taken.key, project)
    return taken


async def _apply(session: AsyncSession, taken: StepTaken) -> None:
    """Apply the step to its subject, and read the facts again where the subject has changed who has still to act."""
    held, facts = taken.held, taken.held.facts
    if taken.record.applies and await held.port.apply(session, _subject_step(taken)):
        found = await held.port.facts(session, caller=held.caller, entity_ids=[facts.entity_id])
        facts = found.get(facts.entity_id, facts)
    has_files = held.has_files or bool(taken.command.attachment_public_ids)
    taken.after = replace(held, row=_moved_row(taken), facts=facts, has_files=has_files)


async def _pending(session: AsyncSession, taken: StepTaken) -> repository.WorkItems | None:
    """Find whom the instance waits for; return its work items, None where one person is asked besides the others."""
    if taken.record.asks is not None:
        # In a review one branch asks another person: everybody else keeps their place in the inbox.
        await assignment.renew_people(session, taken.after, now=taken.now)
        taken.waiting = PendingAssignees(users=frozenset({taken.record.asks}))
        return None
    taken.waiting = await instances.pending_in(session, taken.after)
    return instances.work_items_of(taken.after, taken.waiting, since=taken.now)


async def _automatic_step(session: AsyncSession, after: HeldInstance, step: Step) -> tuple[HeldInstance, Step] | None:
    """Return the automatic step that follows, in the name of the system, which needs nobody's permission."""
    if not step.goes_on or after.row.status != InstanceStatus.ACTIVE:
        return None
    system = replace(after.ctx, caller=await identity.system_caller(session))
    held = replace(after, ctx=system, seat=None, seats=())
    facts = decisions.Facts(held.caller, held.facts, context=held.row.context or {})
    following = decisions.automatic(after.definition, step, facts)
    return None if following is None else (held, following)


def _history(taken: StepTaken) -> dict[str, Any]:
    step, row, caller, seat = taken.step, taken.after.row, taken.held.caller, taken.held.seat
    known = {"events": list(step.events), "versionNo": row.version_no, **taken.record.details}
    details: dict[str, Any] = known | ({"nobody": True} if taken.waiting.nobody else {})
    if taken.command.payload:
        details["payload"] = dict(taken.command.payload)
    if not step.automatic:
        details |= item_details(taken.command)
    if step.response_code is not None:
        details["responseCode"] = step.response_code
    if step.automatic:
        details["automatic"] = True
    elif taken.record.audited == ORDINARY.audited:
        details |= _seats(seat or caller, taken.held.facts)
    return {
        "id": str(taken.key),
        "instance_id": str(row.id),
        "from_state": step.state,
        "to_state": step.next_state,
        "action": step.action,
        "action_by_user_id": caller.user_id,
        "action_by_user_uuid": str(caller.public_id),
        **behalf_of(taken.held),
        "acting_organization_id": acting_organization(taken.held),
        "comment": taken.command.comment,
        "metadata": details,
        "created_at": taken.now,
    }


def _seats(caller: Caller, facts: SubjectFacts) -> dict[str, Any]:
    """By whose organizations the step was taken, for who asks later; whoever may do everything needs none."""
    return {} if caller.may(EVERYTHING, facts.scope) else {"seats": sorted(caller.organization_ids)}


def _moved_row(taken: StepTaken) -> Instance:
    """The row as it stands after the step, for the answer; the database is changed by compare-and-set alone."""
    row, step = taken.held.row, taken.step
    values: dict[str, Any] = {
        "current_state": step.next_state,
        "status": InstanceStatus.COMPLETED if step.terminal else row.status,
        "context": step_data.after(taken.held.definition, row.context or {}, taken.command.payload),
        "version_no": row.version_no + 1,
        "last_transition_at": taken.now,
        "updated_at": taken.now,
    }
    return replace(row, **values | dict(taken.record.values))


def _subject_step(taken: StepTaken) -> SubjectStep:
    """The step with what the definition says of it, so that a subject reads nothing out of names."""
    held, step = taken.held, taken.step
    there, left = held.definition.state(step.next_state), held.definition.states.get(step.state)
    transition = left.on.get(step.action) if left else None
    return SubjectStep(
        held.facts,
        held.seat or held.caller,
        step,
        taken.now,
        Meaning(there.outcome, there.asks, transition.decider if transition else None),
        () if step.automatic else taken.command.item_results,
    )


def _entry(taken: StepTaken) -> audit.AuditEntry:
    step, after, facts, seat = taken.step, taken.after, taken.after.facts, taken.after.seat
    return audit.AuditEntry(
        action=taken.record.audited,
        severity=taken.record.severity,
        entity_type=facts.kind,
        entity_id=str(facts.public_id),
        details={
            "instancePublicId": str(after.row.id),
            "number": facts.number,
            "action": step.action,
            "from": step.state,
            "to": step.next_state,
            **({"onBehalfOfPublicId": str(seat.public_id)} if seat else {}),
            **({"values": dict(taken.command.payload)} if taken.command.payload else {}),
            **taken.record.details,
        },
    )
