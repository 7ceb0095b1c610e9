"""Metrics of HTTP, database and Redis, added up over all server processes."""

import asyncio
import os
from collections.abc import Awaitable, Iterator
from functools import cache
from pathlib import Path

import structlog
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from saraban.events import service as events
from saraban.kit.clock import Clock
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.numbering.issue.service.monitoring import REDIS_UP, UTILIZATION, WAITING
from saraban.numbering.register.service.ledger import measure_utilization
from saraban.numbering.service import Allocator

log = structlog.get_logger(__name__)

EVERY = 5.0  # seconds
_TIMEOUT_SECONDS = 3.0
_UTILIZATION_EVERY = 12  # rounds
_SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the client library reads it when it is first imported; `serve` sets it

REQUESTS = Histogram(
    "saraban_http_request_seconds",
    "Time from the first byte of a request to the last of its answer.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 35),
)
POOL = Gauge(
    "saraban_db_pool_connections",
    "Database connections: in use, the pool's size, what is open beyond it, and the limit.",
    ["state"],
    multiprocess_mode="livesum",
)
DATABASE_UP = Gauge(
    "saraban_database_up", "1 while the database answers, 0 while it does not.", multiprocess_mode="livemin"
)
HEARTBEAT_AGE = Gauge(
    "saraban_worker_heartbeat_age_seconds",
    "Age of the newest heartbeat of any worker, also where this process has none.",
    multiprocess_mode="mostrecent",
)

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def observe(*, method: str, route: str, status: int, seconds: float) -> None:
    """Count unknown methods as `OTHER`, which bounds the label values."""
    _requests(method if method in _METHODS else "OTHER", route, status).observe(seconds)


@cache
def _requests(method: str, route: str, status: int) -> Histogram:
    return REQUESTS.labels(method, route, str(status))


def measure_pool(db: Database) -> None:
    for state, count in db.pool_status().items():
        POOL.labels(state).set(count)


async def measure_heartbeat(db: Database) -> None:
    HEARTBEAT_AGE.set(await events.heartbeat_age(db))


def exposition(db: Database) -> tuple[bytes, str]:
    measure_pool(db)
    folder = os.environ.get(_SHARED_FOLDER)
    return generate_latest(_merged_registry(Path(folder)) if folder else REGISTRY), CONTENT_TYPE_LATEST


def measured(name: str) -> dict[tuple[str, ...], float]:
    folder = os.environ.get(_SHARED_FOLDER)
    registry = _merged_registry(Path(folder)) if folder else REGISTRY
    families = registry.collect()
    return {
        tuple(sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def _merged_registry(folder: Path) -> CollectorRegistry:
    for process in _dead_processes(folder):
        multiprocess.mark_process_dead(process, str(folder))  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
    registry.register(UTILIZATION)
    return registry


def _dead_processes(folder: Path) -> Iterator[int]:
    for process in {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*.db")}:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            yield process
        except PermissionError:
            continue  # another account's process, which is alive


class Sampler:
    def __init__(self, *, db: Database, allocator: Allocator, clock: Clock) -> None:
        self._db, self._allocator, self._clock = db, allocator, clock
        self._ends = asyncio.Event()

    async def run(self) -> None:
        rounds = 0
        while not self._ends.is_set():
            self.measure_process()
            self._allocator.failures.write()  # retry failures that could not be saved, also without new requests
            await self.measure_redis()
            if await self._wait_for_end(EVERY):
                return
            await self.measure_database()
            if rounds % _UTILIZATION_EVERY == 0:
                await self._read("utilization_not_read", self._measure_utilization())
            rounds += 1

    def end(self) -> None:
        """End after the running query: an interrupted connection would be lost."""
        self._ends.set()

    async def _wait_for_end(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._ends.wait()
        except TimeoutError:
            return False
        return True

    def measure_process(self) -> None:
        measure_pool(self._db)
        WAITING.set(self._allocator.waiting)

    async def measure_redis(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._allocator.redis_up()
        except Exception:  # noqa: BLE001  no response, or an invalid one
            REDIS_UP.set(0)

    async def measure_database(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._db.ping()
        except Exception as error:  # noqa: BLE001  any error means that it is down
            if database_fault(error) is not DatabaseFault.POOL:  # POOL has its own metric
                DATABASE_UP.set(0)
        else:
            DATABASE_UP.set(1)
            await self._read("heartbeat_not_read", measure_heartbeat(self._db))

    async def _measure_utilization(self) -> None:
        async with self._db.reading() as session:
            await measure_utilization(session, now=self._clock.now())

    async def _read(self, failure: str, reading: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await reading
        except Exception as error:  # noqa: BLE001  the next round tries again
            log.warning(failure, error=type(error).__name__)
