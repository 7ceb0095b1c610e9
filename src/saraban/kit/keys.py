"""
Key columns: the unique normal forms of codes, user names and numbers.

The key of a column is `<column>_key`. Rows from before the keys can share a normal form. The first has the key, the
others have NULL: an exact text selects them, and `saraban number verify` lists them.
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
NO_KEY = sa.null()  # SQLAlchemy replaces None with the column's default


class NormalKey(sa.TypeDecorator[str]):
    impl = Code(MOST_KEY)
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else key_text(value)


def key_of(column: str) -> MappedColumn[str | None]:
    return mapped_column(NormalKey, default=lambda row: row.get_current_parameters().get(column))


def keyed(*columns: str) -> Callable[[type[Model]], type[Model]]:
    """Add the key of the last column, unique among rows that agree in the other columns."""

    def add_key(model: type[Model]) -> type[Model]:
        table, name = cast("sa.Table", model.__table__), f"{columns[-1]}_key"
        setattr(model, name, key_of(columns[-1]))
        sa.Index(f"uq_{table.name}_key", *(table.c[column] for column in (*columns[:-1], name)), unique=True)
        return model

    return add_key


def sort_key_of(column: str) -> MappedColumn[str]:
    return mapped_column(
        Code(MOST_KEY), server_default="", default=lambda row: sort_key(row.get_current_parameters()[column])
    )


def key_column(column: Any) -> "sa.ColumnElement[str | None]":
    return cast("sa.ColumnElement[str | None]", column.expression.table.c[f"{column.key}_key"])


async def list_twins(session: AsyncSession) -> AsyncIterator[tuple[str, str]]:
    for index in (index for table in Base.metadata.tables.values() for index in table.indexes if index.unique):
        for key in (column for column in index.columns if isinstance(column.type, NormalKey)):
            statement = sa.select(key.table.c[key.name.removesuffix("_key")]).where(key.is_(None))
            async for text in await session.stream_scalars(statement):
                yield index.table.name, text  # type: ignore[union-attr]


def is_spelled(column: Any, texts: Collection[str]) -> sa.ColumnElement[bool]:
    return sa.or_(column.in_(texts), key_column(column).in_(texts))


def spelled(statement: sa.Select[*Ts], column: Any, text: str) -> sa.Select[*Ts]:
    """Select the row with the exact text, or else one with its normal form."""
    return statement.where(is_spelled(column, [text])).order_by(column != text).limit(1)


def has_spelling(column: Any) -> sa.ColumnElement[bool]:
    """Return the condition of `is_spelled` for a statement that is built once: its parameters are `spelling(text)`."""
    return sa.or_(column == sa.bindparam("text"), key_column(column) == sa.bindparam("text_key"))


def spelling(text: str) -> dict[str, str]:
    return {"text": text, "text_key": text}
