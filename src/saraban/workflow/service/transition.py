"""
Moves an instance one step: once, by the right person, with everything that belongs to it in one commit (ruling W1).

Correct without Redis: the row lock and the compare-and-set of `version_no` decide every race.
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
from saraban.kit.errors import REFRESH, DomainError, Kind, NotFound, Text, invalid
from saraban.kit.ids import new_id
from saraban.workflow import repository
from saraban.workflow.domain import engine, steering
from saraban.workflow.domain.definition import Definition
from saraban.workflow.domain.engine import Step, TransitionNotPossible
from saraban.workflow.domain.subject import Envelope, SubjectFacts
from saraban.workflow.models import WorkflowHistory, WorkflowInstance
from saraban.workflow.service import definitions, instances, news
from saraban.workflow.service.observe import Watch
from saraban.workflow.service.subjects import SubjectPort, Subjects
from saraban.workflow.service.terms import terms_of

# Kept with the step, these would pass for evidence of who acted and with which right.
RESERVED = frozenset({"roles", "permissions", "actor", "actorpublicid", "userid", "userpublicid"})


class VersionConflict(DomainError):
    """The version that the client saw is not the present one any more."""

    kind, code = Kind.CONFLICT, "WORKFLOW_VERSION_CONFLICT"
    says = Text("เอกสารถูกอนุมัติโดยผู้อื่นแล้ว กรุณารีเฟรช", "Somebody else has moved this document meanwhile. Refresh the page.")
    recovery = (REFRESH,)


class StaleInstance(DomainError):
    """`If-Match` names another version than the present one."""

    kind, code = Kind.STALE, "WORKFLOW_PRECONDITION_FAILED"
    says = Text("สถานะเอกสารเปลี่ยนไปแล้ว กรุณารีเฟรช", "The document has moved on since you read it. Refresh the page.")
    recovery = (REFRESH,)


@dataclass(frozen=True, slots=True)
class Command:
    """
    What a client asks for; nothing in it says who asks.

    :param client_version_no: the `versionNo` the client saw; when it is old the answer is 409
    :param if_match: version numbers from `If-Match`; when none is the present one the answer is 412
    """

    action: str
    comment: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    attachment_public_ids: tuple[UUID, ...] = ()
    client_version_no: int | None = None
    if_match: frozenset[str] | None = None
    response_code: str | None = None

    @property
    def names_a_version(self) -> bool:
        return self.client_version_no is not None or self.if_match is not None


@dataclass(frozen=True, slots=True)
class Held:
    """An instance under its row lock, at the version that the client named, with what a decision needs."""

    row: WorkflowInstance
    port: SubjectPort
    facts: SubjectFacts
    definition: Definition
    caller: Caller


@dataclass(frozen=True, slots=True)
class Kept:
    """
    How a step is kept where it is no ordinary one.

    :param audited: the action of the audit row
    :param details: what the history row and the audit row say besides
    :param values: further columns of the instance, written by the same compare-and-set
    """

    audited: str = "workflow.transition"
    severity: audit.Severity = "INFO"
    details: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


ORDINARY = Kept()


@dataclass(frozen=True, slots=True)
class Seen:
    """An instance as it stood when the request arrived, and proof that the caller may know of it."""

    public_id: UUID
    workflow_code: str
    state: str
    version_no: int
    actions: frozenset[str]


async def look(session: AsyncSession, *, caller: Caller, subjects: Subjects, public_id: UUID) -> Seen:
    """
    This will read where an instance stands, before any lock.

    :raises NotFound: when there is none, or the caller may not see what it moves
    """
    row = await repository.instance(session, public_id)
    if row is None or row.entity_type not in subjects:
        raise NotFound(f"There is no workflow instance {public_id}.")
    await _facts(session, subjects.port(row.entity_type), caller=caller, entity_id=row.entity_id)
    definition = await definitions.load(session, row.definition_id)
    return Seen(row.id, definition.code, row.current_state, row.version_no, definition.actions)


def watch(seen: Seen, *, command: Command, caller: Caller) -> Watch:
    known = command.action in seen.actions or command.action in steering.WORDS
    return Watch(seen.public_id, seen.workflow_code, command.action, known, seen.state, caller.public_id)


def check_payload(command: Command) -> None:
    """
    :raises Invalid: at the first name that would read like the server's own word about who acts
    """
    for name in command.payload:
        if name.casefold() in RESERVED:
            th, en = "ชื่อนี้สงวนไว้สำหรับระบบ", "This name is reserved: who acts is known to the server."
            raise invalid(f"/payload/{name}", "reserved", th, en)


def check_version(command: Command, version_no: int) -> None:
    """
    :raises VersionConflict: when the body names another version
    :raises StaleInstance: when `If-Match` names another version
    """
    if command.client_version_no is not None and command.client_version_no != version_no:
        raise VersionConflict(f"The client saw version {command.client_version_no}, the present one is {version_no}.")
    if command.if_match is not None and not command.if_match & {str(version_no), "*"}:
        raise StaleInstance(f"If-Match does not name the present version {version_no}.")


async def transition(
    session: AsyncSession,
    *,
    caller: Caller,
    subjects: Subjects,
    public_id: UUID,
    command: Command,
    now: datetime,
    address: str,
    seen: Seen | None = None,
) -> Envelope:
    """
    This will take one step in the caller's transaction: lock, decide, write, and tell.

    :param seen: from `look`; without a version from the client it tells a lost race from an action out of place
    :raises Invalid: for a reserved name in the payload
    :raises VersionConflict, StaleInstance, TransitionNotPossible, ActionForbidden, ConditionNotMet: nothing happened
    """
    held = await hold(session, caller=caller, subjects=subjects, public_id=public_id, command=command)
    await check_running(session, held, command=command, seen=seen)
    step = await _decide(session, held, command=command)
    return await settle(session, held, step, command=command, now=now, address=address)


async def hold(session: AsyncSession, *, caller: Caller, subjects: Subjects, public_id: UUID, command: Command) -> Held:
    """
    This will lock an instance until the transaction ends, and ask for its version again under the lock.

    :raises NotFound: when there is none, or the caller may not see what it moves
    :raises VersionConflict, StaleInstance: when the client saw another version
    """
    row = await repository.instance(session, public_id, lock=True)
    if row is None or row.entity_type not in subjects:
        raise NotFound(f"There is no workflow instance {public_id}.")
    port = subjects.port(row.entity_type)
    facts = await _facts(session, port, caller=caller, entity_id=row.entity_id)
    check_payload(command)
    check_version(command, row.version_no)
    return Held(row, port, facts, await definitions.load(session, row.definition_id), caller)


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
    after = await _take(session, held, step, command=command, now=now, address=address, kept=kept)
    following = await _by_itself(session, after, step)
    while following is not None:
        held_by_us, step = following
        ours = await _take(session, held_by_us, step, command=Command(step.action), now=now, address=address)
        after = replace(ours, caller=held.caller)
        following = await _by_itself(session, after, step)
    row = after.row
    files = await instances.step_files(session, [row.id])
    return instances.envelope(row, held.definition, caller=held.caller, facts=after.facts, files=files.get(row.id, ()))


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
    history_id = await _write(session, moved, step, caller=held.caller, command=command, kept=kept)
    await held.port.moved(session, caller=held.caller, entity_id=row.entity_id, step=step, now=now)
    facts = await _facts_after(session, held.port, before=held.facts, caller=held.caller)
    ahead = await instances.await_next(session, instance=moved, definition=definition, facts=facts, now=now)
    told = news.News(moved, definition, step, facts, ahead, held.caller, history_id)
    await _tell(session, told, kept, address=address)
    return replace(held, row=moved, facts=facts)


async def _by_itself(session: AsyncSession, after: Held, step: Step) -> tuple[Held, Step] | None:
    """The automatic step that follows, in the name of the system, which needs nobody's permission."""
    if not step.goes_on or after.row.status != instances.ACTIVE:
        return None
    ours = replace(after, caller=await identity.system_caller(session))
    facts = engine.Facts(ours.caller, ours.facts, context=ours.row.context or {})
    following = engine.automatic(after.definition, step, facts)
    return None if following is None else (ours, following)


