"""
The fast lane: statements sent to MariaDB as text, several in one round trip.

SQLAlchemy takes four times as long as a small statement. Here a statement is compiled once per dialect, its values
are quoted into the text, and one packet runs on the driver's connection, in the session's transaction. SQLite uses
SQLAlchemy.
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
_SIGNAL_ERROR = 1644
# MariaDB does not execute the statements after an error.
_GUARD = (
    "IF ROW_COUNT() <> 1 THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644, MESSAGE_TEXT = 'no row changed'; END IF"
)


class FastStatement:
    """
    A statement compiled once per dialect, with named parameters quoted into the text.
    :param before: text in front of the statement on MariaDB
    """

    def __init__(self, statement: Any, *, before: str = "") -> None:
        self.statement = statement
        self._before = before
        self._compiled = lru_cache(maxsize=8)(self._compile)

    def render(self, driver: "_Driver", values: Mapping[str, Any]) -> str:
        text, parameters, _ = self._compiled(driver.dialect)
        texts = {
            name: f"({','.join(_quote_column(driver, convert, values[name]))})"
            if is_list
            else driver.quote(convert, values[name])
            for name, (convert, is_list) in parameters.items()
        }
        return text.format(**texts)

    def convert_rows(self, dialect: sa.Dialect, rows: Rows) -> list[tuple[Any, ...]]:
        _, _, converts = self._compiled(dialect)
        return [
            tuple(value if convert is None else convert(value) for value, convert in zip(row, converts, strict=True))
            for row in rows
        ]

    def _compile(self, dialect: sa.Dialect) -> tuple[str, dict[str, tuple[Convert, bool]], list[Convert]]:
        binds: dict[str, tuple[Convert, bool]] = {
            part.key: (part.type.dialect_impl(dialect).bind_processor(dialect), part.expanding)
            for part in iterate(self.statement)
            if isinstance(part, BindParameter) and part.required  # constants have a value already
        }
        traverse: Any = replacement_traverse  # its overloads exclude statements
        marked = traverse(self.statement, {}, _placeholder)
        text = self._before + str(marked.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        columns = getattr(self.statement, "exported_columns", ())
        return text, binds, [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]


def _placeholder(part: Any, **_: Any) -> Any:
    is_parameter = isinstance(part, BindParameter) and part.required
    return sa.literal_column(f"{{{part.key}}}") if is_parameter else None


class _Result(NamedTuple):
    changed: int
    rows: Rows


class _Driver:
    """The driver's connection under a session or connection."""

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

        Connections use UTF-8 and backslash escapes (`kit.connections` refuses others), so only a quote or a backslash
        can end a text.
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
        :raises DBAPIError: for the first failed statement, without its text, which contains values
        """
        try:
            async with self._connection.cursor() as cursor:
                await cursor.execute(";".join(texts))
                results = [await _result(cursor)]
                while await cursor.nextset():
                    results.append(await _result(cursor))
                return results
        except asyncio.CancelledError:
            self._pooled.invalidate()  # the driver closed it in the middle of a response, unknown to the pool
            raise
        except self.dialect.loaded_dbapi.Error as fault:
            if error_number(fault) in UNFIT_NODE:
                self._connection.close()  # then ROLLBACK fails, and the pool replaces all of its connections
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
        """Write a value that all rows share once: MariaDB parses long rows slowly."""
        head, converts = _insert_head(self.table, self.columns, driver.dialect)
        if len(self.rows) == 1:
            return f"{head} VALUES ({','.join(map(driver.quote, converts, self.rows[0]))})"
        columns: dict[tuple[Convert, tuple[int, ...]], tuple[str, list[str]]] = {}
        selected = []
        for convert, values in zip(converts, zip(*self.rows, strict=True), strict=True):
            objects = tuple(map(id, values))
            if len(set(objects)) == 1:
                selected.append(driver.quote(convert, values[0]))
                continue
            column = columns.get((convert, objects))
            if column is None:
                column = columns[convert, objects] = f"c{len(columns)}", _quote_column(driver, convert, values)
            selected.append(column[0])
        heading = ",".join(name for name, _ in columns.values())
        value_rows = ",".join(
            [f"({','.join(row)})" for row in zip(*(texts for _, texts in columns.values()), strict=True)]
        )
        return f"{head} WITH d ({heading}) AS (VALUES {value_rows}) SELECT {','.join(selected)} FROM d"  # noqa: S608  quoted

    async def execute(self, connected: SessionOrConnection) -> None:
        mappings = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        await connected.execute(sa.insert(self.table), mappings)

    def check(self, changed: int) -> None:
        pass


class Packet:
    """Statements of one transaction, sent in one round trip on MariaDB."""

    def __init__(self, connected: SessionOrConnection) -> None:
        self._connected = connected
        self._entries: list[_Execution | _Insertion] = []
        dialect = connected.get_bind().dialect if isinstance(connected, AsyncSession) else connected.dialect
        self.on_sqlite = dialect.name == "sqlite"

    def execute(
        self, statement: FastStatement, refusal: Exception | None = None, *, guards: bool = False, **values: object
    ) -> None:
        """
        :param refusal: raised unless exactly one row changes
        :param guards: then a refusal also skips the following statements
        """
        self._entries.append(_Execution(statement, values, refusal, guards))

    def insert(self, table: sa.Table, columns: tuple[str, ...], rows: Sequence[Sequence[object]]) -> None:
        """Insert rows with a value for each column."""
        if rows:
            self._entries.append(_Insertion(table, columns, rows))

    async def send(self) -> None:
        """
        Flush the session, then send the statements.
        :raises DBAPIError: like SQLAlchemy, for the first that failed
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
        if error_number(error) == _SIGNAL_ERROR:
            for entry in entries:
                if entry.guards:
                    entry.check(0)
        raise
    for entry, place in zip(entries, places, strict=True):
        entry.check(results[place].changed)


