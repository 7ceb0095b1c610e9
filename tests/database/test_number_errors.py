"""The log of refusals: nothing that was refused is forgotten because a caller left or the database was away (REQ-NUM-20)."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
from prometheus_client import REGISTRY
from redis.asyncio import Redis as RedisClient
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from saraban.kit.db import Database
from saraban.kit.errors import Invalid
from saraban.kit.locks import RedisLocks
from saraban.numbering.issue.service import allocator as allocator_module
from saraban.numbering.issue.service.monitoring import RefusalLog
from saraban.numbering.series.models import NumberError
from tests.log_capture import lines_of
from tests.numbering_world import NOW, world_of
from tests.proxy import CuttingProxy, cutting_proxy
from tests.servers import HOST, free_port

pytestmark = pytest.mark.servers


async def refuse(failures: RefusalLog, name: str, **context: Any) -> None:
    await failures.refused(
        Invalid(name), context={"series": "คคง.", **context}, user_id=None, address="10.0.0.1", now=NOW
    )


async def kept(db: Database) -> list[str | None]:
    async with db.reading() as session:
        return list(await session.scalars(sa.select(NumberError.error_message).order_by(NumberError.id)))


async def numbers_of(db: Database) -> list[object]:
    async with db.reading() as session:
        rows = await session.scalars(sa.select(NumberError.context_data).order_by(NumberError.id))
        return [(row or {}).get("numbers") for row in rows]


def failed_numbers() -> float:
    labels = {"type": "REDIS_ERROR", "scenario": "1"}
    return REGISTRY.get_sample_value("docnum_error_total", labels) or 0.0


async def until_written(failures: RefusalLog) -> None:
    async with asyncio.timeout(10):
        while failures.waiting:
            failures.write()
            await asyncio.sleep(0.02)


class TestRedisAway:
    """Numbers are drawn all the same: they are counted, and stored in a row a minute."""

    async def test_counts_the_numbers_of_a_minute_in_one_row(
        self, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loop, failures, before = asyncio.get_running_loop(), RefusalLog(db), failed_numbers()
        for numbers in (1, 2, 3):
            await failures.redis_down("gone", numbers=numbers, now=NOW)
        await until_written(failures)
        assert await numbers_of(db) == [1]

        monkeypatch.setattr(loop, "time", lambda: time.monotonic() + 60)  # the loop's clock goes on by a minute
        async with asyncio.timeout(30):
            while await numbers_of(db) != [1, 5]:  # noqa: ASYNC110  the timer of the minute writes it
                await asyncio.sleep(0.05)
        await failures.redis_down("gone", numbers=4, now=NOW)
        await failures.close()

        assert await numbers_of(db) == [1, 5, 4]
        assert failed_numbers() == before + 10

    async def test_leaves_one_row_for_many_numbers(self, demo_db: Database) -> None:
        away = RedisClient(port=1, retry=Retry(NoBackoff(), 0))  # the client's own attempts take 7 s for each number
        world, locks = await world_of(demo_db), RedisLocks(away, ttl=5, rest=0)
        allocator = world.allocator(locks)
        with lines_of(allocator_module) as lines:
            for _ in range(4):
                await world.take(allocator, world.letter())

        assert await numbers_of(demo_db) == [1]
        assert [line["event"] for line in lines] == ["Redis lock failed, falling back to DB lock"]
        await allocator.close()
        assert await numbers_of(demo_db) == [1, 3]


class TestARow:
    async def test_is_there_when_the_caller_is_answered(self, any_db: Database) -> None:
        await refuse(RefusalLog(any_db), "one")

        assert await kept(any_db) == ["one"]

    async def test_outlives_a_caller_that_leaves_while_it_is_written(self, db: Database) -> None:
        failures = RefusalLog(db)
        async with db.writing():  # SQLite's one writer: the log waits for its turn
            leaving = asyncio.create_task(refuse(failures, "left"))
            await asyncio.sleep(0.05)
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
        await until_written(failures)

        assert await kept(db) == ["left"]

    async def test_keeps_nobody_waiting_for_a_database_that_is_slow(self, db: Database) -> None:
        failures = RefusalLog(db)
        async with db.writing():
            started = time.monotonic()
            await refuse(failures, "slow")
            waited = time.monotonic() - started
        await until_written(failures)

        assert waited < 2
        assert await kept(db) == ["slow"]

    async def test_that_cannot_be_written_keeps_none_of_the_others_back(self, db: Database) -> None:
        failures = RefusalLog(db)

        await asyncio.gather(
            refuse(failures, "before"), refuse(failures, "no JSON", thing=object()), refuse(failures, "after")
        )
        await until_written(failures)

        assert await kept(db) == ["before", "after"]


class TestADatabaseThatIsAway:
    """MariaDB behind a port where nobody listens at first."""

    @pytest_asyncio.fixture
    async def port(self) -> int:
        return free_port()

    @pytest_asyncio.fixture
    async def away(self, mariadb: Database, port: int) -> AsyncIterator[Database]:
        database = Database(mariadb.url.set(host=HOST, port=port).render_as_string(hide_password=False), read_timeout=3)
        yield database
        await database.close()

    @staticmethod
    def back(mariadb: Database, port: int) -> Any:
        return cutting_proxy(mariadb.url.host or "", mariadb.url.port or 0, at=port)

    async def test_gets_the_newest_thousand_in_their_order_when_it_is_back(
        self, mariadb: Database, away: Database, port: int
    ) -> None:
        failures = RefusalLog(away)
        for hundred in range(10):
            await asyncio.gather(*(refuse(failures, f"{hundred * 100 + n}") for n in range(100)))
        for n in range(1000, 1007):
            await refuse(failures, f"{n}")
        assert failures.waiting == 1000
        async with self.back(mariadb, port):
            await until_written(failures)

            assert await kept(mariadb) == [f"{n}" for n in range(7, 1007)]

    async def test_that_took_rows_and_could_not_say_so_gets_them_once(
        self, mariadb: Database, away: Database, port: int
    ) -> None:
        failures = RefusalLog(away)
        async with self.back(mariadb, port) as proxy:
            assert isinstance(proxy, CuttingProxy)
            await refuse(failures, "before")
            proxy.arm()
            await refuse(failures, "cut")
            assert proxy.cut == 1
            await refuse(failures, "after")
            await until_written(failures)

        assert await kept(mariadb) == ["before", "cut", "after"]

    async def test_is_given_a_last_moment_and_no_more_when_the_service_ends(self, away: Database) -> None:
        failures = RefusalLog(away)
        await refuse(failures, "never")
        started = time.monotonic()

        await failures.close()

        assert time.monotonic() - started < 4
        assert failures.waiting == 1
