"""
The driver's own connection under a session, and statements in its words: many rows in one, and several in one round trip.

The ORM and Core spend more on a row than the database does, and SQLAlchemy's way to an asyncio driver more than a small
statement takes. So the driver's own connection under the session is used, inside the session's transaction. The columns'
own types still convert each value, but a value that comes again in the same column, as most do in a batch, is converted and
quoted once; columns in which every row has null are left out. Names come from the mapped table alone.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple, Self, cast
from uuid import UUID
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


class SqlStatement(NamedTuple):
    """One statement; `values` for the `?` in it on SQLite, None on MariaDB, where the values stand in the text."""

    text: str
    values: Sequence[object] | None = None


class SqlText:
    """What stands in a statement as it is, in the place of a value."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class NewKey(SqlText):
    """
    The key of a row that a pipeline is to insert. The rows behind it may hold it before anybody knows it: MariaDB keeps it in a
    variable of the connection, which the pipeline sets before it reads it.
    """

    __slots__ = ("_value",)

    def __init__(self, variable: str) -> None:
        super().__init__(variable)
        self._value: int | None = None

    @property
    def value(self) -> int:
        """The key, once its row has been sent."""
        assert self._value is not None, "the row has not been sent yet"
        return self._value

    def become(self, value: int) -> None:
        # A later pipeline on this connection sets the variable anew.
        self._value, self.text = value, str(value)


def key_of_code(table: sa.Table, column: str, code: str) -> SqlText:
    """Return the key `id` of a row of master data by its code, to be looked up by the statement that writes it."""
    if not _CODE.match(code):
        raise ValueError(f"{code} is no code of master data.")
    return SqlText(f"(SELECT id FROM {table.name} WHERE {column} = '{code}')")  # noqa: S608  checked above


class Effect(NamedTuple):
    """What a statement did: the rows it changed, and the key of the row it inserted."""

    changed: int
    key: int | None


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
        return _text(self.literal, convert, value)

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

    async def run(self, statements: Sequence[SqlStatement]) -> list[int]:
        """
        Execute the statements in their order, in one round trip on MariaDB.

        :returns: the rows each of them changed
        :raises DBAPIError: as SQLAlchemy would, for the first that failed
        """
        return [effect.changed for effect in await self.effects(statements)]

    async def effects(self, statements: Sequence[SqlStatement]) -> list[Effect]:
        """
        Do the same, and return the key of an inserted row too.

        :raises DBAPIError: as SQLAlchemy would, for the first that failed
        """
        text = ";".join(statement.text for statement in statements)
        try:
            if self.on_sqlite:
                return [await self._execute_one(statement) for statement in statements]
            return await self._execute_all(text)
        except BaseException as fault:
            self._raise_translated(fault)
            raise

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

    async def _execute_one(self, statement: SqlStatement) -> Effect:
        async with self._connection.execute(statement.text, tuple(statement.values or ())) as cursor:
            return Effect(int(cursor.rowcount), cursor.lastrowid)

    async def _execute_all(self, text: str) -> list[Effect]:
        async with self._connection.cursor() as cursor:
            await cursor.execute(text)
            effects = [Effect(cursor.rowcount, cursor.lastrowid)]
            while await cursor.nextset():
                effects.append(Effect(cursor.rowcount, cursor.lastrowid))
            return effects


# To ask a session for its connection takes longer than to send it a small statement.
_drivers: "WeakKeyDictionary[SessionTransaction, DriverConnection]" = WeakKeyDictionary()


async def flush_pending(session: AsyncSession) -> None:
    """Write what the session still holds, before statements that go past it; mostly that is nothing."""
    if session.new or session.dirty or session.deleted:
        await session.flush()


