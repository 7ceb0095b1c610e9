"""
The fast lane: statements rendered by hand and sent to MariaDB in one round trip, for numbers, keys of requests, events, audit.

SQLAlchemy's way to an asyncio driver takes four times as long as a small statement. Here a statement is compiled once for
each dialect, its values are quoted into the text, and several statements are one packet on the driver's connection, inside
the transaction of the session or connection. On SQLite, where no round trip is saved, SQLAlchemy executes them one by one.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.sql.visitors import iterate, replacement_traverse

from saraban.kit.db import Database, SessionOrConnection
from saraban.kit.reconnection import UNFIT_NODE, error_number

Convert = Callable[[Any], Any] | None
Rows = Sequence[Sequence[Any]]
_SIGNALLED = 1644
# An error ends the packet: MariaDB does not execute the statements behind it.
_GUARD = (
    "IF ROW_COUNT() <> 1 THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644, MESSAGE_TEXT = 'no row changed'; END IF"
)


class FastStatement:
    """
    A statement that is compiled once for each dialect; its named parameters, values and lists, are quoted into the text.

    :param before: text in front of the statement on MariaDB
    """

    def __init__(self, statement: Any, *, before: str = "") -> None:
        self.statement = statement
        self._before = before
        self._compiled = lru_cache(maxsize=8)(self._compile)

    def render(self, driver: "_Driver", values: Mapping[str, Any]) -> str:
        text, parameters, _ = self._compiled(driver.dialect)
        texts = {
            name: f"({','.join(_quoted(driver, convert, values[name]))})"
            if is_list
            else driver.quote(convert, values[name])
            for name, (convert, is_list) in parameters.items()
        }
        return text.format(**texts)

    def convert_rows(self, dialect: sa.Dialect, rows: Rows) -> list[tuple[Any, ...]]:
        """Return rows of the driver in the types of the statement's columns."""
        _, _, converts = self._compiled(dialect)
        return [
            tuple(value if convert is None else convert(value) for value, convert in zip(row, converts, strict=True))
            for row in rows
        ]

    def _compile(self, dialect: sa.Dialect) -> tuple[str, dict[str, tuple[Convert, bool]], list[Convert]]:
        """Return the text with a mark for each parameter, how each is converted and whether it is a list, and how columns are."""
        binds: dict[str, tuple[Convert, bool]] = {
            part.key: (part.type.dialect_impl(dialect).bind_processor(dialect), part.expanding)
            for part in iterate(self.statement)
            if isinstance(part, BindParameter) and part.required  # a constant of the statement has a value already
        }
        traverse: Any = replacement_traverse  # its overloads accept no statement of any kind
        marked = traverse(self.statement, {}, _mark)
        text = self._before + str(marked.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        columns = getattr(self.statement, "exported_columns", ())
        return text, binds, [one.type.dialect_impl(dialect).result_processor(dialect, None) for one in columns]


def _mark(part: Any, **_: Any) -> Any:
    is_parameter = isinstance(part, BindParameter) and part.required
    return sa.literal_column(f"{{{part.key}}}") if is_parameter else None


class _Result(NamedTuple):
    changed: int
    rows: Rows


class _Driver:
    """The driver's connection to MariaDB under a session or connection."""

    def __init__(self, dialect: sa.Dialect, pooled: PoolProxiedConnection) -> None:
        self.dialect, self._pooled = dialect, pooled
        self._connection: Any = pooled.driver_connection

    @classmethod
    async def under(cls, connected: SessionOrConnection) -> "_Driver":
        connection = await connected.connection() if isinstance(connected, AsyncSession) else connected
        inner = connection.sync_connection
        if inner is None or inner.invalidated:
            return cls(connection.dialect, await connection.get_raw_connection())
        return cls(connection.dialect, inner.connection)

    def quote(self, convert: Convert, value: object) -> str:
        """
        Quote a value for MariaDB, converted by its column's type.

        Connections speak UTF-8 and take a backslash for an escape (`kit.connections` refuses one that does not), so that only
        a quote and a backslash can end a text. The driver escapes a letter at a time, which takes longer than the database.
        """
        if value is None:
            return "NULL"
        if type(value) is UUID:
            return f"'{value.int:032x}'"
        value = value if convert is None else convert(value)
        if type(value) is int:
            return str(value)
        if isinstance(value, str):
            return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
        if type(value) is datetime:
            return f"'{value.isoformat(' ')}'"
        return self._connection.literal(value)  # type: ignore[no-any-return]

    async def send(self, texts: Sequence[str]) -> list[_Result]:
        """
        Execute the statements in one round trip.

        :raises DBAPIError: for the first that failed, without its text, which has values
        """
        try:
            async with self._connection.cursor() as cursor:
                await cursor.execute(";".join(texts))
                results = [await _result(cursor)]
                while await cursor.nextset():
                    results.append(await _result(cursor))
                return results
        except asyncio.CancelledError:
            self._pooled.invalidate()  # the driver has closed it in the middle of an answer, which the pool did not see
            raise
        except self.dialect.loaded_dbapi.Error as fault:
            if error_number(fault) in UNFIT_NODE:
                self._connection.close()  # the ROLLBACK that follows fails, and the pool replaces all of its connections
            error = self.dialect.loaded_dbapi.Error
            raise DBAPIError.instance("", None, fault, error, dialect=self.dialect) from fault


async def _result(cursor: Any) -> _Result:
    return _Result(cursor.rowcount, await cursor.fetchall() if cursor.description else ())


class _Execution(NamedTuple):
    statement: FastStatement
    values: Mapping[str, object]
    refusal: Exception | None
    guards: bool

    def render(self, driver: _Driver) -> str:
        return self.statement.render(driver, self.values)

    async def execute(self, connected: SessionOrConnection) -> None:
        result: Any = await connected.execute(self.statement.statement, self.values)
        self.check(result.rowcount)

    def check(self, changed: int) -> None:
        if self.refusal is not None and changed != 1:
            raise self.refusal


class _Insertion(NamedTuple):
    table: sa.Table
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    guards: bool = False

    def render(self, driver: _Driver) -> str:
        """
        Return the text of the insertion.

        A value that all rows share is in it once, beside a list of the values that differ: reading long rows costs the server
        more than keeping their indexes.
        """
        head, converts = _head(self.table, self.columns, driver.dialect)
        if len(self.rows) == 1:
            return f"{head} VALUES ({','.join(map(driver.quote, converts, self.rows[0]))})"
        columns: dict[tuple[Convert, tuple[int, ...]], tuple[str, list[str]]] = {}
        chosen = []
        for convert, values in zip(converts, zip(*self.rows, strict=True), strict=True):
            objects = tuple(map(id, values))
            if len(set(objects)) == 1:
                chosen.append(driver.quote(convert, values[0]))
                continue
            column = columns.get((convert, objects))
            if column is None:
                column = columns[convert, objects] = f"c{len(columns)}", _quoted(driver, convert, values)
            chosen.append(column[0])
        heading = ",".join(name for name, _ in columns.values())
        listed = ",".join([f"({','.join(row)})" for row in zip(*(texts for _, texts in columns.values()), strict=True)])
        return f"{head} WITH d ({heading}) AS (VALUES {listed}) SELECT {','.join(chosen)} FROM d"  # noqa: S608  quoted

    async def execute(self, connected: SessionOrConnection) -> None:
        mappings = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        await connected.execute(sa.insert(self.table), mappings)

    def check(self, changed: int) -> None:
        pass


class Packet:
    """Statements of one transaction that are sent together: in one round trip on MariaDB, one by one on SQLite."""

    def __init__(self, connected: SessionOrConnection) -> None:
        self._connected = connected
        self._entries: list[_Execution | _Insertion] = []
        dialect = connected.get_bind().dialect if isinstance(connected, AsyncSession) else connected.dialect
        self.on_sqlite = dialect.name == "sqlite"

    def execute(
        self, statement: FastStatement, refusal: Exception | None = None, *, guards: bool = False, **values: object
    ) -> None:
        """
        :param refusal: raised where it changes no row, or several
        :param guards: then the statements behind it are not executed either
        """
        self._entries.append(_Execution(statement, values, refusal, guards))

    def insert(self, table: sa.Table, columns: tuple[str, ...], rows: Sequence[Sequence[object]]) -> None:
        """Insert rows that differ from each other, each with a value for each of the columns."""
        if rows:
            self._entries.append(_Insertion(table, columns, rows))

    async def send(self) -> None:
        """
        Send the statements, after what the session holds.

        :raises DBAPIError: as SQLAlchemy would, for the first that failed
        """
        entries, self._entries = self._entries, []
        session = self._connected if isinstance(self._connected, AsyncSession) else None
        if session is not None and (session.new or session.dirty or session.deleted):
            await session.flush()
        if self.on_sqlite:
            for entry in entries:
                await entry.execute(self._connected)
        elif entries:
            await _send(await _Driver.under(self._connected), entries)


async def _send(driver: _Driver, entries: Sequence[_Execution | _Insertion]) -> None:
    texts: list[str] = []
    places = []
    for entry in entries:
        places.append(len(texts))
        texts.append(entry.render(driver))
        if entry.guards:
            texts.append(_GUARD)
    try:
        results = await driver.send(texts)
    except DBAPIError as error:
        if error_number(error) == _SIGNALLED:
            for entry in entries:
                if entry.guards:
                    entry.check(0)
        raise
    for entry, place in zip(entries, places, strict=True):
        entry.check(results[place].changed)


async def insert_rows(session: AsyncSession, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows that have the same columns, after what the session holds."""
    packet = Packet(session)
    packet.insert(table, tuple(rows[0]), [tuple(row.values()) for row in rows])
    await packet.send()


async def run_alone(db: Database, statement: FastStatement, **values: object) -> Rows:
    """
    Execute a statement as a transaction of its own, in one round trip on MariaDB, and return its rows.

    It must bear to be executed twice: it is sent again when its connection turns out to be broken.
    """
    return await db.repeat(_run_alone, db, statement, values)


async def _run_alone(db: Database, statement: FastStatement, values: Mapping[str, object]) -> Rows:
    if db.is_sqlite:
        async with db.writing() as session:
            result: Any = await session.execute(statement.statement, values)
            return result.all() if result.returns_rows else ()
    async with db.engine.connect() as connection:
        try:
            driver = await _Driver.under(connection)
            result, _ = await driver.send([statement.render(driver, values), "COMMIT"])
        except Exception:
            with suppress(SQLAlchemyError, OSError):  # of a broken connection, whose pool is replaced by this
                await connection.exec_driver_sql("ROLLBACK")
            raise
        return statement.convert_rows(driver.dialect, result.rows)


def _quoted(driver: _Driver, convert: Convert, values: Sequence[Any]) -> list[str]:
    """Return the texts of a column's values; many rows of a batch share their objects."""
    types = set(map(type, values))
    if types == {int} and convert is None:
        return list(map(str, values))
    if types == {UUID}:
        return [f"'{value.int:032x}'" for value in values]
    known: dict[int, str] = {}
    texts = []
    for value in values:
        text = known.get(id(value))
        if text is None:
            text = known[id(value)] = driver.quote(convert, value)
        texts.append(text)
    return texts


@lru_cache(maxsize=64)
def _head(table: sa.Table, columns: tuple[str, ...], dialect: sa.Dialect) -> tuple[str, Sequence[Convert]]:
    """Return the beginning of an insertion, and how each column converts its values; columns of a type share the function."""
    quote = dialect.identifier_preparer.quote
    names = ", ".join(quote(name) for name in columns)
    known: dict[str, Convert] = {}
    types = [table.c[name].type.dialect_impl(dialect) for name in columns]
    converts = [known.setdefault(repr(kind), kind.bind_processor(dialect)) for kind in types]
    return f"INSERT INTO {quote(table.name)} ({names})", converts
