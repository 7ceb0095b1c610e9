"""
Writes steps that have been decided, and those that follow them by themselves: history, instance, subject, events, audit.

The compare-and-set of `version_no` has the last word in every race.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import EVERYTHING, Caller
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.kit.pipeline import Pipeline, RowsMissed
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
    Transitioned,
    VersionLost,
    behalf_of,
)

# A step that has been written, and the instance as it stands then.
_Moved = tuple[TakenTransition, HeldInstance]


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
    moved = iter(await _take(session, ready) if ready else ())
    return [await _go_on(session, one, next(moved)) if one.step is not None else _only_written(one) for one in decided]


def _only_written(one: Decision) -> Transitioned:
    assert one.receipt is not None  # who decides to take no step says what is done
    return Transitioned(one.held.row.id, one.receipt, after=one.held)


async def _go_on(session: AsyncSession, one: Decision, moved: _Moved) -> Transitioned:
    """Take the steps that the engine takes by itself after one; the instance is given as it stands then, for who asked."""
    (first, after), step = moved, one.step
    taken = [first]
    while step is not None and (following := await _by_itself(session, after, step)) is not None:
        ours, step = following
        asked = Decision(ours, step, Command(step.action), one.now, trace=one.trace)
        ((next_taken, moved_on),) = await _take(session, [await _with_rules(session, asked, step, one.now)])
        taken.append(next_taken)
        after = replace(moved_on, ctx=one.held.ctx, seats=one.held.seats)
    return Transitioned(after.row.id, one.receipt or receipt_of(after.row.id, first), tuple(taken), after)


def receipt_of(instance_id: UUID, taken: TakenTransition) -> Receipt:
    """Return what is kept of a step: enough to say again what a request did."""
    outcome: dict[str, str | int | None] = {
        "history": str(taken.history_id),
        "from": taken.from_state,
        "to": taken.to_state,
        "version": taken.version_no,
    }
    return Receipt("workflow_instance", instance_id, outcome)


@dataclass(frozen=True, slots=True)
class _ReadyStep:
    """A step with the rules by which its state is entered, at the moment at which it is taken."""

    held: HeldInstance
    step: Step
    command: Command
    now: datetime
    record: StepRecord
    trace: str | None


async def _take(session: AsyncSession, ready: Sequence[_ReadyStep]) -> list[_Moved]:
    """Take one step of each, with everything that belongs to it."""
    pipeline = Pipeline(session)
    facts = await _apply(pipeline, ready)
    stand = [_after(one, _moved_row(one), known) for one, known in zip(ready, facts, strict=True)]
    for one, after in zip(ready, stand, strict=True):
        if one.record.applies and after.definition.reviews:
            await branches.open_round(session, after, now=one.now)
    keys = [new_id() for _ in ready]
    ahead = await _write(pipeline, ready, stand, keys)
    return [_moved(*each) for each in zip(ready, stand, keys, ahead, strict=True)]


def _moved(one: _ReadyStep, after: HeldInstance, key: UUID, waiting: PendingAssignees) -> _Moved:
    step, version = one.step, after.row.version_no
    user = after.caller.public_id
    taken = TakenTransition(step.action, step.state, step.next_state, user, waiting.nobody, key, version)
    return taken, after if one.record.asks is not None else _after(one, after.row, after.facts, waiting)


def _after(one: _ReadyStep, row: Instance, facts: SubjectFacts, ahead: PendingAssignees | None = None) -> HeldInstance:
    """The same instance after its step; what `replace` would give, in a third of its time."""
    held, files = one.held, one.held.has_files or bool(one.command.attachment_public_ids)
    return HeldInstance(
        row,
        held.definition,
        facts,
        held.seats,
        port=held.port,
        ctx=held.ctx,
        seat=held.seat,
        has_files=files,
        ahead=ahead,
    )


async def _write(
    pipeline: Pipeline, ready: Sequence[_ReadyStep], stand: Sequence[HeldInstance], keys: Sequence[UUID]
) -> Sequence[PendingAssignees]:
    """
    Instances by compare-and-set, histories, work items, events and the trail: in one round trip on MariaDB.

    Gives whom the instances wait for.
    """
    session, pairs = pipeline.session, list(zip(ready, stand, strict=True))
    ahead, awaited = await _ask(session, pairs)
    histories = [
        _history(one, after.row, key, waiting) for (one, after), key, waiting in zip(pairs, keys, ahead, strict=True)
    ]
    news = [
        workflow_events.TransitionNews(after, one.step, waiting, key)
        for (one, after), waiting, key in zip(pairs, ahead, keys, strict=True)
    ]
    told = await workflow_events.events_of(session, news)
    repository.update_instances(pipeline, [after.row for after in stand])
    repository.insert_histories(pipeline, histories)
    repository.replace_work_items(pipeline, awaited)
    events.queue(pipeline, told)
    audit.queue(pipeline, [(replace(after.ctx, now=one.now), _entry(one, after)) for one, after in pairs])
    try:
        await pipeline.send()
    except RowsMissed as missed:
        raise VersionLost("The version changed between the lock and the update.") from missed
    for (one, _), key in zip(pairs, keys, strict=True):
        if one.command.attachment_public_ids:
            await attachments.attach_to_step(
                replace(one.held.ctx, now=one.now),
                session,
                public_ids=one.command.attachment_public_ids,
                history_id=key,
            )
    return ahead


async def _with_rules(session: AsyncSession, one: Decision, step: Step, now: datetime) -> _ReadyStep:
    held, record = one.held, one.record
    now = held.row.not_before(now)
    values, details = await instances.rules_of(session, held, step, now=now)
    values, details = {**values, **record.values}, {**details, **record.details}
    record = StepRecord(record.audited, record.severity, details, values, record.applies, record.asks)
    return _ReadyStep(held, step, one.command, now, record, one.trace)


async def _ask(
    session: AsyncSession, pairs: Sequence[tuple[_ReadyStep, HeldInstance]]
) -> tuple[list[PendingAssignees], list[repository.WorkItems]]:
    """Whom the instances wait for, and whom to tell of it; of those of whom nobody else is asked, the one person."""
    ahead, awaited = [], []
    for one, after in pairs:
        if one.record.asks is not None:
            # In a review one branch asks another person: whoever is asked besides keeps his place in the inbox.
            await assignment.renew_people(session, after, now=one.now)
            ahead.append(PendingAssignees(users=frozenset({one.record.asks})))
            continue
        waiting = await instances.pending_in(session, after)
        ahead.append(waiting)
        awaited.append(instances.work_items_of(after, waiting, since=one.now))
    return ahead, awaited


async def _by_itself(session: AsyncSession, after: HeldInstance, step: Step) -> tuple[HeldInstance, Step] | None:
    """The automatic step that follows, in the name of the system, which needs nobody's permission."""
    if not step.goes_on or after.row.status != InstanceStatus.ACTIVE:
        return None
    system = replace(after.ctx, caller=await identity.system_caller(session))
    ours = replace(after, ctx=system, seat=None, seats=())
    facts = decisions.Facts(ours.caller, ours.facts, context=ours.row.context or {})
    following = decisions.automatic(after.definition, step, facts)
    return None if following is None else (ours, following)


