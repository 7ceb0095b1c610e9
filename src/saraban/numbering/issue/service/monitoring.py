"""
Metrics (REQ-OPS-05) and the log of refused and failed calls (REQ-NUM-20), outside the transaction.

Metric children are bound once, because label look-ups are slow. Labelled ones start at 0 for every value: Prometheus
misses the increase of a series that begins at 1.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextvars import Context
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import structlog
from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, database_fault
from saraban.kit.error_text import error_text
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id, trace_id
from saraban.kit.pagination import Page
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import (
    Failure,
    NumberErrorFilters,
    NumberingBusy,
    NumberingConflict,
    NumberingFailed,
)
from saraban.numbering.series.domain.counter import SequenceExhausted
from saraban.numbering.series.models import NumberErrorRow

_REASONS = tuple(failure for failure in Failure if failure is not Failure.TAKEN)  # a skipped number is no retry
_ATTEMPTS = 10
_SCENARIOS = {  # of the specification, by the type of the error
    "REDIS_ERROR": "1",
    "LOCK_TIMEOUT": "2",
    "VERSION_CONFLICT": "3",
    "DB_ERROR": "4",
    "VALIDATION_ERROR": "none",
    "SEQUENCE_EXHAUSTED": "none",
}
GENERATE = Histogram(
    "docnum_generate_seconds",
    "From the request for a number to its commit, or to the refusal or failure that ended it.",
    ["outcome"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 35),
)
GENERATED = {outcome: GENERATE.labels(outcome) for outcome in ("success", "refused", "failed")}
UNAUTHENTICATED = Counter(
    "docnum_unauthenticated_total", "Calls about numbers without a valid token; nothing else is kept of them."
)
SUCCESS = Counter("docnum_success_total", "Numbers issued.")
ERROR = Counter("docnum_error_total", "Numbers refused or failed.", ["type", "scenario"])
LOCK_WAIT = Histogram(
    "docnum_lock_wait_seconds",
    "Waiting for the turn and the lock of a series.",
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 35),
)
LOCK_ATTEMPTS = Counter("docnum_lock_attempts_total", "Attempts at the lock of a series, on either path.")
LOCK_TIMEOUT = Counter("docnum_lock_timeout_total", "Attempts that ended because another holder kept the lock.")
REDIS_SUCCESS = Counter("docnum_lock_redis_success_total", "Locks got from Redis.")
REDIS_FAILED = Counter("docnum_lock_redis_failed_total", "Locks that Redis could not give because it did not answer.")
DB_FALLBACK = Counter("docnum_lock_db_fallback_total", "Numbers drawn under the database lock because Redis was down.")
CONFLICT = Counter("docnum_conflict_version_total", "Compare-and-sets that were lost.")
RETRY = Counter(
    "docnum_retry_total", "Attempts after the first, also at what the database lost.", ["attempt", "reason"]
)
BATCH = Histogram(
    "docnum_batch_size",
    "Requests for numbers that shared one transaction.",
    buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500),
)
WAITING = Gauge("docnum_waiting_requests", "Requests that stand in the line of a series.", multiprocess_mode="livesum")
# `livemin`: one process that cannot reach Redis is enough for 0.
REDIS_UP = Gauge("docnum_redis_up", "1 while Redis answers, 0 while it does not.", multiprocess_mode="livemin")
for _kind, _scenario in _SCENARIOS.items():
    ERROR.labels(type=_kind, scenario=_scenario)
for _reason in _REASONS:
    for _attempt in range(1, _ATTEMPTS + 1):
        RETRY.labels(attempt=str(_attempt), reason=_reason.value)


def count_reconnection(attempt: int) -> None:
    """Count a retry of any work whose database connection was lost."""
    RETRY.labels(attempt=str(attempt), reason=Failure.CONNECTION.value).inc()


class SeriesUtilization(NamedTuple):
    """:param ratio: last number against the largest that the template pads to"""

    project: str
    series: str
    ratio: float


class UtilizationCollector:
    """Reports the last database reading, so that all processes agree and resets show at once."""

    def __init__(self) -> None:
        self.series: Sequence[SeriesUtilization] = ()

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "docnum_sequence_utilization_ratio",
            "The last sequence of a series against the largest its template pads to; the fullest series only.",
            labels=["rank"],  # a series' name would expose codes of the project and organizations
        )
        for rank, used in enumerate(self.series, 1):
            family.add_metric([str(rank)], used.ratio)
        yield family


UTILIZATION = UtilizationCollector()
REGISTRY.register(UTILIZATION)


VIEW_LOGS = "system.view_logs"
ERROR_RETENTION: Final = timedelta(days=2557)  # seven years, as the audit
_DELETED_AT_ONCE = 1000
log = structlog.get_logger(__name__)
_MOST_SPOOLED = 1000
_CALLER_WAIT_SECONDS = 0.5
_CLOSE_SECONDS = 2.0
_MINUTE = 60.0  # seconds
_TYPES: dict[type[DomainError], str] = {
    NumberingBusy: "LOCK_TIMEOUT",
    NumberingConflict: "VERSION_CONFLICT",
    NumberingFailed: "DB_ERROR",
    SequenceExhausted: "SEQUENCE_EXHAUSTED",
}
FAILURES = frozenset({NumberingBusy, NumberingConflict, NumberingFailed})  # ours, not the caller's


async def list_errors(
    ctx: RequestContext, session: AsyncSession, filters: NumberErrorFilters, *, cursor: str | None, limit: int
) -> Page[NumberErrorRow]:
    """:raises Forbidden: without access to the system's logs: rows may belong to no project"""
    ctx.caller.require(VIEW_LOGS, Scope())
    return await repository.errors_page(session, filters, cursor=cursor, limit=limit)


