"""
Drawing numbers: who waits for the same series shares one lock and one transaction (rulings N9-N11).

For each series with somebody waiting runs one task. It takes the lock, then whoever has arrived by then, begins,
advances the counter by that many with one compare-and-set, writes everybody's rows, commits, tells each his number in
order of arrival, releases. Documents, which write their own rows beside the number, go one by one in the same order.
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

from saraban.identity.domain.caller import Caller
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
from saraban.numbering.issue.service.series_queue import SeriesQueue, Waiter, Work
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

    :param locks: Redis, or the database alone; on SQLite the line in this process is the lock
    :param lock_timeout: seconds one attempt waits for the lock
    """

    def __init__(self, db: Database, locks: Locks, *, budget: RetryBudget, lock_timeout: float) -> None:
        self._db = db
        self._locks = locks
        self._budget = budget
        self._lock_timeout = lock_timeout
        self._lines: dict[str, SeriesQueue] = {}
        self._remembered: dict[str, CounterState] = {}
        self._packet = 0
        self.failures = RefusalLog(db)

    async def issue(
        self,
        plan: Plan,
        *,
        caller: Caller,
        holder: Holder | None,
        token: UUID,
        address: str,
        then: Then[T],
        recall: Then[T],
        idempotency_key: str | None = None,
    ) -> T:
        """
        Draw the next number of the plan's series and run `then` in the same transaction, exactly once.

        :param token: made before the first attempt; a request that comes again with it gets the same number
        :param then: the caller's own rows; it must do no outside I/O, because a collision runs it again
        :param recall: gives the answer of a draw that turns out to be committed already
        :raises NumberingBusy: after the lock's retries or its deadline
        :raises NumberingConflict: after the compare-and-set's retries
        :raises NumberingFailed: after the database's retries
        :raises SequenceExhausted: where the format refuses to widen, or a kept range is used up
        """
        draw = IssueRequest(plan, caller, holder, token, address, idempotency_key)
        member = Waiter(draw, Attempts(self._budget), recall, work=then, uncertain=idempotency_key is not None)
        answer: T = await self._served(member)
        return answer

    async def draw(
        self,
        plan: Plan,
        *,
        caller: Caller,
        token: UUID,
        address: str,
        idempotency_key: str | None = None,
        remember: Then[None] | None = None,
        lasts: timedelta | None = None,
    ) -> Issued:
        """
        Draw the next number of the plan's series for no document, in a transaction shared with who waits too.

        :param remember: writes the answer kept for the request's key, in that transaction
        :param lasts: reserve it for so long; None makes it final
        :raises: what `issue` raises
        """
        draw = IssueRequest(plan, caller, None, token, address, idempotency_key, lasts)
        member = Waiter(draw, Attempts(self._budget), _itself, remember=remember, uncertain=idempotency_key is not None)
        issued: Issued = await self._served(member)
        return issued

    async def redis_up(self) -> bool:
        up = await self._locks.up()
        metrics.REDIS_UP.set(1 if up else 0)
        return up

    async def close(self) -> None:
        """Wait for the batches on their way; who still waits is told that the service ends."""
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._lock_timeout)
        await self._locks.close()
        await self.failures.close()

    @property
    def open_lines(self) -> int:
        """Series with somebody waiting; the lines of idle series are forgotten."""
        return len(self._lines)

    @property
    def waiting(self) -> int:
        """Requests without an answer yet."""
        return sum(len(line.waiting) + len(line.batch) for line in self._lines.values())

    async def _served(self, member: Waiter) -> Any:
        self._join(member)
        try:
            answer = await member.told()
        except DomainError as error:
            draw = member.draw
            await self.failures.refused(
                error,
                context=_context(draw.plan),
                user_id=draw.caller.user_id,
                address=draw.address,
                now=draw.plan.now,
            )
            raise
        metrics.SUCCESS.inc()
        if self.failures.waiting:
            self.failures.write()
        return answer

    def _join(self, member: Waiter) -> None:
        name = member.draw.plan.lock_name
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = SeriesQueue(name)
            line.waiting.append(member)
            line.task = asyncio.get_running_loop().create_task(self._serve(line), name=f"numbers {name}")
        else:
            line.waiting.append(member)

    async def _serve(self, line: SeriesQueue) -> None:
        """Serve the line until nobody waits; a fault of one attempt is its members' fault, not the line's."""
        try:
            while line.waiting:
                if delay := line.due_in():
                    await asyncio.sleep(min(delay, 0.05))  # somebody who does not back off may arrive meanwhile
                    line.drop_the_gone()
                    continue
                try:
                    await self._round(line)
                except Exception as error:  # noqa: BLE001  sorted by kind there; what is unknown goes to the callers
                    self._after(line, error)
        finally:
            del self._lines[line.name]

    async def _round(self, line: SeriesQueue) -> None:
        await self._settle_uncertain(line)
        line.drop_the_gone()
        if not line.waiting:
            return
        plan = line.waiting[0].draw.plan
        await self._ensure_counter(line.name, plan)
        line.course.path = self._locks.path
        metrics.LOCK_ATTEMPTS.inc()
        try:
            async with self._locks.hold(line.name, within=max(line.patience(self._lock_timeout), 0.05)):
                if line.course.path == "redis":
                    metrics.REDIS_SUCCESS.inc()
                    metrics.REDIS_UP.set(1)
                await self._batch(line)
        except LockServiceDown as down:
            await self._note_redis_down(line, down)
            line.course.path, line.course.locks_row = "database", True
            await self._batch(line)

    async def _batch(self, line: SeriesQueue) -> None:
        """One transaction for whoever waits now."""
        members = line.take(most=_MOST_AT_ONCE, size=self._packet)
        if not members:
            return
        draws = [member.draw for member in members]
        metrics.BATCH.observe(len(members))
        for member in members:
            member.draw.retries, member.draw.waited = member.attempts.retries, member.elapsed
            metrics.LOCK_WAIT.observe(member.draw.waited)
        line.course.remembered = self._remembered.get(line.name)
        if any(member.has_rows for member in members):
            async with self._db.writing() as session:
                drawn = await issue_batch(session, draws, line.course)
                answers = [
                    await _own_rows(session, member, outcome)
                    for member, outcome in zip(members, drawn.outcomes, strict=True)
                ]
        else:
            async with self._db.writing_connection() as connection:
                drawn = await issue_batch(connection, draws, line.course)
                answers = list(drawn.outcomes)
        self._remember(line.name, drawn.standing)
        line.course.locks_row = line.course.searches = False
        line.settle()
        strays = [
            (member.draw, answer)
            for member, answer in zip(members, answers, strict=True)
            if member.answer.cancelled() and member.draw.idempotency_key is None and isinstance(answer, Issued)
        ]
        for member, answer in zip(members, answers, strict=True):
            await self._tell(member, answer)
        for draw, issued in strays:
            await self._cancel(draw, issued)

    async def _tell(self, member: Waiter, answer: Any) -> None:
        if isinstance(answer, FormatChanged):
            await self._replan(member)
        elif isinstance(answer, DomainError):
            member.fail(answer)
        else:
            member.succeed(answer)

    async def _replan(self, member: Waiter) -> None:
        """The format was changed between the plan and the draw: plan again and stand in the line that is right now."""
        try:
            async with self._db.reading() as session:
                member.draw.plan = await replan(session, member.draw.plan)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this member's
            member.fail(error)
        else:
            member.on_its_way = False
            self._join(member)

    async def _settle_uncertain(self, line: SeriesQueue) -> None:
        """Look up, on a fresh connection, the tokens of those whose commit may have gone through already."""
        asking = [member for member in line.waiting if member.uncertain]
        if not asking:
            return
        async with self._db.reading() as session:
            entries = await ledger_entries.by_tokens(session, [member.draw.token for member in asking])
            for member in asking:
                entry = entries.get(member.draw.token)
                if entry is not None:
                    member.succeed(await member.run(member.recall, session, issued_of(entry)))
                member.uncertain = False

    async def _cancel(self, draw: IssueRequest, issued: Issued) -> None:
        try:
            await self._db.transact(lambda session: cancel_undelivered(session, draw, issued, now=draw.plan.now))
        except (SQLAlchemyError, OSError) as error:
            # It stays confirmed without a holder, which is legal and shown as such.
            log.warning("numbering.stray_kept", number=issued.number, error=str(error)[:300])

    def _after(self, line: SeriesQueue, error: Exception) -> None:
        """Charge the failure to those it concerns, and have the others wait on."""
        failure = _failure_of(error)
        concerned = line.batch or [member for member in line.waiting if member.ready_at <= stopwatch()]
        self._remembered.pop(line.name, None)
        if failure is None:
            for member in [error.member] if isinstance(error, _OwnFault) else concerned:
                member.fail(error.__cause__ or error if isinstance(error, _OwnFault) else error)
        else:
            line.course.locks_row |= failure is Failure.CONFLICT  # who locks the row cannot lose again
            line.course.searches |= failure is Failure.TAKEN
            _count(failure)
            # Without a connection nothing can have been committed; with a broken one it can.
            unknown = failure is Failure.TAKEN or database_fault(error) is DatabaseFault.CONNECTION
            for member in (*line.batch, *line.waiting):
                member.attempts.met = failure
            for member in concerned:
                member.uncertain |= unknown
                _charge(member, failure)
        line.put_back()
        line.drop_the_gone()
        log.warning("numbering.retry", reason=str(failure), waiting=len(line.waiting), error=str(error)[:300])

    def _remember(self, name: str, standing: CounterState) -> None:
        if len(self._remembered) >= _REMEMBERED_SERIES:
            self._remembered.clear()
        self._remembered[name] = standing

    async def _ensure_counter(self, name: str, plan: Plan) -> None:
        if not self._packet:
            async with self._db.reading() as session:
                self._packet = await number_batch.largest_packet(session) // 2  # quoting may double what it quotes
        if name in self._remembered or plan.range:
            return
        await self._db.transact(
            lambda session: counters.ensure_counter(session, key=plan.key, series=plan.series, now=plan.now)
        )

    async def _note_redis_down(self, line: SeriesQueue, down: LockServiceDown) -> None:
        metrics.REDIS_FAILED.inc()
        metrics.DB_FALLBACK.inc()
        metrics.REDIS_UP.set(0)
        if not line.waiting:
            return
        draw = line.waiting[0].draw
        log.warning("Redis lock failed, falling back to DB lock", error=str(down), series=draw.plan.series)
        await self.failures.redis_down(
            str(down), context=_context(draw.plan), user_id=draw.caller.user_id, address=draw.address, now=draw.plan.now
        )


class _OwnFault(Exception):  # never leaves this module
    """What one member's own rows raised: it concerns nobody else in the batch."""

    def __init__(self, member: Waiter) -> None:
        self.member = member


async def _own_rows(session: AsyncSession, member: Waiter, outcome: Any) -> Any:
    work: Work | None = member.work or member.remember
    if work is None or not isinstance(outcome, Issued):
        return outcome
    try:
        answer = await member.run(work, session, outcome)
    except Exception as error:
        if _failure_of(error) is not None:
            raise
        raise _OwnFault(member) from error
    return answer if member.work else outcome


async def _itself(_session: AsyncSession, issued: Issued) -> Issued:
    return issued


def _charge(member: Waiter, failure: Failure) -> None:
    try:
        again = member.attempts.after(failure, elapsed=member.elapsed)
    except DomainError as end:
        member.fail(end)
    else:
        member.ready_at = stopwatch() + again.delay if again.delay else 0.0
        if failure is not Failure.TAKEN:
            metrics.RETRY.labels(attempt=str(member.attempts.failures[failure]), reason=failure.value).inc()


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
