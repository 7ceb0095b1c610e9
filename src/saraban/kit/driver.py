"""
The driver's own connection under a session, and statements in its words: many rows in one, and several in one round trip.

The ORM and Core spend more on a row than the database does, and SQLAlchemy's way to an asyncio driver more than a small
statement takes. So the driver's own connection under the session is used, inside the session's transaction. The columns'
own types still convert each value, but a value that comes again in the same column, as most do in a batch, is converted and
quoted once; columns in which every row has null are left out. Names come from the mapped table alone.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import SessionTransaction
from sqlalchemy.pool import PoolProxiedConnection

from saraban.kit.db import SessionOrConnection
from saraban.kit.reconnection import UNFIT_NODE, error_number

_SQLITE_VARIABLES = 32_000  # the library allows 32,766 in one statement
_MOST_ROWS = 1000

Convert = Callable[[Any], Any] | None
_Null = type(None)
_CODE = re.compile(r"[A-Za-z0-9_* -]+\Z")


class DriverConnection:
    """The driver's connection of a session, for as long as the session's transaction lasts."""

    def __init__(self, dialect: sa.Dialect, pooled: PoolProxiedConnection) -> None:
        self.dialect = dialect
        self.on_sqlite = dialect.name == "sqlite"
        self._pooled = pooled
        self._connection: Any = pooled.driver_connection

    @classmethod
    async def of(cls, connected: SessionOrConnection) -> Self:
        """Return the same for as long as the session is in the same transaction."""
        if not isinstance(connected, AsyncSession):
            return await cls._under(connected)
        transaction = connected.sync_session.get_transaction()
        known = _drivers.get(transaction) if transaction is not None else None
        if known is None:
            known = await cls._under(await connected.connection())
            transaction = connected.sync_session.get_transaction()
            assert transaction is not None  # the connection belongs to it
            _drivers[transaction] = known
        return cast("Self", known)

    @classmethod
    async def _under(cls, connection: AsyncConnection) -> Self:
        inner = connection.sync_connection
        if inner is None or inner.invalidated:
            return cls(connection.dialect, await connection.get_raw_connection())
        return cls(connection.dialect, inner.connection)  # there already: no greenlet is needed to fetch it

    def quoted(self, convert: Convert, value: object) -> str:
        """Quote a value as MariaDB reads it, converted by its column's type."""
        return "NULL" if value is None else self.literal(value if convert is None else convert(value))

    def literal(self, value: object) -> str:
        """
        Quote a value as MariaDB reads it.

        Texts and moments, which most values are, are quoted here: the driver escapes a letter at a time, and took longer for
        the JSON of a step than the database for its row. Connections speak UTF-8 and take a backslash for an escape
        (`kit.db` states it, and refuses a connection that does not), so that a quote and a backslash are all that can
        end a text.
        """
        if type(value) is str:
            return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
        if type(value) is datetime:
            return f"'{value.isoformat(' ')}'"
        return self._connection.literal(value)  # type: ignore[no-any-return]

    async def read(self, texts: Sequence[str]) -> list[Sequence[Any]]:
        """
        Execute selects on MariaDB, in one round trip, and return the rows of each as the driver has them.

        :raises DBAPIError: as SQLAlchemy would, for the first that failed
        """
        try:
            return await self._connection.repeat(partial(self._read_all, texts))  # type: ignore[no-any-return]
        except BaseException as fault:
            self._raise_translated(fault)
            raise

    async def _read_all(self, texts: Sequence[str]) -> list[Sequence[Any]]:
        async with self._connection.cursor() as cursor:
            await cursor.execute(";".join(texts))
            found = [await cursor.fetchall()]
            while len(found) < len(texts) and await cursor.nextset():
                found.append(await cursor.fetchall())
            return found

    def _raise_translated(self, fault: BaseException) -> None:
        """Raise what SQLAlchemy would, for what a driver's connection raises, but without the statement: it has values."""
        if isinstance(fault, asyncio.CancelledError) and not self.on_sqlite:
            self._pooled.invalidate()  # asyncmy has closed it in the middle of an answer, which the pool did not see
        error = self.dialect.loaded_dbapi.Error
        if isinstance(fault, error):
            if error_number(fault) in UNFIT_NODE and not self.on_sqlite:
                self._connection.close()  # the ROLLBACK that follows fails, and so the pool replaces all of its connections
            raise DBAPIError.instance("", None, fault, error, dialect=self.dialect) from fault


# To ask a session for its connection takes longer than to send it a small statement.
_drivers: "WeakKeyDictionary[SessionTransaction, DriverConnection]" = WeakKeyDictionary()


async def flush_pending(session: AsyncSession) -> None:
    """Write what the session still holds, before statements that go past it; mostly that is nothing."""
    if session.new or session.dirty or session.deleted:
        await session.flush()
