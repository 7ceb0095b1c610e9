"""The servers that all suites of one run measure on, and what a suite is."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redis.asyncio import Redis

from benchmarks import allocator
from benchmarks.load import Operation, Round, closed_loop
from benchmarks.results import Row
from saraban.kit.locks import RedisLocks
from tests.numbering_world import World
from tests.servers import MariaDb, running_mariadb, running_redis
from tests.servers import Redis as RedisServer

Say = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """
    The servers of one run.

    :param seconds: of one round of what is compared
    :param template: statements that make a database with the demo project, as it was before anything was measured
    :param brief_seconds: seconds of what is measured for information
    """

    mariadb: MariaDb
    redis: RedisServer
    url: str
    template: str
    world: World
    client: Redis
    seconds: float
    rounds: int
    say: Say

    @property
    def brief_seconds(self) -> float:
        return max(self.seconds / 3, 0.2)

    def locks(self) -> RedisLocks:
        return RedisLocks(self.client, ttl=5, rest=5)

    def of(self, operation: Operation, clients: int) -> Round:
        return partial(closed_loop, operation, clients=clients, seconds=self.seconds)

    def brief(self, operation: Operation, clients: int) -> Round:
        """A side that no wanted ratio is made of."""
        return partial(closed_loop, operation, clients=clients, seconds=self.brief_seconds)


Suite = Callable[[Bench], Awaitable[list[Row]]]


@asynccontextmanager
async def demo_databases(b: Bench, name: str) -> AsyncIterator[Mapping[str, str]]:
    """Give the addresses of the demo project on both databases."""
    with tempfile.TemporaryDirectory() as folder:
        sqlite = f"sqlite:///{Path(folder) / 'saraban.db'}"
        async with allocator.world_in(sqlite):
            pass
        yield {"MariaDB": b.mariadb.create(name, statements=b.template), "SQLite": sqlite}


@asynccontextmanager
async def bench(*, seconds: float, rounds: int, say: Say) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:
        mariadb = stack.enter_context(running_mariadb(on_disk=True))
        redis = stack.enter_context(running_redis())
        url = mariadb.create("bench")
        world = await stack.enter_async_context(allocator.world_in(url))
        template = mariadb.dump("bench")
        client = await stack.enter_async_context(Redis.from_url(redis.url, max_connections=500))
        yield Bench(mariadb, redis, url, template, world, client, seconds, rounds, say)
