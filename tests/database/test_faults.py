"""
The four error scenarios of ADR-002 against real servers that are stopped, frozen, restarted or used up.

After each: every number once, no hole that nobody explains, the refusal with its Thai words, the row among the errors,
the metric (rulings N10, N11, N15, N16).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Self

import pytest
import pytest_asyncio
import sqlalchemy as sa
from prometheus_client import REGISTRY
from redis.asyncio import Redis as RedisClient
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.locks import RedisLocks
from saraban.numbering import service as numbering
from saraban.numbering.domain.retry import NumberingBusy, NumberingFailed
from saraban.numbering.models import NumberCounter, NumberError
from tests.numbering_world import World, check_accounts, world_of
from tests.servers import running_mariadb, running_redis


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def errors(world: World) -> list[str]:
    async with world.db.reading() as session:
        return list(await session.scalars(sa.select(NumberError.error_type).order_by(NumberError.id)))


@contextlib.asynccontextmanager
async def redis_locks(url: str, *, ttl: float = 5.0, rest: float = 0.05) -> AsyncIterator[RedisLocks]:
    async with RedisClient.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5) as client:
        yield RedisLocks(client, ttl=ttl, rest=rest)


@pytest_asyncio.fixture
async def world(mariadb_demo_url: str) -> AsyncIterator[World]:
    db = Database(mariadb_demo_url)
    yield await world_of(db)
    await db.close()


class Drawing:
    """Clients that draw without a pause for as long as the block lasts."""

    def __init__(self, world: World, allocator: numbering.Allocator, clients: int) -> None:
        self._world, self._allocator, self._clients = world, allocator, clients
        self._over = asyncio.Event()
        self.issued: list[numbering.Issued] = []
        self.refused: list[Exception] = []

    async def __aenter__(self) -> Self:
        plan = await self._world.plan(self._world.letter())
        self._tasks = [asyncio.create_task(self._client(plan)) for _ in range(self._clients)]
        while len(self.issued) < self._clients:  # noqa: ASYNC110  they run by themselves
            await asyncio.sleep(0.01)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        await asyncio.gather(*self._tasks)

    async def _client(self, plan: numbering.Plan) -> None:
        while not self._over.is_set():
            try:
                self.issued.append(
                    await self._allocator.draw(plan, caller=self._world.caller, token=new_id(), address="")
                )
            except (NumberingBusy, NumberingFailed) as refusal:
                self.refused.append(refusal)

    def check(self) -> None:
        assert len({one.number for one in self.issued}) == len(self.issued)


class TestRedis:
    """Scenario 1: it cannot be reached."""

    async def test_stopped_and_back_and_stopped_again_issues_nothing_twice(self, world: World) -> None:
        fallbacks, failures = (
            metric("docnum_lock_db_fallback_total"),
            metric("docnum_error_total", type="REDIS_ERROR", scenario="1"),
        )
        with running_redis() as server:
            async with redis_locks(server.url) as locks, Drawing(world, world.allocator(locks), 8) as drawing:
                for _ in range(3):
                    await asyncio.to_thread(server.stop)
                    await asyncio.sleep(0.2)
                    assert metric("docnum_redis_up") == 0
                    await asyncio.to_thread(server.start)
                    await asyncio.sleep(0.3)
                    assert metric("docnum_redis_up") == 1

        drawing.check()
        assert drawing.refused == []
        await check_accounts(world)
        assert {row.lock_path for row in await world.audit("GENERATE")} == {"redis", "database"}
        assert set(await errors(world)) == {"REDIS_ERROR"}
        assert metric("docnum_lock_db_fallback_total") > fallbacks
        assert metric("docnum_error_total", type="REDIS_ERROR", scenario="1") > failures

    async def test_frozen_and_thawed_issues_nothing_twice(self, world: World) -> None:
        with running_redis() as server:
            async with redis_locks(server.url) as locks, Drawing(world, world.allocator(locks), 8) as drawing:
                server.freeze()
                await asyncio.sleep(1.2)
                server.thaw()
                await asyncio.sleep(0.3)

        drawing.check()
        assert drawing.refused == []
        await check_accounts(world)
        assert set(await errors(world)) == {"REDIS_ERROR"}


class TestHeldLock:
    """Scenario 2: somebody else has it."""

    async def test_of_a_server_that_died_ends_with_its_lifetime(self, world: World, redis_url: str) -> None:
        """Killed between lock and commit: nothing of it is in the database, and its lock is in nobody's way for long."""
        plan = await world.plan(world.letter())
        async with redis_locks(redis_url, ttl=0.5) as locks:
            dead = locks.hold(plan.lock_name, within=1)
            await dead.__aenter__()  # and never left

            issued = await world.take(world.allocator(locks), world.letter())

            assert issued.sequence == 1
            assert (await world.audit("GENERATE"))[0].lock_wait_ms >= 300
            await dead.__aexit__(None, None, None)
        await check_accounts(world)

    async def test_that_stays_is_refused_with_words_and_a_time_to_retry(self, world: World, redis_url: str) -> None:
        before = metric("docnum_error_total", type="LOCK_TIMEOUT", scenario="2")
        plan = await world.plan(world.letter())
        async with redis_locks(redis_url, ttl=30) as locks:
            allocator = numbering.Allocator(
                world.db, locks, budget=numbering.Budget(lock=1, deadline=5), lock_timeout=0.1
            )
            async with locks.hold(plan.lock_name, within=1):
                refused = await asyncio.gather(
                    *(world.take(allocator, world.letter()) for _ in range(5)), return_exceptions=True
                )

        assert {type(one) for one in refused} == {NumberingBusy}
        assert {one.says.th for one in refused if isinstance(one, NumberingBusy)} == {"ระบบกำลังยุ่ง กรุณาลองใหม่ภายหลัง"}
        assert await errors(world) == ["LOCK_TIMEOUT"] * 5
        assert metric("docnum_error_total", type="LOCK_TIMEOUT", scenario="2") == before + 5
        assert await world.ledger() == []


