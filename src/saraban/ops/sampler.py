"""What has to be looked at to be known, by each server process every few seconds, whether anybody scrapes it or not."""

import asyncio

import structlog

from saraban.kit.clock import Clock
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.numbering.issue.service.metrics import REDIS_UP, WAITING
from saraban.numbering.register.service.ledger import measure_utilization
from saraban.numbering.service import Allocator
from saraban.ops import metrics

log = structlog.get_logger(__name__)

EVERY = 5.0  # seconds
_PATIENCE = 3.0
_UTILIZATION_EVERY = 12  # rounds


class Sampler:
    """Keeps the gauges of one process true: Redis, the database, its pool, the lines of the allocator, the series."""

    def __init__(self, *, db: Database, allocator: Allocator, clock: Clock) -> None:
        self._db, self._allocator, self._clock = db, allocator, clock
        self._ends = asyncio.Event()

    async def run(self) -> None:
        """Measure until it is told to end."""
        rounds = 0
        while not self._ends.is_set():
            self.look_inside()
            self._allocator.failures.write()  # what the database would not take, even if nobody draws any more
            await self.ask_redis()
            if await self._ended_within(EVERY):
                return
            await self.ask_database()
            if rounds % _UTILIZATION_EVERY == 0:
                await self.read_utilization()
            rounds += 1

    def end(self) -> None:
        """A question that is on its way is waited for: a connection that is broken off in the middle would be lost."""
        self._ends.set()

    async def _ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._ends.wait()
        except TimeoutError:
            return False
        return True

    def look_inside(self) -> None:
        metrics.measure_pool(self._db)
        WAITING.set(self._allocator.waiting)

    async def ask_redis(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._allocator.redis_up()
        except Exception:  # noqa: BLE001  it takes connections and answers nothing, or nonsense: not up
            REDIS_UP.set(0)

    async def ask_database(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._db.ping()
        except Exception as error:  # noqa: BLE001  whatever it is, it did not answer
            if database_fault(error) is not DatabaseFault.POOL:  # a full pool is measured as such
                metrics.DATABASE_UP.set(0)
        else:
            metrics.DATABASE_UP.set(1)

    async def read_utilization(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE), self._db.reading() as session:
                await measure_utilization(session, now=self._clock.now())
        except Exception as error:  # noqa: BLE001  the door of a background task: the next round tries again
            log.warning("utilization_not_read", error=type(error).__name__)