async def delete_old_errors(session: AsyncSession, *, now: datetime, keep: timedelta = ERROR_RETENTION) -> int:
    return await repository.delete_errors(session, before=now - keep, limit=_DELETED_AT_ONCE)


_ErrorRow = dict[str, Any]  # by column


class RefusalLog:
    """
    Writes `document_number_errors` in its own task, so a slow database delays no caller.

    Unwritten rows wait here; past 1,000 the oldest are dropped.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._spool: deque[_ErrorRow] = deque(maxlen=_MOST_SPOOLED)
        self._spooled_count = 0  # rows ever spooled
        self._write_task: asyncio.Task[bool] | None = None
        self._is_commit_unknown = False
        self._redis_fault: tuple[str, datetime]  # the latest
        self._numbers_without_redis = 0  # numbers since the last row about Redis
        self._next_redis_row: asyncio.TimerHandle | None = None

    async def refused(
        self, error: DomainError, *, context: Mapping[str, object], user_id: int | None, address: str, now: datetime
    ) -> None:
        """Record a refusal unless an inner layer has; return soon, written or not."""
        if error.kept:
            return
        error.kept = True
        kind = _TYPES.get(type(error), "VALIDATION_ERROR")
        ERROR.labels(type=kind, scenario=_SCENARIOS[kind]).inc()
        context = {**context, "code": error.code, "pointers": [field.pointer for field in error.fields]}
        await self._wait_until_written(self._add(kind, str(error), context, user_id, address, now))

    async def redis_down(self, detail: str, *, numbers: int, now: datetime) -> bool:
        """Count numbers without Redis, a row per minute; return whether one was due."""
        ERROR.labels(type="REDIS_ERROR", scenario=_SCENARIOS["REDIS_ERROR"]).inc(numbers)
        self._redis_fault = detail, now
        self._numbers_without_redis += numbers
        if self._next_redis_row is not None:
            return False
        await self._wait_until_written(self._add_redis_row())
        return True

    def _add_redis_row(self) -> int:
        # An empty context: the minute's row must not carry the trace of the request that began it.
        self._next_redis_row = asyncio.get_running_loop().call_later(_MINUTE, self._end_minute, context=Context())
        (detail, now), numbers, self._numbers_without_redis = self._redis_fault, self._numbers_without_redis, 0
        return self._add("REDIS_ERROR", detail, {"numbers": numbers}, None, "", now)

    def _end_minute(self) -> None:
        self._next_redis_row = None
        if self._numbers_without_redis:
            self._add_redis_row()
            self.write()

    def _add(
        self,
        kind: str,
        message: str,
        context: Mapping[str, object],
        user_id: int | None,
        address: str,
        now: datetime,
    ) -> int:
        log.warning("numbering.failed", error_type=kind, scenario=_SCENARIOS[kind], error=message, **context)
        self._spool.append(
            {
                "uuid": new_id(),
                "error_type": kind,
                "error_message": message[:2000],
                "context_data": context,
                "user_id": user_id,
                "ip_address": address[:45] or None,
                "trace_id": trace_id() or None,
                "created_at": now,
            }
        )
        self._spooled_count += 1
        return self._spooled_count

    @property
    def waiting(self) -> int:
        return len(self._spool)

    def write(self) -> "asyncio.Task[bool] | None":
        if self._spool and (self._write_task is None or self._write_task.done()):
            self._write_task = asyncio.get_running_loop().create_task(self._write(list(self._spool)), name="refusals")
        return self._write_task

    async def close(self) -> None:
        """Write the remaining rows, for at most two seconds."""
        if self._next_redis_row is not None:
            self._next_redis_row.cancel()
            self._end_minute()
        end = stopwatch() + _CLOSE_SECONDS
        while self._spool and (task := self.write()) is not None:
            done, _ = await asyncio.wait([task], timeout=max(end - stopwatch(), 0.0))
            if not done or not task.result():
                task.cancel()
                break
        if self._spool:
            log.error("numbering.errors_lost", rows=len(self._spool))

    async def _wait_until_written(self, number: int) -> None:
        """Wait until that row is written or dropped, at most half a second."""
        end = stopwatch() + _CALLER_WAIT_SECONDS
        while self._spooled_count - len(self._spool) < number and (task := self.write()) is not None:
            done, _ = await asyncio.wait([task], timeout=max(end - stopwatch(), 0.0))
            if not done or not task.result():
                return

    async def _write(self, rows: Sequence[_ErrorRow]) -> bool:
        """:returns: False after a database fault; the rows stay spooled"""
        try:
            await self._db.transact_once(_insert_missing, rows, doubtful=self._is_commit_unknown)
        except (SQLAlchemyError, OSError) as error:
            if database_fault(error) is not None:
                self._is_commit_unknown = True  # the commit may have gone through
                log.warning("numbering.error_spooled", waiting=len(self._spool), error=error_text(error))
                return False
            if len(rows) > 1:
                return await self._write_one_by_one(rows)
            log.exception("numbering.error_unwritable", row=rows[0]["error_message"])
        self._is_commit_unknown = False
        self._forget(rows)
        return True

    async def _write_one_by_one(self, rows: Sequence[_ErrorRow]) -> bool:
        """An unwritable row must not block the others."""
        for row in rows:
            if not await self._write([row]):
                return False
        return True

    def _forget(self, rows: Sequence[_ErrorRow]) -> None:
        # They are the oldest in the spool, except rows dropped meanwhile.
        written = {row["uuid"] for row in rows}
        while self._spool and self._spool[0]["uuid"] in written:
            self._spool.popleft()


async def _insert_missing(rows: Sequence[_ErrorRow], session: AsyncSession, *, doubtful: bool) -> None:
    existing_ids = await repository.existing_errors(session, [row["uuid"] for row in rows]) if doubtful else frozenset()
    if missing := [row for row in rows if row["uuid"] not in existing_ids]:
        await repository.insert_errors(session, missing)