async def insert_many(
    driver: DriverConnection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """
    Insert the rows in as few statements as the database takes, in their order.

    :param columns: names of columns; every row gives one value for each, all other columns take their server default
    """
    most = _SQLITE_VARIABLES // len(columns) if driver.on_sqlite else _MOST_ROWS
    remaining = iter(rows)
    while some := list(islice(remaining, most)):
        await driver.run([insert_statement(driver, table, columns, some)])


def insert_statement(
    driver: DriverConnection,
    table: sa.Table,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> SqlStatement:
    chosen = tuple(columns)
    converts = _converts(table, chosen, driver.dialect)
    by_column = list(zip(*rows, strict=True))
    filled = [place for place, values in enumerate(by_column) if any(value is not None for value in values)]
    head = _head(table, tuple(chosen[place] for place in filled), driver.dialect)
    if not driver.on_sqlite:
        return SqlStatement(head + _body(driver.literal, by_column, filled, converts))
    values: list[object] = []
    marks = []
    for row in rows:
        said = ", ".join(_mark(converts[place], row[place], values) for place in filled)
        marks.append(f"({said})")
    return SqlStatement(f"{head}VALUES {','.join(marks)}", values)


def insert_mappings_statement(
    driver: DriverConnection, table: sa.Table, rows: Sequence[Mapping[str, object]]
) -> SqlStatement:
    """Return the one statement that inserts rows, each by the same columns."""
    columns = tuple(rows[0])
    return insert_statement(driver, table, columns, [[row[name] for name in columns] for row in rows])


def update_statement(
    driver: DriverConnection,
    table: sa.Table,
    values: Mapping[str, object],
    *,
    where: Mapping[str, Sequence[object]],
    by_key: bool = False,
) -> SqlStatement:
    """
    Return the one statement that changes rows.

    :param where: for each column the values that it may have
    :param by_key: the primary key is among these columns, and MariaDB need not weigh its other indexes
    """
    given: list[object] = []
    quote = driver.dialect.identifier_preparer.quote
    changes = ", ".join(
        f"{quote(name)} = {_value(driver, table, name, value, given)}" for name, value in values.items()
    )
    hint = " USE INDEX (PRIMARY)" if by_key and not driver.on_sqlite else ""
    text = f"UPDATE {quote(table.name)}{hint} SET {changes} WHERE {_among(driver, table, where, given)}"  # noqa: S608  quoted
    return SqlStatement(text, given if driver.on_sqlite else None)


def delete_statement(
    driver: DriverConnection, table: sa.Table, *, where: Mapping[str, Sequence[object]]
) -> SqlStatement:
    """Return the one statement that deletes rows; `where` as in `update`."""
    given: list[object] = []
    name = driver.dialect.identifier_preparer.quote(table.name)
    text = f"DELETE FROM {name} WHERE {_among(driver, table, where, given)}"  # noqa: S608  quoted by the driver
    return SqlStatement(text, given if driver.on_sqlite else None)


def _among(
    driver: DriverConnection, table: sa.Table, where: Mapping[str, Sequence[object]], given: list[object]
) -> str:
    quote = driver.dialect.identifier_preparer.quote
    return " AND ".join(
        f"{quote(name)} IN ({', '.join(_value(driver, table, name, value, given) for value in values)})"
        for name, values in where.items()
    )


def _value(driver: DriverConnection, table: sa.Table, name: str, value: object, given: list[object]) -> str:
    """What stands for a value in a statement's text; `given` takes it where that is a `?`."""
    (convert,) = _converts(table, (name,), driver.dialect)
    return _mark(convert, value, given) if driver.on_sqlite else _text(driver.literal, convert, value)


def _mark(convert: Convert, value: object, given: list[object]) -> str:
    """What stands for a value in a statement to SQLite; `given` takes the value where that is a `?`."""
    if isinstance(value, NewKey):
        given.append(value.value)
    elif isinstance(value, SqlText):
        return value.text
    else:
        given.append(value if convert is None or value is None else convert(value))
    return "?"


def _body(
    literal: Callable[[object], str],
    by_column: Sequence[Sequence[object]],
    filled: Sequence[int],
    converts: tuple[Convert, ...],
) -> str:
    """
    Return what MariaDB is to insert, as the driver quotes it.

    A value that all rows share is said once, beside a list of what differs: reading long rows costs the server more than
    keeping their indexes.
    """
    if len(by_column[0]) == 1:
        one = ",".join(_text(literal, converts[place], by_column[place][0]) for place in filled)
        return f"VALUES ({one})"
    said: list[str] = []
    differing: list[list[str]] = []
    known: dict[int, str] = {}
    for place in filled:
        values = by_column[place]
        if not isinstance(values[0], UUID) and _are_one(values):
            said.append(_text(literal, converts[place], values[0]))
            continue
        twin = next((name for other, name in known.items() if _are_twins(other, place, by_column, converts)), None)
        if twin is None:
            twin = known[place] = f"d.c{len(differing)}"
            differing.append(_column(literal, converts[place], values))
        said.append(twin)
    names = ",".join(f"c{number}" for number in range(len(differing)))
    listed = ",".join([f"({','.join(row)})" for row in zip(*differing, strict=True)])
    if not differing:
        names, listed = "c0", ",".join(["(0)"] * len(by_column[0]))
    return f"WITH d ({names}) AS (VALUES {listed}) SELECT {','.join(said)} FROM d"  # noqa: S608


def _are_one(values: Sequence[Any]) -> bool:
    """Whether all are the same; `1 == True` is not, which JSON keeps apart, nor is one object like another."""
    first = values[0]
    if first.__hash__ is None:
        return all(value is first for value in values)
    return values.count(first) == len(values) and len(set(map(type, values))) == 1


def _are_twins(one: int, other: int, by_column: Sequence[Sequence[object]], converts: Sequence[Convert]) -> bool:
    """Whether two columns are written alike; an equal value is written in another way in another type of column."""
    pairs = list(zip(by_column[one], by_column[other], strict=True))
    return converts[one] is converts[other] and all(
        value is twin or (type(value) is type(twin) and value.__hash__ is not None and value == twin)
        for value, twin in pairs
    )


def _column(literal: Callable[[object], str], convert: Convert, values: Sequence[Any]) -> list[str]:
    kinds = set(map(type, values))  # of all of them: what the first one is says nothing of the rest
    if kinds <= {UUID, _Null}:  # hardly ever the same twice, and 32 hexadecimal digits need no quoting
        return ["NULL" if value is None else f"'{value.int:032x}'" for value in values]
    if kinds == {int} and convert is None:
        return [str(value) for value in values]
    known: dict[object, str] = {}
    column = []
    for value in values:
        key = (type(value), value) if value.__hash__ is not None else id(value)
        text = known.get(key)
        if text is None:
            text = known[key] = _text(literal, convert, value)
        column.append(text)
    return column


def _text(literal: Callable[[object], str], convert: Convert, value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, SqlText):
        return value.text
    return literal(value if convert is None else convert(value))


@lru_cache(maxsize=256)
def _converts(table: sa.Table, columns: tuple[str, ...], dialect: sa.Dialect) -> tuple[Convert, ...]:
    """Return how each column converts its values; columns of the same type share one function."""
    known: dict[str, Convert] = {}
    types = [table.c[name].type.dialect_impl(dialect) for name in columns]
    return tuple(known.setdefault(repr(one), one.bind_processor(dialect)) for one in types)


@lru_cache(maxsize=1024)
def _head(table: sa.Table, columns: tuple[str, ...], dialect: sa.Dialect) -> str:
    """Return what stands before the values."""
    quote = dialect.identifier_preparer.quote
    return f"INSERT INTO {quote(table.name)} ({', '.join(quote(table.c[name].name) for name in columns)}) "
