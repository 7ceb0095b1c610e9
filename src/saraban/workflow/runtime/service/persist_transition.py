"""
Writes steps that have been decided, and those that follow them by themselves: history, instance, subject, events, audit.

The compare-and-set of `version_no` has the last word in every race.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
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


async def persist_transitions(session: AsyncSession, decided: Sequence[Decision]) -> list[Transitioned]:
    """
    Write what was decided for several instances, apply it to their subjects, and tell of it: all that one commit holds.

    It is done at the moment of the latest of them, with about as many statements as for one. What a definition lets the
    engine do by itself after a step is done too, each with its own history, version and event.

    :raises VersionConflict: when the compare-and-set of one of them found another version; nothing may be committed then
    """
    now = max(one.now for one in decided)
    for one in decided:
        if one.write is not None:
            await one.write(session)
    ready = [await _with_rules(session, one, one.step, now) for one in decided if one.step is not None]
    if ready:
        await _take(session, ready)
    taken = iter(ready)
    return [await _go_on(session, one, next(taken)) if one.step is not None else _only_written(one) for one in decided]


def _only_written(one: Decision) -> Transitioned:
    assert one.receipt is not None  # who decides to take no step says what is done
    return Transitioned(one.held.row.id, one.receipt, after=one.held)


async def _go_on(session: AsyncSession, one: Decision, last: StepTaken) -> Transitioned:
    """Take the steps that the engine takes by itself after one; the instance is given as it stands then, for who asked."""
    taken = [last.taken]
    while (following := await _by_itself(session, last.after, last.step)) is not None:
        ours, step = following
        asked = Decision(ours, step, Command(step.action), one.now, trace=one.trace)
        last = await _with_rules(session, asked, step, one.now)
        await _take(session, [last])
        taken.append(last.taken)
    after = last.after if len(taken) == 1 else replace(last.after, ctx=one.held.ctx, seats=one.held.seats)
    receipt = one.receipt or receipt_of(after.row.id, taken[0])
    return Transitioned(after.row.id, receipt, tuple(taken), after, last.waiting if last.record.asks is None else None)


def receipt_of(instance_id: UUID, taken: TakenTransition) -> Receipt:
    """Return what is kept of a step: enough to say again what a request did."""
    outcome: dict[str, str | int | None] = {
        "history": str(taken.history_id),
        "from": taken.from_state,
        "to": taken.to_state,
        "version": taken.version_no,
    }
    return Receipt("workflow_instance", instance_id, outcome)


async def _take(session: AsyncSession, ready: Sequence[StepTaken]) -> None:
    """Take one step of each, with everything that belongs to it."""
    await _apply(session, ready)
    for one in ready:
        if one.record.applies and one.after.definition.reviews:
            await branches.open_round(session, one.after, now=one.now)
    await _write(session, ready)


async def _write(session: AsyncSession, ready: Sequence[StepTaken]) -> None:
    """Instances by compare-and-set, histories, work items, events and the trail."""
    awaited = await _ask(session, ready)
    told = await workflow_events.events_of(session, ready)
    for one in ready:
        if not await repository.update_instance(session, one.after.row):
            raise VersionLost("The version changed between the lock and the update.")
    await repository.insert_histories(session, [_history(one) for one in ready])
    for items in awaited:
        await repository.write_work_items(session, items)
    await events.record_all(session, told)
    for one in ready:
        await audit.record(replace(one.after.ctx, now=one.now), session, _entry(one))
    for one in ready:
        if one.command.attachment_public_ids:
            at = replace(one.held.ctx, now=one.now)
            await attachments.attach_to_step(
                at, session, one.command.attachment_public_ids, one.key, one.held.facts.scope.project
            )


async def _with_rules(session: AsyncSession, one: Decision, step: Step, now: datetime) -> StepTaken:
    held, record = one.held, one.record
    now = held.row.not_before(now)
    values, details = await instances.rules_of(session, held, step, now=now)
    values, details = {**values, **record.values}, {**details, **record.details}
    record = StepRecord(record.audited, record.severity, details, values, record.applies, record.asks)
    return StepTaken(held, step, one.command, now, record, one.trace, after=held)


async def _ask(session: AsyncSession, ready: Sequence[StepTaken]) -> list[repository.WorkItems]:
    """Find whom the instances wait for, and whom to tell of it; where nobody else is asked anew, the one person."""
    awaited = []
    for one in ready:
        if one.record.asks is not None:
            # In a review one branch asks another person: whoever is asked besides keeps their place in the inbox.
            await assignment.renew_people(session, one.after, now=one.now)
            one.waiting = PendingAssignees(users=frozenset({one.record.asks}))
        else:
            one.waiting = await instances.pending_in(session, one.after)
            awaited.append(instances.work_items_of(one.after, one.waiting, since=one.now))
    return awaited


async def _by_itself(session: AsyncSession, after: HeldInstance, step: Step) -> tuple[HeldInstance, Step] | None:
    """The automatic step that follows, in the name of the system, which needs nobody's permission."""
    if not step.goes_on or after.row.status != InstanceStatus.ACTIVE:
        return None
    system = replace(after.ctx, caller=await identity.system_caller(session))
    ours = replace(after, ctx=system, seat=None, seats=())
    facts = decisions.Facts(ours.caller, ours.facts, context=ours.row.context or {})
    following = decisions.automatic(after.definition, step, facts)
    return None if following is None else (ours, following)


