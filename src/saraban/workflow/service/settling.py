"""
Writes a step that has been decided, and those that follow it by themselves: history, instance, subject, events, audit.

The compare-and-set of `version_no` has the last word in every race.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.identity import service as identity
from saraban.identity.domain.caller import Caller
from saraban.kit.ids import new_id
from saraban.workflow import repository
from saraban.workflow.domain import engine
from saraban.workflow.domain.definition import Definition
from saraban.workflow.domain.engine import Step
from saraban.workflow.domain.moment import not_before
from saraban.workflow.domain.subject import Envelope, SubjectFacts
from saraban.workflow.models import WorkflowInstance
from saraban.workflow.repository import review
from saraban.workflow.service import branches, instances, news
from saraban.workflow.service.commands import Command, VersionConflict
from saraban.workflow.service.observe import took
from saraban.workflow.service.subjects import SubjectPort
from saraban.workflow.service.terms import terms_of


@dataclass(frozen=True, slots=True)
class Held:
    """
    An instance under its row lock, at the version that the client named, with what a decision needs.

    :param seat: in whose place the caller acts, None in his own right
    :param seats: all in whose place he could, as far as they had to be asked for
    """

    row: WorkflowInstance
    port: SubjectPort
    facts: SubjectFacts
    definition: Definition
    caller: Caller
    seat: Caller | None = None
    seats: tuple[Caller, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """
    How a step is kept where it is no ordinary one.

    :param audited: the action of the audit row
    :param details: what the history row and the audit row say besides
    :param values: further columns of the instance, written by the same compare-and-set
    :param applies: False for a step that leaves the instance in its state, of which the subject need not hear
    :param asks: the one person who is asked because of it, where nobody else is asked anew
    """

    audited: str = "workflow.transition"
    severity: audit.Severity = "INFO"
    details: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    applies: bool = True
    asks: int | None = None


ORDINARY = Kept()


async def settle(
    session: AsyncSession,
    held: Held,
    step: Step,
    *,
    command: Command,
    now: datetime,
    address: str,
    kept: Kept = ORDINARY,
) -> Envelope:
    """
    This will write a step that has been decided, apply it to the subject, and tell of it: all that one commit holds.

    What the definition lets the engine do by itself after it is done too, each with its own history, version and event.

    :raises VersionConflict: when the compare-and-set found another version
    """
    now = not_before(held.row.updated_at, now)
    after = await _take(session, held, step, command=command, now=now, address=address, kept=kept)
    following = await _by_itself(session, after, step)
    while following is not None:
        held_by_us, step = following
        ours = await _take(session, held_by_us, step, command=Command(step.action), now=now, address=address)
        after = replace(ours, caller=held.caller, seats=held.seats)
        following = await _by_itself(session, after, step)
    row = after.row
    files = (await instances.step_files(session, [row.id])).get(row.id, ())
    asked = await instances.branches_of(
        session, row, held.definition, caller=held.caller, facts=after.facts, seats=held.seats
    )
    return instances.envelope(
        row,
        held.definition,
        caller=held.caller,
        facts=after.facts,
        files=files,
        branches=asked,
        seats=held.seats,
    )


async def _take(
    session: AsyncSession,
    held: Held,
    step: Step,
    *,
    command: Command,
    now: datetime,
    address: str,
    kept: Kept = ORDINARY,
) -> Held:
    """One step with everything that belongs to it; gives the instance as it stands then."""
    row, definition = held.row, held.definition
    terms = await terms_of(session, definition=definition, step=step, facts=held.facts, now=now)
    values, details = {**terms.values, **kept.values}, {**terms.details, **kept.details}
    kept = replace(kept, values=values, details=details)
    moved = _moved(row, step, command, kept, now)
    history_id = await _write(session, moved, step, held=held, command=command, kept=kept)
    facts = await _apply(session, held, step, now=now) if kept.applies else held.facts
    if kept.applies:
        await branches.turn(session, instance=moved, definition=definition, now=now)
    if kept.asks is None:
        ahead = await instances.await_next(session, instance=moved, definition=definition, facts=facts, now=now)
    else:
        await _still_ask(session, moved, definition, facts, now=now)
        ahead = engine.Waiting(users=frozenset({kept.asks}))
    told = news.News(moved, definition, step, facts, ahead, held.caller, history_id, held.seat)
    await _tell(session, told, kept, address=address)
    took(session, step, by=held.caller)
    return replace(held, row=moved, facts=facts)


async def _still_ask(
    session: AsyncSession, row: WorkflowInstance, definition: Definition, facts: SubjectFacts, *, now: datetime
) -> None:
    """In a review one branch asks another person: whoever is asked besides keeps his place in the inbox."""
    users = await branches.people(session, instance_id=row.id, facts=facts)
    ahead = engine.waiting(definition, row.current_state, facts)
    users |= ahead.users | await instances.named_of(session, ahead, facts=facts, state=row.current_state)
    if row.assigned_user_id is not None:
        users |= {row.assigned_user_id}
    await review.await_people(session, instance_id=row.id, state=row.current_state, users=users, now=now)


async def _by_itself(session: AsyncSession, after: Held, step: Step) -> tuple[Held, Step] | None:
    """The automatic step that follows, in the name of the system, which needs nobody's permission."""
    if not step.goes_on or after.row.status != instances.ACTIVE:
        return None
    ours = replace(after, caller=await identity.system_caller(session), seat=None, seats=())
    facts = engine.Facts(ours.caller, ours.facts, context=ours.row.context or {})
    following = engine.automatic(after.definition, step, facts)
    return None if following is None else (ours, following)


