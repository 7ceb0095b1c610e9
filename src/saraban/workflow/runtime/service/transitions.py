"""
The transitions of one process: those that are asked for at the same moment, of different instances, share a transaction
(REQ-WFL-02). A step alone is a batch of one.

Correct without Redis: the row lock and the compare-and-set of `version_no` decide every race.

A request shares a transaction only where nothing stands against it. Whoever is refused there is handed back, and comes
alone afterwards: it waits for its row, reads whose rights it was lent, and is refused in its own words. So no step can be
undone, or kept waiting for a lock, by another one (decision 30).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.batching import BatchQueue, Waiter
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.error_text import error_text
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.idempotency import Idempotency, KeyInUse, complete_claims
from saraban.kit.reconnection import CommitLost
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Step, TransitionNotPossible
from saraban.workflow.language.subject import Envelope, InstanceStatus
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import delegation
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.service import definitions, instances, tasks
from saraban.workflow.runtime.service.delegations import delegators_of
from saraban.workflow.runtime.service.persist_transition import persist_transitions
from saraban.workflow.runtime.service.subjects import Subjects
from saraban.workflow.runtime.service.transition_metrics import report
from saraban.workflow.runtime.service.transition_request import (
    Command,
    Decision,
    DecisionPolicy,
    HeldInstance,
    InstanceSnapshot,
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
            check_payload(request.command, held)
            decided[request] = await request.policy.decide(session, held, request, alone)
        except DomainError:
            if alone:
                raise
    if not alone:
        # What has an attempt will be written: only its key tells what became of it if its COMMIT is lost.
        for request in requests:
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
    for row, has_files in await repository.lock_instances(session, list(asked), wait=alone):
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
            held.append(
                (request, HeldInstance(row, definition, facts, port=port, ctx=request.ctx, has_files=has_files))
            )
    if alone and not held:
        raise NotFound(f"The caller may not know of {requests[0].instance_id}.")
    return held


async def check_running(session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> None:
    """
    :raises VersionConflict, StaleInstance: when the client saw another version
    :raises TransitionNotPossible: when the instance has ended, or has moved since it was seen
    """
    row, seen, command = held.row, request.seen, request.command
    check_version(command, row.version_no)
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
    command = request.command
    if alone:
        held, step = await _with_lent_rights(session, held, request)
    else:
        step = decisions.advance(held.definition, held.row.current_state, command.action, _asked(held, command))
    return Decision(held, step, command, request.ctx.now, trace=request.trace or None)


BY_RIGHT = DecisionPolicy("transitions", decide_by_right, shares=True)


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
        theirs = delegation.chosen(*here, asked, seats, named=command.on_behalf_of)
        return replace(held, seat=theirs.caller, seats=seats), decisions.advance(*here, theirs)
    except TransitionNotPossible as error:
        error.raced = await _just_done(session, held.row, command)
        raise
    except decisions.ActionForbidden:
        everybody = (asked, *(delegation.in_place_of(asked, seat) for seat in seats))
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


BATCH_SIZE = 50  # steps of one transaction: their locks are held until all are committed
LANES = 4  # transactions at the same time, at most
PATIENCE = 0.1  # seconds that a transaction may take before those who wait for its end get another lane

log = structlog.get_logger(__name__)
_Waiter = Waiter[TransitionRequest, Transitioned]


class Transitions:
    """One for each process; it does what its doors ask of instances."""

    def __init__(self, db: Database, subjects: Subjects, idempotency: Idempotency) -> None:
        self._db, self._subjects, self._idempotency = db, subjects, idempotency
        self._queue: BatchQueue[TransitionRequest, Transitioned] = BatchQueue(
            self._run, most=BATCH_SIZE, lanes=LANES, give_way=PATIENCE
        )

    async def take(
        self, ctx: RequestContext, *, public_id: UUID, command: Command, policy: DecisionPolicy = BY_RIGHT
    ) -> Transitioned:
        """
        Do what is asked of one instance, once for a key; committed when it returns.

        :raises NotFound: when the caller may not see the instance; asked before anything is told that is kept under a key
        :raises Invalid: for a reserved name in the payload
        :raises VersionConflict, StaleInstance, TransitionNotPossible, ActionForbidden, ConditionNotMet: nothing happened
        """
        request = TransitionRequest(ctx, public_id, command, policy)
        if ctx.key is not None or not request.shares:
            async with self._db.reading() as session:
                request.see(await self._snapshot(session, request, visibly=ctx.key is not None))
        async with self._idempotency.claim(policy.operation(ctx, public_id, command)) as claim:
            if claim.receipt is not None:
                return Transitioned(public_id, claim.receipt)
            request.claim = claim
            return await self._queue.ask(request, public_id, shares=request.shares)

    async def show(self, ctx: RequestContext, done: Transitioned) -> Envelope:
        """
        Return how an instance stands after what was done to it: to who did it as it stood then, of a repetition as it is now.

        :raises NotFound: when the caller of a repetition may not see any more what it moves
        """
        after = done.after
        if after is None:
            async with self._db.reading() as session:
                return await tasks.find(ctx, session, subjects=self._subjects, public_id=done.instance_id, now=ctx.now)
        plain = instances.envelope_without_query(after, done.waiting)
        if plain is not None:
            return plain
        async with self._db.reading() as session:
            return await instances.envelope_after(session, after, done.waiting)

    async def close(self) -> None:
        """Wait for the steps on their way."""
        await self._queue.close()

    async def _snapshot(
        self, session: AsyncSession, request: TransitionRequest, *, visibly: bool = False
    ) -> InstanceSnapshot:
        """
        Read where an instance stands, before any lock.

        :raises NotFound: when there is none; `visibly`, also when the caller may not see what it moves
        """
        row = await repository.stand(session, request.instance_id)
        if row is None or row.entity_type not in self._subjects:
            raise NotFound(f"There is no workflow instance {request.instance_id}.")
        if visibly:
            port = self._subjects.port(row.entity_type)
            if not await port.facts(session, caller=request.ctx.caller, entity_ids=[row.entity_id]):
                raise NotFound("The caller may not see what this workflow moves.")
        definition = await definitions.load(session, row.definition_id)
        return InstanceSnapshot(
            request.instance_id, definition.code, row.current_state, row.version_no, definition.actions
        )

    async def _run(self, waiters: Sequence[_Waiter]) -> None:
        for waiter in waiters:
            before = waiter.follows
            if before is not None and before.on_its_way:
                # It has lost the race: it was meant for where the one before it found the instance. Where that one was
                # refused, or left before its turn, nothing was lost, and it looks afresh.
                waiter.item.seen = waiter.item.seen or before.item.seen
        if waiters[0].shares:
            await self._run_together(waiters)
        else:
            await self._run_alone(waiters[0])

    async def _run_alone(self, waiter: _Waiter) -> None:
        try:
            done = await waiter.run(self._take_alone(waiter.item))
        except Exception as error:  # noqa: BLE001  whatever it is, its request is told of it
            _fail(waiter, error)
        else:
            _succeed(waiter, done)

    async def _take_alone(self, request: TransitionRequest) -> Transitioned:
        assert request.claim is not None  # every request has it, with a key or without
        if request.is_unsure and (receipt := await request.claim.find_committed()):
            return Transitioned(request.instance_id, receipt)
        if request.seen is None or request.attempt is None:
            async with self._db.reading() as session:
                request.see(request.seen or await self._snapshot(session, request))
        batch = partial(transition_batch, subjects=self._subjects, requests=[request], alone=True)
        try:
            (done,) = await self._db.transact(batch)
        except CommitLost:
            if request.is_unsure:
                raise
            request.is_unsure = True
            return await self._take_alone(request)
        assert done is not None  # who comes alone is refused with an error
        return done

    async def _run_together(self, waiters: Sequence[_Waiter]) -> None:
        sharing = [waiter for waiter in waiters if waiter.follows is None]
        requests = [waiter.item for waiter in sharing]
        for request in requests:
            request.attempt = None
        done: Sequence[Transitioned | None] = [None] * len(sharing)
        try:
            batch = partial(transition_batch, subjects=self._subjects, requests=requests, alone=False)
            done = await self._db.transact(batch) if sharing else ()
        except Exception as error:  # noqa: BLE001  whatever it is, each is told of it, or finds it by itself
            if isinstance(error, CommitLost):
                for request in requests:
                    request.is_unsure = request.attempt is not None
            elif database_fault(error) is DatabaseFault.CONNECTION:
                for waiter in sharing:
                    _fail(waiter, error)
            elif not isinstance(error, DomainError):
                log.warning("workflow.not_together", steps=len(sharing), error=error_text(error))
        for waiter, one in zip(sharing, done, strict=True):
            if one is not None:
                _succeed(waiter, one)
        for waiter in waiters:
            if not waiter.settled:
                waiter.again(shares=False)


def _succeed(waiter: _Waiter, done: Transitioned) -> None:
    """Count it, whether or not its caller is still there, in the context of its request: its trace belongs into the line."""
    if waiter.item.attempt is not None:
        waiter.context.run(report, waiter.item.attempt, waiter.elapsed * 1000, taken=done.taken)
    waiter.succeed(done)


def _fail(waiter: _Waiter, error: Exception) -> None:
    attempt, unknown = waiter.item.attempt, isinstance(error, NotFound) and not waiter.item.admitted
    if isinstance(error, DomainError):  # after any other fault it may have been committed all the same
        waiter.item.seen = None
    if attempt is not None and not unknown:
        waiter.context.run(report, attempt, waiter.elapsed * 1000, error=error)
    waiter.fail(error)
