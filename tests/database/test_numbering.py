"""Numbers under concurrency and faults, on SQLite, MariaDB with Redis, MariaDB alone, and with Redis stopped or frozen."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
from redis.asyncio import BlockingConnectionPool
from redis.asyncio import Redis as RedisClient
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.locks import DatabaseLocks, Locks, RedisLocks
from saraban.kit.reconnection import CommitLost
from saraban.numbering import service as numbering
from saraban.numbering.formats.domain import FormatStale
from saraban.numbering.issue.domain import NumberingBusy
from saraban.numbering.issue.service import number_batch
from saraban.numbering.series.models import NumberCounter, NumberError
from tests.factories.contexts import context
from tests.numbering_world import NOW, World, check_accounts, world_of
from tests.proxy import cutting_proxy
from tests.servers import MariaDb, running_mariadb, running_redis

pytestmark = pytest.mark.sampled("mariadb", "False", "True", "without_redis")


def redis_locks(url: str, *, ttl: float = 5.0, rest: float = 5.0, timeout: float = 5.0) -> RedisLocks:
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=50,
        timeout=timeout,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
    )
    client = RedisClient.from_pool(pool)
    locks = RedisLocks(client, ttl=ttl, rest=rest)
    _open.append((locks, client))
    return locks


_open: list[tuple[RedisLocks, RedisClient]] = []


@pytest_asyncio.fixture(autouse=True)
async def close_clients() -> AsyncIterator[None]:
    yield
    while _open:
        locks, client = _open.pop()
        await locks.close()
        await client.aclose()


async def hundred(world: World, *allocators: numbering.Allocator) -> list[numbering.Issued]:
    """Draw 100 numbers of one series at the same moment, dealt out to the given servers."""
    request = world.letter()
    return list(await asyncio.gather(*(world.draw(allocators[n % len(allocators)], request) for n in range(100))))


def assert_consecutive(issued: list[numbering.Issued]) -> None:
    assert sorted(one.sequence for one in issued) == list(range(1, len(issued) + 1))
    assert len({one.number for one in issued}) == len(issued)


@pytest_asyncio.fixture
async def world(any_demo_url: str) -> AsyncIterator[World]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield await world_of(db)
    await db.close()


@pytest_asyncio.fixture
async def maria_world(mariadb_demo_url: str) -> AsyncIterator[World]:
    db = Database(mariadb_demo_url)
    yield await world_of(db)
    await db.close()


class TestHundredAtOnce:
    async def test_get_consecutive_numbers_without_redis(self, world: World) -> None:
        assert_consecutive(await hundred(world, world.allocator()))
        await check_accounts(world)

    async def test_get_consecutive_numbers_with_redis(self, maria_world: World, redis_url: str) -> None:
        locks = redis_locks(redis_url)

        assert_consecutive(await hundred(maria_world, maria_world.allocator(locks)))

        await check_accounts(maria_world)
        assert {row.lock_path for row in await maria_world.audit("GENERATE")} == {"redis"}

    async def test_get_consecutive_numbers_from_two_servers(self, maria_world: World, redis_url: str) -> None:
        second = Database(maria_world.db.url.render_as_string(hide_password=False))
        other = World(second, maria_world.caller, maria_world.project, maria_world.organizations, maria_world.contracts)
        try:
            servers = (maria_world.allocator(redis_locks(redis_url)), other.allocator(redis_locks(redis_url)))
            assert_consecutive(await hundred(maria_world, *servers))
            await check_accounts(maria_world)
        finally:
            await second.close()

    async def test_get_consecutive_numbers_while_one_server_sees_redis_and_the_other_does_not(
        self, maria_world: World, redis_url: str
    ) -> None:
        blind = redis_locks("redis://127.0.0.1:1/0")

        issued = await hundred(maria_world, maria_world.allocator(redis_locks(redis_url)), maria_world.allocator(blind))

        assert_consecutive(issued)
        await check_accounts(maria_world)
        assert {row.lock_path for row in await maria_world.audit("GENERATE")} == {"redis", "database"}

    async def test_get_consecutive_numbers_whatever_snapshot_isolation_says(
        self, mariadb_server: MariaDb, mariadb_demo_url: str, redis_url: str
    ) -> None:
        """The server of the tests has it off, and connections begin with what the server has."""
        mariadb_server.run("SET GLOBAL innodb_snapshot_isolation = ON")
        db = Database(mariadb_demo_url)
        try:
            async with db.reading() as session:
                assert await session.scalar(sa.text("SELECT @@innodb_snapshot_isolation")) == 1
            world = await world_of(db)
            assert_consecutive(await hundred(world, world.allocator(redis_locks(redis_url)), world.allocator()))
            await check_accounts(world)
        finally:
            await db.close()
            mariadb_server.run("SET GLOBAL innodb_snapshot_isolation = OFF")

    async def test_start_a_hundred_series_that_did_not_exist(self, world: World) -> None:
        """On 1 January every series is missing: a locking read of a missing row would deadlock."""
        allocator = world.allocator()
        codes = sorted(world.organizations)
        pairs = [(a, b) for a in codes for b in codes if a != b]

        issued = await asyncio.gather(
            *(world.draw(allocator, world.letter(originator=a, recipient=b)) for a, b in pairs * 3)
        )

        assert Counter(one.sequence for one in issued) == {n: len(pairs) for n in (1, 2, 3)}
        await check_accounts(world)


class TestRedis:
    async def test_stopped_is_noticed_at_once_and_costs_no_number(self, maria_world: World) -> None:
        with running_redis() as server:
            locks = redis_locks(server.url)
            allocator = maria_world.allocator(locks)
            first = await world_draw(maria_world, allocator)
            server.stop()

            issued = await hundred(maria_world, allocator)

        assert sorted(one.sequence for one in [first, *issued]) == list(range(1, 102))
        await check_accounts(maria_world)
        assert {row.lock_path for row in await maria_world.audit("GENERATE")} == {"redis", "database"}
        assert await errors(maria_world) == {"REDIS_ERROR"}

    async def test_frozen_costs_one_request_its_timeout_not_each(self, maria_world: World) -> None:
        with running_redis() as server:
            allocator = maria_world.allocator(redis_locks(server.url, rest=60, timeout=0.5))
            await world_draw(maria_world, allocator)
            server.freeze()
            started = asyncio.get_running_loop().time()

            issued = await hundred(maria_world, allocator)

            assert asyncio.get_running_loop().time() - started < 100 * 0.5
            server.thaw()
        assert sorted(one.sequence for one in issued) == list(range(2, 102))
        await check_accounts(maria_world)

    async def test_coming_back_is_used_again(self, maria_world: World) -> None:
        with running_redis() as server:
            allocator = maria_world.allocator(redis_locks(server.url, rest=0.05))
            server.stop()
            await world_draw(maria_world, allocator)
            server.start()
            await asyncio.sleep(0.1)
            await world_draw(maria_world, allocator)

        assert [row.lock_path for row in await maria_world.audit("GENERATE")] == ["database", "redis"]

    async def test_held_by_another_is_waited_for_and_then_refused(self, maria_world: World, redis_url: str) -> None:
        locks = redis_locks(redis_url)
        plan = await maria_world.plan(maria_world.letter())
        allocator = numbering.Allocator(
            maria_world.db, locks, budget=numbering.RetryBudget(lock=1, deadline=5), lock_timeout=0.1
        )
        async with locks.hold(plan.lock_name, within=1):
            with pytest.raises(NumberingBusy) as caught:
                await maria_world.draw(allocator, maria_world.letter())

        assert caught.value.says.th == "ระบบกำลังยุ่ง กรุณาลองใหม่ภายหลัง"
        assert caught.value.retry_after == 3
        assert await errors(maria_world) == {"LOCK_TIMEOUT"}
        assert await maria_world.ledger() == []

    async def test_lock_that_ran_out_under_a_paused_holder_issues_nothing_twice(
        self, maria_world: World, redis_url: str
    ) -> None:
        """The compare-and-set is what makes it correct, not the lock."""
        locks = redis_locks(redis_url, ttl=0.2)
        plan = await maria_world.plan(maria_world.letter())
        paused, other = maria_world.allocator(locks), maria_world.allocator(redis_locks(redis_url))

        async def slow(_session: Any, _issued: numbering.Issued) -> None:
            await asyncio.sleep(0.8)  # longer than the lock lives

        async def quick(_session: Any, _issued: numbering.Issued) -> None:
            return None

        async def draw(allocator: numbering.Allocator, write: Any) -> numbering.Issued:
            ctx = context(caller=maria_world.caller, address="")
            return await allocator.issue(numbering.IssueRequest(ctx, plan, write=write))

        first = asyncio.create_task(draw(paused, slow))
        await asyncio.sleep(0.4)
        others = await asyncio.gather(*(draw(other, quick) for _ in range(5)))

        assert_consecutive([await first, *others])
        await check_accounts(maria_world)


class TestCounter:
    async def test_lost_race_is_run_again_on_the_locked_row(
        self, maria_world: World, monkeypatch: pytest.MonkeyPatch, redis_url: str
    ) -> None:
        """Reason for the patch: a writer outside the lock must come between our read and our write."""
        request = maria_world.letter()
        await maria_world.draw(maria_world.allocator(redis_locks(redis_url)), request)
        allocator = maria_world.allocator(redis_locks(redis_url))  # one that remembers nothing, and so reads
        read = number_batch.counter_state
        lost: list[bool] = []

        async def read_and_be_overtaken(connected: Any, place: Any, **kwargs: Any) -> Any:
            seen = await read(connected, place, **kwargs)
            if not lost:
                lost.append(True)
                async with maria_world.db.writing() as other:
                    await other.execute(sa.update(NumberCounter).values(version=NumberCounter.version + 1))
            return seen

        monkeypatch.setattr(number_batch, "counter_state", read_and_be_overtaken)
        issued = await maria_world.draw(allocator, request)

        assert issued.sequence == 2
        assert [row.retry_count for row in await maria_world.audit("GENERATE")] == [0, 1]

    async def test_steps_over_a_stretch_of_taken_numbers_and_says_so(self, world: World) -> None:
        """Imported and overridden numbers may stand in the way; they are no version conflict (REQ-NUM-05)."""
        allocator = world.allocator()
        first = await world.draw(allocator, world.letter())
        async with world.db.writing() as session:
            await session.execute(sa.update(NumberCounter).values(last_number=0))

        second = await world.draw(allocator, world.letter())

        assert (first.sequence, second.sequence) == (1, 2)
        (skip,) = await world.audit("SKIP")
        assert (skip.sequence_number, skip.skipped_to) == (1, 1)
        assert [row.retry_count for row in await world.audit("GENERATE")] == [0, 0]

    async def test_steps_over_a_long_stretch_without_asking_one_by_one(self, world: World) -> None:
        allocator = world.allocator()
        issued = [await world.draw(allocator, world.letter()) for _ in range(130)]
        async with world.db.writing() as session:
            await session.execute(sa.update(NumberCounter).values(last_number=0))

        jumped = await world.draw(allocator, world.letter())

        assert jumped.sequence == len(issued) + 1
        (skip,) = await world.audit("SKIP")
        assert (skip.sequence_number, skip.skipped_to) == (1, 130)

    async def test_is_made_again_when_its_row_was_lost(self, world: World) -> None:
        """A restored backup may lack rows that this process remembers; the numbers in the ledger are stepped over."""
        allocator = world.allocator()
        await world.draw(allocator, world.letter())
        async with world.db.writing() as session:
            await session.execute(sa.delete(NumberCounter))

        assert (await world.draw(allocator, world.letter())).sequence == 2


class TestSeries:
    async def test_of_letters_and_rfis_between_the_same_parties_is_one(self, world: World) -> None:
        allocator = world.allocator()
        kinds = ["LETTER", "RFI", "MEMO", "LETTER", "RFI"]

        issued = [await world.draw(allocator, world.letter(type_code=kind)) for kind in kinds]

        assert_consecutive(issued)

    async def test_of_two_contractors_rfas_is_one(self, world: World) -> None:
        allocator = world.allocator()

        issued = [
            await world.draw(allocator, world.rfa(originator=originator)) for originator in ("ผรม.1", "ผรม.2", "ผรม.1")
        ]

        assert [one.number for one in issued] == [f"LCBP3-C2-RFA-STR-SDW-{n:04}-A" for n in (1, 2, 3)]

    async def test_of_the_same_discipline_in_two_contracts_is_one(self, world: World) -> None:
        allocator = world.allocator()
        contracts = sorted(world.contracts)
        assert len(contracts) >= 2

        issued = [await world.draw(allocator, world.rfa(contract=contract)) for contract in contracts * 2]

        assert_consecutive(issued)
        assert len(await world.counters()) == 1


class FreeLocks(DatabaseLocks):
    """Locks that nobody else wants: whoever asks at the same moment has them at the same moment."""

    path = "redis"


class TestLostCommit:
    """MariaDB behind a wire that is cut while COMMIT is on its way (REQ-NUM-09)."""

    @pytest_asyncio.fixture
    async def wire(self, maria_world: World) -> AsyncIterator[Any]:
        url = maria_world.db.url
        async with cutting_proxy(url.host or "", url.port or 0) as proxy:
            through = Database(url.set(port=proxy.port).render_as_string(hide_password=False), read_timeout=3)
            yield (
                proxy,
                World(
                    through, maria_world.caller, maria_world.project, maria_world.organizations, maria_world.contracts
                ),
            )
            await through.close()

    @pytest.mark.parametrize("redis", [False, True])
    async def test_that_was_executed_gives_the_committed_number(
        self, wire: Any, maria_world: World, redis_url: str, *, redis: bool
    ) -> None:
        proxy, world = wire
        locks: Locks = redis_locks(redis_url) if redis else DatabaseLocks()
        allocator = world.allocator(locks)
        before = await world.draw(allocator, world.letter())
        plan = await world.plan(world.letter())
        proxy.arm()

        issued = await draw_plan(world, allocator, plan)

        assert proxy.cut == 1
        assert (before.sequence, issued.sequence) == (1, 2)
        assert [entry.sequence_number for entry in await maria_world.ledger()] == [1, 2]
        await check_accounts(maria_world)

    async def test_that_never_arrived_is_run_again(self, wire: Any, maria_world: World) -> None:
        proxy, world = wire
        allocator = world.allocator()
        plan = await world.plan(world.letter())
        await world.draw(allocator, world.letter())
        proxy.arm(lose_commit=True)

        issued = await draw_plan(world, allocator, plan)

        assert (proxy.cut, issued.sequence) == (1, 2)
        await check_accounts(maria_world)

    @pytest.mark.parametrize("lose_commit", [False, True])
    async def test_of_several_series_issues_each_number_once(
        self, wire: Any, maria_world: World, *, lose_commit: bool
    ) -> None:
        proxy, world = wire
        allocator = world.allocator(FreeLocks())
        ctx = context(caller=world.caller, address="")
        plans = [await world.plan(world.letter(recipient=one)) for one in sorted(world.organizations) if one != "คคง."]
        for plan in plans:
            await allocator.issue(numbering.IssueRequest(ctx, plan))
        proxy.arm(lose_commit=lose_commit)

        issued = await asyncio.gather(*(allocator.issue(numbering.IssueRequest(ctx, plan)) for plan in plans))

        assert proxy.cut == 1
        assert {one.sequence for one in issued} == {2}
        assert len(await maria_world.ledger()) == 2 * len(plans)
        retries = [row.retry_count for row in await maria_world.audit("GENERATE")]
        assert retries.count(1) == (len(plans) if lose_commit else 0)  # it was the COMMIT of all
        await check_accounts(maria_world)

    @pytest.mark.parametrize("lose_commit", [False, True])
    async def test_of_a_reserved_number_gives_it_to_its_document_once(
        self, wire: Any, maria_world: World, *, lose_commit: bool
    ) -> None:
        proxy, world = wire
        allocator, ctx = world.allocator(), context(caller=world.caller, address="")
        plan = await world.plan(world.letter())
        reserved = await allocator.issue(numbering.IssueRequest(ctx, plan, lasts=timedelta(minutes=5)))
        holder, written = numbering.Holder("letter", new_id()), list[str]()

        async def write(_session: AsyncSession, issued: numbering.Issued) -> None:
            written.append(issued.number)

        request = numbering.IssueRequest(ctx, plan, holder=holder, write=write, reservation=reserved.public_id)
        proxy.arm(lose_commit=lose_commit)

        issued = await allocator.issue(request)

        assert (proxy.cut, issued.number, issued.holder, issued.repeated) == (1, reserved.number, holder, False)
        assert written == [reserved.number] * (1 + lose_commit)
        assert len(await maria_world.audit("CONFIRM")) == 1
        assert [entry.holder_public_id for entry in await maria_world.ledger()] == [holder.public_id]

    async def test_that_is_lost_every_time_still_gives_no_second_number(self, wire: Any, maria_world: World) -> None:
        proxy, world = wire
        allocator = world.allocator(connection=0)
        plan = await world.plan(world.letter())
        await world.draw(allocator, world.letter())
        token = new_id()
        proxy.arm()

        with pytest.raises(CommitLost):  # nobody may send it again without its token
            await draw_plan(world, allocator, plan, token=token)
        again = await draw_plan(world, world.allocator(), plan, token=token)

        assert again.sequence == 2
        assert len(await maria_world.ledger()) == 2
        assert await errors(maria_world) == {"DB_ERROR"}


class TestDatabase:
    async def test_restarted_under_load_issues_nothing_twice(self, mariadb_demo_template: str) -> None:
        with running_mariadb() as server:
            db = Database(server.create("numbers", statements=mariadb_demo_template), read_timeout=3)
            try:
                world = await world_of(db)
                allocator = world.allocator()
                plan = await world.plan(world.letter())

                over = asyncio.Event()

                async def some() -> list[numbering.Issued]:
                    issued = [await draw_plan(world, allocator, plan)]
                    while not over.is_set():
                        issued.append(await draw_plan(world, allocator, plan))
                    return [*issued, await draw_plan(world, allocator, plan)]

                drawing = [asyncio.create_task(some()) for _ in range(4)]
                await asyncio.sleep(0.3)
                await asyncio.to_thread(server.restart)
                over.set()
                issued = [one for batch in await asyncio.gather(*drawing) for one in batch]

                assert_consecutive(issued)
                await check_accounts(world)
            finally:
                await db.close()


async def world_draw(world: World, allocator: numbering.Allocator) -> numbering.Issued:
    return await world.draw(allocator, world.letter())


async def draw_plan(
    world: World, allocator: numbering.Allocator, plan: numbering.Plan, *, token: Any = None
) -> numbering.Issued:
    """A draw whose reads are done, so that the next COMMIT on the wire is the number's own."""

    async def write(_session: Any, _issued: numbering.Issued) -> None:
        return None

    ctx = context(caller=world.caller, address="")
    return await allocator.issue(numbering.IssueRequest(ctx, plan, token or new_id(), write=write))


