"""
Drawing a number: the turn in this process, the lock of the series, one transaction, and what happens when any of
them fails (rulings N9-N11).

The order is lock, begin, compare-and-set, ledger, rendering, audit, the caller's own rows, commit, release. No
database connection is held while waiting for a turn, a lock or a back-off.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

import structlog
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, Fault, broken_constraint, fault_of
from saraban.kit.errors import DomainError
from saraban.kit.locks import LockBusy, Locks, LockServiceDown, Queues
from saraban.numbering import repository
from saraban.numbering.domain.retry import Attempts, Budget, Failure
from saraban.numbering.service import metrics
from saraban.numbering.service.failures import FailureLog
from saraban.numbering.service.ledger import (
    CounterMissing,
    CounterMoved,
    Course,
    Draw,
    Holder,
    Issued,
    draw_number,
    issued_of,
)
from saraban.numbering.service.planning import Plan

log = structlog.get_logger(__name__)
T = TypeVar("T")
_REMEMBERED_SERIES = 10_000


Then = Callable[[AsyncSession, Issued], Awaitable[T]]


class Allocator:
    """
    Issues numbers. One per process.

    :param locks: Redis, or the database alone; on SQLite the turn in this process is the lock
    :param lock_timeout: seconds one attempt waits for the turn and the lock
    """

    def __init__(self, db: Database, locks: Locks, *, budget: Budget, lock_timeout: float) -> None:
        self._db = db
        self._locks = locks
        self._budget = budget
        self._lock_timeout = lock_timeout
        self._queues = Queues()
        self._known: set[tuple[int, str]] = set()
        self.failures = FailureLog(db)

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
        This will draw the next number of the plan's series and run `then` in the same transaction, exactly once.

        :param token: made before the first attempt; a request that comes again with it gets the same number
        :param then: the caller's own rows; it must do no outside I/O, because a collision runs it again
        :param recall: gives the answer of a draw that turns out to be committed already
        :raises NumberingBusy: after the lock's retries or its deadline
        :raises NumberingConflict: after the compare-and-set's retries
        :raises NumberingFailed: after the database's retries
        :raises SequenceExhausted: where the format refuses to widen
        """
        draw = Draw(plan, caller, holder, token, address, idempotency_key)
        started = stopwatch()
        try:
            answer = await self._persist(draw, then, recall, started)
        except DomainError as error:
            await self._failed(draw, error)
            raise
        metrics.SUCCESS.inc()
        metrics.GENERATE.observe(stopwatch() - started)
        await self.failures.flush()
        return answer

    async def redis_up(self) -> bool:
        up = await self._locks.up()
        metrics.REDIS_UP.set(1 if up else 0)
        return up

    async def _persist(self, draw: Draw, then: Then[T], recall: Then[T], started: float) -> T:
        attempts = Attempts(self._budget)
        course = Course(self._locks.path)
        # A keyed request may be the repetition of one whose server died after the commit.
        uncertain = draw.idempotency_key is not None
        while True:
            try:
                if uncertain:
                    found = await self._recall(draw, recall)
                    if found is not None:
                        return found[0]
                patience = min(self._lock_timeout, attempts.left(stopwatch() - started))
                return await self._under_lock(draw, then, course, patience)
            except Exception as error:
                failure = _failure_of(error)
                if failure is None:
                    raise
                if isinstance(error, CounterMissing):
                    self._known.discard((draw.plan.project.id, draw.plan.series))
                again = attempts.after(failure, elapsed=stopwatch() - started)
                uncertain = uncertain or failure in {Failure.CONNECTION, Failure.TAKEN}
                course = self._next_course(course, failure, attempts)
                if failure is not Failure.TAKEN:
                    metrics.RETRY.labels(attempt=str(attempts.failures[failure]), reason=failure.value).inc()
                log.warning("numbering.retry", reason=failure.value, delay=again.delay, error=str(error)[:300])
            await asyncio.sleep(again.delay)

    def _next_course(self, course: Course, failure: Failure, attempts: Attempts) -> Course:
        if failure is Failure.CONFLICT:
            metrics.CONFLICT.inc()
        return Course(
            self._locks.path,
            # Whoever lost a compare-and-set locks the row next time, and so cannot lose again.
            locks_row=course.locks_row or failure is Failure.CONFLICT,
            searches=course.searches or failure is Failure.TAKEN,
            retries=attempts.retries,
            waited=course.waited,
        )

    async def _recall(self, draw: Draw, recall: Then[T]) -> tuple[T] | None:
        """This will look the request's token up on a fresh connection: was it committed after all?"""
        async with self._db.reading() as session:
            entry = await repository.by_token(session, draw.token)
            return None if entry is None else (await recall(session, issued_of(entry)),)

    async def _under_lock(self, draw: Draw, then: Then[T], course: Course, patience: float) -> T:
        """:param patience: seconds that the turn and the lock together may take"""
        started = stopwatch()
        name = draw.plan.lock_name
        async with self._queues.turn(name, within=patience):
            await self._ensure_counter(draw.plan)
            try:
                async with self._locks.hold(name, within=max(patience - (stopwatch() - started), 0.05)):
                    if course.path == "redis":
                        metrics.REDIS_SUCCESS.inc()
                        metrics.REDIS_UP.set(1)
                    return await self._transaction(draw, then, course, started)
            except LockServiceDown as down:
                await self._note_redis_down(draw, down)
                course.path, course.locks_row = "database", True
                return await self._transaction(draw, then, course, started)

    async def _transaction(self, draw: Draw, then: Then[T], course: Course, started: float) -> T:
        if course.path == "database":
            course.locks_row = True
        course.waited += stopwatch() - started
        metrics.LOCK_WAIT.observe(course.waited)
        async with self._db.writing() as session:
            issued = await draw_number(session, draw, course)
            return await then(session, issued)

    async def _ensure_counter(self, plan: Plan) -> None:
        name = (plan.project.id, plan.series)
        if name in self._known:
            return
        await self._db.transact(
            lambda session: repository.ensure_counter(session, key=plan.key, series=plan.series, now=plan.now)
        )
        if len(self._known) >= _REMEMBERED_SERIES:
            self._known.clear()
        self._known.add(name)

    async def _note_redis_down(self, draw: Draw, down: LockServiceDown) -> None:
        metrics.REDIS_FAILED.inc()
        metrics.DB_FALLBACK.inc()
        metrics.REDIS_UP.set(0)
        log.warning("Redis lock failed, falling back to DB lock", error=str(down), series=draw.plan.series)
        await self.failures.redis_down(
            str(down), context=_context(draw.plan), user_id=draw.caller.user_id, address=draw.address, now=draw.plan.now
        )

    async def _failed(self, draw: Draw, error: DomainError) -> None:
        await self.failures.refused(
            error, context=_context(draw.plan), user_id=draw.caller.user_id, address=draw.address, now=draw.plan.now
        )


def _context(plan: Plan) -> dict[str, Any]:
    return {"series": plan.series, "template": plan.template.text, **plan.codes}


_FAILURES = {
    Fault.COLLISION: Failure.COLLISION,
    Fault.LOCK_WAIT: Failure.LOCK,
    Fault.CONNECTION: Failure.CONNECTION,
    Fault.POOL: Failure.CONNECTION,
}


def _failure_of(error: Exception) -> Failure | None:
    if isinstance(error, LockBusy):
        return Failure.LOCK
    if isinstance(error, CounterMoved):
        return Failure.CONFLICT
    if isinstance(error, CounterMissing):
        return Failure.COLLISION
    if isinstance(error, IntegrityError):
        ours = broken_constraint(error, *repository.NUMBER_CONSTRAINTS, *repository.TOKEN_CONSTRAINTS)
        return Failure.TAKEN if ours else None
    fault = fault_of(error)
    return _FAILURES[fault] if fault else None
