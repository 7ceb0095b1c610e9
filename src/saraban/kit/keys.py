"""
Keys of what people type: a code, a user name or a number is found by its normal form, and unique by it.

Each column with one has a key beside it, `<column>_key`. What stood there before there were keys may have twins: the first
one has the key, and the others have NULL, are found by their own spelling, and are listed by `saraban number verify`.
"""

from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, TypeVar, TypeVarTuple, cast

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import MappedColumn, mapped_column

from saraban.kit.db import Base, Code
from saraban.kit.text import MOST_KEY, key_text, sort_key

Model = TypeVar("Model", bound=Base)
Ts = TypeVarTuple("Ts")
NO_KEY = sa.null()  # None would be replaced by the default


class NormalKey(sa.TypeDecorator[str]):
    """Stores and compares the normal form of what it is given."""

    impl = Code(MOST_KEY)
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else key_text(value)


def key_of(column: str) -> MappedColumn[str | None]:
    """Map the key of a column of the same row."""
    return mapped_column(NormalKey, default=lambda row: row.get_current_parameters().get(column))


def keyed(*columns: str) -> Callable[[type[Model]], type[Model]]:
    """Give a class the key of the last column. It is unique among the rows that have the other columns in common."""

    def add_key(model: type[Model]) -> type[Model]:
        table, name = cast("sa.Table", model.__table__), f"{columns[-1]}_key"
        setattr(model, name, key_of(columns[-1]))
        sa.Index(f"uq_{table.name}_key", *(table.c[column] for column in (*columns[:-1], name)), unique=True)
        return model

    return add_key


def sort_key_of(column: str) -> MappedColumn[str]:
    """Map the sort key of a column of the same row."""
    return mapped_column(
        Code(MOST_KEY), server_default="", default=lambda row: sort_key(row.get_current_parameters()[column])
    )


def key_column(column: Any) -> "sa.ColumnElement[str | None]":
    """Return the key beside a column."""
    return cast("sa.ColumnElement[str | None]", column.expression.table.c[f"{column.key}_key"])


async def list_twins(session: AsyncSession) -> AsyncIterator[tuple[str, str]]:
    """Give table and text of each row without the key that would be unique."""
    for index in (one for table in Base.metadata.tables.values() for one in table.indexes if one.unique):
        for key in (column for column in index.columns if isinstance(column.type, NormalKey)):
            statement = sa.select(key.table.c[key.name.removesuffix("_key")]).where(key.is_(None))
            async for text in await session.stream_scalars(statement):
                yield index.table.name, text  # type: ignore[union-attr]


def is_spelled(column: Any, texts: Collection[str]) -> sa.ColumnElement[bool]:
    """Whether a column has one of the texts, or looks like it."""
    return sa.or_(column.in_(texts), key_column(column).in_(texts))


def spelled(statement: sa.Select[*Ts], column: Any, text: str) -> sa.Select[*Ts]:
    """Return the statement of the one row that has the text; without it, of the one that looks like it."""
    return statement.where(is_spelled(column, [text])).order_by(column != text).limit(1)
