"""
Writes steps that have been decided, and those that follow them by themselves: history, instance, subject, events, audit.

The compare-and-set of `version_no` has the last word in every race.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.context import RequestContext
from saraban.identity.domain.permission import EVERYTHING
from saraban.kit.ids import new_id
from saraban.kit.pipeline import Pipeline, RowsMissed
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.engine.decisions import Step
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.outcome import Meaning
from saraban.workflow.language.subject import Envelope, InstanceStatus, StepFile, SubjectFacts
from saraban.workflow.runtime.domain.event_order import not_before
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.repository import transitions as stepping
from saraban.workflow.runtime.service import assignment, branches, instances
from saraban.workflow.runtime.service import workflow_events as news_of
from saraban.workflow.runtime.service.step_rules import rules_of
from saraban.workflow.runtime.service.subjects import SubjectPort, SubjectStep
from saraban.workflow.runtime.service.transition_metrics import record_taken
from saraban.workflow.runtime.service.transition_request import Command, VersionLost


@dataclass(frozen=True, slots=True)
class HeldInstance:
    """
    An instance under its row lock, at the version that the client named, with what a decision needs.

    :param seat: in whose place the caller acts, None in his own right
    :param seats: all in whose place he could, as far as they had to be asked for
    :param has_files: False where it is known that no step of it has any
    :param ahead: whom it waits for after the step
    """

    row: Instance
    port: SubjectPort
    facts: SubjectFacts
    definition: Definition
    ctx: RequestContext
    seat: Caller | None = None
    seats: tuple[Caller, ...] = ()
    has_files: bool = True
    ahead: PendingAssignees | None = None

    @property
    def caller(self) -> Caller:
        return self.ctx.caller


@dataclass(frozen=True, slots=True)
class StepRecord:
    """
    What is recorded of a step besides, where it is no ordinary one.

    :param audited: the action of the audit row
    :param details: what the history row and the audit row say besides
    :param values: further columns of the instance, written by the same compare-and-set
    :param applies: False for a step that leaves the instance in its state, of which the subject need not hear
    :param asks: the one person who is asked because of it, where nobody else is asked anew
    """

    audited: str = "workflow.transition"
    severity: audit.Severity = audit.Severity.INFO
    details: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    applies: bool = True
    asks: int | None = None


ORDINARY = StepRecord()


@dataclass(frozen=True, slots=True)
class Decision:
    """
    A step of one instance that may be taken, and what was said when it was asked for.

    :param trace: of the request that asked for it, for its audit row; None for that of the running task
    """

    held: HeldInstance
    step: Step
    command: Command
    now: datetime
    record: StepRecord = ORDINARY
    trace: str | None = None


async def persist_transition(
    session: AsyncSession,
    held: HeldInstance,
    step: Step,
    *,
    command: Command,
    record: StepRecord = ORDINARY,
) -> Envelope:
    """
    Write a step that has been decided, apply it to the subject, and tell of it: all that one commit holds.

    What the definition lets the engine do by itself after it is done too, each with its own history, version and event.

    :raises VersionConflict: when the compare-and-set found another version
    """
    (envelope,) = await persist_transitions(session, [Decision(held, step, command, held.ctx.now, record)])
    return envelope


async def persist_transitions(session: AsyncSession, decided: Sequence[Decision]) -> list[Envelope]:
    """
    Do the same for a step of each of several instances at the moment of the latest, with about as many
    statements as for one.

    :raises VersionConflict: when one of them found another version; nothing may be committed then
    """
    now = max(one.now for one in decided)
    decided = [await _on_terms(session, one, not_before(one.held.row.updated_at, now)) for one in decided]
    taken = await _take(session, decided)
    stand = [await _go_on(session, one, after) for one, after in zip(decided, taken, strict=True)]
    files = await instances.step_files(session, [after.row.id for after in stand if after.has_files])
    return [await _envelope(session, after, files.get(after.row.id, ())) for after in stand]


async def _go_on(session: AsyncSession, one: Decision, after: HeldInstance) -> HeldInstance:
    """What the engine does by itself after a step; gives the instance as it stands then, for who took the step."""
    step = one.step
    while (following := await _by_itself(session, after, step)) is not None:
        ours, step = following
        asked = Decision(ours, step, Command(step.action), one.now, trace=one.trace)
        (moved,) = await _take(session, [await _on_terms(session, asked, one.now)])
        after = replace(moved, ctx=one.held.ctx, seats=one.held.seats)
    return after


async def _envelope(session: AsyncSession, after: HeldInstance, files: Sequence[StepFile]) -> Envelope:
    return await instances.envelope_of(
        after.ctx,
        session,
        after.row,
        after.definition,
        facts=after.facts,
        files=files,
        seats=after.seats,
        ahead=after.ahead,
    )


async def _take(session: AsyncSession, decided: Sequence[Decision]) -> list[HeldInstance]:
    """One step of each on its terms, with everything that belongs to it; gives the instances as they stand then."""
    pipeline = Pipeline(session)
    facts = await _apply(session, pipeline, decided)
    stand = [_after(one.held, _moved(one), known) for one, known in zip(decided, facts, strict=True)]
    for one, after in zip(decided, stand, strict=True):
        if one.record.applies and after.definition.reviews:
            await branches.open_round(session, instance=after.row, definition=after.definition, now=one.now)
    ahead = await _write(session, pipeline, decided, stand)
    for one, after, waiting in zip(decided, stand, ahead, strict=True):
        record_taken(session, after.row.id, one.step, by=after.caller, nobody=waiting.nobody)
    return [
        after if one.record.asks is not None else _after(after, after.row, after.facts, ahead=waiting)
        for one, after, waiting in zip(decided, stand, ahead, strict=True)
    ]


def _after(
    held: HeldInstance, row: Instance, facts: SubjectFacts, *, ahead: PendingAssignees | None = None
) -> HeldInstance:
    """The same instance after its step; what `replace` would give, in a third of its time."""
    return HeldInstance(row, held.port, facts, held.definition, held.ctx, held.seat, held.seats, held.has_files, ahead)


async def _write(
    session: AsyncSession, pipeline: Pipeline, decided: Sequence[Decision], stand: Sequence[HeldInstance]
) -> Sequence[PendingAssignees]:
    """
    Instances by compare-and-set, histories, work items, events and the trail: in one round trip on MariaDB.

    Gives whom the instances wait for.
    """
    pairs = list(zip(decided, stand, strict=True))
    keys = [new_id() for _ in pairs]
    ahead, awaited = await _ask(session, pairs)
    histories = [
        _history(one, after.row, key, waiting) for (one, after), key, waiting in zip(pairs, keys, ahead, strict=True)
    ]
    news = [
        news_of.TransitionNews(
            after.row, after.definition, one.step, after.facts, waiting, after.caller, key, after.seat
        )
        for (one, after), waiting, key in zip(pairs, ahead, keys, strict=True)
    ]
    told = await news_of.events_of(session, news)
    stepping.update_instances(pipeline, [after.row for after in stand])
    stepping.insert_histories(pipeline, histories)
    stepping.replace_work_items(pipeline, awaited)
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


async def _on_terms(session: AsyncSession, one: Decision, now: datetime) -> Decision:
    """The step at the moment at which it is taken, with the terms on which its state is entered."""
    held, record = one.held, one.record
    terms = await rules_of(session, definition=held.definition, step=one.step, facts=held.facts, now=now)
    values, details = {**terms.values, **record.values}, {**terms.details, **record.details}
    record = StepRecord(record.audited, record.severity, details, values, record.applies, record.asks)
    return Decision(held, one.step, one.command, now, record, one.trace)


async def _ask(
    session: AsyncSession, pairs: Sequence[tuple[Decision, HeldInstance]]
) -> tuple[list[PendingAssignees], list[stepping.WorkItems]]:
    """Whom the instances wait for, and whom to tell of it; of those of whom nobody else is asked, the one person."""
    ahead, awaited = [], []
    for one, after in pairs:
        if one.record.asks is not None:
            # In a review one branch asks another person: whoever is asked besides keeps his place in the inbox.
            await assignment.renew_people(
                session, row=after.row, definition=after.definition, facts=after.facts, now=one.now
            )
            ahead.append(PendingAssignees(users=frozenset({one.record.asks})))
            continue
        entered = instances.EnteredState(after.row, after.definition, after.facts, one.now)
        waiting = await instances.pending_in(session, entered)
        ahead.append(waiting)
        awaited.append(instances.work_items_of(entered, waiting))
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


def _history(one: Decision, moved: Instance, key: UUID, waiting: PendingAssignees) -> dict[str, Any]:
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
        "on_behalf_of_user_id": seat.user_id if seat else None,
        "on_behalf_of_user_uuid": str(seat.public_id) if seat else None,
        "comment": one.command.comment,
        "metadata": details,
        "created_at": one.now,
    }


def _seats(caller: Caller, facts: SubjectFacts) -> dict[str, Any]:
    """By whose organizations the step was taken, for who asks later; whoever may do everything needs none."""
    return {} if caller.may(EVERYTHING, facts.scope) else {"seats": sorted(caller.organization_ids)}


def _moved(one: Decision) -> Instance:
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


async def _apply(session: AsyncSession, pipeline: Pipeline, decided: Sequence[Decision]) -> list[SubjectFacts]:
    """Tell the subjects, and return the facts; where a step has changed who has still to act, they are read again."""
    steps: dict[str, list[SubjectStep]] = {}
    ports = {one.held.row.entity_type: one.held.port for one in decided}
    for one in decided:
        if one.record.applies:
            steps.setdefault(one.held.row.entity_type, []).append(_subject_step(one))
    changed = {(kind, key) for kind, those in steps.items() for key in await ports[kind].apply(pipeline, those)}
    return [
        await _facts(session, one.held, changed=(one.held.row.entity_type, one.held.facts.entity_id) in changed)
        for one in decided
    ]


def _subject_step(one: Decision) -> SubjectStep:
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


def _entry(one: Decision, after: HeldInstance) -> audit.AuditEntry:
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
