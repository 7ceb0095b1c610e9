"""
Migrate a SQLite or MariaDB database.

These functions start an event loop: call them only where none runs. The wheel contains the scripts as
`saraban/migrations`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.migration_lock import run_alone
from saraban.kit.revisions import refuse_unknown, scripts

T = TypeVar("T")

# Alembic names the primary key of its own table, and MariaDB sends a note that it ignores the name.
logging.getLogger("asyncmy").addFilter(lambda record: "ignored for PRIMARY key" not in record.getMessage())

_PATIENCE = 3600.0  # seconds; the rebuild of a large table is one statement


class DatabaseNotUtf8mb4(DomainError):
    """The MariaDB database has another character set, in which neither Thai nor codes are kept as they are."""

    kind, code = ErrorKind.CONFLICT, "DATABASE_NOT_UTF8MB4"
    says = Text(
        "ฐานข้อมูลใช้ชุดอักขระ {charset} สั่ง ALTER DATABASE `{name}` CHARACTER SET utf8mb4 แล้วสั่ง `saraban migrate` อีกครั้ง",
        "The database has the character set {charset}: ALTER DATABASE `{name}` CHARACTER SET utf8mb4, then run "
        "`saraban migrate` again.",
    )
    recovery = (
        Text(
            "เปลี่ยนชุดอักขระของฐานข้อมูลด้วย ALTER DATABASE", "Change the character set of the database with ALTER DATABASE."
        ),
    )


def upgrade(url: str, revision: str = "head") -> None:
    """
    :raises DatabaseNotUtf8mb4, DatabaseNewer, DatabaseBeforeRelease: before the first change
    :raises MigrationUnderWay:
    """
    asyncio.run(_move(url, "upgrade", revision))


def downgrade(url: str, revision: str) -> None:
    asyncio.run(_move(url, "downgrade", revision))


def current(url: str) -> str | None:
    """Return the revision; no SQLite file is created."""
    address = sa.make_url(url)
    if address.get_backend_name() == "sqlite" and address.database and not Path(address.database).exists():
        return None
    return _run_read(url, lambda connection: MigrationContext.configure(connection).get_current_revision())


def _config(connection: sa.Connection | None = None) -> Config:
    folder = str(scripts()).replace("%", "%%")
    config = Config()
    config.set_main_option("script_location", folder)
    config.set_main_option("path_separator", "newline")
    config.set_main_option("prepend_sys_path", folder)
    config.attributes["connection"] = connection
    return config


def _refuse_step(connection: sa.Connection, revision: str) -> None:
    """Check the database first: MariaDB commits each DDL statement and cannot undo it."""
    refuse_unknown(MigrationContext.configure(connection).get_current_revision())
    refuse_unknown(None if revision == "base" else revision)
    if connection.dialect.name == "sqlite":
        return
    name, charset = connection.execute(sa.text("SELECT DATABASE(), @@character_set_database")).one()
    if charset != "utf8mb4":
        raise DatabaseNotUtf8mb4(values={"name": name, "charset": charset})


def _run_read(url: str, work: Callable[[sa.Connection], T]) -> T:
    async def run() -> T:
        async with _migration_engine(url) as engine, engine.begin() as connection:
            return await connection.run_sync(work)

    return asyncio.run(run())


async def _move(url: str, direction: str, revision: str) -> None:
    script = ScriptDirectory.from_config(_config()).get_revision(revision)
    revision = script.revision if script else "base"

    async def work(interrupted: str) -> None:
        for movement in dict.fromkeys(filter(None, (interrupted, f"{direction} {revision}"))):
            async with engine.begin() as connection:
                await connection.run_sync(_take_step, movement)

    async with _migration_engine(url) as engine:
        if engine.dialect.name == "sqlite":
            await work("")
            return
        async with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            await connection.run_sync(_refuse_step, revision)  # before the lock's table is created
            await run_alone(connection, work)


@asynccontextmanager
async def _migration_engine(url: str) -> AsyncIterator[AsyncEngine]:
    database = Database(url, read_timeout=_PATIENCE)
    if database.is_sqlite:
        event.listen(database.engine.sync_engine, "connect", _disable_foreign_keys)
    try:
        yield database.engine.execution_options(saraban_writes=True)
    finally:
        await database.close()


def _disable_foreign_keys(connection: Any, _record: object) -> None:
    # A rebuild drops the old table, and enforcement would delete the rows that reference it. The setting cannot change
    # inside a transaction, so it is set here; `_take_step` checks the references.
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys=OFF")
    cursor.close()


def _take_step(connection: sa.Connection, movement: str) -> None:
    """On MariaDB the lock row keeps the movement until its last statement."""
    direction, _, revision = movement.partition(" ")
    _refuse_step(connection, revision)
    if connection.dialect.name == "sqlite":
        getattr(command, direction)(_config(connection), revision)
        if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").all():
            raise RuntimeError(f"{len(broken)} rows point at nothing, the first in table {broken[0][0]}")
        return
    # A script that runs again would get a note for each object that is already gone.
    connection.exec_driver_sql("SET sql_notes = 0")
    connection.execute(sa.text("UPDATE migration_lock SET movement = :movement"), {"movement": movement})
    connection.exec_driver_sql("COMMIT")
    getattr(command, direction)(_config(connection), revision)
    connection.exec_driver_sql("UPDATE migration_lock SET movement = ''")
