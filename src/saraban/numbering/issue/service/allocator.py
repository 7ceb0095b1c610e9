"""
Issue numbers: requests of a series share one lock and one transaction (REQ-NUM-09, REQ-LCK-01).

Each series with waiting requests has a queue. Its batch takes the lock, advances the counter with one compare-and-set,
and assigns numbers in order of arrival. Batches of several series whose locks are held at the same moment share the
transaction. Documents go one by one. Nothing holds a connection while it waits for a lock or a back-off.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.batching import BatchQueue, TurnMissed, Waiter
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.departure import ClientGone
from saraban.kit.error_text import error_text
from saraban.kit.errors import DomainError
from saraban.kit.idempotency import Idempotency
from saraban.kit.locks import Locks, LockServiceDown
from saraban.kit.operation import Operation
from saraban.kit.reconnection import CommitLost
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import Attempts, Failure, RetryBudget
from saraban.numbering.issue.service import monitoring
from saraban.numbering.issue.service.issue_request import Issued, IssueRequest, LockPath, PendingIssue, issued_of
from saraban.numbering.issue.service.lifecycle import (
    NumberToVoid,
    bind_reservation,
    cancel_undelivered,
    read_issued,
    void_for,
)
from saraban.numbering.issue.service.monitoring import FAILURES, RefusalLog
from saraban.numbering.issue.service.number_batch import (
    FormatChanged,
    OwnRowsFailed,
    SeriesTurn,
    Waiting,
    failure_of,
    issue_batches,
    open_series,
)
from saraban.numbering.issue.service.number_plan import Plan, plan_apart, replan
from saraban.numbering.issue.service.number_request import NumberRequest
from saraban.numbering.series.domain.counter import CounterState

log = structlog.get_logger(__name__)
_REMEMBERED_SERIES = 10_000
_MOST_AT_ONCE = 500
_DEFAULT_PACKET_BYTES = 256 * 1024  # until the database's own limit is known
_MOST_SERIES = 500
_LANES = 4
_GIVE_WAY = 0.1  # seconds; a slow transaction delays later ones for no longer
_FAULTS_OF_ONE_SERIES = {None, DatabaseFault.COLLISION, DatabaseFault.LOCK_WAIT}


class SharedTransactions:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._queue: BatchQueue[SeriesTurn, None] = BatchQueue(
            self._issue_shared, most=_MOST_SERIES, lanes=_LANES, give_way=_GIVE_WAY
        )

    def set_room(self, room: int) -> None:
        """:param room: maximum bytes of one statement"""
        self._queue.room = room

    async def run(self, turn: SeriesTurn) -> None:
        """Issue numbers to the waiters of a series; committed on return."""
        if turn.is_shareable:
            await self._queue.ask(turn, turn.name, size=sum(waiter.size for waiter in turn.waiters))
        else:
            await self._issue_turns([turn])

    async def _issue_shared(self, turns: Sequence[Waiter[SeriesTurn, None]]) -> None:
        """Retry each series alone where one of them may have caused the failure."""
        try:
            await self._issue_turns([turn.item for turn in turns])
        except Exception as error:
            if len(turns) == 1 or database_fault(error) not in _FAULTS_OF_ONE_SERIES:
                raise
            for turn in turns:
                turn.again(shares=False)
        else:
            for turn in turns:
                turn.succeed(None)

    async def _issue_turns(self, turns: Sequence[SeriesTurn]) -> None:
        active_turns = [turn for turn in turns if turn.begin()]
        if not active_turns:
            return
        issued_batches = await self._db.transact_once(issue_batches, active_turns)
        for turn, issued_batch in zip(active_turns, issued_batches, strict=True):
            turn.issued = issued_batch


class _OpenSeries:
    """A series with waiting requests; removed when its queue is idle."""

    def __init__(self, name: str, allocator: "Allocator", room: int) -> None:
        self.name = name
        self.lock_path = LockPath("database")
        self.met: Failure | None = None  # failure of the last attempt
        self.queue: BatchQueue[PendingIssue, Issued] = BatchQueue(
            self._run, most=_MOST_AT_ONCE, room=room, on_idle=self._forget
        )
        self._allocator = allocator

    async def _run(self, waiters: Sequence[Waiting]) -> None:
        await self._allocator.serve(self, waiters)

    def _forget(self) -> None:
        self._allocator.forget(self.name)


class Allocator:
    """
    One per process. On SQLite its queue is the lock.

    :param lock_timeout: seconds per attempt
    """

    def __init__(self, db: Database, locks: Locks, *, budget: RetryBudget, lock_timeout: float) -> None:
        self._db = db
        self._locks = locks
        self._budget = budget
        self._lock_timeout = lock_timeout
        self._open: dict[str, _OpenSeries] = {}
        self._remembered: dict[str, CounterState] = {}
        self._packet_bytes = 0
        self._transactions = SharedTransactions(db)
        self.failures = RefusalLog(db)

    async def issue(self, request: IssueRequest) -> Issued:
        """
        Issue the next number exactly once; number and holder's rows are committed on return.

        :raises NumberingBusy: after the lock's retries or its deadline
        :raises NumberingConflict: after the compare-and-set's retries
        :raises NumberingFailed, CommitLost: after the database's retries; without a key, if a COMMIT may have saved it
        :raises SequenceExhausted: where the format refuses overflow, or a reserved range is used up
        :raises KeyInUse: when another request took the key over; no number is issued
        """
        if request.reservation is not None:
            return await self._bind(request)
        pending = PendingIssue(request, request.plan, Attempts(self._budget))
        try:
            issued = await self._ask(pending)
        except ClientGone:
            raise
        except Exception as error:
            refused = isinstance(error, DomainError) and type(error) not in FAILURES
            monitoring.GENERATED["refused" if refused else "failed"].observe(pending.elapsed)
            if isinstance(error, DomainError):
                await self._record(error, pending)
            if pending.unseen and pending.uncertain and not request.is_keyed:
                raise CommitLost from error
            raise
        monitoring.GENERATED["success"].observe(pending.elapsed)
        monitoring.SUCCESS.inc()
        if self.failures.waiting:
            self.failures.write()
        if pending.unseen:  # committed by this request, although it did not see the commit end
            return replace(issued, repeated=False) if issued.repeated else issued
        if issued.repeated and request.claim is not None:
            await request.claim.complete_found(request.receipt(issued))
        return issued

    async def _bind(self, request: IssueRequest) -> Issued:
        """:raises CommitLost: when a COMMIT was lost and the database is still away"""
        try:
            return await self._db.transact(_bind_and_write, request)
        except CommitLost as lost:
            try:
                return await self._db.transact(_bind_and_write, request)
            except Exception as error:
                if database_fault(error) is None:
                    raise
                raise lost from error

    async def redis_up(self) -> bool:
        up = await self._locks.up()
        monitoring.REDIS_UP.set(1 if up else 0)
        return up

    async def close(self) -> None:
        """Wait for running batches; requests that still wait are refused as busy."""
        await asyncio.gather(*(series.queue.close(self._lock_timeout) for series in self._open.values()))
        await self._locks.close()
        await self.failures.close()

    @property
    def waiting(self) -> int:
        return sum(series.queue.unanswered for series in self._open.values())

    async def _ask(self, pending: PendingIssue) -> Issued:
        """:raises NumberingBusy, NumberingFailed: also when its turn did not come before the deadline"""
        request = pending.request
        while True:
            plan = pending.plan
            series = self._series(plan.lock_name)
            within = pending.attempts.left(pending.elapsed)
            try:
                return await series.queue.ask(
                    pending, request.token, shares=request.write is None, size=plan.weight, within=within
                )
            except FormatChanged:
                continue  # the new plan may belong to another queue
            except TurnMissed:
                pending.attempts.met = series.met or pending.attempts.met
                raise pending.attempts.too_late() from None

    def _series(self, name: str) -> _OpenSeries:
        series = self._open.get(name)
        if series is None:
            series = self._open[name] = _OpenSeries(name, self, self._packet_bytes or _DEFAULT_PACKET_BYTES)
        return series

    def forget(self, name: str) -> None:
        del self._open[name]

    async def serve(self, series: _OpenSeries, waiters: Sequence[Waiting]) -> None:
        """Make one attempt; charge its failure to its requests."""
        for waiter in waiters:
            waiter.postpone()  # until the lock is held
        try:
            await self._attempt(series, waiters)
            for waiter in waiters:
                if waiter.on_its_way and not waiter.settled:
                    await self._replan(waiter)
        except Exception as error:  # noqa: BLE001  the handler passes unknown errors to the callers
            self._handle_failure(series, waiters, error)

    async def _attempt(self, series: _OpenSeries, waiters: Sequence[Waiting]) -> None:
        await self._answer_committed(waiters)
        await self._ensure_counter(series, waiters[0].item)
        oldest = min((waiter.item.arrived for waiter in waiters if not waiter.answer.done()), default=None)
        if oldest is None:
            return
        left = self._budget.deadline - (stopwatch() - oldest)
        path = series.lock_path
        path.kind = self._locks.path
        monitoring.LOCK_ATTEMPTS.inc()
        try:
            async with self._locks.hold(series.name, within=max(min(self._lock_timeout, left), 0.05)):
                if path.kind == "redis":
                    monitoring.REDIS_SUCCESS.inc()
                    monitoring.REDIS_UP.set(1)
                await self._batch(series, waiters)
        except LockServiceDown as down:
            await self._note_redis_down(down, waiters)
            path.kind, path.locks_row = "database", True
            monitoring.DB_FALLBACK.inc(await self._batch(series, waiters))

    async def _batch(self, series: _OpenSeries, waiters: Sequence[Waiting]) -> int:
        """Return how many requests got a number."""
        path = series.lock_path
        path.remembered = self._remembered.get(series.name)
        turn = SeriesTurn(series.name, waiters, path)
        await self._transactions.run(turn)
        if turn.issued is None:  # every caller has left
            return 0
        self._remember(series.name, turn.issued.counter)
        path.locks_row = path.searches = False
        series.met = None
        undelivered = []
        for waiter, outcome in zip(turn.waiters, turn.issued.outcomes, strict=True):
            if isinstance(outcome, Issued):
                waiter.succeed(outcome)
                if waiter.left:
                    undelivered.append((waiter.item, outcome))
            elif isinstance(outcome, DomainError):
                waiter.fail(outcome)
        for pending, issued_number in undelivered:
            await self._cancel(pending, issued_number)
        return sum(isinstance(outcome, Issued) for outcome in turn.issued.outcomes)

    async def _replan(self, waiter: Waiting) -> None:
        """Sequential, so that the order of arrival stays."""
        try:
            async with self._db.reading() as session:
                waiter.item.plan = await replan(waiter.item.request.ctx, session, waiter.item.plan)
        except Exception as error:  # noqa: BLE001  any error belongs to this waiter
            waiter.fail(error)
        else:
            waiter.fail(FormatChanged())

    async def _answer_committed(self, waiters: Sequence[Waiting]) -> None:
        """Look up the tokens of requests whose commit may have succeeded."""
        for waiter in waiters:  # a follower repeats a request, which may have committed its number
            waiter.item.uncertain |= waiter.follows is not None
            waiter.follows = None
        uncertain_waiters = [waiter for waiter in waiters if waiter.item.uncertain]
        if not uncertain_waiters:
            return
        async with self._db.reading() as session:
            entries = await repository.by_tokens(session, [waiter.item.request.token for waiter in uncertain_waiters])
        for waiter in uncertain_waiters:
            waiter.item.uncertain = False
            entry = entries.get(waiter.item.request.token)
            if entry is not None:
                waiter.succeed(replace(issued_of(entry), repeated=True))

    async def _cancel(self, pending: PendingIssue, issued: Issued) -> None:
        """Only without document or key: those two find their number again."""
        if pending.request.ctx.key is not None or pending.request.write is not None:
            return
        try:
            await self._db.transact(cancel_undelivered, pending.request, pending.plan, issued)
        except (SQLAlchemyError, OSError) as error:
            # The number stays confirmed without a holder, which is a valid state.
            log.warning("numbering.stray_kept", number=issued.number, error=error_text(error))

    def _handle_failure(self, series: _OpenSeries, waiters: Sequence[Waiting], error: Exception) -> None:
        unanswered = [waiter for waiter in waiters if not waiter.settled]
        begun = [waiter for waiter in unanswered if waiter.on_its_way]
        concerned = begun or [waiter for waiter in unanswered if waiter.ready_at <= stopwatch()]
        failure = failure_of(error)
        self._remembered.pop(series.name, None)
        for waiter in begun:
            waiter.again()
        if isinstance(error, OwnRowsFailed):
            error.waiter.fail(error.reason)
        elif failure is None:
            for waiter in concerned:
                waiter.fail(error)
        else:
            series.met = failure
            series.lock_path.locks_row |= (
                failure is Failure.CONFLICT
            )  # with the row locked, the compare-and-set cannot fail again
            series.lock_path.searches |= failure is Failure.TAKEN
            _count_failure(failure)
            fault = database_fault(error)
            unknown = failure is Failure.TAKEN or fault in {DatabaseFault.CONNECTION, DatabaseFault.COMMIT}
            for waiter in begun:
                waiter.item.unseen |= fault is DatabaseFault.COMMIT
            for waiter in concerned:
                waiter.item.uncertain |= unknown
                _charge_failure(waiter, failure)
        log.warning("numbering.retry", reason=str(failure), waiting=series.queue.unanswered, error=error_text(error))

    def _remember(self, name: str, counter: CounterState) -> None:
        if len(self._remembered) >= _REMEMBERED_SERIES:
            self._remembered.clear()
        self._remembered[name] = counter

    async def _ensure_counter(self, series: _OpenSeries, pending: PendingIssue) -> None:
        plan, now = pending.plan, pending.request.ctx.now
        if not self._packet_bytes:
            async with self._db.reading() as session:
                self._packet_bytes = await repository.largest_packet(session) // 2  # escaping may double the length
        series.queue.room = self._packet_bytes
        self._transactions.set_room(self._packet_bytes)
        if series.name in self._remembered or plan.range:
            return
        await self._db.transact(open_series, [plan], now=now)

    async def _record(self, error: DomainError, pending: PendingIssue) -> None:
        ctx = pending.request.ctx
        await self.failures.refused(
            error, context=_error_context(pending.plan), user_id=ctx.caller.user_id, address=ctx.address, now=ctx.now
        )

    async def _note_redis_down(self, down: LockServiceDown, waiters: Sequence[Waiting]) -> None:
        monitoring.REDIS_FAILED.inc()
        monitoring.REDIS_UP.set(0)
        first, numbers = waiters[0].item, sum(not waiter.answer.done() for waiter in waiters)
        if await self.failures.redis_down(str(down), numbers=numbers, now=first.request.ctx.now):
            log.warning("Redis lock failed, falling back to DB lock", error=str(down), series=first.plan.series)


@dataclass(frozen=True, slots=True)
class NumberServices:
    db: Database
    allocator: Allocator
    idempotency: Idempotency


async def issue_number(
    ctx: RequestContext,
    numbers: NumberServices,
    operation: Operation,
    *,
    request: NumberRequest,
    lasts: timedelta | None = None,
) -> Issued:
    """:param lasts: reserve the number for this long"""
    async with numbers.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return await read_issued(ctx, numbers.db, claim.receipt)
        plan = await plan_apart(ctx, numbers.db, request)
        return await numbers.allocator.issue(IssueRequest(ctx, plan, operation.token, claim, lasts=lasts))


async def replace_number(
    ctx: RequestContext,
    numbers: NumberServices,
    operation: Operation,
    *,
    void: NumberToVoid,
    request: NumberRequest,
) -> Issued:
    """Void a number without a document and issue its replacement in one transaction."""
    async with numbers.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return await read_issued(ctx, numbers.db, claim.receipt)
        plan = await plan_apart(ctx, numbers.db, request)
        write = partial(void_for, ctx, void, plan.project.id)
        outcome = {"voided": str(void.public_id)}
        return await numbers.allocator.issue(
            IssueRequest(ctx, plan, operation.token, claim, write=write, outcome=outcome)
        )


async def _bind_and_write(request: IssueRequest, session: AsyncSession) -> Issued:
    """Do nothing if a lost COMMIT has saved the rows already."""
    assert request.reservation is not None
    assert request.holder is not None
    assert request.write is not None
    issued = await bind_reservation(
        request.ctx, session, token=request.reservation, plan=request.plan, holder=request.holder, fields=request.fields
    )
    if issued.repeated:
        return replace(issued, repeated=False)
    await request.write(session, issued)
    if request.claim is not None:
        await request.claim.complete(session, request.receipt(issued))
    return issued


def _charge_failure(waiter: Waiting, failure: Failure) -> None:
    pending = waiter.item
    try:
        delay = pending.attempts.after(failure, elapsed=pending.elapsed)
    except DomainError as error:
        waiter.fail(error)
    else:
        waiter.again(delay)
        if failure is not Failure.TAKEN:
            monitoring.RETRY.labels(attempt=str(pending.attempts.failures[failure]), reason=failure.value).inc()


def _count_failure(failure: Failure) -> None:
    if failure is Failure.CONFLICT:
        monitoring.CONFLICT.inc()
    if failure is Failure.LOCK:
        monitoring.LOCK_TIMEOUT.inc()


def _error_context(plan: Plan) -> dict[str, object]:
    return {"series": plan.series, "template": plan.template.text, **plan.codes}