async def _facts(session: AsyncSession, port: SubjectPort, *, caller: Caller, entity_id: str) -> SubjectFacts:
    found = await port.facts(session, caller=caller, entity_ids=[entity_id])
    if entity_id not in found:
        raise NotFound("The caller may not see what this workflow moves.")
    return found[entity_id]


async def check_running(session: AsyncSession, held: Held, *, command: Command, seen: Seen | None) -> None:
    """
    :raises TransitionNotPossible: when the instance has ended, or has moved since it was seen
    """
    row = held.row
    if not command.names_a_version and seen is not None and seen.version_no != row.version_no:
        raise TransitionNotPossible("Somebody else moved the instance first.", raced=True)
    if row.status != instances.ACTIVE:
        raise TransitionNotPossible(
            f"The instance is {row.status.lower()}.", raced=await _just_done(session, row, command)
        )


async def _decide(session: AsyncSession, held: Held, *, command: Command) -> Step:
    row, definition = held.row, held.definition
    asked = engine.Facts(
        held.caller,
        held.facts,
        command.comment,
        command.payload,
        row.context or {},
        bool(command.attachment_public_ids),
        command.response_code,
        row.assigned_user_id,
    )
    try:
        return engine.advance(definition, row.current_state, command.action, asked)
    except TransitionNotPossible as error:
        error.raced = await _just_done(session, row, command)
        raise
    except engine.ActionForbidden:
        if await _was_allowed(session, row, definition, command, asked):
            raise TransitionNotPossible("The step this was meant for has been taken.", raced=True) from None
        raise


