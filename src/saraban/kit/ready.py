"""
Statements that are sent so often that making and sending them counts: written once for each kind of database, with marks
where the values stand.

On MariaDB the driver's own connection under the session is used, inside the session's transaction: SQLAlchemy's way to an
asyncio driver takes four times as long as such a statement. The types of the columns still convert each value, and
`kit.bulk` quotes it. On SQLite, where the way to the file's own thread costs more than either, they are sent like all others.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.sql.visitors import iterate, replacement_traverse

from saraban.kit.bulk import Convert, Driver, Statement


class Ready:
    """
    One statement; its named parameters are values, or lists where they are `expanding`.

    :param statement: of columns, not of classes: nothing is kept in a session
    """

    def __init__(self, statement: Any) -> None:
        self.statement = statement
        self._on = lru_cache(maxsize=8)(self._written)

    async def rows(self, session: AsyncSession, **given: Any) -> Sequence[Any]:
        """This will give the rows of a select as tuples, in the order of its columns."""
        driver = await Driver.of(session)
        if driver.on_sqlite:
            return (await session.execute(self.statement, given)).all()
        text, binds, results = self._on(driver.dialect)
        found = await driver.read(text.format(**_quoted(driver, binds, given)))
        if not any(results):
            return found
        return [
            tuple(value if convert is None else convert(value) for value, convert in zip(row, results, strict=True))
            for row in found
        ]

    async def due(self, session: AsyncSession, **given: Any) -> list[Statement]:
        """
        This will give a statement that changes rows, for the caller to send with others.

        :returns: nothing on SQLite, where it has been sent: no round trip is to be saved there
        """
        driver = await Driver.of(session)
        if driver.on_sqlite:
            await session.execute(self.statement, given)
            return []
        text, binds, _ = self._on(driver.dialect)
        return [Statement(text.format(**_quoted(driver, binds, given)))]

    def _written(self, dialect: sa.Dialect) -> tuple[str, dict[str, tuple[Convert, bool]], list[Convert]]:
        """The text with marks, how each parameter is converted and whether it is a list, and how each column is."""
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
        results: list[Convert] = []
        if isinstance(self.statement, sa.Select):
            results = [
                column.type.dialect_impl(dialect).result_processor(dialect, None)
                for column in self.statement.selected_columns
            ]
        return text, binds, results


def _is_named(part: BindParameter[Any]) -> bool:
    """Whether it is a parameter of ours: a constant that stands in the statement has a value already."""
    return part.required


def _quoted(driver: Driver, binds: dict[str, tuple[Convert, bool]], given: dict[str, Any]) -> dict[str, str]:
    return {
        name: _list(driver, convert, given[name]) if several else driver.quoted(convert, given[name])
        for name, (convert, several) in binds.items()
    }


def _list(driver: Driver, convert: Convert, values: Sequence[Any]) -> str:
    """What nothing is among, where there is no value."""
    return f"({', '.join(driver.quoted(convert, value) for value in values) or 'NULL'})"
