"""
Statements that are sent so often that making and sending them counts: written once for each kind of database, with marks
where the values stand.

On MariaDB the driver's own connection under the session is used, inside the session's transaction: SQLAlchemy's way to an
asyncio driver takes four times as long as such a statement. The types of the columns still convert each value, and
`kit.driver` quotes it. On SQLite, where the way to the file's own thread costs more than either, they are sent like all others.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID, SafeUUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.sql.visitors import iterate, replacement_traverse

from saraban.kit.db import SessionOrConnection
from saraban.kit.driver import Convert, DriverConnection, flush_pending

Found = TypeVar("Found")
_UNKNOWN = SafeUUID.unknown  # a member of an enumeration is looked up slowly
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

    async def rows(self, connected: SessionOrConnection, **parameters: object) -> Rows:
        """Return the rows of a select as tuples, in the order of its columns."""
        driver = await DriverConnection.of(connected)
        if driver.on_sqlite:
            return (await connected.execute(self.statement, parameters)).all()
        if isinstance(connected, AsyncSession):
            await flush_pending(connected)
        (rows,) = await driver.read([self.render(driver, parameters)])
        return self.convert_rows(driver, rows)

    def render(self, driver: DriverConnection, parameters: Mapping[str, object]) -> str:
        """Return the statement as MariaDB reads it."""
        text, binds, _ = self._compiled(driver.dialect)
        return text.format(**_quoted(driver, binds, parameters))

    def convert_rows(self, driver: DriverConnection, found: Rows) -> Rows:
        """Return the rows of a select, as its columns' types have them."""
        _, _, results = self._compiled(driver.dialect)
        if not results:
            return found
        columns = list(zip(*found, strict=True))
        if columns:
            for place, convert in results:
                columns[place] = tuple(map(convert, columns[place]))
        return list(zip(*columns, strict=True))

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
        types = [column.type for column in self.statement.exported_columns]
        given = [one.dialect_impl(dialect).result_processor(dialect, None) for one in types]
        converts = [_public_id if isinstance(one, sa.Uuid) else way for one, way in zip(types, given, strict=True)]
        return text, binds, [(place, convert) for place, convert in enumerate(converts) if convert is not None]


def _public_id(text: str | None) -> UUID | None:
    """Make a UUID of what the database has checked: the class's own constructor weighs six forms, for twice the time."""
    if text is None:
        return None
    made = object.__new__(UUID)
    object.__setattr__(made, "int", int(text.replace("-", ""), 16))
    object.__setattr__(made, "is_safe", _UNKNOWN)
    return made


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
    if convert is None and values and all(type(value) is int for value in values):
        return f"({', '.join(map(str, values))})"  # keys, of which there are many
    return f"({', '.join(driver.quoted(convert, value) for value in values) or 'NULL'})"
