"""
Issue numbers: requests that wait for the same series share one lock and one transaction (REQ-NUM-09, REQ-LCK-01).

Each series with somebody waiting has one task. It takes the lock, then whoever has arrived by then, begins, advances the
counter by that many with one compare-and-set, writes the rows of all of them, commits, gives each its number in order of
arrival, and releases. Documents, which write their own rows beside the number, go one by one in the same order.
No database connection is held while waiting for a lock or a back-off.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import structlog
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, DatabaseFault, database_fault, violates_constraint
from saraban.kit.errors import DomainError
from saraban.kit.locks import LockBusy, Locks, LockServiceDown
from saraban.numbering.issue.domain.retry import Attempts, Failure, RetryBudget
from saraban.numbering.issue.repository import ledger_entries, number_batch
from saraban.numbering.issue.service import metrics
from saraban.numbering.issue.service.number_batch import (
    CounterMissing,
    CounterMoved,
    FormatChanged,
    Holder,
    Issued,
    IssueRequest,
    cancel_undelivered,
    issue_batch,
    issued_of,
)
from saraban.numbering.issue.service.number_plan import Plan, replan
from saraban.numbering.issue.service.refusals import RefusalLog
from saraban.numbering.issue.service.series_queue import SeriesQueue, WaitingRequest, Work
from saraban.numbering.series.domain.counter_key import CounterState
from saraban.numbering.series.repository import counters

log = structlog.get_logger(__name__)
T = TypeVar("T")
_REMEMBERED_SERIES = 10_000
_MOST_AT_ONCE = 500
Then = Callable[[AsyncSession, Issued], Awaitable[T]]


class Allocator:
    """
    Issues numbers. One per process.

    :param locks: Redis, or the database alone; on SQLite the queue in this process is the lock
    :param lock_timeout: seconds one attempt waits for the lock
    """

    def __init__(self, db: Database, locks: Locks, *, budget: RetryBudget, lock_timeout: float) -> None:
        self._db = db
        self._locks = locks
        self._budget = budget
        self._lock_timeout = lock_timeout
        self._queues: dict[str, SeriesQueue] = {}
        self._remembered: dict[str, CounterState] = {}
        self._packet = 0
        self.failures = RefusalLog(db)

    async def issue_and_write(
        self, ctx: RequestContext, plan: Plan, *, holder: Holder | None, token: UUID, then: Then[T], recall: Then[T]
    ) -> T:
        """
        Issue the next number of the plan's series and run `then` in the same transaction, exactly once.

        :param token: made before the first attempt; a request that comes again with it gets the same number
        :param then: the caller's own rows; it must do no outside I/O, because a collision runs it again
        :param recall: gives the answer of a request that turns out to be committed already
        :raises NumberingBusy: after the lock's retries or its deadline
        :raises NumberingConflict: after the compare-and-set's retries
        :raises NumberingFailed: after the database's retries
        :raises SequenceExhausted: where the format refuses to widen, or a kept range is used up
        """
        request = IssueRequest(plan, ctx.caller, holder, token, ctx.address, ctx.key)
        waiter = WaitingRequest(request, Attempts(self._budget), recall, work=then, uncertain=ctx.key is not None)
        answer: T = await self._ask(waiter)
        return answer

    async def issue(
        self,
        ctx: RequestContext,
        plan: Plan,
        *,
        token: UUID,
        remember: Then[None] | None = None,
        lasts: timedelta | None = None,
    ) -> Issued:
        """
        Issue the next number of the plan's series for no document, in a transaction shared with others that wait.

        :param remember: writes the answer kept for the request's key, in that transaction
        :param lasts: reserve it for so long; None makes it final
        :raises: what `issue` raises
        """
        request = IssueRequest(plan, ctx.caller, None, token, ctx.address, ctx.key, lasts)
        waiter = WaitingRequest(
            request, Attempts(self._budget), _as_issued, remember=remember, uncertain=ctx.key is not None
        )
        issued: Issued = await self._ask(waiter)
        return issued

    async def redis_up(self) -> bool:
        up = await self._locks.up()
        metrics.REDIS_UP.set(1 if up else 0)
        return up

    async def close(self) -> None:
        """Wait for the batches on their way; who still waits is told that the service ends."""
        tasks = [queue.task for queue in self._queues.values() if queue.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._lock_timeout)
        await self._locks.close()
        await self.failures.close()

    @property
    def open_queues(self) -> int:
        """Series with somebody waiting; the queues of idle series are forgotten."""
        return len(self._queues)

    @property
    def waiting(self) -> int:
        """Requests without an answer yet."""
        return sum(len(queue.waiting) + len(queue.batch) for queue in self._queues.values())

    async def _ask(self, waiter: WaitingRequest) -> Any:
        self._enqueue(waiter)
        try:
            answer = await waiter.answered()
        except DomainError as error:
            request = waiter.request
            await self.failures.refused(
                error,
                context=_context(request.plan),
                user_id=request.caller.user_id,
                address=request.address,
                now=request.plan.now,
            )
            raise
        metrics.SUCCESS.inc()
        if self.failures.waiting:
            self.failures.write()
        return answer

    def _enqueue(self, waiter: WaitingRequest) -> None:
        name = waiter.request.plan.lock_name
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = SeriesQueue(name)
            queue.waiting.append(waiter)
            queue.task = asyncio.get_running_loop().create_task(self._serve(queue), name=f"numbers {name}")
        else:
            queue.waiting.append(waiter)

    async def _serve(self, queue: SeriesQueue) -> None:
        """Serve the queue until nobody waits; a fault of one attempt is its waiters' fault, not the queue's."""
        try:
            while queue.waiting:
                if delay := queue.seconds_until_due():
                    await asyncio.sleep(min(delay, 0.05))  # somebody who does not back off may arrive meanwhile
                    queue.drop_gone()
                    continue
                try:
                    await self._round(queue)
                except Exception as error:  # noqa: BLE001  sorted by kind there; what is unknown goes to the callers
                    self._handle_failure(queue, error)
        finally:
            del self._queues[queue.name]

    async def _round(self, queue: SeriesQueue) -> None:
        await self._answer_committed(queue)
        queue.drop_gone()
        if not queue.waiting:
            return
        plan = queue.waiting[0].request.plan
        await self._ensure_counter(queue.name, plan)
        queue.lock_path.kind = self._locks.path
        metrics.LOCK_ATTEMPTS.inc()
        try:
            async with self._locks.hold(queue.name, within=max(queue.lock_patience(self._lock_timeout), 0.05)):
                if queue.lock_path.kind == "redis":
                    metrics.REDIS_SUCCESS.inc()
                    metrics.REDIS_UP.set(1)
                await self._batch(queue)
        except LockServiceDown as down:
            await self._note_redis_down(queue, down)
            queue.lock_path.kind, queue.lock_path.locks_row = "database", True
            await self._batch(queue)

    async def _batch(self, queue: SeriesQueue) -> None:
        """One transaction for whoever waits now."""
        waiters = queue.take(most=_MOST_AT_ONCE, size=self._packet)
        if not waiters:
            return
        requests = [waiter.request for waiter in waiters]
        metrics.BATCH.observe(len(waiters))
        for waiter in waiters:
            waiter.request.retries, waiter.request.waited = waiter.attempts.retries, waiter.elapsed
            metrics.LOCK_WAIT.observe(waiter.request.waited)
        queue.lock_path.remembered = self._remembered.get(queue.name)
        if any(waiter.has_rows for waiter in waiters):
            async with self._db.writing() as session:
                issued_batch = await issue_batch(session, requests, queue.lock_path)
                answers = [
                    await _write_own_rows(session, waiter, outcome)
                    for waiter, outcome in zip(waiters, issued_batch.outcomes, strict=True)
                ]
        else:
            async with self._db.writing_connection() as connection:
                issued_batch = await issue_batch(connection, requests, queue.lock_path)
                answers = list(issued_batch.outcomes)
        self._remember(queue.name, issued_batch.counter)
        queue.lock_path.locks_row = queue.lock_path.searches = False
        queue.clear_batch()
        undelivered = [
            (waiter.request, answer)
            for waiter, answer in zip(waiters, answers, strict=True)
            if waiter.answer.cancelled() and waiter.request.idempotency_key is None and isinstance(answer, Issued)
        ]
        for waiter, answer in zip(waiters, answers, strict=True):
            await self._deliver(waiter, answer)
        for request, issued in undelivered:
            await self._cancel(request, issued)

    async def _deliver(self, waiter: WaitingRequest, answer: Any) -> None:
        if isinstance(answer, FormatChanged):
            await self._replan(waiter)
        elif isinstance(answer, DomainError):
            waiter.fail(answer)
        else:
            waiter.succeed(answer)

    async def _replan(self, waiter: WaitingRequest) -> None:
        """The format was changed between the plan and the issue: plan again and stand in the queue that is right now."""
        try:
            async with self._db.reading() as session:
                waiter.request.plan = await replan(session, waiter.request.plan)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this waiter's
            waiter.fail(error)
        else:
            waiter.on_its_way = False
            self._enqueue(waiter)

    async def _answer_committed(self, queue: SeriesQueue) -> None:
        """Look up, on a fresh connection, the tokens of those whose commit may have gone through already."""
        asking = [waiter for waiter in queue.waiting if waiter.uncertain]
        if not asking:
            return
        async with self._db.reading() as session:
            entries = await ledger_entries.by_tokens(session, [waiter.request.token for waiter in asking])
            for waiter in asking:
                entry = entries.get(waiter.request.token)
                if entry is not None:
                    waiter.succeed(await waiter.run(waiter.recall, session, issued_of(entry)))
                waiter.uncertain = False

    async def _cancel(self, request: IssueRequest, issued: Issued) -> None:
        try:
            await self._db.transact(lambda session: cancel_undelivered(session, request, issued, now=request.plan.now))
        except (SQLAlchemyError, OSError) as error:
            # It stays confirmed without a holder, which is legal and shown as such.
            log.warning("numbering.stray_kept", number=issued.number, error=str(error)[:300])

    def _handle_failure(self, queue: SeriesQueue, error: Exception) -> None:
        """Charge the failure to those it concerns, and have the others wait on."""
        failure = _failure_of(error)
        concerned = queue.batch or [waiter for waiter in queue.waiting if waiter.ready_at <= stopwatch()]
        self._remembered.pop(queue.name, None)
        if failure is None:
            for waiter in [error.waiter] if isinstance(error, _OwnRowsFailed) else concerned:
                waiter.fail(error.__cause__ or error if isinstance(error, _OwnRowsFailed) else error)
        else:
            queue.lock_path.locks_row |= failure is Failure.CONFLICT  # who locks the row cannot lose again
            queue.lock_path.searches |= failure is Failure.TAKEN
            _count(failure)
            # Without a connection nothing can have been committed; with a broken one it can.
            unknown = failure is Failure.TAKEN or database_fault(error) is DatabaseFault.CONNECTION
            for waiter in (*queue.batch, *queue.waiting):
                waiter.attempts.met = failure
            for waiter in concerned:
                waiter.uncertain |= unknown
                _charge(waiter, failure)
        queue.requeue_batch()
        queue.drop_gone()
        log.warning("numbering.retry", reason=str(failure), waiting=len(queue.waiting), error=str(error)[:300])

    def _remember(self, name: str, counter: CounterState) -> None:
        if len(self._remembered) >= _REMEMBERED_SERIES:
            self._remembered.clear()
        self._remembered[name] = counter

    async def _ensure_counter(self, name: str, plan: Plan) -> None:
        if not self._packet:
            async with self._db.reading() as session:
                self._packet = await number_batch.largest_packet(session) // 2  # quoting may double what it quotes
        if name in self._remembered or plan.range:
            return
        await self._db.transact(
            lambda session: counters.ensure_counter(session, key=plan.key, series=plan.series, now=plan.now)
        )

    async def _note_redis_down(self, queue: SeriesQueue, down: LockServiceDown) -> None:
        metrics.REDIS_FAILED.inc()
        metrics.DB_FALLBACK.inc()
        metrics.REDIS_UP.set(0)
        if not queue.waiting:
            return
        request = queue.waiting[0].request
        log.warning("Redis lock failed, falling back to DB lock", error=str(down), series=request.plan.series)
        await self.failures.redis_down(
            str(down),
            context=_context(request.plan),
            user_id=request.caller.user_id,
            address=request.address,
            now=request.plan.now,
        )


class _OwnRowsFailed(Exception):  # never leaves this module
    """What one waiter's own rows raised: it concerns nobody else in the batch."""

    def __init__(self, waiter: WaitingRequest) -> None:
        self.waiter = waiter


