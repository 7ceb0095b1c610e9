"""
What numbering is compared with: each does the least that its name promises, with the bare driver, on the same servers.

All issue numbers of one series. What each keeps beside the counter stands in its docstring.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Any, Self

import asyncmy
from redis.asyncio import Redis
from sqlalchemy.engine import URL

from benchmarks.load import LoadResult, Operation

_TABLES = (
    "CREATE OR REPLACE TABLE baseline_counter (id INT PRIMARY KEY, last_number INT NOT NULL, version INT NOT NULL)",
    "CREATE OR REPLACE TABLE baseline_audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL, t VARCHAR(100) NOT NULL)",
    "REPLACE INTO baseline_counter SELECT seq, 0, 0 FROM seq_1_to_100",
)
BATCH = 50
SERIES = 100


class Conflict(Exception):
    """A compare-and-set was lost; the baselines give up then, as their like do."""


async def connect(url: URL) -> Any:
    return await asyncmy.connect(
        host=url.host,
        port=url.port,
        user=url.username,
        password=url.password,
        db=url.database,
        charset="utf8mb4",
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )


class Pool:
    """One connection a client, opened before the clock starts."""

    def __init__(self, url: URL, clients: int) -> None:
        self._url, self._clients = url, clients
        self._free: asyncio.Queue[Any] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        for _ in range(self._clients):
            self._free.put_nowait(await connect(self._url))
        return self

    async def __aexit__(self, *_: object) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        connection = await self._free.get()
        try:
            async with connection.cursor() as cursor:
                yield cursor
            await connection.commit()
        except BaseException:
            await connection.rollback()
            raise
        finally:
            self._free.put_nowait(connection)


async def prepare(pool: Pool) -> None:
    for statement in _TABLES:
        async with pool.transaction() as cursor:
            await cursor.execute(statement)


def floor(pool: Pool, *, series: int = 1) -> Operation:
    """
    Keeps an audit row: counter, read, insert, commit. The least that any honest service does for one number.

    :param series: so many, in turn
    """
    turns = cycle(range(1, series + 1))

    async def operation() -> object:
        counter = next(turns)
        async with pool.transaction() as cursor:
            await cursor.execute("UPDATE baseline_counter SET last_number = last_number + 1 WHERE id = %s", (counter,))
            await cursor.execute("SELECT last_number FROM baseline_counter WHERE id = %s", (counter,))
            (number,) = await cursor.fetchone()
            await cursor.execute("INSERT INTO baseline_audit (n, t) VALUES (%s, 'a row of the audit')", (number,))
            return number

    return operation


def naive(pool: Pool, redis: Redis, *, poll: float) -> Operation:
    """
    Keeps an audit row: redis-py's own lock, select, compare-and-set, audit, commit, release: the specification's shape.

    :param poll: seconds between two attempts at the lock; redis-py's default is 0.1
    """

    async def operation() -> object:
        async with redis.lock("baseline", timeout=5, sleep=poll), pool.transaction() as cursor:
            await cursor.execute("SELECT last_number, version FROM baseline_counter WHERE id = 1")
            number, version = await cursor.fetchone()
            changed = await cursor.execute(
                "UPDATE baseline_counter SET last_number = %s, version = version + 1 WHERE id = 1 AND version = %s",
                (number + 1, version),
            )
            if not changed:
                raise Conflict
            await cursor.execute("INSERT INTO baseline_audit (n, t) VALUES (%s, 'a row of the audit')", (number + 1,))
            return number + 1

    return operation


def for_update(pool: Pool) -> Operation:
    """Keeps nothing: the counter's row locked, read, moved."""

    async def operation() -> object:
        async with pool.transaction() as cursor:
            await cursor.execute("SELECT last_number FROM baseline_counter WHERE id = 1 FOR UPDATE")
            (number,) = await cursor.fetchone()
            await cursor.execute("UPDATE baseline_counter SET last_number = %s WHERE id = 1", (number + 1,))
            return number + 1

    return operation


def batched(pool: Pool) -> Operation:
    """Keeps an audit row: fifty numbers a transaction, without knowing who wants them. One call is fifty numbers."""
    rows = ",".join(["(%s, 'a row of the audit')"] * BATCH)

    async def operation() -> object:
        async with pool.transaction() as cursor:
            await cursor.execute("UPDATE baseline_counter SET last_number = last_number + %s WHERE id = 1", (BATCH,))
            await cursor.execute("SELECT last_number FROM baseline_counter WHERE id = 1")
            (last,) = await cursor.fetchone()
            numbers = tuple(range(last - BATCH + 1, last + 1))
            await cursor.execute(f"INSERT INTO baseline_audit (n, t) VALUES {rows}", numbers)
            return numbers

    return operation


def increment(redis: Redis) -> Operation:
    """Keeps nothing, and forgets when Redis does."""

    async def operation() -> object:
        return await redis.incr("baseline_counter")

    return operation


class DjangoSequences:
    """Keeps nothing: the library django-sequences, each client a thread with a connection of its own."""

    def __init__(self, url: URL) -> None:
        import django
        import pymysql
        from django.conf import settings

        pymysql.version_info = (2, 2, 1, "final", 0)  # what Django wants its own driver to be
        pymysql.install_as_MySQLdb()
        if not settings.configured:
            database = {
                "ENGINE": "django.db.backends.mysql",
                "HOST": url.host,
                "PORT": url.port,
                "USER": url.username,
                "PASSWORD": url.password,
                "NAME": url.database,
                "OPTIONS": {"isolation_level": "read committed"},
            }
            settings.configure(
                DATABASES={"default": database},
                INSTALLED_APPS=["sequences.apps.SequencesConfig"],
                DEFAULT_AUTO_FIELD="django.db.models.AutoField",
                LOGGING_CONFIG=None,
            )
        django.setup()

    def prepare(self) -> None:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)

    def run(self, *, clients: int, seconds: float, given: list[int] | None = None) -> LoadResult:
        """
        Issue with so many threads; to be called in a thread of its own.

        :param given: takes the numbers, for whoever wants to see that each is there once
        """
        from django.db import connections
        from sequences import get_next_value

        outcomes = [LoadResult() for _ in range(clients)]
        connected = threading.Barrier(clients + 1)  # nobody's connecting is timed, here as in `Pool`

        def client(outcome: LoadResult) -> None:
            connections["default"].ensure_connection()
            connected.wait()
            end = time.perf_counter() + seconds
            while (begun := time.perf_counter()) < end:
                try:
                    number = get_next_value("baseline")
                except Exception:  # noqa: BLE001  a refusal of any kind is one
                    outcome.refused += 1
                else:
                    outcome.done += 1
                    outcome.latencies.append(time.perf_counter() - begun)
                    if given is not None:
                        given.append(number)
            connections.close_all()

        threads = [threading.Thread(target=client, args=(outcome,)) for outcome in outcomes]
        for thread in threads:
            thread.start()
        connected.wait()
        started = time.perf_counter()
        for thread in threads:
            thread.join()
        return LoadResult(
            time.perf_counter() - started,
            sum(one.done for one in outcomes),
            sum(one.refused for one in outcomes),
            [latency for one in outcomes for latency in one.latencies],
        )
