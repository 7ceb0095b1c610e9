"""
Moves a database along the migration history, on SQLite and on MariaDB.

The scripts lie in `migrations/` of the source tree and are packed into the wheel as `saraban/migrations`. These
functions run an event loop of their own: call them where none runs (a command, a thread).
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event

from saraban.kit.db import Database
from saraban.kit.errors import RETRY, DomainError, ErrorKind, Text
from saraban.kit.revisions import scripts

T = TypeVar("T")

# Alembic names the primary key of its own table, which MariaDB notes that it does not.
logging.getLogger("asyncmy").addFilter(lambda record: "ignored for PRIMARY key" not in record.getMessage())

_PATIENCE = 3600.0  # a rebuild of a large table answers late


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


class MigrationUnderWay(DomainError):
    """Another process migrates the same database."""

    kind, code = ErrorKind.BUSY, "MIGRATION_UNDER_WAY"
    says = Text(
        "มีโปรเซสอื่นกำลังปรับรุ่นฐานข้อมูลนี้อยู่ รอให้เสร็จแล้วสั่งใหม่",
        "Another process is migrating this database: wait for it, then try again.",
    )
    recovery = (RETRY,)


def upgrade(url: str, revision: str = "head") -> None:
    """
    Bring a database up to `revision`; what is already there stays.

    :raises DatabaseNotUtf8mb4: before anything is made
    :raises MigrationUnderWay: when another process keeps at it for a minute
    """

    def work(connection: sa.Connection) -> None:
        _refuse_other_charset(connection)
        command.upgrade(_config(connection), revision)

    _on(url, work)


def downgrade(url: str, revision: str) -> None:
    """Take a database back to `revision`; `base` is the empty one."""
    _on(url, lambda connection: command.downgrade(_config(connection), revision))


def current(url: str) -> str | None:
    """Return the revision of a database, or None before the first; no file is made by asking."""
    place = sa.make_url(url)
    if place.get_backend_name() == "sqlite" and place.database and not Path(place.database).exists():
        return None
    return _on(url, lambda connection: MigrationContext.configure(connection).get_current_revision())


def head() -> str:
    """Return the newest revision there is."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    if newest is None:
        raise RuntimeError("the migration history is empty")
    return newest


def _config(connection: sa.Connection | None = None) -> Config:
    folder = str(scripts()).replace("%", "%%")
    config = Config()
    config.set_main_option("script_location", folder)
    config.set_main_option("path_separator", "newline")
    config.set_main_option("prepend_sys_path", folder)
    config.attributes["connection"] = connection
    return config


def _refuse_other_charset(connection: sa.Connection) -> None:
    """MariaDB commits each statement that makes a table: a database of the wrong kind would be left half made."""
    if connection.dialect.name == "sqlite":
        return
    name, charset = connection.execute(sa.text("SELECT DATABASE(), @@character_set_database")).one()
    if charset != "utf8mb4":
        raise DatabaseNotUtf8mb4(values={"name": name, "charset": charset})


def _on(url: str, work: Callable[[sa.Connection], T]) -> T:
    return asyncio.run(_run(url, work))


async def _run(url: str, work: Callable[[sa.Connection], T]) -> T:
    database = Database(url, read_timeout=_PATIENCE)
    if database.is_sqlite:
        event.listen(database.engine.sync_engine, "connect", _let_go_of_foreign_keys)
    engine = database.engine.execution_options(saraban_writes=True)
    try:
        async with engine.connect() as connection, connection.begin():
            return await connection.run_sync(_alone, work)
    finally:
        await database.close()


def _let_go_of_foreign_keys(connection: Any, _record: object) -> None:
    # A rebuild drops the old table, and with enforcement on that would delete the rows that point at it. The setting
    # cannot change inside a transaction, so it is made here; `_alone` checks what enforcement would have.
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys=OFF")
    cursor.close()


def _alone(connection: sa.Connection, work: Callable[[sa.Connection], T]) -> T:
    """On SQLite the transaction itself keeps others out; MariaDB commits with each DDL statement, so a lock does."""
    if connection.dialect.name == "sqlite":
        done = work(connection)
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        if broken:
            raise RuntimeError(f"{len(broken)} rows point at nothing, the first in table {broken[0][0]}")
        return done
    if connection.scalar(sa.text("SELECT GET_LOCK('saraban_migrate', 60)")) != 1:
        raise MigrationUnderWay
    try:
        # A script that was killed runs again: MariaDB need not note each thing that it would drop and does not find.
        connection.exec_driver_sql("SET sql_notes = 0")
        done = work(connection)
        connection.exec_driver_sql(
            "COMMIT"
        )  # the next in line must find the newest revision: no DDL follows that commits it
        return done
    finally:
        connection.execute(sa.text("SELECT RELEASE_LOCK('saraban_migrate')"))
