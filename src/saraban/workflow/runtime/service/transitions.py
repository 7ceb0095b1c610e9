"""
The transitions of one process: those that are asked for at the same moment, of different instances, share a transaction.
"""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.batching import BatchQueue, Waiter
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.idempotency import Idempotency
from saraban.workflow.language.subject import Envelope
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.service import definitions, instances, tasks
from saraban.workflow.runtime.service.subjects import Subjects
from saraban.workflow.runtime.service.transition_batch import BY_RIGHT, transition_batch
from saraban.workflow.runtime.service.transition_metrics import report
from saraban.workflow.runtime.service.transition_request import (
    Command,
    DecisionPolicy,
    InstanceSnapshot,
    Transitioned,
    TransitionRequest,
)

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
        plain = instances.envelope_without_query(after)
        if plain is not None:
            return plain
        async with self._db.reading() as session:
            return await instances.envelope_after(session, after)

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
        if request.seen is None or request.attempt is None:
            async with self._db.reading() as session:
                request.see(request.seen or await self._snapshot(session, request))
        batch = partial(transition_batch, subjects=self._subjects, requests=[request], alone=True)
        (done,) = await self._db.transact(batch)
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
            if database_fault(error) is DatabaseFault.CONNECTION:
                # Whether those that were written are committed nobody knows (REQ-NUM-09): they must not be tried again.
                for waiter in sharing:
                    if waiter.item.attempt is not None:
                        _fail(waiter, error)
            elif not isinstance(error, DomainError):
                log.warning("workflow.not_together", steps=len(sharing), error=str(error)[:300])
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
