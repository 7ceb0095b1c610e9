"""
The four error scenarios (REQ-LCK-05 to REQ-LCK-08) against real servers that are stopped, frozen, restarted or used up.

After each: every number once, no hole that nobody explains, the refusal with its Thai words, the row among the errors,
the metric (REQ-LCK-01, REQ-NUM-20, REQ-OPS-05).
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Self

import pytest
import pytest_asyncio
import sqlalchemy as sa
from prometheus_client import REGISTRY
from redis.asyncio import Redis as RedisClient
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.locks import RedisLocks
from saraban.kit.reconnection import CommitLost
from saraban.numbering import service as numbering
from saraban.numbering.issue.domain import NumberingBusy, NumberingFailed
from saraban.numbering.issue.service import allocator as allocator_module
from saraban.numbering.series.models import NumberCounter, NumberError
from tests.factories.contexts import context
from tests.linearizability import Seen, out_of_order
from tests.log_capture import lines_of
from tests.numbering_world import World, check_accounts, world_of
from tests.servers import running_mariadb, running_redis


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def errors(world: World) -> list[str]:
    async with world.db.reading() as session:
        return list(await session.scalars(sa.select(NumberError.error_type).order_by(NumberError.id)))


async def logged(allocator: numbering.Allocator) -> None:
    """What could not be written while it happened is written now."""
    async with asyncio.timeout(10):
        while allocator.failures.waiting:
            allocator.failures.write()
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def redis_locks(url: str, *, ttl: float = 5.0, rest: float = 0.05) -> AsyncIterator[RedisLocks]:
    async with RedisClient.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5) as client:
        locks = RedisLocks(client, ttl=ttl, rest=rest)
        yield locks
        await locks.close()


@pytest_asyncio.fixture
async def world(mariadb_demo_url: str) -> AsyncIterator[World]:
    db = Database(mariadb_demo_url)
    yield await world_of(db)
    await db.close()


class Drawing:
    """
    Clients that draw without a pause for as long as the block lasts.

    :param allocators: one for each server process that they speak to in turn
    """

    def __init__(self, world: World, allocators: Sequence[numbering.Allocator], clients: int) -> None:
        self._world, self._allocators, self._clients = world, allocators, clients
        self._over = asyncio.Event()
        self.issued: list[numbering.Issued] = []
        self.seen: list[Seen] = []
        self.refused: list[Exception] = []

    async def __aenter__(self) -> Self:
        plan = await self._world.plan(self._world.letter())
        self._tasks = [asyncio.create_task(self._client(number, plan)) for number in range(self._clients)]
        await self.more(self._clients)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        await asyncio.gather(*self._tasks)
        for allocator in self._allocators:
            await logged(allocator)
            await allocator.close()

    async def more(self, count: int) -> None:
        """Wait until so many further numbers are out."""
        wanted = len(self.issued) + count
        async with asyncio.timeout(30):
            while len(self.issued) < wanted:  # noqa: ASYNC110  they run by themselves
                await asyncio.sleep(0.01)

    async def _client(self, number: int, plan: numbering.Plan) -> None:
        while not self._over.is_set():
            number += 1
            allocator = self._allocators[number % len(self._allocators)]
            asked = time.monotonic()
            try:
                issued = await allocator.issue(
                    numbering.IssueRequest(context(caller=self._world.caller, address=""), plan)
                )
            except (NumberingBusy, NumberingFailed, CommitLost) as refusal:
                self.refused.append(refusal)
            else:
                self.issued.append(issued)
                self.seen.append(Seen(asked, time.monotonic(), issued.sequence))

    def check(self) -> None:
        assert len({one.number for one in self.issued}) == len(self.issued)
        assert out_of_order(self.seen) == []


class TestRedis:
    """Scenario 1: it cannot be reached."""

    async def test_stopped_and_back_and_stopped_again_issues_nothing_twice(self, world: World) -> None:
        fallbacks, failures = (
            metric("docnum_lock_db_fallback_total"),
            metric("docnum_error_total", type="REDIS_ERROR", scenario="1"),
        )
        with running_redis() as server:
            async with redis_locks(server.url) as locks, Drawing(world, [world.allocator(locks)], 8) as drawing:
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
        fallbacks, failed = metric("docnum_lock_db_fallback_total"), metric("docnum_lock_redis_failed_total")
        with running_redis() as server:
            async with redis_locks(server.url) as locks, Drawing(world, [world.allocator(locks)], 8) as drawing:
                assert metric("docnum_redis_up") == 1
                server.freeze()
                await asyncio.sleep(0.6)  # its timeout is half a second
                await drawing.more(8)
                assert metric("docnum_redis_up") == 0
                assert metric("docnum_lock_db_fallback_total") > fallbacks
                assert metric("docnum_lock_redis_failed_total") > failed
                server.thaw()
                await asyncio.sleep(0.3)
                await drawing.more(8)
                assert metric("docnum_redis_up") == 1

        drawing.check()
        assert drawing.refused == []
        await check_accounts(world)
        assert set(await errors(world)) == {"REDIS_ERROR"}
        paths = [row.lock_path for row in sorted(await world.audit("GENERATE"), key=lambda row: row.id)]
        assert (paths[0], "database" in paths, paths[-1]) == ("redis", True, "redis")

    async def test_away_counts_each_number_and_warns_in_the_words_of_the_specification(self, world: World) -> None:
        before = metric("docnum_lock_db_fallback_total")
        with running_redis() as server:
            async with redis_locks(server.url) as locks:
                allocator = world.allocator(locks)
                plan = await world.plan(world.letter())
                await asyncio.to_thread(server.stop)
                with lines_of(allocator_module) as lines:
                    issued = await asyncio.gather(
                        *(
                            allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
                            for _ in range(5)
                        )
                    )
                await allocator.close()

        assert sorted(one.sequence for one in issued) == [1, 2, 3, 4, 5]
        assert metric("docnum_lock_db_fallback_total") == before + 5
        warnings = [line for line in lines if "falling back to DB lock" in line["event"]]
        assert {(line["event"], line["log_level"]) for line in warnings} == {
            ("Redis lock failed, falling back to DB lock", "warning")
        }


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
        failed = metric("docnum_generate_seconds_count", outcome="failed")
        plan = await world.plan(world.letter())
        async with redis_locks(redis_url, ttl=30) as locks:
            allocator = numbering.Allocator(
                world.db, locks, budget=numbering.RetryBudget(lock=1, deadline=5), lock_timeout=0.1
            )
            async with locks.hold(plan.lock_name, within=1):
                refused = await asyncio.gather(
                    *(world.take(allocator, world.letter()) for _ in range(5)), return_exceptions=True
                )

        assert {type(one) for one in refused} == {NumberingBusy}
        assert {one.says.th for one in refused if isinstance(one, NumberingBusy)} == {"ระบบกำลังยุ่ง กรุณาลองใหม่ภายหลัง"}
        assert await errors(world) == ["LOCK_TIMEOUT"] * 5
        assert metric("docnum_error_total", type="LOCK_TIMEOUT", scenario="2") == before + 5
        assert metric("docnum_generate_seconds_count", outcome="failed") == failed + 5
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
        async with Drawing(world, [world.allocator()], 4) as drawing:
            await asyncio.sleep(1)
        over.set()
        await disturbing

        drawing.check()
        assert drawing.refused == []
        await check_accounts(world)

    async def test_in_a_deadlock_is_run_again(self, world: World) -> None:
        """Our transaction has the counter and wants a row of another, heavier one, which wants the counter: ours is ended."""
        before = metric("docnum_retry_total", attempt="1", reason="database_collision")
        allocator = world.allocator()
        await world.take(allocator, world.letter())
        plan = await world.plan(world.letter())
        ours_waits, tries = asyncio.Event(), 0
        row = sa.text("UPDATE organizations SET updated_at = updated_at WHERE organization_code = 'กทท.'")

        async def write(session: AsyncSession, _issued: numbering.Issued) -> None:
            nonlocal tries
            tries += 1
            ours_waits.set()
            await session.execute(row)

        async with world.db.writing() as session:
            await session.execute(row)
            # The server ends whoever has written less.
            await session.execute(
                sa.insert(NumberError),
                [
                    {
                        "public_id": new_id(),
                        "error_type": "REDIS_ERROR",
                        "created_at": context(caller=world.caller, address="").now,
                    }
                    for _ in range(300)
                ],
            )
            drawing = asyncio.create_task(
                allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan, write=write))
            )
            await ours_waits.wait()
            await asyncio.sleep(0.1)
            await session.execute(sa.update(NumberCounter).values(updated_at=NumberCounter.updated_at))

        assert (await drawing).sequence == 2
        assert tries == 2
        assert [audit.retry_count for audit in await world.audit("GENERATE")] == [0, 1]
        assert metric("docnum_retry_total", attempt="1", reason="database_collision") == before + 1
        await check_accounts(world)


@contextlib.asynccontextmanager
async def impatient_world(url: str, read_timeout: float) -> AsyncIterator[World]:
    """A world whose database counts as lost when it is silent for so long; it is set up with the patience of all others."""
    patient, db = Database(url), Database(url, read_timeout=read_timeout)
    try:
        yield replace(await world_of(patient), db=db)
    finally:
        await patient.close()
        await db.close()


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
            async with db.engine.connect(), db.engine.connect():
                with pytest.raises(NumberingFailed) as caught:
                    await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
            again = await world.take(allocator, world.letter())
            await logged(allocator)

            assert caught.value.says.th == "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ"
            assert again.sequence == 2
            # The row could not be written while it happened; it came from the spool.
            assert await errors(world) == ["DB_ERROR"]
            assert metric("docnum_error_total", type="DB_ERROR", scenario="4") == before + 1
            await check_accounts(world)
        finally:
            await db.close()

    async def test_frozen_is_refused_by_the_deadline_with_words(self, mariadb_demo_template: str) -> None:
        """The default times, ten times as fast: the deadline passes before the last attempt that the budget allows."""
        before = metric("docnum_error_total", type="DB_ERROR", scenario="4")
        with running_mariadb() as server:
            url = server.create("numbers", statements=mariadb_demo_template)
            async with impatient_world(url, 1.5) as world:
                allocator = world.allocator(pause=0.1, deadline=3.5)
                await world.take(allocator, world.letter())
                plan = await world.plan(world.letter())
                server.freeze()
                started = time.monotonic()
                refused = await asyncio.gather(
                    *(
                        allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
                        for _ in range(5)
                    ),
                    return_exceptions=True,
                )
                waited = time.monotonic() - started
                server.thaw()
                again = await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
                await logged(allocator)

                assert {type(one) for one in refused} == {NumberingFailed}
                assert {one.says.th for one in refused if isinstance(one, NumberingFailed)} == {
                    "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ"
                }
                assert waited < 6, waited  # with its row in the log, which cannot be written yet
                assert again.sequence == 2
                assert await errors(world) == ["DB_ERROR"] * 5
                assert metric("docnum_error_total", type="DB_ERROR", scenario="4") == before + 5
                await allocator.close()
                await check_accounts(world)

    async def test_frozen_under_load_loses_nothing(self, mariadb_demo_template: str) -> None:
        retried = metric("docnum_retry_total", attempt="1", reason="database_connection")
        with running_mariadb() as server:
            url = server.create("numbers", statements=mariadb_demo_template)
            async with impatient_world(url, 1) as world:
                async with Drawing(world, [world.allocator()], 8) as drawing:
                    server.freeze()
                    await asyncio.sleep(2.5)
                    server.thaw()
                    await drawing.more(16)

                drawing.check()
                # Two and a half seconds are less than the budget of an attempt that is lost after one: nobody is refused.
                assert drawing.refused == []
                assert metric("docnum_retry_total", attempt="1", reason="database_connection") > retried
                assert await errors(world) == []
                await check_accounts(world)

    async def test_restarted_twice_under_load_loses_nothing(self, mariadb_demo_template: str) -> None:
        """A restart ends some transactions in their COMMIT; their tokens say whether it went through."""
        retried = metric("docnum_retry_total", attempt="1", reason="database_connection")
        with running_mariadb() as server:
            db = Database(server.create("numbers", statements=mariadb_demo_template), read_timeout=3)
            try:
                world = await world_of(db)
                async with Drawing(world, [world.allocator()], 16) as drawing:
                    for _ in range(2):
                        await asyncio.to_thread(server.restart)
                        await drawing.more(32)

                drawing.check()
                assert {type(one) for one in drawing.refused} <= {NumberingFailed, CommitLost}
                assert await errors(world) == ["DB_ERROR"] * len(drawing.refused)
                assert metric("docnum_retry_total", attempt="1", reason="database_connection") > retried
                assert len(await world.ledger()) >= len(drawing.issued)
                await check_accounts(world)
            finally:
                await db.close()


class TestLinearizability:
    """Who saw a number committed never gets a lower one later, whatever breaks meanwhile."""

    async def test_holds_for_three_servers_while_redis_and_the_database_come_and_go(  # noqa: PLR0915  one story
        self, mariadb_demo_template: str
    ) -> None:
        with running_mariadb() as mariadb, running_redis() as redis:
            url = mariadb.create("numbers", statements=mariadb_demo_template)
            databases = [Database(url, read_timeout=1) for _ in range(3)]
            try:
                async with impatient_world(url, 1) as set_up:
                    world = replace(set_up, db=databases[0])
                async with contextlib.AsyncExitStack() as stack:
                    allocators = [
                        numbering.Allocator(
                            db,
                            await stack.enter_async_context(redis_locks(redis.url, ttl=1)),
                            budget=numbering.RetryBudget(pause=0.1, deadline=10, connection=6),
                            lock_timeout=2,
                        )
                        for db in databases
                    ]
                    async with Drawing(world, allocators, 24) as drawing:
                        await asyncio.to_thread(redis.stop)
                        await drawing.more(100)
                        await asyncio.to_thread(redis.start)
                        await drawing.more(100)
                        redis.flush()  # a Redis that forgets who holds the lock
                        await drawing.more(100)
                        redis.freeze()
                        await drawing.more(100)
                        await asyncio.to_thread(mariadb.restart)
                        redis.thaw()
                        await drawing.more(100)
                        mariadb.freeze()
                        await asyncio.sleep(1.3)
                        mariadb.thaw()
                        await drawing.more(100)

                drawing.check()
                assert len(drawing.seen) > 600
                paths = {audit.lock_path for audit in await world.audit("GENERATE")}
                assert paths == {"redis", "database"}
                await check_accounts(world)
            finally:
                for db in databases:
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
                world.db, locks, budget=numbering.RetryBudget(lock=1, pause=0.01), lock_timeout=0.1
            )
            with pytest.raises(NumberingBusy):
                await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
            await allocator.close()

        assert [metric(name) - was for name, was in zip(names, before, strict=True)] == [2, 2]
        assert metric("docnum_error_total", type="LOCK_TIMEOUT", scenario="2") == refused + 1
