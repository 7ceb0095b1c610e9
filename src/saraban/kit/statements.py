"""
Statements that are sent so often that making and sending them counts: written once for each kind of database, with marks
where the values stand.

On MariaDB the driver's own connection under the session is used, inside the session's transaction: SQLAlchemy's way to an
asyncio driver takes four times as long as such a statement. The types of the columns still convert each value, and
`kit.pipeline` quotes it. On SQLite, where the way to the file's own thread costs more than either, they are sent like all others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.sql.visitors import iterate, replacement_traverse

from saraban.kit.db import Database, DatabaseFault, database_fault, try_again
from saraban.kit.pipeline import Convert, DriverConnection

Found = TypeVar("Found")
# Of a select: its columns by their order.
Rows = Sequence[Any]


class PreparedStatement:
    """
    One statement; its named parameters are values, or lists where they are `expanding`.

    :param statement: of columns, not of classes: nothing is kept in a session
    """

    def __init__(self, statement: Any) -> None:
        self.statement = statement
        self._compiled = lru_cache(maxsize=8)(self._compile)

    async def rows(self, session: AsyncSession, **parameters: object) -> Rows:
        """Return the rows of a select as tuples, in the order of its columns."""
        return await fetch(session, Query(self, parameters, _rows))

    async def run_alone(self, db: Database, **parameters: object) -> Rows:
        """
        Execute it as a transaction of its own, in one round trip on MariaDB, and return the rows that it tells.

        It must bear to be executed twice: it is sent again when its connection turns out to be broken.
        """

        async def attempt() -> Rows:
            if not db.is_sqlite:
                return await self._run_on(db, parameters)
            async with db.writing_connection() as connection:
                told = await connection.execute(self.statement, parameters)
                return told.all() if told.returns_rows else ()

        try:
            return await try_again(attempt, attempts=3)
        except Exception as error:
            if database_fault(error) is not DatabaseFault.CONNECTION:
                raise
            return await attempt()

    async def _run_on(self, db: Database, parameters: Mapping[str, object]) -> Rows:
        async with db.connection_alone() as connection:
            driver = await DriverConnection.of(connection)
            told, _ = await driver.read([self.render(driver, parameters), "COMMIT"])
            return self.convert_rows(driver, told)

    def render(self, driver: DriverConnection, parameters: Mapping[str, object]) -> str:
        """Return the statement as MariaDB reads it."""
        text, binds, _ = self._compiled(driver.dialect)
        return text.format(**_quoted(driver, binds, parameters))

    def convert_rows(self, driver: DriverConnection, found: Rows) -> Rows:
        """Return the rows of a select, as its columns' types have them."""
        _, _, results = self._compiled(driver.dialect)
        if not results:
            return found
        rows = []
        for row in map(list, found):
            for place, convert in results:
                row[place] = convert(row[place])
            rows.append(tuple(row))
        return rows

    def _compile(self, dialect: sa.Dialect) -> tuple[str, dict[str, tuple[Convert, bool]], list[tuple[int, Any]]]:
        """The text with marks, how each parameter is converted and whether it is a list, and which columns are, and how."""
        binds: dict[str, tuple[Convert, bool]] = {}
        for part in iterate(self.statement):
            if isinstance(part, BindParameter) and _is_named(part):
                convert = part.type.dialect_impl(dialect).bind_processor(dialect)
                binds[part.key] = convert, part.expanding

        def marked(part: Any, **_: Any) -> Any:
            return sa.literal_column(f"{{{part.key}}}") if isinstance(part, BindParameter) and _is_named(part) else None

        traverse: Any = replacement_traverse  # its overloads know no statement of any kind
        text = str(
            traverse(self.statement, {}, marked).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
        )
        columns = self.statement.exported_columns
        converts = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
        return text, binds, [(place, convert) for place, convert in enumerate(converts) if convert is not None]


@dataclass(frozen=True, slots=True)
class Query(Generic[Found]):
    """
    A select that is to be sent, alone or with others.

    :param read: what its rows are, to whoever asks
    """

    prepared: PreparedStatement
    parameters: Mapping[str, object]
    read: Callable[[Rows], Found]


async def fetch(session: AsyncSession, query: Query[Found]) -> Found:
    """Send a select and give its answer."""
    (found,) = await fetch_each(session, query)
    return found  # type: ignore[no-any-return]


async def fetch_each(session: AsyncSession, *queries: Query[Any]) -> list[Any]:
    """Return the answer to each, in one round trip on MariaDB."""
    driver = await DriverConnection.of(session)
    if driver.on_sqlite:
        return [one.read((await session.execute(one.prepared.statement, one.parameters)).all()) for one in queries]
    found = await driver.read([one.prepared.render(driver, one.parameters) for one in queries])
    return [one.read(one.prepared.convert_rows(driver, rows)) for one, rows in zip(queries, found, strict=True)]


def _rows(rows: Rows) -> Rows:
    return rows


def _is_named(part: BindParameter[Any]) -> bool:
    """Whether it is a parameter of ours: a constant that stands in the statement has a value already."""
    return part.required


def _quoted(
    driver: DriverConnection, binds: dict[str, tuple[Convert, bool]], parameters: Mapping[str, Any]
) -> dict[str, str]:
    return {
        name: _list(driver, convert, parameters[name]) if several else driver.quoted(convert, parameters[name])
        for name, (convert, several) in binds.items()
    }


def _list(driver: DriverConnection, convert: Convert, values: Sequence[object]) -> str:
    """What nothing is among, where there is no value."""
    return f"({', '.join(driver.quoted(convert, value) for value in values) or 'NULL'})"
