"""
Statements that are sent so often that making and sending them counts: written once for each kind of database, with marks
where the values stand.

On MariaDB the driver's own connection under the session is used, inside the session's transaction: SQLAlchemy's way to an
asyncio driver takes four times as long as such a statement. The types of the columns still convert each value, and
`kit.driver` quotes it. On SQLite, where the way to the file's own thread costs more than either, they are sent like all others.
"""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from types import coroutine
from typing import Any, Generic, TypeVar
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
        return await fetch(connected, Query(self, parameters, _rows))

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


@dataclass(frozen=True, slots=True)
class Query(Generic[Found]):
    """
    A select that is to be sent, alone or with others.

    :param read: what its rows are, to whoever asks
    """

    prepared: PreparedStatement
    parameters: Mapping[str, object]
    read: Callable[[Rows], Found]


async def fetch(connected: SessionOrConnection, query: Query[Found]) -> Found:
    """Send a select and give its answer."""
    (found,) = await fetch_each(connected, query)
    return found  # type: ignore[no-any-return]


async def fetch_each(connected: SessionOrConnection, *queries: Query[Any]) -> list[Any]:
    """
    Return the answer to each, in one round trip on MariaDB; beside what others ask that are read `together` with it.

    What is asked alike is sent once.
    """
    if _sharing.get() is connected:
        return await _Asked(queries)
    driver = await DriverConnection.of(connected)
    if driver.on_sqlite:
        return await _one_by_one(connected, queries)
    if isinstance(connected, AsyncSession):
        await flush_pending(connected)
    texts = [one.prepared.render(driver, one.parameters) for one in queries]
    sent = list(dict.fromkeys(texts))
    found = dict(zip(sent, await driver.read(sent), strict=True))
    return [one.read(one.prepared.convert_rows(driver, found[text])) for one, text in zip(queries, texts, strict=True)]


async def _one_by_one(connected: SessionOrConnection, queries: Sequence[Query[Found]]) -> list[Found]:
    found: dict[tuple[int, str], Rows] = {}
    asked = [(id(one.prepared), repr(one.parameters)) for one in queries]
    for alike, one in zip(asked, queries, strict=True):
        if alike not in found:
            found[alike] = (await connected.execute(one.prepared.statement, one.parameters)).all()
    return [one.read(found[alike]) for alike, one in zip(asked, queries, strict=True)]


async def together(session: AsyncSession, *readings: Coroutine[Any, Any, Any]) -> list[Any]:
    """
    Return what several readings give that do not need one another.

    They run by turns, never at once: what each asks next of `fetch` or `fetch_each` goes in one round trip with what the
    others ask, however deep in it. Whatever else they await they wait for alone.
    """
    found: list[Any] = [None] * len(readings)
    answers: dict[int, Any] = dict.fromkeys(range(len(readings)))
    try:
        while answers:
            asked: dict[int, Sequence[Query[Any]]] = {}
            for place, answer in answers.items():
                came = await _advance(session, readings[place], answer)
                if isinstance(came, _Asked):
                    asked[place] = came.queries
                else:
                    found[place] = came.value
            told = iter(await fetch_each(session, *chain(*asked.values())) if asked else ())
            answers = {place: list(islice(told, len(queries))) for place, queries in asked.items()}
    finally:
        for reading in readings:
            reading.close()
    return found


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a reading wants to know before it goes on."""

    queries: Sequence[Query[Any]]

    def __await__(self) -> Generator["_Asked", list[Any], list[Any]]:
        return (yield self)


# The session of a reading while it runs by turns with others.
_sharing: ContextVar[AsyncSession | None] = ContextVar("sharing", default=None)


@coroutine
def _advance(
    session: AsyncSession, reading: Coroutine[Any, Any, Any], answer: Any
) -> Generator[Any, Any, "_Asked | StopIteration"]:
    """Run a reading until it asks what may go with what others ask, or has come to its end."""
    resume = partial(reading.send, answer)
    while True:
        token = _sharing.set(session)
        try:
            came = resume()
        except StopIteration as end:
            return end
        finally:
            _sharing.reset(token)
        if isinstance(came, _Asked):
            return came
        try:
            resume = partial(reading.send, (yield came))
        except BaseException as fault:
            if isinstance(fault, GeneratorExit):
                raise
            # It is the reading that waits, and knows what the fault means.
            resume = partial(reading.throw, fault)


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
    if convert is None and values and all(type(value) is int for value in values):
        return f"({', '.join(map(str, values))})"  # keys, of which there are many
    return f"({', '.join(driver.quoted(convert, value) for value in values) or 'NULL'})"
