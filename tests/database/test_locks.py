"""The lock of a series is kept for a moment: who asks again at once goes on, and nobody else waits for long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise
from time import monotonic

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from saraban.kit.locks import RedisLocks

pytestmark = pytest.mark.servers

NAME = "docnum:kept"


@pytest_asyncio.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url) as client:
        yield client


@pytest_asyncio.fixture
async def server(redis: Redis) -> AsyncIterator[RedisLocks]:
    locks = RedisLocks(redis, ttl=5, rest=5)
    yield locks
    await locks.close()


async def scripts_run(redis: Redis) -> int:
    stats = await redis.info("commandstats")
    return int(stats.get("cmdstat_eval", {}).get("calls", 0))


async def held_once(locks: RedisLocks) -> None:
    async with locks.hold(NAME, within=5):
        pass


class TestKept:
    async def test_serves_who_asks_again_at_once_without_redis(self, redis: Redis, server: RedisLocks) -> None:
        await held_once(server)
        before = await scripts_run(redis)

        started = monotonic()
        for _ in range(5):
            await held_once(server)
        quick = monotonic() - started < 0.01

        assert await scripts_run(redis) == before or not quick
        assert await redis.exists(f"{{{NAME}}}") or not quick

    async def test_is_let_go_when_nobody_asks(self, redis: Redis, server: RedisLocks) -> None:
        await held_once(server)
        await asyncio.sleep(0.1)

        assert not await redis.exists(f"{{{NAME}}}")

    async def test_is_let_go_when_the_process_ends(self, redis: Redis, server: RedisLocks) -> None:
        await held_once(server)
        await server.close()

        assert not await redis.exists(f"{{{NAME}}}")

    async def test_is_not_kept_after_a_fault(self, redis: Redis, server: RedisLocks) -> None:
        with pytest.raises(ZeroDivisionError):
            async with server.hold(NAME, within=5):
                raise ZeroDivisionError

        assert not await redis.exists(f"{{{NAME}}}")

    async def test_is_taken_anew_after_a_pause_of_the_process(self, redis: Redis, server: RedisLocks) -> None:
        await held_once(server)
        pause = monotonic() + 0.1
        while monotonic() < pause:  # the loop stands still, as it does for a process that is stopped
            pass
        await redis.delete(f"{{{NAME}}}")  # its life has ended meanwhile

        async with server.hold(NAME, within=5):
            assert await redis.exists(f"{{{NAME}}}")

    async def test_gives_the_other_server_its_turn(self, redis_url: str) -> None:
        """Both ask again at once, without end; neither may keep the other out for longer than a few slices."""
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Redis.from_url(redis_url)) for _ in range(2)]
            servers = [RedisLocks(client, ttl=5, rest=5) for client in clients]
            inside: list[int] = []
            turns: list[int] = []
            end = monotonic() + 1.5

            async def work(number: int) -> None:
                while monotonic() < end:
                    async with servers[number].hold(NAME, within=5):
                        inside.append(number)
                        assert len(inside) == 1
                        turns.append(number)
                        await asyncio.sleep(0.001)
                        inside.remove(number)

            await asyncio.gather(work(0), work(1))
            for locks in servers:
                await locks.close()

        changes = sum(one != other for one, other in pairwise(turns))
        assert changes >= 6
