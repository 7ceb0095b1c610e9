"""`make bench`: prints the table and writes `build/bench.json`."""

import asyncio
import platform
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
from redis.asyncio import Redis
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.numbering import DatabaseOnly, MariaFloor, RedisLocks, SqliteFloor, our_draw, ratio
from saraban.kit import migrate
from saraban.kit.db import Database
from tests.conftest import seeded, settings_in
from tests.numbering_world import World, world_of
from tests.servers import running_mariadb, running_redis

CLIENTS = (1, 16, 100)
SECONDS = 3.0
OUT = Path("build/bench.json")


@asynccontextmanager
async def world_in(url: str) -> AsyncIterator[World]:
    await asyncio.to_thread(migrate.upgrade, url)
    with tempfile.TemporaryDirectory() as folder:
        await seeded(settings_in(Path(folder), database_url=url))
    db = Database(url)
    try:
        yield await world_of(db)
    finally:
        await db.close()


def row(name: str, rate: float, against: float) -> list[dict[str, Any]]:
    # No figure is wanted of this suite yet; the rows are what later work is measured against.
    return [
        {"suite": "numbering", "row": name, "value": round(rate, 1), "unit": "numbers/s", "wanted": None, "met": None},
        {"suite": "numbering", "row": name, "value": round(against, 3), "unit": "x floor", "wanted": None, "met": None},
    ]


async def measure() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with Progress(transient=True) as progress, tempfile.TemporaryDirectory() as folder:
        task = progress.add_task("Measuring", total=3 * len(CLIENTS))
        async with world_in(f"sqlite:///{folder}/bench.db") as world:
            for clients in CLIENTS:
                async with SqliteFloor(world.db) as floor:
                    found = await ratio(await our_draw(world, DatabaseOnly()), floor, clients=clients, seconds=SECONDS)
                rows += row(f"SQLite, one series, {clients} clients", *found)
                progress.advance(task)
        with running_mariadb() as mariadb, running_redis() as server:
            async with world_in(mariadb.create("bench")) as world, Redis.from_url(server.url) as redis:
                for name, locks in {
                    "MariaDB": DatabaseOnly(),
                    "MariaDB + Redis": RedisLocks(redis, ttl=5, rest=5),
                }.items():
                    for clients in CLIENTS:
                        async with MariaFloor(world.db, clients) as floor:
                            found = await ratio(await our_draw(world, locks), floor, clients=clients, seconds=SECONDS)
                        rows += row(f"{name}, one series, {clients} clients", *found)
                        progress.advance(task)
    return rows


def main() -> None:
    rows = asyncio.run(measure())
    table = Table("suite", "row", "value", "unit", "wanted")
    for one in rows:
        table.add_row(one["suite"], one["row"], str(one["value"]), one["unit"], str(one["wanted"] or "-"))
    Console().print(table)
    OUT.parent.mkdir(exist_ok=True)
    machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    OUT.write_bytes(orjson.dumps({"machine": machine, "rows": rows}, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