async def errors(world: World) -> set[str]:
    async with world.db.reading() as session:
        return set(await session.scalars(sa.select(NumberError.error_type)))


class TestPool:
    async def test_that_is_small_makes_a_burst_wait_and_refuses_nobody(self, mariadb_demo_url: str) -> None:
        """A hundred callers, six connections, and a timeout that most of them would miss alone."""
        db = Database(mariadb_demo_url, pool_size=3, pool_timeout=0.5)
        try:
            world = await world_of(db)
            assert_consecutive(await hundred(world, world.allocator()))
        finally:
            await db.close()


class TestFormat:
    async def test_that_two_save_first_at_the_same_moment_is_saved_once(self, world: World) -> None:
        wanted = numbering.FormatDraft(template="{ORIGINATOR}-M-{SEQ:3}", reason="For memos.")

        async def save() -> int:
            async def work(session: AsyncSession) -> int:
                row = await numbering.save_format(
                    context(caller=world.caller, now=NOW, address=""),
                    session,
                    numbering.FormatTarget(world.project, "MEMO"),
                    wanted=wanted,
                )
                await asyncio.sleep(0.1)
                return row.format.version

            return await world.db.transact(work)

        outcomes = await asyncio.gather(*(save() for _ in range(4)), return_exceptions=True)

        versions = [outcome for outcome in outcomes if isinstance(outcome, int)]
        assert 1 in versions
        assert all(isinstance(outcome, int | FormatStale) for outcome in outcomes), outcomes
        async with world.db.reading() as session:
            page = await numbering.list_formats(
                context(caller=world.caller), session, project_public_id=world.project, cursor=None, limit=50
            )
        assert [row.type_code for row in page.items].count("MEMO") == 1