def _history(one: _ReadyStep, moved: Instance, key: UUID, waiting: PendingAssignees) -> dict[str, Any]:
    step, caller, seat = one.step, one.held.caller, one.held.seat
    known = {"events": list(step.events), "versionNo": moved.version_no, **one.record.details}
    details: dict[str, Any] = known | ({"nobody": True} if waiting.nobody else {})
    if one.command.payload:
        details["payload"] = dict(one.command.payload)
    if step.response_code is not None:
        details["responseCode"] = step.response_code
    if step.automatic:
        details["automatic"] = True
    elif one.record.audited == ORDINARY.audited:
        details |= _seats(seat or caller, one.held.facts)
    return {
        "id": str(key),
        "instance_id": str(moved.id),
        "from_state": step.state,
        "to_state": step.next_state,
        "action": step.action,
        "action_by_user_id": caller.user_id,
        "action_by_user_uuid": str(caller.public_id),
        **behalf_of(one.held),
        "comment": one.command.comment,
        "metadata": details,
        "created_at": one.now,
    }


def _seats(caller: Caller, facts: SubjectFacts) -> dict[str, Any]:
    """By whose organizations the step was taken, for who asks later; whoever may do everything needs none."""
    return {} if caller.may(EVERYTHING, facts.scope) else {"seats": sorted(caller.organization_ids)}


def _moved_row(one: _ReadyStep) -> Instance:
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


async def _apply(pipeline: Pipeline, ready: Sequence[_ReadyStep]) -> list[SubjectFacts]:
    """Tell the subjects, and return the facts; where a step has changed who has still to act, they are read again."""
    steps: dict[str, list[SubjectStep]] = {}
    ports = {one.held.row.entity_type: one.held.port for one in ready}
    for one in ready:
        if one.record.applies:
            steps.setdefault(one.held.row.entity_type, []).append(_subject_step(one))
    changed = {(kind, key) for kind, those in steps.items() for key in await ports[kind].apply(pipeline, those)}
    return [
        await _facts(
            pipeline.session, one.held, changed=(one.held.row.entity_type, one.held.facts.entity_id) in changed
        )
        for one in ready
    ]


def _subject_step(one: _ReadyStep) -> SubjectStep:
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
    )


async def _facts(session: AsyncSession, held: HeldInstance, *, changed: bool) -> SubjectFacts:
    before = held.facts
    if not changed:
        return before
    found = await held.port.facts(session, caller=held.caller, entity_ids=[before.entity_id])
    return found.get(before.entity_id, before)


def _entry(one: _ReadyStep, after: HeldInstance) -> audit.AuditEntry:
    step, facts, seat = one.step, after.facts, after.seat
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
