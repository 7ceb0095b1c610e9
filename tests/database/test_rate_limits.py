"""Limits counted in Redis for all servers together, and by each alone while it is away."""

import asyncio
import time
from contextlib import AsyncExitStack

import pytest
import sqlalchemy as sa

from saraban.app import create_app
from saraban.config import Settings
from saraban.kit.rate_limits import RateLimiter, RateLimitRule
from saraban.numbering.series.models import LedgerEntry
from tests.conftest import client_of
from tests.numbering_requests import GENERATE, read_project
from tests.processes import sign_in
from tests.servers import running_redis

pytestmark = pytest.mark.servers


class TestServers:
    async def test_count_together(self, redis_url: str) -> None:
        servers = [
            RateLimiter(redis_url, timeout=10),
            RateLimiter(redis_url, timeout=10),
        ]  # a busy machine is no Redis that is down
        charges = [RateLimitRule("user", "a", 50), RateLimitRule("all", "", 500)]

        tallies = await asyncio.gather(*(server.take(charges) for server in servers for _ in range(100)))
        for server in servers:
            await server.close()

        assert sum(tally.refused is None for tally in tallies) == 50

    async def test_count_alone_while_redis_is_frozen_and_wait_for_it_once(self) -> None:
        charge = [RateLimitRule("user", "a", 3)]
        with running_redis() as redis:
            server = RateLimiter(redis.url, timeout=0.2, rest=30)
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
        away, here = RateLimiter("redis://127.0.0.1:1/0", timeout=0.2, rest=0.1), RateLimiter(redis_url, timeout=10)
        charge = [RateLimitRule("user", "a", 2)]

        alone = [(await away.take(charge)).refused is None for _ in range(3)]
        together = [(await here.take(charge)).refused is None for _ in range(3)]
        for server in (away, here):
            await server.close()

        assert alone == together == [True, True, False]


class TestApplications:
    async def test_let_exactly_so_many_of_twice_as_many_draws_through(self, settings: Settings, redis_url: str) -> None:
        narrow = settings.model_copy(update={"redis_url": redis_url, "redis_timeout": 10.0, "draw_limit_user": 8})
        async with AsyncExitStack() as stack:
            clients = []
            for _ in range(2):
                app = create_app(narrow)
                await stack.enter_async_context(app.router.lifespan_context(app))
                client = await stack.enter_async_context(client_of(app))
                await sign_in(client, "dc.consultant")
                clients.append(client)
            letter = (await read_project(clients[0])).letter()

            answers = await asyncio.gather(*(one.post(GENERATE, json=letter) for one in clients for _ in range(8)))

            async with app.state.db.reading() as session:
                drawn = await session.scalar(sa.select(sa.func.count()).select_from(LedgerEntry))
        assert sorted(answer.status_code for answer in answers) == [201] * 8 + [429] * 8
        assert drawn == 8
        assert all(1 <= int(one.headers["Retry-After"]) <= 60 for one in answers if one.status_code == 429)
