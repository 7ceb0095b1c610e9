"""
Drawing a number: the turn in this process, the lock of the series, one transaction, and what happens when any of
them fails (rulings N9-N11).

The order is lock, begin, compare-and-set, ledger, rendering, audit, the caller's own rows, commit, release. No
database connection is held while waiting for a turn, a lock or a back-off.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import orjson
import structlog
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, Fault, broken_constraint, fault_of
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id
from saraban.kit.locks import LockBusy, Locks, LockServiceDown, Queues
from saraban.numbering import repository
from saraban.numbering.domain.counter import free_sequence
from saraban.numbering.domain.retry import Attempts, Budget, Failure, NumberingConflict
from saraban.numbering.domain.sequence import SequenceExhausted
from saraban.numbering.models import LedgerEntry
from saraban.numbering.repository import Counter
from saraban.numbering.service import metrics
from saraban.numbering.service.failures import FailureLog
from saraban.numbering.service.planning import Plan

log = structlog.get_logger()
T = TypeVar("T")
_FIRST_BLOCK, _LAST_BLOCK = 100, 2000
_REMEMBERED_SERIES = 10_000


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a number belongs to: opaque here, resolved by `documents`."""

    kind: str
    public_id: UUID


@dataclass(frozen=True, slots=True)
class Issued:
    """A number that stands in the ledger."""

    public_id: UUID
    number: str
    base_number: str
    sequence: int
    year: int
    template: str
    revision: str


