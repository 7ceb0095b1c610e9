"""
Many rows in one statement: how numbers that share a transaction, and imports, are written.

The ORM and Core spend more on a row than the database does, and SQLAlchemy's way to an asyncio driver more than a small
statement takes. So the driver's own connection under the session is used, inside the session's transaction. The columns'
own types still convert each value and the driver still quotes it, but a value that comes again in the same column, as most
do in a batch, is converted and quoted once; columns in which every row has null are left out. Names come from the mapped
table alone.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Self
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

_SQLITE_VARIABLES = 32_000  # the library allows 32,766 in one statement
_MOST_ROWS = 1000

Convert = Callable[[Any], Any] | None


class Driver:
    """The driver's connection of a session, for as long as the session's transaction lasts."""

    def __init__(self, dialect: sa.Dialect, connection: Any) -> None:
        self.dialect = dialect
        self.on_sqlite = dialect.name == "sqlite"
        self._connection = connection

    @classmethod
    async def of(cls, session: AsyncSession) -> Self:
        connection = await session.connection()
        raw = await connection.get_raw_connection()
        return cls(connection.dialect, raw.driver_connection)

    def literal(self, value: Any) -> str:
        """This will quote a value as MariaDB reads it."""
        return self._connection.literal(value)  # type: ignore[no-any-return]

    async def execute(self, statement: str, values: Sequence[Any] | None = None) -> tuple[int, list[Any]]:
        """
        :param statement: with `?` on SQLite and `%s` on MariaDB, as many as there are `values`
        :returns: the rows it changed, and the rows it gives
        :raises DBAPIError: as SQLAlchemy would
        """
        try:
            cursor = await self._cursor(statement, values)
            try:
                rows = list(await cursor.fetchall()) if cursor.description else []
                return cursor.rowcount, rows
            finally:
                await cursor.close()
        except self.dialect.loaded_dbapi.Error as fault:
            raise DBAPIError.instance(
                statement[:500], None, fault, self.dialect.loaded_dbapi.Error, dialect=self.dialect
            ) from fault

    async def _cursor(self, statement: str, values: Sequence[Any] | None) -> Any:
        if self.on_sqlite:
            return await self._connection.execute(statement, tuple(values or ()))
        cursor = self._connection.cursor()
        await cursor.execute(statement, None if values is None else tuple(values))
        return cursor


async def insert_many(
    driver: Driver,
    table: sa.Table,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    returning: Sequence[str] = (),
) -> list[Any]:
    """
    This will insert the rows in as few statements as the database takes, in their order.

    :param columns: names of columns; every row gives one value for each, all other columns take their server default
    :param returning: columns to give back of each row, as the driver gives them; in no promised order
    """
    chosen = tuple(columns)
    converts = _converts(table, chosen, driver.dialect)
    most = _SQLITE_VARIABLES // len(chosen) if driver.on_sqlite else _MOST_ROWS
    remaining = iter(rows)
    given: list[Any] = []
    while some := list(islice(remaining, most)):
        filled = [place for place, column in enumerate(zip(*some, strict=True)) if any(v is not None for v in column)]
        head, tail = _ends(table, tuple(chosen[place] for place in filled), tuple(returning), driver.dialect)
        if driver.on_sqlite:
            mark = f"({', '.join('?' * len(filled))})"
            values = [
                value if convert is None or value is None else convert(value)
                for row in some
                for value, convert in ((row[place], converts[place]) for place in filled)
            ]
            _, back = await driver.execute(f"{head}VALUES {','.join([mark] * len(some))}{tail}", values)
        else:
            _, back = await driver.execute(f"{head}{_body(driver.literal, some, filled, converts)}{tail}")
        given.extend(back)
    return given


def _body(
    literal: Callable[[Any], str], rows: list[Sequence[Any]], filled: list[int], converts: tuple[Convert, ...]
) -> str:
    """
    This will give what MariaDB is to insert, as the driver quotes it.

    A value that all rows share is said once, beside a list of what differs: reading long rows costs the server more than
    keeping their indexes.
    """
    shared: list[str] = []
    differing: list[list[str]] = []
    for place in filled:
        values = [row[place] for row in rows]
        if len(rows) > 1 and not isinstance(values[0], UUID) and values.count(values[0]) == len(values):
            shared.append(_text(literal, converts[place], values[0]))
        else:
            shared.append(f"d.c{len(differing)}")
            differing.append(_column(literal, converts[place], values))
    listed = ",".join(f"({','.join(row)})" for row in zip(*differing, strict=True))
    if len(differing) in {0, len(filled)}:
        return f"VALUES {listed or ','.join(['(' + ','.join(shared) + ')'] * len(rows))}"
    names = ",".join(f"c{number}" for number in range(len(differing)))
    return f"WITH d ({names}) AS (VALUES {listed}) SELECT {','.join(shared)} FROM d"  # noqa: S608


def _column(literal: Callable[[Any], str], convert: Convert, values: list[Any]) -> list[str]:
    if isinstance(values[0], UUID):  # hardly ever the same twice, and 32 hexadecimal digits need no quoting
        return ["NULL" if value is None else f"'{value.hex}'" for value in values]
    known: dict[Any, str] = {}
    column = []
    for value in values:
        key = value if value.__hash__ is not None else id(value)
        text = known.get(key)
        if text is None:
            text = known[key] = _text(literal, convert, value)
        column.append(text)
    return column


def _text(literal: Callable[[Any], str], convert: Convert, value: Any) -> str:
    if value is None:
        return "NULL"
    return literal(value if convert is None else convert(value))


@lru_cache(maxsize=256)
def _converts(table: sa.Table, columns: tuple[str, ...], dialect: sa.Dialect) -> tuple[Convert, ...]:
    return tuple(table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in columns)


@lru_cache(maxsize=1024)
def _ends(
    table: sa.Table, columns: tuple[str, ...], returning: tuple[str, ...], dialect: sa.Dialect
) -> tuple[str, str]:
    """This will give what stands before and after the values."""
    quote = dialect.identifier_preparer.quote

    def listed(names: tuple[str, ...]) -> str:
        return ", ".join(quote(table.c[name].name) for name in names)

    tail = f" RETURNING {listed(returning)}" if returning else ""
    return f"INSERT INTO {quote(table.name)} ({listed(columns)}) ", tail