async def _write(
    session: AsyncSession, moved: WorkflowInstance, step: Step, *, held: Held, command: Command, kept: Kept
) -> UUID:
    now, caller, seat = moved.last_transition_at, held.caller, held.seat
    details: dict[str, Any] = {"events": list(step.events), "versionNo": moved.version_no, **kept.details}
    if command.payload:
        details["payload"] = dict(command.payload)
    if step.response_code is not None:
        details["responseCode"] = step.response_code
    if step.automatic:
        details["automatic"] = True
    history_id = new_id()
    history = {
        "id": history_id,
        "instance_id": moved.id,
        "from_state": step.state,
        "to_state": step.next_state,
        "action": step.action,
        "action_by_user_id": caller.user_id,
        "action_by_user_uuid": str(caller.public_id),
        "on_behalf_of_user_id": seat.user_id if seat else None,
        "on_behalf_of_user_uuid": str(seat.public_id) if seat else None,
        "comment": command.comment,
        "metadata": details,
        "created_at": now,
    }
    await repository.add_step(session, history)
    if command.attachment_public_ids:
        await attachments.attach_to_step(
            session, caller=caller, public_ids=command.attachment_public_ids, history_id=history_id, now=now
        )
    values = {
        "current_state": moved.current_state,
        "status": moved.status,
        "context": moved.context,
        "last_transition_at": now,
        "updated_at": now,
        **kept.values,
    }
    if not await repository.compare_and_set(session, public_id=moved.id, expected=moved.version_no - 1, values=values):
        raise VersionConflict("The version changed between the lock and the update.")
    return history_id


def _moved(row: WorkflowInstance, step: Step, command: Command, kept: Kept, now: datetime) -> WorkflowInstance:
    """The row as it stands after the step, for the answer; the database is changed by compare-and-set alone."""
    columns: dict[str, Any] = {
        "id": row.id,
        "definition_id": row.definition_id,
        "contract_id": row.contract_id,
        "entity_type": row.entity_type,
        "entity_id": row.entity_id,
        "current_state": step.next_state,
        "status": "COMPLETED" if step.terminal else row.status,
        "context": engine.context_after(row.context or {}, command.payload),
        "version_no": row.version_no + 1,
        "started_by_user_id": row.started_by_user_id,
        "last_transition_at": now,
        "created_at": row.created_at,
        "updated_at": now,
    }
    return WorkflowInstance(**(columns | dict(kept.values)))


async def _apply(session: AsyncSession, held: Held, step: Step, *, now: datetime) -> SubjectFacts:
    """Tells the subject; where it says that this has changed who has still to act, its facts are read again."""
    before, port = held.facts, held.port
    changed = await port.moved(session, caller=held.seat or held.caller, entity_id=before.entity_id, step=step, now=now)
    if not changed:
        return before
    found = await port.facts(session, caller=held.caller, entity_ids=[before.entity_id])
    return found.get(before.entity_id, before)


async def _tell(session: AsyncSession, told: news.News, kept: Kept, *, address: str) -> None:
    row, step, facts = told.instance, told.step, told.facts
    await news.publish(session, told, now=row.last_transition_at)
    await audit.write(
        session,
        action=kept.audited,
        severity=kept.severity,
        caller=told.caller,
        entity_type=facts.kind,
        entity_id=str(facts.public_id),
        details={
            "instancePublicId": str(row.id),
            "number": facts.number,
            "action": step.action,
            "from": step.state,
            "to": step.next_state,
            **({"onBehalfOfPublicId": str(told.seat.public_id)} if told.seat else {}),
            **kept.details,
        },
        address=address,
        now=row.last_transition_at,
    )