async def insert_rows(session: AsyncSession, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Flush the session, then insert rows with the same columns."""
    packet = Packet(session)
    packet.insert(table, tuple(rows[0]), [tuple(row.values()) for row in rows])
    await packet.send()


async def run_alone(db: Database, statement: FastStatement, **values: object) -> Rows:
    """Execute an idempotent statement in its own transaction: a lost connection repeats it."""
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
            with suppress(SQLAlchemyError, OSError):  # on a broken connection this replaces the pool
                await connection.exec_driver_sql("ROLLBACK")
            raise
        return statement.convert_rows(driver.dialect, result.rows)


def _quote_column(driver: _Driver, convert: Convert, values: Sequence[Any]) -> list[str]:
    """Many rows of a batch share their objects, so each object is quoted once."""
    types = set(map(type, values))
    if types == {int} and convert is None:
        return list(map(str, values))
    if types == {UUID}:
        return [f"'{value.int:032x}'" for value in values]
    text_by_id: dict[int, str] = {}
    texts = []
    for value in values:
        text = text_by_id.get(id(value))
        if text is None:
            text = text_by_id[id(value)] = driver.quote(convert, value)
        texts.append(text)
    return texts


@lru_cache(maxsize=64)
def _insert_head(table: sa.Table, columns: tuple[str, ...], dialect: sa.Dialect) -> tuple[str, Sequence[Convert]]:
    """Return the start of an insertion, and the converter of each column, one object per type."""
    quote = dialect.identifier_preparer.quote
    names = ", ".join(quote(name) for name in columns)
    convert_by_type: dict[str, Convert] = {}
    types = [table.c[name].type.dialect_impl(dialect) for name in columns]
    converts = [convert_by_type.setdefault(repr(kind), kind.bind_processor(dialect)) for kind in types]
    return f"INSERT INTO {quote(table.name)} ({names})", converts
