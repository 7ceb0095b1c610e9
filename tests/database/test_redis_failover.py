"""A Redis that another takes over from, or that answers and takes no writes, is left alone for a moment and used again."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from prometheus_client import REGISTRY
from redis.asyncio import Redis as RedisClient

from saraban import bootstrap
from saraban.kit.db import Database
from saraban.kit.locks import LockServiceDown, RedisLocks
from saraban.kit.rate_limits import RateLimiter, RateLimitRule
from saraban.kit.redis import WorkerNotifier, redis_pool
from saraban.ops import health
from saraban.ops.health import check_all
from saraban.workflow.administration.service.definition_cache import DefinitionCache
from tests.conftest import settings_in
from tests.log_capture import lines_of
from tests.numbering_world import check_accounts, world_of
from tests.servers import HOST, Redis, free_port, running_redis, running_sentinels

pytestmark = pytest.mark.servers

RULE = RateLimitRule("user", "a", 1000)
WROTE = re.compile("cmdstat_(eval|evalsha|set):")
AWAY = f"{HOST} 1"


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[RedisClient]:
    client = RedisClient.from_pool(redis_pool(url, timeout=0.5, connections=10))
    yield client
    await client.aclose()


@asynccontextmanager
async def locks_of(*urls: str, rest: float = 0.1) -> AsyncIterator[RedisLocks]:
    async with AsyncExitStack() as stack:
        locks = RedisLocks(*[await stack.enter_async_context(client_of(url)) for url in urls], ttl=5, rest=rest)
        yield locks
        await locks.close()


async def is_held(locks: RedisLocks, name: str) -> bool:
    try:
        async with locks.hold(name, within=5):
            return True
    except LockServiceDown:
        return False


async def until(condition: Callable[[], object], *, within: float = 30) -> None:
    async with asyncio.timeout(within):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110  another process changes it
            await asyncio.sleep(0.05)


async def until_held(locks: RedisLocks, *, within: float = 30) -> None:
    async with asyncio.timeout(within):
        for number in range(10_000):
            if await is_held(locks, f"series {number}"):
                return
            await asyncio.sleep(0.05)


class Relay:
    """An address behind which another server takes over: connections that are open stay with the earlier one."""

    def __init__(self, target: Redis) -> None:
        self.target = target
        self._streams: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None] | None] = set()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, HOST, 0)
        return f"redis://{HOST}:{self._server.sockets[0].getsockname()[1]}/0"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for stream in self._streams:
            stream.close()
        await asyncio.gather(*filter(None, self._tasks))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, commands = await asyncio.open_connection(HOST, self.target.port)
        self._streams += [writer, commands]
        self._tasks.add(asyncio.current_task())
        await asyncio.gather(self._copy(reader, commands), self._copy(answers, writer))

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        sink.close()


class TestSentinels:
    async def test_name_the_master_that_took_over_to_everything_that_uses_redis(self, db: Database) -> None:
        with running_sentinels(servers=2, sentinels=1) as cluster:
            limiter = RateLimiter(cluster.url, timeout=0.5, rest=0.1)
            async with client_of(cluster.url) as client, locks_of(cluster.url) as locks:
                cache, woken = DefinitionCache(db, client, rest=0.1), asyncio.Event()
                listening = asyncio.create_task(WorkerNotifier(client, rest=0.1).listen(woken.set))
                await limiter.take([RULE])
                assert await is_held(locks, "before")
                old = cluster.master

                old.kill()
                assert not await is_held(locks, "away")
                await until(lambda: cluster.master is not old)
                woken.clear()
                await until_held(locks)

                new = cluster.master
                async with asyncio.timeout(30):
                    while not new.run("KEYS saraban:rate*").count("saraban:rate"):
                        await limiter.take([RULE])
                        await asyncio.sleep(0.05)
                    await woken.wait()  # it listens again
                await cache.delete(code="RFA")
                assert "wf:def:RFA:active" in new.run("KEYS wf:def:*")
                listening.cancel()
                await asyncio.wait([listening])
            await limiter.close()

    @pytest.mark.faults
    async def test_bring_numbers_back_to_redis_within_fifteen_seconds(self, mariadb_demo_url: str) -> None:
        db = Database(mariadb_demo_url)
        with running_sentinels() as cluster:
            async with locks_of(cluster.url, rest=5) as locks:
                world = await world_of(db)
                allocator = world.allocator(locks)
                await world.take(allocator, world.letter())
                old, before = cluster.master, by_redis()
                old.kill()
                async with asyncio.timeout(15):
                    while by_redis() < before + 3:
                        await world.take(allocator, world.letter())
                        await asyncio.sleep(0.1)
                paths = [row.lock_path for row in sorted(await world.audit("GENERATE"), key=lambda row: row.id)]
                await allocator.close()
        await check_accounts(world)
        await db.close()
        assert (paths[0], "database" in paths, paths[-1]) == ("redis", True, "redis")


def by_redis() -> float:
    return REGISTRY.get_sample_value("docnum_lock_redis_success_total") or 0.0


class TestServerThatAnswers:
    @pytest.mark.parametrize(
        "commands",
        [
            [f"REPLICAOF {AWAY}"],
            ["CONFIG SET replica-serve-stale-data no", f"REPLICAOF {AWAY}"],
            ["CONFIG SET min-replicas-to-write 1"],
        ],
        ids=["READONLY", "MASTERDOWN", "NOREPLICAS"],
    )
    async def test_and_takes_no_writes_is_down_until_it_does(self, commands: list[str]) -> None:
        with running_redis() as server:
            async with locks_of(server.url) as locks:
                assert await is_held(locks, "before")
                for command in commands:
                    assert server.run(command) == "+OK"

                assert (await locks.up(), await is_held(locks, "meanwhile")) == (False, False)

                server.run("REPLICAOF NO ONE")
                server.run("CONFIG SET min-replicas-to-write 0")
                await until_held(locks)
                assert await locks.up()

    async def test_without_memory_for_a_key_is_down(self) -> None:
        with running_redis() as server:
            async with locks_of(server.url) as locks:
                server.run("CONFIG SET maxmemory 1")

                assert not await locks.up()

    async def test_that_it_loads_its_data_is_down(self) -> None:
        async def load(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(65536):
                writer.write(b"-LOADING Redis is loading the dataset in memory\r\n" * 3)
            writer.close()

        server = await asyncio.start_server(load, HOST, port := free_port())
        async with server, locks_of(f"redis://{HOST}:{port}/0") as locks:
            assert (await locks.up(), await is_held(locks, "series")) == (False, False)

    @pytest.mark.parametrize("uses", ["locks", "limits", "probe"])
    async def test_and_was_demoted_is_left_for_the_one_that_took_over(self, uses: str) -> None:
        with running_redis() as old, running_redis() as new:
            relay = Relay(old)
            async with relay as url, locks_of(url) as locks:
                limiter = RateLimiter(url, timeout=0.5, rest=0.1)
                use = {
                    "locks": lambda: is_held(locks, "series"),
                    "limits": lambda: limiter.take([RULE]),
                    "probe": locks.up,
                }
                await use[uses]()
                old.run(f"REPLICAOF {AWAY}")
                relay.target = new

                async with asyncio.timeout(30):
                    while not WROTE.search(new.run("INFO commandstats")):
                        await use[uses]()
                        await asyncio.sleep(0.05)
                await limiter.close()


class TestReadiness:
    @pytest_asyncio.fixture
    async def servers(self) -> AsyncIterator[list[Redis]]:
        with running_redis() as one, running_redis() as two, running_redis() as three:
            yield [one, two, three]

    async def test_names_each_lock_master_that_takes_no_writes(self, servers: list[Redis], tmp_path: Path) -> None:
        settings = settings_in(tmp_path, redis_url=servers[0].url, lock_redis_urls=",".join(one.url for one in servers))
        async with bootstrap.closing(bootstrap.wire(settings)) as system:
            (redis,) = [dependency for dependency in system.dependencies if dependency.name == "redis"]
            assert (await check_all([redis]))["redis"].status == "up"

            servers[1].run(f"REPLICAOF {AWAY}")
            servers[2].run("CONFIG SET min-replicas-to-write 1")
            with lines_of(health) as lines:
                report = (await check_all([redis]))["redis"]

        assert (report.status, redis.essential) == ("down", False)
        assert report.reason == (
            "lock master 2 takes no writes (ReadOnlyError); lock master 3 takes no writes (NOREPLICAS)"
        )
        assert {line["server"] for line in lines} == {f"{HOST}:{server.port}" for server in servers[1:]}
