"""Limits counted in Redis for all servers together, and by each alone while it is away."""

import asyncio
import time

import pytest

from saraban.kit.limits import Charge, Limiter
from tests.servers import running_redis

pytestmark = pytest.mark.servers


class TestServers:
    async def test_count_together(self, redis_url: str) -> None:
        servers = [Limiter(redis_url), Limiter(redis_url)]
        charges = [Charge("user", "a", 50), Charge("all", "", 500)]

        tallies = await asyncio.gather(*(server.take(charges) for server in servers for _ in range(100)))

        assert sum(tally.refused is None for tally in tallies) == 50
        for server in servers:
            await server.close()

    async def test_count_alone_while_redis_is_frozen_and_wait_for_it_once(self) -> None:
        charge = [Charge("user", "a", 3)]
        with running_redis() as redis:
            server = Limiter(redis.url, timeout=0.2, rest=30)
            await server.take(charge)
            redis.freeze()
            started = time.monotonic()
            tallies = [await server.take(charge) for _ in range(5)]
            waited = time.monotonic() - started
            redis.thaw()
        await server.close()

        assert [tally.refused is None for tally in tallies] == [True] * 3 + [False] * 2
        assert waited < 5 * 0.2

    async def test_count_in_redis_again_when_it_is_back(self, redis_url: str) -> None:
        away, here = Limiter("redis://127.0.0.1:1/0", timeout=0.2, rest=0.1), Limiter(redis_url)
        charge = [Charge("user", "a", 2)]

        alone = [(await away.take(charge)).refused is None for _ in range(3)]
        together = [(await here.take(charge)).refused is None for _ in range(3)]

        assert alone == together == [True, True, False]
        for server in (away, here):
            await server.close()