class TestCounterRow:
    """Scenario 3: somebody moves the counter between our read and our write."""

    async def test_moved_all_the_time_still_gives_everybody_a_number(self, world: World) -> None:
        """Who lost once locks the row; a writer that respects no lock but the row's costs nobody his number."""
        over = asyncio.Event()

        async def disturb() -> None:
            while not over.is_set():
                async with world.db.writing() as session:
                    await session.execute(sa.update(NumberCounter).values(version=NumberCounter.version + 1))
                await asyncio.sleep(0.002)

        disturbing = asyncio.create_task(disturb())
        async with Drawing(world, world.allocator(), 4) as drawing:
            await asyncio.sleep(1)
        over.set()
        await disturbing

        drawing.check()
        assert drawing.refused == []
        await check_accounts(world)

    async def test_in_a_deadlock_is_run_again(self, world: World) -> None:
        """Our transaction has the counter and wants a row that another one has, which wants the counter."""
        allocator = world.allocator()
        await world.take(allocator, world.letter())
        plan = await world.plan(world.letter())
        ours_waits, tries = asyncio.Event(), 0
        row = sa.text("UPDATE organizations SET updated_at = updated_at WHERE organization_code = 'กทท.'")

        async def then(session: AsyncSession, issued: numbering.Issued) -> numbering.Issued:
            nonlocal tries
            tries += 1
            ours_waits.set()
            await session.execute(row)
            return issued

        async def same(_session: AsyncSession, issued: numbering.Issued) -> numbering.Issued:
            return issued

        async def other() -> None:
            with contextlib.suppress(sa.exc.OperationalError):  # it may be the one that the server chooses to end
                async with world.db.writing() as session:
                    await session.execute(row)
                    drawing.append(
                        asyncio.create_task(
                            allocator.issue(
                                plan,
                                caller=world.caller,
                                holder=None,
                                token=new_id(),
                                address="",
                                then=then,
                                recall=same,
                            )
                        )
                    )
                    await ours_waits.wait()
                    await asyncio.sleep(0.1)
                    await session.execute(sa.update(NumberCounter).values(updated_at=NumberCounter.updated_at))

        drawing: list[asyncio.Task[Any]] = []
        await other()

        assert (await drawing[0]).sequence == 2
        assert tries >= 1
        await check_accounts(world)


