"""
Statements that are sent so often that making and sending them counts: written once for each kind of database, with marks
where the values stand.

On MariaDB the driver's own connection under the session is used, inside the session's transaction: SQLAlchemy's way to an
asyncio driver takes four times as long as such a statement. The types of the columns still convert each value, and
`kit.bulk` quotes it. On SQLite, where the way to the file's own thread costs more than either, they are sent like all others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.sql.visitors import iterate, replacement_traverse

from saraban.kit.bulk import Convert, Driver, Statement

Found = TypeVar("Found")


class Ready:
    """
    One statement; its named parameters are values, or lists where they are `expanding`.

    :param statement: of columns, not of classes: nothing is kept in a session
    """

    def __init__(self, statement: Any) -> None:
        self.statement = statement
        self._on = lru_cache(maxsize=8)(self._written)

    async def rows(self, session: AsyncSession, **given: Any) -> Sequence[Any]:
        """Return the rows of a select as tuples, in the order of its columns."""
        return await answered(session, Question(self, given, _as_they_are))

    def text(self, driver: Driver, given: Mapping[str, Any]) -> str:
        """Return the statement as MariaDB reads it."""
        text, binds, _ = self._on(driver.dialect)
        return text.format(**_quoted(driver, binds, given))

    def converted(self, driver: Driver, found: Sequence[Any]) -> Sequence[Any]:
        """Return the rows of a select, as its columns' types have them."""
        _, _, results = self._on(driver.dialect)
        if not results:
            return found
        rows = []
        for row in map(list, found):
            for place, convert in results:
                row[place] = convert(row[place])
            rows.append(tuple(row))
        return rows

    async def due(self, session: AsyncSession, **given: Any) -> list[Statement]:
        """
        Return a statement that changes rows, for the caller to send with others.

        :returns: nothing on SQLite, where it has been sent: no round trip is to be saved there
        """
        driver = await Driver.of(session)
        if driver.on_sqlite:
            await session.execute(self.statement, given)
            return []
        return [Statement(self.text(driver, given))]

    def _written(self, dialect: sa.Dialect) -> tuple[str, dict[str, tuple[Convert, bool]], list[tuple[int, Any]]]:
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
        columns = self.statement.selected_columns if isinstance(self.statement, sa.Select) else ()
        converts = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
        return text, binds, [(place, convert) for place, convert in enumerate(converts) if convert is not None]


@dataclass(frozen=True, slots=True)
class Question(Generic[Found]):
    """
    A select that is to be sent, alone or with others.

    :param read: what its rows are, to whoever asks
    """

    ready: Ready
    given: Mapping[str, Any]
    read: Callable[[Sequence[Any]], Found]


async def answered(session: AsyncSession, question: Question[Found]) -> Found:
    """Send a select and give its answer."""
    (found,) = await answers(session, question)
    return found  # type: ignore[no-any-return]


async def answers(session: AsyncSession, *questions: Question[Any]) -> list[Any]:
    """Return the answer to each, in one round trip on MariaDB."""
    driver = await Driver.of(session)
    if driver.on_sqlite:
        return [one.read((await session.execute(one.ready.statement, one.given)).all()) for one in questions]
    found = await driver.read([one.ready.text(driver, one.given) for one in questions])
    return [one.read(one.ready.converted(driver, rows)) for one, rows in zip(questions, found, strict=True)]


def _as_they_are(rows: Sequence[Any]) -> Sequence[Any]:
    return rows


def _is_named(part: BindParameter[Any]) -> bool:
    """Whether it is a parameter of ours: a constant that stands in the statement has a value already."""
    return part.required


def _quoted(driver: Driver, binds: dict[str, tuple[Convert, bool]], given: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: _list(driver, convert, given[name]) if several else driver.quoted(convert, given[name])
        for name, (convert, several) in binds.items()
    }


def _list(driver: Driver, convert: Convert, values: Sequence[Any]) -> str:
    """What nothing is among, where there is no value."""
    return f"({', '.join(driver.quoted(convert, value) for value in values) or 'NULL'})"