async def _write_own_rows(session: AsyncSession, waiter: WaitingRequest, outcome: Any) -> Any:
    work: Work | None = waiter.work or waiter.remember
    if work is None or not isinstance(outcome, Issued):
        return outcome
    try:
        answer = await waiter.run(work, session, outcome)
    except Exception as error:
        if _failure_of(error) is not None:
            raise
        raise _OwnRowsFailed(waiter) from error
    return answer if waiter.work else outcome


async def _as_issued(_session: AsyncSession, issued: Issued) -> Issued:
    return issued


def _charge(waiter: WaitingRequest, failure: Failure) -> None:
    try:
        again = waiter.attempts.after(failure, elapsed=waiter.elapsed)
    except DomainError as end:
        waiter.fail(end)
    else:
        waiter.ready_at = stopwatch() + again.delay if again.delay else 0.0
        if failure is not Failure.TAKEN:
            metrics.RETRY.labels(attempt=str(waiter.attempts.failures[failure]), reason=failure.value).inc()


def _count(failure: Failure) -> None:
    if failure is Failure.CONFLICT:
        metrics.CONFLICT.inc()
    if failure is Failure.LOCK:
        metrics.LOCK_TIMEOUT.inc()


def _context(plan: Plan) -> dict[str, Any]:
    return {"series": plan.series, "template": plan.template.text, **plan.codes}


_FAILURES = {
    DatabaseFault.COLLISION: Failure.COLLISION,
    DatabaseFault.LOCK_WAIT: Failure.LOCK,
    DatabaseFault.CONNECTION: Failure.CONNECTION,
    DatabaseFault.POOL: Failure.CONNECTION,
}


def _failure_of(error: Exception) -> Failure | None:
    if isinstance(error, LockBusy):
        return Failure.LOCK
    if isinstance(error, CounterMoved):
        return Failure.CONFLICT
    if isinstance(error, CounterMissing):
        return Failure.COLLISION
    if isinstance(error, IntegrityError):
        ours = violates_constraint(error, *number_batch.NUMBER_CONSTRAINTS, *number_batch.TOKEN_CONSTRAINTS)
        return Failure.TAKEN if ours else None
    fault = database_fault(error)
    return _FAILURES.get(fault) if fault else None  # a full disk is nobody's to wait for
