"""
Numbers per second against the floor: the least any correct implementation does on the same servers.

The floor locks and moves one counter row, inserts one audit row and commits, with the bare driver and no framework.
Both sides run in turn, interleaved, and the median of the rounds counts. Load generator and servers share the machine.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiosqlite
import asyncmy

from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.locks import DatabaseOnly, Locks, RedisLocks
from saraban.numbering import service as numbering
from tests.numbering_world import World

Draw = Callable[[], Awaitable[object]]


async def per_second(draw: Draw, *, clients: int, seconds: float) -> float:
    """This will give the draws that succeeded per second with `clients` at once."""
    done = 0
    end = time.monotonic() + seconds

    async def client() -> None:
        nonlocal done
        while time.monotonic() < end:
            await draw()
            done += 1

    started = time.monotonic()
    await asyncio.gather(*(client() for _ in range(clients)))
    return done / (time.monotonic() - started)


async def ratio(ours: Draw, floor: Draw, *, clients: int, seconds: float, rounds: int = 3) -> tuple[float, float]:
    """This will give (our numbers per second, ours against the floor), medians over interleaved rounds."""
    rates: list[tuple[float, float]] = []
    for _ in range(rounds):
        mine = await per_second(ours, clients=clients, seconds=seconds)
        rates.append((mine, mine / await per_second(floor, clients=clients, seconds=seconds)))
    return statistics.median(rate for rate, _ in rates), statistics.median(against for _, against in rates)


async def our_draw(world: World, locks: Locks) -> Draw:
    allocator: numbering.Allocator = world.allocator(locks)
    plan = await world.plan(world.letter(recipient="ผรม.2"))

    async def draw() -> object:
        return await allocator.draw(plan, caller=world.caller, token=new_id(), address="127.0.0.1")

    return draw


class MariaFloor:
    """`UPDATE` the counter, read it, `INSERT` the audit row, commit: three round trips and a commit."""

    def __init__(self, db: Database, clients: int) -> None:
        self._url, self._clients = db.url, clients
        self._free: asyncio.Queue[Any] = asyncio.Queue()

    async def __aenter__(self) -> Draw:
        for _ in range(self._clients):
            self._free.put_nowait(
                await asyncmy.connect(
                    host=self._url.host,
                    port=self._url.port,
                    user=self._url.username,
                    password=self._url.password,
                    db=self._url.database,
                )
            )
        await self._run("CREATE OR REPLACE TABLE floor_counter (id INT PRIMARY KEY, last_number INT NOT NULL)")
        await self._run("CREATE OR REPLACE TABLE floor_audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT, t TEXT)")
        await self._run("REPLACE INTO floor_counter VALUES (1, 0)")
        return self.draw

    async def __aexit__(self, *_: object) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()

    async def _run(self, sql: str) -> None:
        connection = await self._free.get()
        async with connection.cursor() as cursor:
            await cursor.execute(sql)
        await connection.commit()
        self._free.put_nowait(connection)

    async def draw(self) -> object:
        connection = await self._free.get()
        try:
            async with connection.cursor() as cursor:
                await cursor.execute("UPDATE floor_counter SET last_number = last_number + 1 WHERE id = 1")
                await cursor.execute("SELECT last_number FROM floor_counter WHERE id = 1")
                (number,) = await cursor.fetchone()
                await cursor.execute("INSERT INTO floor_audit (n, t) VALUES (%s, 'a row of the audit')", (number,))
            await connection.commit()
            return number
        finally:
            self._free.put_nowait(connection)


class SqliteFloor:
    """The same on SQLite with the product's pragmas; one writer at a time, as SQLite wants it."""

    def __init__(self, db: Database) -> None:
        self._path = db.url.database or ""
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Draw:
        self._connection = await aiosqlite.connect(self._path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
            await self._connection.execute(f"PRAGMA {pragma}")
        await self._connection.execute("CREATE OR REPLACE TABLE floor_counter (id INTEGER PRIMARY KEY, last_number)")
        await self._connection.execute("CREATE TABLE IF NOT EXISTS floor_audit (id INTEGER PRIMARY KEY, n, t)")
        await self._connection.execute("INSERT OR REPLACE INTO floor_counter VALUES (1, 0)")
        return self.draw

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def draw(self) -> object:
        async with self._turn:
            await self._connection.execute("BEGIN IMMEDIATE")
            await self._connection.execute("UPDATE floor_counter SET last_number = last_number + 1 WHERE id = 1")
            cursor = await self._connection.execute("SELECT last_number FROM floor_counter WHERE id = 1")
            row = await cursor.fetchone()
            await self._connection.execute(
                "INSERT INTO floor_audit (n, t) VALUES (?, 'a row of the audit')", tuple(row or ())
            )
            await self._connection.execute("COMMIT")
            return row


__all__ = ["DatabaseOnly", "MariaFloor", "RedisLocks", "SqliteFloor", "our_draw", "ratio"]
