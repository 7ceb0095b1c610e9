"""Set up and check database connections, and replace lost ones."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from math import ceil
from time import monotonic, sleep
from typing import Any, TypeVar

import sqlalchemy as sa
from asyncmy.connection import Connection
from asyncmy.errors import Error as DriverError
from asyncmy.errors import OperationalError
from sqlalchemy import event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import URL
from sqlalchemy.exc import DisconnectionError

from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.reconnection import LOCK_WAIT, UNFIT_NODE, Reconnection, error_number, is_lost

T = TypeVar("T")
_WAL_WAIT = 10.0  # seconds

# A server can ignore the character set of the handshake (`skip-character-set-client-handshake`).
MARIADB_SESSION = (
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci, SESSION time_zone='+00:00', SESSION sql_mode='STRICT_ALL_TABLES,"
    "NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO', SESSION innodb_lock_wait_timeout=10, "
    # The server ends a statement, or an idle transaction with writes, after the client's timeout.
    "SESSION max_statement_time={0}, SESSION idle_write_transaction_timeout={0}"
)
_SESSION_QUERY = "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@sql_mode"
_CHANGES_QUOTING = {"NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "ANSI"}
_Connection: Any = Connection  # the driver has no types


class MariaDbConnection(_Connection):  # type: ignore[misc]
    """
    A connection that counts as lost after `silence` seconds (REQ-NUM-09).
    The driver's `read_timeout` creates a task per response, which costs more than a small statement. A timer is
    enough.
    """

    silence: float

    async def connect(self) -> None:
        """
        Connect, and check the session that the quoting of `kit.fastlane` needs.
        :raises DatabaseConnectionChanged:
        """
        try:
            await super().connect()
        except RuntimeError as error:  # from the driver, when a proxy closes the connection at once
            raise OperationalError(2013, f"Lost connection: {error}") from error
        try:
            async with self.cursor() as cursor:
                await cursor.execute(_SESSION_QUERY)
                _check_session(*await cursor.fetchone())
        except BaseException:
            self.close()
            raise

    async def _fill_buffer(self, need: int) -> None:
        timer = self._loop.call_later(self.silence, self._abort)
        try:
            await super()._fill_buffer(need)
        finally:
            timer.cancel()

    def _abort(self) -> None:
        """Close the connection: a waiting request gets the error of a lost connection."""
        if self._transport is not None:
            self._transport.abort()


class ReadingConnection(MariaDbConnection):
    """A read-only connection, outside transactions. It reconnects and repeats (REQ-LCK-08)."""

    reconnection: Reconnection
    _is_repeating = False

    async def connect(self) -> None:
        await self._repeat(asyncio.sleep, 0)

    async def query(self, sql: str, unbuffered: bool = False) -> int:
        return await self._repeat(super().query, sql, unbuffered)

    async def _repeat(self, work: Callable[..., Awaitable[T]], *args: object) -> T:
        if self._is_repeating:
            return await work(*args)
        self._is_repeating = True
        try:
            return await self.reconnection.run(self._attempt, work, *args)
        finally:
            self._is_repeating = False

    async def _attempt(self, work: Callable[..., Awaitable[T]], *args: object) -> T:
        try:
            if not self.connected:
                await super().connect()
            return await work(*args)
        except DriverError as error:
            if error_number(error) == LOCK_WAIT:  # a read waits for no lock, but for the other nodes of a cluster
                self.close()
                raise OperationalError(1047, "The node has lost its cluster.") from error
            if is_lost(error):
                self.close()
            raise


def mariadb_arguments(read_timeout: float, sync_wait: int, reading: Reconnection | None = None) -> dict[str, Any]:
    """
    Return the driver's options.
    :param read_timeout: seconds of silence after which client and server end the connection
    :param reading: makes the connection read-only, because nothing would roll back a write
    """
    session = MARIADB_SESSION.format(ceil(read_timeout)) + (
        f", SESSION wsrep_sync_wait={sync_wait}" if sync_wait else ""
    )
    session += "; SET SESSION TRANSACTION READ ONLY" if reading else ""
    creator = partial(connect_mariadb, silence=read_timeout, reading=reading)
    return {"connect_timeout": 3, "async_creator_fn": creator, "init_command": session}


async def connect_mariadb(*, silence: float, reading: Reconnection | None, **options: Any) -> MariaDbConnection:
    connection = ReadingConnection(**options) if reading else MariaDbConnection(**options)
    connection.silence, connection.reconnection = silence, reading
    await connection.connect()
    return connection


class DatabaseConnectionChanged(DomainError):
    """
    A proxy or another program between Saraban and MariaDB changes the connection.
    It changes the character set or the `sql_mode`.
    """

    kind, code = ErrorKind.BROKEN, "DATABASE_CONNECTION_CHANGED"
    says = Text(
        "การเชื่อมต่อฐานข้อมูลไม่เป็น utf8mb4 หรือ sql_mode ไม่เป็นไปตามที่ตั้ง ({found}) ให้ต่อตรงกับ MariaDB หรือแก้พร็อกซีที่เปลี่ยนค่า",
        "A connection to the database is not in utf8mb4 and the sql_mode that was set ({found}): connect to MariaDB itself, or "
        "mend the proxy that changes them.",
    )
    recovery = (Text("ต่อตรงกับ MariaDB หรือแก้พร็อกซี", "Connect to MariaDB itself, or mend the proxy."),)


def with_driver(url: URL) -> URL:
    backend = url.get_backend_name()
    if backend == "sqlite":
        return url.set(drivername="sqlite+aiosqlite")
    if backend in {"mysql", "mariadb"}:
        return url.set(drivername="mariadb+asyncmy").update_query_dict({"charset": "utf8mb4"})
    raise ValueError(f"Saraban runs on SQLite and MariaDB, not on {backend}.")


def _check_session(*session: str) -> None:
    *charsets, modes = session
    active_modes = set(modes.split(","))
    if set(charsets) != {"utf8mb4"} or "STRICT_ALL_TABLES" not in active_modes or active_modes & _CHANGES_QUOTING:
        raise DatabaseConnectionChanged(values={"found": f"{', '.join(sorted(set(charsets)))}; {modes}"})


def replace_closed(engine: sa.Engine) -> None:
    """
    Replace connections that the server closed, and the whole pool after an unfit node.
    The check reads local state: `pool_pre_ping` costs a round trip for each session.
    """

    @event.listens_for(engine, "checkout")
    def on_checkout(connection: Any, _record: Any, _proxy: Any) -> None:
        transport = connection.driver_connection._transport  # noqa: SLF001  `connected` ignores a close by the server
        if transport is None or transport.is_closing():
            raise DisconnectionError("The server has closed the connection.")

    @event.listens_for(engine, "handle_error")
    def on_error(context: sa.engine.ExceptionContext) -> None:
        context.is_disconnect |= error_number(context.original_exception) in UNFIT_NODE


class _HintingCompiler(SQLiteCompiler):
    """Keeps index hints on SQLite, which otherwise reads a register by the wrong index."""

    def get_from_hint_text(self, _table: sa.FromClause, text: str | None) -> str | None:
        return text


def configure_sqlite(engine: sa.Engine) -> None:
    engine.dialect.statement_compiler = _HintingCompiler

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA busy_timeout=30000")
        _begin_wal(cursor)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("saraban_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_wal(cursor: sa.engine.interfaces.DBAPICursor) -> None:
    """SQLite refuses the second of two processes that open a new file, without waiting."""
    until = monotonic() + _WAL_WAIT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if monotonic() > until:
                raise
            sleep(0.02)
        else:
            return