class TestDatabase:
    """Scenario 4: it cannot be reached."""

    async def test_with_no_connection_free_is_refused_with_words(self, mariadb_demo_url: str) -> None:
        db = Database(mariadb_demo_url, pool_size=1, pool_timeout=0.1)
        before = metric("docnum_error_total", type="DB_ERROR", scenario="4")
        try:
            world = await world_of(db)
            allocator = world.allocator(connection=1)
            await world.take(allocator, world.letter())
            plan = await world.plan(world.letter())
            async with db.reading() as one, db.reading() as two:
                await one.execute(sa.text("SELECT 1"))
                await two.execute(sa.text("SELECT 1"))
                with pytest.raises(NumberingFailed) as caught:
                    await allocator.draw(plan, caller=world.caller, token=new_id(), address="")
            again = await world.take(allocator, world.letter())

            assert caught.value.says.th == "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ"
            assert again.sequence == 2
            # The row could not be written while it happened; it came from the spool.
            assert await errors(world) == ["DB_ERROR"]
            assert metric("docnum_error_total", type="DB_ERROR", scenario="4") == before + 1
            await check_accounts(world)
        finally:
            await db.close()

    async def test_frozen_under_load_loses_nothing(self, mariadb_demo_template: str) -> None:
        with running_mariadb() as server:
            db = Database(server.create("numbers", statements=mariadb_demo_template), read_timeout=1)
            try:
                world = await world_of(db)
                async with Drawing(world, world.allocator(), 8) as drawing:
                    server.freeze()
                    await asyncio.sleep(2.5)
                    server.thaw()
                    await asyncio.sleep(3)

                drawing.check()
                assert len(drawing.issued) >= 16
                await check_accounts(world)
            finally:
                await db.close()

    async def test_restarted_twice_under_load_loses_nothing(self, mariadb_demo_template: str) -> None:
        """A restart ends some transactions in their COMMIT; their tokens say whether it went through."""
        with running_mariadb() as server:
            db = Database(server.create("numbers", statements=mariadb_demo_template), read_timeout=3)
            try:
                world = await world_of(db)
                async with Drawing(world, world.allocator(), 16) as drawing:
                    for _ in range(2):
                        await asyncio.to_thread(server.restart)
                        await asyncio.sleep(1.5)

                drawing.check()
                assert len(await world.ledger()) >= len(drawing.issued)
                await check_accounts(world)
            finally:
                await db.close()


class TestMeasurements:
    """What the alerts of deploy/ stand on, from a lock that another server keeps."""

    async def test_count_an_attempt_and_its_timeout_and_who_was_refused(self, world: World, redis_url: str) -> None:
        names = ("docnum_lock_attempts_total", "docnum_lock_timeout_total")
        before = [metric(name) for name in names]
        refused = metric("docnum_error_total", type="LOCK_TIMEOUT", scenario="2")
        plan = await world.plan(world.letter())
        async with redis_locks(redis_url) as locks, locks.hold(plan.lock_name, within=1):
            allocator = numbering.Allocator(
                world.db, locks, budget=numbering.Budget(lock=1, pause=0.01), lock_timeout=0.1
            )
            with pytest.raises(NumberingBusy):
                await allocator.draw(plan, caller=world.caller, token=new_id(), address="")
            await allocator.close()

        assert [metric(name) - was for name, was in zip(names, before, strict=True)] == [2, 2]
        assert metric("docnum_error_total", type="LOCK_TIMEOUT", scenario="2") == refused + 1