Then = Callable[[AsyncSession, Issued], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class _Draw:
    plan: Plan
    caller: Caller
    holder: Holder | None
    token: UUID
    address: str
    idempotency_key: str | None


@dataclass(slots=True)
class _Try:
    """How this attempt goes about it, and what is remembered of it for the audit."""

    path: str
    locks_row: bool = False
    searches: bool = False
    retries: int = 0
    waited: float = 0.0


class _CounterMoved(Exception):  # never leaves this module
    """Another transaction moved the counter between our read and our compare-and-set."""


class _CounterMissing(Exception):  # never leaves this module
    """The counter row that this process remembers is not there."""


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
        draw = _Draw(plan, caller, holder, token, address, idempotency_key)
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

    async def _persist(self, draw: _Draw, then: Then[T], recall: Then[T], started: float) -> T:
        attempts = Attempts(self._budget)
        course = _Try(self._locks.path)
        # A keyed request may be the repetition of one whose server died after the commit.
        uncertain = draw.idempotency_key is not None
        while True:
            try:
                if uncertain:
                    found = await self._recall(draw, recall)
                    if found is not None:
                        return found[0]
                return await self._under_lock(draw, then, course)
            except Exception as error:
                failure = _failure_of(error)
                if failure is None:
                    raise
                if isinstance(error, _CounterMissing):
                    self._known.discard((draw.plan.project.id, draw.plan.series))
                again = attempts.after(failure, elapsed=stopwatch() - started)
                uncertain = uncertain or failure in {Failure.CONNECTION, Failure.TAKEN}
                course = self._next_course(course, failure, attempts)
                metrics.RETRY.labels(attempt=str(attempts.failures[failure]), reason=failure.value).inc()
                log.warning("numbering.retry", reason=failure.value, delay=again.delay, error=str(error)[:300])
            await asyncio.sleep(again.delay)

    def _next_course(self, course: _Try, failure: Failure, attempts: Attempts) -> _Try:
        if failure is Failure.CONFLICT:
            metrics.CONFLICT.inc()
        return _Try(
            self._locks.path,
            # Whoever lost a compare-and-set locks the row next time, and so cannot lose again.
            locks_row=course.locks_row or failure is Failure.CONFLICT,
            searches=course.searches or failure is Failure.TAKEN,
            retries=attempts.retries,
            waited=course.waited,
        )

    async def _recall(self, draw: _Draw, recall: Then[T]) -> tuple[T] | None:
        """This will look the request's token up on a fresh connection: was it committed after all?"""
        async with self._db.reading() as session:
            entry = await repository.by_token(session, draw.token)
            return None if entry is None else (await recall(session, issued_of(entry)),)

    async def _under_lock(self, draw: _Draw, then: Then[T], course: _Try) -> T:
        started = stopwatch()
        name = draw.plan.lock_name
        async with self._queues.turn(name, within=self._lock_timeout):
            await self._ensure_counter(draw.plan)
            try:
                async with self._locks.hold(name, within=self._lock_timeout):
                    if course.path == "redis":
                        metrics.REDIS_SUCCESS.inc()
                        metrics.REDIS_UP.set(1)
                    return await self._transaction(draw, then, course, started)
            except LockServiceDown as down:
                await self._note_redis_down(draw, down)
                course.path, course.locks_row = "database", True
                return await self._transaction(draw, then, course, started)

    async def _transaction(self, draw: _Draw, then: Then[T], course: _Try, started: float) -> T:
        if course.path == "database":
            course.locks_row = True
        course.waited += stopwatch() - started
        metrics.LOCK_WAIT.observe(course.waited)
        async with self._db.writing() as session:
            issued = await _draw_number(session, draw, course)
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

    async def _note_redis_down(self, draw: _Draw, down: LockServiceDown) -> None:
        metrics.REDIS_FAILED.inc()
        metrics.DB_FALLBACK.inc()
        metrics.REDIS_UP.set(0)
        log.warning("Redis lock failed, falling back to DB lock", error=str(down), series=draw.plan.series)
        await self.failures.redis_down(
            str(down), context=_context(draw.plan), user_id=draw.caller.user_id, address=draw.address, now=draw.plan.now
        )

    async def _failed(self, draw: _Draw, error: DomainError) -> None:
        await self.failures.refused(
            error, context=_context(draw.plan), user_id=draw.caller.user_id, address=draw.address, now=draw.plan.now
        )


def issued_of(entry: LedgerEntry) -> Issued:
    """This will give what the caller of `issue` got for a row of the ledger."""
    return Issued(
        entry.public_id,
        entry.document_number,
        entry.base_number,
        entry.sequence_number,
        entry.issue_year,
        entry.format_template,
        entry.revision_label,
    )


def _context(plan: Plan) -> dict[str, Any]:
    return {"series": plan.series, "template": plan.template.text, **plan.codes}


def _failure_of(error: Exception) -> Failure | None:
    if isinstance(error, LockBusy):
        return Failure.LOCK
    if isinstance(error, _CounterMoved):
        return Failure.CONFLICT
    if isinstance(error, _CounterMissing):
        return Failure.COLLISION
    if isinstance(error, IntegrityError):
        ours = broken_constraint(error, *repository.NUMBER_CONSTRAINTS, *repository.TOKEN_CONSTRAINTS)
        return Failure.TAKEN if ours else None
    fault = fault_of(error)
    if fault is Fault.COLLISION:
        return Failure.COLLISION
    return Failure.CONNECTION if fault else None


async def _draw_number(session: AsyncSession, draw: _Draw, course: _Try) -> Issued:
    plan = draw.plan
    seen = await repository.counter(session, project_id=plan.project.id, series=plan.series, lock=course.locks_row)
    if seen is None:
        raise _CounterMissing(plan.series)
    sequence = await _search(session, plan, seen) if course.searches else seen.last_number + 1
    if plan.refuses_overflow and plan.template.overflows(sequence):
        raise SequenceExhausted
    moved = await repository.advance(
        session, project_id=plan.project.id, series=plan.series, seen=seen, to=sequence, now=plan.now
    )
    if not moved:
        raise _CounterMoved(plan.series)
    metrics.UTILIZATION.labels(project=plan.project.code, series=plan.series).set(
        sequence / (10**plan.template.width - 1)
    )
    return await _write(session, draw, course, seen, sequence)


async def _search(session: AsyncSession, plan: Plan, seen: Counter) -> int:
    """This will find the next sequence whose number is free, in growing blocks of plain reads (ruling N2)."""
    after, block = seen.last_number, _FIRST_BLOCK
    while True:
        candidates = {
            number: (plan.base(number), plan.number(number)) for number in range(after + 1, after + block + 1)
        }
        names = await repository.taken_numbers(
            session,
            project_id=plan.project.id,
            bases=[base for base, _ in candidates.values()],
            numbers=[printed for _, printed in candidates.values()],
        )
        taken = frozenset(n for n, (base, printed) in candidates.items() if base in names or printed in names)
        free = free_sequence(after, taken, block=block)
        if free is not None:
            return free
        after, block = after + block, min(block * 2, _LAST_BLOCK)


async def _write(session: AsyncSession, draw: _Draw, course: _Try, seen: Counter, sequence: int) -> Issued:
    plan = draw.plan
    issued = Issued(
        new_id(), plan.number(sequence), plan.base(sequence), sequence, plan.year, plan.template.text, plan.revision
    )
    entry_id = await repository.insert_entry(session, _ledger_row(draw, issued))
    await repository.insert_rendering(
        session,
        {
            "project_id": plan.project.id,
            "reservation_id": entry_id,
            "document_number": issued.number,
            "revision_label": issued.revision,
            "kind": "ISSUE",
            "created_at": plan.now,
        },
    )
    if sequence > seen.last_number + 1:
        skipped = {"operation": "SKIP", "sequence_number": seen.last_number + 1, "skipped_to": sequence - 1}
        reason = "The numbers of this stretch were already taken."
        await repository.insert_audit(session, _audit_row(draw, course) | skipped | {"reason": reason})
    await repository.insert_audit(session, _audit_row(draw, course) | _issue_columns(draw, issued))
    return issued


def _ledger_row(draw: _Draw, issued: Issued) -> dict[str, Any]:
    plan = draw.plan
    return {
        "uuid": issued.public_id,
        "token": draw.token,
        "project_id": plan.project.id,
        "correspondence_type_id": plan.type.id,
        "originator_organization_id": plan.originator.id,
        "recipient_organization_id": plan.key.recipient_organization_id,
        "series": plan.series,
        "range": 0,
        "sequence_number": issued.sequence,
        "base_number": issued.base_number,
        "document_number": issued.number,
        "revision_label": issued.revision,
        "document_number_status": "CONFIRMED",
        "holder_kind": draw.holder.kind if draw.holder else None,
        "holder_public_id": draw.holder.public_id if draw.holder else None,
        "format_template": plan.template.text,
        "format_values": dict(plan.values),
        "issue_year": plan.year,
        "user_id": draw.caller.user_id,
        "ip_address": draw.address[:45] or None,
        "reason": plan.year_reason,
        "confirmed_at": plan.now,
        "created_at": plan.now,
    }


def _audit_row(draw: _Draw, course: _Try) -> dict[str, Any]:
    plan = draw.plan
    return {
        "uuid": new_id(),
        "project_id": plan.project.id,
        "series": plan.series,
        "counter_key": orjson.dumps(dict(plan.codes)).decode(),
        "template_used": plan.template.text,
        "user_id": draw.caller.user_id,
        "ip_address": draw.address[:45] or None,
        "idempotency_key": draw.idempotency_key,
        "retry_count": course.retries,
        "lock_wait_ms": round(course.waited * 1000),
        "lock_path": course.path,
        "created_at": plan.now,
    }


def _issue_columns(draw: _Draw, issued: Issued) -> dict[str, Any]:
    return {
        "operation": "GENERATE",
        "reservation_uuid": issued.public_id,
        "document_number": issued.number,
        "document_type": draw.plan.type.code,
        "holder_public_id": draw.holder.public_id if draw.holder else None,
        "sequence_number": issued.sequence,
        "reason": draw.plan.year_reason,
    }


__all__ = ["Allocator", "Holder", "Issued", "NumberingConflict", "issued_of"]
