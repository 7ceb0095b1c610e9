"""
Moves an instance one step: once, by the right person, with everything that belongs to it in one commit (REQ-WFL-02).

Correct without Redis: the row lock and the compare-and-set of `version_no` decide every race.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Step, TransitionNotPossible
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.subject import Envelope, InstanceStatus, SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import authorization, interventions
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.service import definitions
from saraban.workflow.runtime.service.delegated_rights import delegators_of
from saraban.workflow.runtime.service.persist_transition import HeldInstance, persist_transition
from saraban.workflow.runtime.service.subjects import SubjectPort, Subjects
from saraban.workflow.runtime.service.transition_metrics import TransitionAttempt, admit
from saraban.workflow.runtime.service.transition_request import (
    Command,
    check_payload,
    check_version,
)


@dataclass(frozen=True, slots=True)
class InstanceSnapshot:
    """An instance as it stood when the request arrived, and proof that the caller may know of it."""

    public_id: UUID
    workflow_code: str
    state: str
    version_no: int
    actions: frozenset[str]


async def snapshot(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID, visibly: bool = True
) -> InstanceSnapshot:
    """
    Read where an instance stands, before any lock.

    :param visibly: ask whether the caller may see it; who tells nothing of it before `hold` leaves that to `hold`
    :raises NotFound: when there is none, or the caller may not see what it moves
    """
    row = await repository.stand(session, public_id)
    if row is None or row.entity_type not in subjects:
        raise NotFound(f"There is no workflow instance {public_id}.")
    if visibly:
        await _facts(session, subjects.port(row.entity_type), caller=ctx.caller, entity_id=row.entity_id)
    definition = await definitions.load(session, row.definition_id)
    return InstanceSnapshot(public_id, definition.code, row.current_state, row.version_no, definition.actions)


def attempt_of(ctx: RequestContext, seen: InstanceSnapshot, *, command: Command) -> TransitionAttempt:
    known = command.action in seen.actions or command.action in interventions.WORDS
    return TransitionAttempt(
        seen.public_id, seen.workflow_code, command.action, known, seen.state, ctx.caller.public_id
    )


async def transition(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    subjects: Subjects,
    public_id: UUID,
    command: Command,
    seen: InstanceSnapshot | None = None,
) -> Envelope:
    """
    Take one step in the caller's transaction: lock, decide, write, and tell.

    :param seen: from `look`; without a version from the client it tells a lost race from an action out of place
    :raises Invalid: for a reserved name in the payload
    :raises VersionConflict, StaleInstance, TransitionNotPossible, ActionForbidden, ConditionNotMet: nothing happened
    """
    held = await hold(ctx, session, subjects=subjects, public_id=public_id, command=command)
    await check_running(session, held, command=command, seen=seen)
    held, step = await _decide(session, held, command=command)
    return await persist_transition(session, held, step, command=command)


async def hold(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID, command: Command
) -> HeldInstance:
    """
    Lock an instance until the transaction ends, and ask for its version again under the lock.

    :raises NotFound: when there is none, or the caller may not see what it moves
    :raises VersionConflict, StaleInstance: when the client saw another version
    """
    row = await repository.instance(session, public_id, lock=True)
    if row is None or row.entity_type not in subjects:
        raise NotFound(f"There is no workflow instance {public_id}.")
    port = subjects.port(row.entity_type)
    facts = await _facts(session, port, caller=ctx.caller, entity_id=row.entity_id)
    admit(session)
    check_payload(command)
    check_version(command, row.version_no)
    return HeldInstance(row, port, facts, await definitions.load(session, row.definition_id), ctx)


async def _facts(session: AsyncSession, port: SubjectPort, *, caller: Caller, entity_id: str) -> SubjectFacts:
    found = await port.facts(session, caller=caller, entity_ids=[entity_id])
    if entity_id not in found:
        raise NotFound("The caller may not see what this workflow moves.")
    return found[entity_id]


async def check_running(
    session: AsyncSession, held: HeldInstance, *, command: Command, seen: InstanceSnapshot | None
) -> None:
    """
    :raises TransitionNotPossible: when the instance has ended, or has moved since it was seen
    """
    row = held.row
    if not command.names_a_version and seen is not None and seen.version_no != row.version_no:
        raise TransitionNotPossible("Somebody else moved the instance first.", raced=True)
    if row.status != InstanceStatus.ACTIVE:
        raise TransitionNotPossible(
            f"The instance is {row.status.lower()}.", raced=await _just_done(session, row, command)
        )


def own_step(held: HeldInstance, command: Command) -> Step:
    """
    Decide what the caller may do in his own right.

    :raises TransitionNotPossible, ActionForbidden, ConditionNotMet, Invalid: when it is not what he asks for
    """
    return decisions.advance(held.definition, held.row.current_state, command.action, _asked(held, command))


def _asked(held: HeldInstance, command: Command) -> decisions.Facts:
    row = held.row
    return decisions.Facts(
        held.caller,
        held.facts,
        command.comment,
        command.payload,
        row.context or {},
        bool(command.attachment_public_ids),
        command.response_code,
        row.assigned_user_id,
    )


async def _decide(session: AsyncSession, held: HeldInstance, *, command: Command) -> tuple[HeldInstance, Step]:
    """Own right first; who stands in for whom is asked only when that does not do."""
    row, definition, asked = held.row, held.definition, _asked(held, command)
    here = (definition, row.current_state, command.action)
    seats: tuple[Caller, ...] = ()
    try:
        if command.on_behalf_of in {None, held.caller.public_id}:
            try:
                return held, decisions.advance(*here, asked)
            except decisions.ActionForbidden:
                if command.on_behalf_of is not None:
                    raise
        seats = await _seats(session, held)
        theirs = authorization.chosen(*here, asked, seats, named=command.on_behalf_of)
        return replace(held, seat=theirs.caller, seats=seats), decisions.advance(*here, theirs)
    except TransitionNotPossible as error:
        error.raced = await _just_done(session, row, command)
        raise
    except decisions.ActionForbidden:
        everybody = (asked, *(authorization.in_place_of(asked, seat) for seat in seats))
        if await _was_allowed(session, row, definition, command, everybody):
            raise TransitionNotPossible("The step this was meant for has been taken.", raced=True) from None
        raise


async def _seats(session: AsyncSession, held: HeldInstance) -> tuple[Caller, ...]:
    code, project = held.definition.code, held.facts.scope.project
    return tuple(await delegators_of(held.ctx, session, workflow_code=code, project_id=project))


async def _just_done(session: AsyncSession, row: Instance, command: Command) -> bool:
    last = await repository.latest_step(session, row.id)
    return last is not None and last.action == command.action


async def _was_allowed(
    session: AsyncSession,
    row: Instance,
    definition: Definition,
    command: Command,
    asked: Iterable[decisions.Facts],
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
    return before is not None and any(decisions.permitted(before.require, one) for one in asked)