async def _just_done(session: AsyncSession, row: WorkflowInstance, command: Command) -> bool:
    last = await repository.latest_step(session, row.id)
    return last is not None and last.action == command.action


async def _was_allowed(
    session: AsyncSession, row: WorkflowInstance, definition: Definition, command: Command, asked: engine.Facts
) -> bool:
    """
    Whether the caller could have done this one step earlier. Then it is a lost race or a second click, not a
    trespass; a client that names the present version has seen this step and gets the plain refusal.
    """
    if command.names_a_version:
        return False
    last = await repository.latest_step(session, row.id)
    if last is None or last.from_state not in definition.states:
        return False
    before = definition.states[last.from_state].on.get(command.action)
    return before is not None and engine.permitted(before.require, asked)


async def _write(
    session: AsyncSession, moved: WorkflowInstance, step: Step, *, caller: Caller, command: Command, kept: Kept
) -> UUID:
    now = moved.last_transition_at
    details: dict[str, Any] = {"events": list(step.events), "versionNo": moved.version_no, **kept.details}
    if command.payload:
        details["payload"] = dict(command.payload)
    if step.response_code is not None:
        details["responseCode"] = step.response_code
    if step.automatic:
        details["automatic"] = True
    history = WorkflowHistory(
        id=new_id(),
        instance_id=moved.id,
        from_state=step.state,
        to_state=step.next_state,
        action=step.action,
        action_by_user_id=caller.user_id,
        action_by_user_uuid=str(caller.public_id),
        comment=command.comment,
        details=details,
        created_at=now,
    )
    session.add(history)
    await session.flush()
    if command.attachment_public_ids:
        await attachments.attach_to_step(
            session, caller=caller, public_ids=command.attachment_public_ids, history_id=history.id, now=now
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
    return history.id


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


async def _facts_after(
    session: AsyncSession, port: SubjectPort, *, before: SubjectFacts, caller: Caller
) -> SubjectFacts:
    """Read again: the step may have changed who has still to act, or whether the caller still sees the subject."""
    found = await port.facts(session, caller=caller, entity_ids=[before.entity_id])
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
            **kept.details,
        },
        address=address,
        now=row.last_transition_at,
    )