def _history(one: StepTaken) -> dict[str, Any]:
    step, row, caller, seat = one.step, one.after.row, one.held.caller, one.held.seat
    known = {"events": list(step.events), "versionNo": row.version_no, **one.record.details}
    details: dict[str, Any] = known | ({"nobody": True} if one.waiting.nobody else {})
    if one.command.payload:
        details["payload"] = dict(one.command.payload)
    if not step.automatic:
        details |= item_details(one.command)
    if step.response_code is not None:
        details["responseCode"] = step.response_code
    if step.automatic:
        details["automatic"] = True
    elif one.record.audited == ORDINARY.audited:
        details |= _seats(seat or caller, one.held.facts)
    return {
        "id": str(one.key),
        "instance_id": str(row.id),
        "from_state": step.state,
        "to_state": step.next_state,
        "action": step.action,
        "action_by_user_id": caller.user_id,
        "action_by_user_uuid": str(caller.public_id),
        **behalf_of(one.held),
        "acting_organization_id": acting_organization(one.held),
        "comment": one.command.comment,
        "metadata": details,
        "created_at": one.now,
    }


def _seats(caller: Caller, facts: SubjectFacts) -> dict[str, Any]:
    """By whose organizations the step was taken, for who asks later; whoever may do everything needs none."""
    return {} if caller.may(EVERYTHING, facts.scope) else {"seats": sorted(caller.organization_ids)}


def _moved_row(one: StepTaken) -> Instance:
    """The row as it stands after the step, for the answer; the database is changed by compare-and-set alone."""
    row, step = one.held.row, one.step
    values: dict[str, Any] = {
        "current_state": step.next_state,
        "status": InstanceStatus.COMPLETED if step.terminal else row.status,
        "context": step_data.after(one.held.definition, row.context or {}, one.command.payload),
        "version_no": row.version_no + 1,
        "last_transition_at": one.now,
        "updated_at": one.now,
    }
    return replace(row, **values | dict(one.record.values))


async def _apply(session: AsyncSession, ready: Sequence[StepTaken]) -> None:
    """Tell the subjects; where a step has changed who has still to act, the facts are read again."""
    steps: dict[str, list[SubjectStep]] = {}
    ports = {one.held.row.entity_type: one.held.port for one in ready}
    for one in ready:
        if one.record.applies:
            steps.setdefault(one.held.row.entity_type, []).append(_subject_step(one))
    changed = {(kind, key) for kind, those in steps.items() for key in await ports[kind].apply(session, those)}
    for one in ready:
        held, facts = one.held, one.held.facts
        if (held.row.entity_type, facts.entity_id) in changed:
            found = await held.port.facts(session, caller=held.caller, entity_ids=[facts.entity_id])
            facts = found.get(facts.entity_id, facts)
        files = held.has_files or bool(one.command.attachment_public_ids)
        one.after = HeldInstance(  # what `replace` would give, in a third of its time
            _moved_row(one),
            held.definition,
            facts,
            held.seats,
            port=held.port,
            ctx=held.ctx,
            seat=held.seat,
            has_files=files,
        )


def _subject_step(one: StepTaken) -> SubjectStep:
    """The step with what the definition says of it, so that a subject reads nothing out of names."""
    held, step = one.held, one.step
    there, left = held.definition.state(step.next_state), held.definition.states.get(step.state)
    taken = left.on.get(step.action) if left else None
    return SubjectStep(
        held.facts,
        held.seat or held.caller,
        step,
        one.now,
        Meaning(there.outcome, there.asks, taken.decider if taken else None),
        () if step.automatic else one.command.item_results,
    )


def _entry(one: StepTaken) -> audit.AuditEntry:
    step, after, facts, seat = one.step, one.after, one.after.facts, one.after.seat
    return audit.AuditEntry(
        action=one.record.audited,
        severity=one.record.severity,
        entity_type=facts.kind,
        entity_id=str(facts.public_id),
        details={
            "instancePublicId": str(after.row.id),
            "number": facts.number,
            "action": step.action,
            "from": step.state,
            "to": step.next_state,
            **({"onBehalfOfPublicId": str(seat.public_id)} if seat else {}),
            **({"values": dict(one.command.payload)} if one.command.payload else {}),
            **one.record.details,
        },
        request_id=one.trace,
    )
