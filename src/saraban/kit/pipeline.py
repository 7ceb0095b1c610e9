"""
Statements of one transaction that are queued and sent together: how numbers, documents and steps are written in one round trip.

A row may hold the key of a row that is queued before it, and one statement may guard all behind it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import SessionOrConnection
from saraban.kit.driver import (
    DriverConnection,
    Effect,
    NewKey,
    SqlStatement,
    delete_statement,
    flush_pending,
    insert_mappings_statement,
    update_statement,
)

_SIGNALLED = 1644
# An error ends the packet: what stands behind it is not executed.
_GUARD = "IF ROW_COUNT() <> {} THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644, MESSAGE_TEXT = 'a guard was missed'; END IF"


class RowsMissed(Exception):
    """A statement changed another number of rows than it was meant to; nothing may be committed."""


class Prepared(Protocol):
    """As much of a `PreparedStatement` as a pipeline needs."""

    @property
    def statement(self) -> sa.Executable: ...

    def render(self, driver: DriverConnection, parameters: Mapping[str, object]) -> str: ...


class _Queued(NamedTuple):
    """What is to be sent; `executed` on SQLite, where no round trip is to be saved and SQLAlchemy binds the values."""

    make: Callable[[DriverConnection], SqlStatement]
    expect: int | None = None
    executed: tuple[sa.Executable, Mapping[str, object]] | None = None
    refusal: Exception | None = None
    guards: bool = False
    key: NewKey | None = None

    def told(self, effect: Effect) -> None:
        if self.expect is not None and self.expect != effect.changed:
            raise self.refusal or RowsMissed(f"{effect.changed} rows were changed, not {self.expect}.")
        if self.key is not None:
            assert effect.key is not None
            self.key.become(effect.key)


class Pipeline:
    """
    Statements of one transaction that are sent together: in one round trip on MariaDB, one by one on SQLite.

    Repositories say what is to be sent, and who opened it sends it; what has to be read is read from `session`.
    """

    def __init__(self, connected: SessionOrConnection) -> None:
        self._connected = connected
        self._queued: list[_Queued] = []
        self._keys = 0

    @property
    def session(self) -> AsyncSession:
        assert isinstance(self._connected, AsyncSession)
        return self._connected

    def add(
        self,
        make: Callable[[DriverConnection], SqlStatement],
        *,
        expect: int | None = None,
        refusal: Exception | None = None,
        guards: bool = False,
    ) -> None:
        """
        Send a statement that is made for the database at hand.

        :param expect: how many rows it must change
        :param refusal: raised where it changed another number of them
        :param guards: nothing behind it is executed then
        """
        self._queued.append(_Queued(make, expect, refusal=refusal, guards=guards))

    def insert_one(self, table: sa.Table, row: Mapping[str, object]) -> NewKey:
        """Insert a row whose key the database gives; what is queued behind it may hold the key."""
        key = NewKey(f"@k{self._keys}")
        self._keys += 1
        self._queued.append(_Queued(partial(insert_mappings_statement, table=table, rows=[row]), key=key))
        return key

    def insert(self, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows, each by the same columns."""
        if rows:
            self._queued.append(_Queued(partial(insert_mappings_statement, table=table, rows=rows)))

    def update(
        self,
        table: sa.Table,
        values: Mapping[str, object],
        *,
        where: Mapping[str, Sequence[object]],
        expect: int | None = None,
        by_key: bool = False,
    ) -> None:
        """
        Change rows.

        :param where: for each column the values that it may have
        :param expect: how many rows it must change
        :param by_key: the primary key is among these columns, and MariaDB need not weigh its other indexes
        """
        make = partial(update_statement, table=table, values=values, where=where, by_key=by_key)
        self._queued.append(_Queued(make, expect))

    def delete(self, table: sa.Table, *, where: Mapping[str, Sequence[object]]) -> None:
        self._queued.append(_Queued(partial(delete_statement, table=table, where=where)))

    def execute(self, prepared: Prepared, **values: object) -> None:
        """Change rows by a statement that was made once; its named parameters are the values."""
        make = partial(_rendered, prepared=prepared, values=values)
        self._queued.append(_Queued(make, executed=(prepared.statement, values)))

    def execute_for_one(self, prepared: Prepared, values: Mapping[str, object], *, refusal: Exception) -> None:
        """
        Do the same to exactly one row.

        :param refusal: raised where it changed none
        """
        make = partial(_rendered, prepared=prepared, values=values)
        self._queued.append(_Queued(make, 1, (prepared.statement, values), refusal))

    async def send(self) -> None:
        """
        Send all that was queued, after what the session itself still holds.

        :raises DBAPIError: as SQLAlchemy would, for the first that failed
        :raises RowsMissed: when one changed another number of rows than expected, and has no refusal of its own
        """
        queued, self._queued = self._queued, []
        if not queued:
            return
        if isinstance(self._connected, AsyncSession):
            await flush_pending(self._connected)
        driver = await DriverConnection.of(self._connected)
        if not driver.on_sqlite:
            await _send_all(driver, queued)
            return
        for one in queued:
            one.told(await self._send_one(driver, one))

    async def _send_one(self, driver: DriverConnection, one: _Queued) -> Effect:
        if one.executed is None:
            return (await driver.effects([one.make(driver)]))[0]
        statement, values = one.executed
        done: Any = await self._connected.execute(statement, {name: _known(value) for name, value in values.items()})
        return Effect(int(done.rowcount), None)


async def _send_all(driver: DriverConnection, queued: Sequence[_Queued]) -> None:
    statements: list[SqlStatement] = []
    places = []
    for one in queued:
        places.append(len(statements))
        statements.append(one.make(driver))
        if one.key is not None:
            statements.append(SqlStatement(f"SET {one.key.text} = LAST_INSERT_ID()"))
        if one.guards:
            statements.append(SqlStatement(_GUARD.format(one.expect)))
    try:
        effects = await driver.effects(statements)
    except DBAPIError as error:
        guards = [one.refusal for one in queued if one.guards]
        if guards and error.orig is not None and error.orig.args[0] == _SIGNALLED:
            raise guards[0] or RowsMissed("A row that guards the others was not changed.") from error
        raise
    for one, place in zip(queued, places, strict=True):
        one.told(effects[place])


def _known(value: object) -> object:
    """Return a value as SQLite is told it: keys of rows that were sent before are known."""
    if isinstance(value, list):
        return [_known(one) for one in value]
    return value.value if isinstance(value, NewKey) else value


def _rendered(driver: DriverConnection, *, prepared: Prepared, values: Mapping[str, object]) -> SqlStatement:
    return SqlStatement(prepared.render(driver, values))
