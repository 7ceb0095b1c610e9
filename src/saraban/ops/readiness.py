"""What the product stands on, each with a question that a probe may ask every few seconds."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from redis.asyncio import Redis

from saraban.kit import migrations
from saraban.kit.db import Database
from saraban.kit.ids import new_id

ROOM = 50 * 1024 * 1024  # one file of the largest default size


class DependencyDown(Exception):
    """A dependency is not well; the text says how, in words that may be shown to anybody."""


class DependencyOff(Exception):
    """A dependency is not set up here, and the product works without it."""


@dataclass(frozen=True)
class Dependency:
    """
    Something the product stands on.

    :param check: gives a plain sentence when all is well; raises `NotWell` or whatever went wrong
    :param essential: without it the process cannot serve
    """

    name: str
    check: Callable[[], Awaitable[str]]
    essential: bool


def dependencies(*, db: Database, redis: Redis | None, files: Path) -> list[Dependency]:
    async def database() -> str:
        await db.ping()
        if db.is_sqlite:
            await asyncio.to_thread(_ask_for_room, Path(db.url.database or ".").parent)
        return "answers"

    async def schema_version() -> str:
        async with db.engine.connect() as connection:
            stands = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
        newest = await asyncio.to_thread(migrations.head)
        if stands != newest:
            raise DependencyDown(f"the database stands at {stands}, this version needs {newest}: run `saraban migrate`")
        return f"at {stands}"

    async def storage() -> str:
        return await asyncio.to_thread(_try_folder, files)

    async def cache() -> str:
        if redis is None:
            raise DependencyOff("not set up; the database alone keeps numbers unique")
        return "answers" if await redis.ping() else "answers oddly"

    return [
        Dependency("database", database, essential=True),
        Dependency("migrations", schema_version, essential=True),
        Dependency("storage", storage, essential=True),
        Dependency("redis", cache, essential=False),
    ]


def worker(is_running: Callable[[], bool] | None) -> Dependency:
    """
    :param is_running: asks the worker inside this server; None when it runs apart
    """

    async def check() -> str:
        if is_running is None:
            raise DependencyOff("runs apart from this server")
        if not is_running():
            raise DependencyDown("it has stopped; restart the server")
        return "runs inside this server"

    return Dependency("worker", check, essential=False)


def _ask_for_room(folder: Path) -> None:
    if shutil.disk_usage(folder).free < ROOM:
        raise DependencyDown("less than 50 MB are free")


def _try_folder(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".probe-{new_id().hex}"
    try:
        probe.write_bytes(b"saraban")
    except OSError as fault:
        raise DependencyDown(f"the folder cannot be written ({fault.strerror})") from fault
    finally:
        probe.unlink(missing_ok=True)
    _ask_for_room(folder)
    return "can be written"
