"""
Decides what is asked of some instances, and writes it: one transaction for many of them, or for one (REQ-WFL-02).

Correct without Redis: the row lock and the compare-and-set of `version_no` decide every race.

A request shares a transaction only where nothing stands against it. Whoever is refused there is handed back, and comes
alone afterwards: it waits for its row, reads whose rights it was lent, and is refused in its own words. So no step can be
undone, or kept waiting for a lock, by another one (decision 30).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.idempotency import KeyInUse, complete_claims
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Step, TransitionNotPossible
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import authorization
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.repository import transitions as stepping
from saraban.workflow.runtime.service import definitions
from saraban.workflow.runtime.service.delegated_rights import delegators_of
from saraban.workflow.runtime.service.persist_transition import persist_transitions
from saraban.workflow.runtime.service.subjects import Subjects
from saraban.workflow.runtime.service.transition_request import (
    Command,
    Decision,
    DecisionPolicy,
    HeldInstance,
    Transitioned,
    TransitionRequest,
    check_payload,
    check_version,
)


async def transition_batch(
    session: AsyncSession, *, subjects: Subjects, requests: Sequence[TransitionRequest], alone: bool
) -> list[Transitioned | None]:
    """
    Do what is asked of each of several instances, in the session's transaction: hold, decide, persist.

    :returns: None for a request that shares and has to come alone
    :raises DomainError: what stands against a request that comes alone
    """
    decided: dict[TransitionRequest, Decision] = {}
    for request, held in await hold(session, subjects=subjects, requests=requests, alone=alone):
        try:
            check_payload(request.command)
            check_version(request.command, held.row.version_no)
            decided[request] = await request.policy.decide(session, held, request, alone)
        except DomainError:
            if alone:
                raise
    if not alone:
        for (
            request
        ) in requests:  # what has an attempt will be written: it must not be tried again if the connection is lost
            request.attempt = None
        for request, decision in decided.items():
            request.see(decision.held.snapshot)
    written = await persist_transitions(session, list(decided.values())) if decided else []
    done = dict(zip(decided, written, strict=True))
    receipts = [(request.claim, one.receipt) for request, one in done.items() if request.claim is not None]
    if await complete_claims(session, receipts):
        raise KeyInUse(retry_after=1)  # where several shared, each comes alone now
    return [done.get(request) for request in requests]


async def hold(
    session: AsyncSession, *, subjects: Subjects, requests: Sequence[TransitionRequest], alone: bool
) -> list[tuple[TransitionRequest, HeldInstance]]:
    """
    Lock instances until the transaction ends, as far as their callers may know of them.

    :param alone: wait for who holds the row; those who share leave such a row to who comes alone
    :raises NotFound: for who comes alone, when there is no such instance, or the caller may not see what it moves
    """
    asked = {request.instance_id: request for request in requests}
    found: dict[str, dict[str, tuple[Instance, bool]]] = {}
    for row, has_files in await stepping.lock_instances(session, list(asked), wait=alone):
        if row.entity_type in subjects:
            found.setdefault(row.entity_type, {})[row.entity_id] = row, has_files
    held: list[tuple[TransitionRequest, HeldInstance]] = []
    for kind, rows in found.items():
        port = subjects.port(kind)
        callers = {entity_id: asked[row.id].ctx.caller for entity_id, (row, _) in rows.items()}
        for entity_id, facts in (await port.facts_for(session, callers)).items():
            row, has_files = rows[entity_id]
            request = asked[row.id]
            request.admitted = True
            definition = await definitions.load(session, row.definition_id)
            held.append((request, HeldInstance(row, port, facts, definition, request.ctx, has_files=has_files)))
    if alone and not held:
        raise NotFound(f"The caller may not know of {requests[0].instance_id}.")
    return held


async def check_running(session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> None:
    """:raises TransitionNotPossible: when the instance has ended, or has moved since it was seen"""
    row, seen, command = held.row, request.seen, request.command
    if not command.names_a_version and seen is not None and seen.version_no != row.version_no:
        raise TransitionNotPossible("Somebody else moved the instance first.", raced=True)
    if row.status != InstanceStatus.ACTIVE:
        raise TransitionNotPossible(
            f"The instance is {row.status.lower()}.", raced=await _just_done(session, row, command)
        )


async def decide_by_right(
    session: AsyncSession, held: HeldInstance, request: TransitionRequest, alone: bool
) -> Decision:
    """
    Decide a step in the caller's own right; who stands in for whom is asked only of one that comes alone.

    :raises TransitionNotPossible, ActionForbidden, ConditionNotMet, Invalid: when it is not what the caller asks for
    """
    await check_running(session, held, request)
    held, step = await _with_lent_rights(session, held, request) if alone else (held, _own_step(held, request.command))
    return Decision(held, step, request.command, request.ctx.now, trace=request.trace or None)


BY_RIGHT = DecisionPolicy("transitions", decide_by_right, shares=True)


def _own_step(held: HeldInstance, command: Command) -> Step:
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


async def _with_lent_rights(
    session: AsyncSession, held: HeldInstance, request: TransitionRequest
) -> tuple[HeldInstance, Step]:
    """Own right first; who stands in for whom is asked only when that does not do."""
    command, asked = request.command, _asked(held, request.command)
    here = (held.definition, held.row.current_state, command.action)
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
        error.raced = await _just_done(session, held.row, command)
        raise
    except decisions.ActionForbidden:
        everybody = (asked, *(authorization.in_place_of(asked, seat) for seat in seats))
        if await _was_allowed(session, held, command, everybody):
            raise TransitionNotPossible("The step this was meant for has been taken.", raced=True) from None
        raise


async def _seats(session: AsyncSession, held: HeldInstance) -> tuple[Caller, ...]:
    code, project = held.definition.code, held.facts.scope.project
    return tuple(await delegators_of(held.ctx, session, workflow_code=code, project_id=project))


async def _just_done(session: AsyncSession, row: Instance, command: Command) -> bool:
    last = await repository.latest_step(session, row.id)
    return last is not None and last.action == command.action


async def _was_allowed(
    session: AsyncSession, held: HeldInstance, command: Command, asked: Iterable[decisions.Facts]
) -> bool:
    """
    Whether the caller could have done this one step earlier. Then it is a lost race or a second click, not a
    trespass; a client that names the present version has seen this step and gets the plain refusal.
    """
    if command.names_a_version:
        return False
    last = await repository.latest_step(session, held.row.id)
    if last is None or last.from_state not in held.definition.states:
        return False
    before = held.definition.states[last.from_state].on.get(command.action)
    return before is not None and any(decisions.permitted(before.require, one) for one in asked)
