"""
Many rows in one statement: how numbers that share a transaction, and imports, are written.

The ORM and Core spend more on a row than the database does. Here the columns' own types still convert each value, and
the driver still quotes it; only the statement is put together by hand, from names of the mapped table alone.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

_SQLITE_VARIABLES = 32_000  # the library allows 32,766 in one statement
_MOST_ROWS = 1000

Convert = Callable[[Any], Any] | None


async def insert_many(
    session: AsyncSession | AsyncConnection,
    table: sa.Table,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    returning: Sequence[str] = (),
) -> list[Any]:
    """
    This will insert the rows in as few statements as the database takes, in their order.

    :param columns: attribute or column names; every row gives one value for each, all other columns take their server default
    :param returning: columns to give back of each row; in no promised order
    """
    connection = await session.connection() if isinstance(session, AsyncSession) else session
    head, tail, mark, converts = _statement(table, tuple(columns), tuple(returning), connection.dialect)
    most = min(_MOST_ROWS, _SQLITE_VARIABLES // len(columns))
    remaining = iter(rows)
    given: list[Any] = []
    while some := list(islice(remaining, most)):
        values = [
            value if convert is None or value is None else convert(value)
            for row in some
            for value, convert in zip(row, converts, strict=True)
        ]
        result = await connection.exec_driver_sql(f"{head}{','.join([mark] * len(some))}{tail}", tuple(values))
        if returning:
            given.extend(result.all())
    return given


@lru_cache(maxsize=256)
def _statement(
    table: sa.Table, columns: tuple[str, ...], returning: tuple[str, ...], dialect: sa.Dialect
) -> tuple[str, str, str, tuple[Convert, ...]]:
    quote = dialect.identifier_preparer.quote
    targets = [table.c[name] for name in columns]
    names = ", ".join(quote(column.name) for column in targets)
    mark = "?" if dialect.paramstyle == "qmark" else "%s"
    tail = f" RETURNING {', '.join(quote(table.c[name].name) for name in returning)}" if returning else ""
    return (
        f"INSERT INTO {quote(table.name)} ({names}) VALUES ",  # noqa: S608  names of mapped tables, quoted
        tail,
        f"({', '.join([mark] * len(targets))})",
        tuple(column.type.dialect_impl(dialect).bind_processor(dialect) for column in targets),
    )
