"""
SQLite without a thread's hand-over per call: a statement that cannot wait runs where its test runs.

aiosqlite passes each cursor, statement and fetch to a thread and back, which takes longer than most statements. What may wait
for another writer still goes there: the test's event loop, where that writer may be, must not stand still.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiosqlite.core import Connection

_READS = ("SELECT", "WITH")


@contextmanager
def inline_sqlite() -> Iterator[None]:
    by_thread = Connection._execute

    async def execute(self: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        raw = self._connection
        if not self._running or raw is None or _waits(self) or (args and not _cannot_wait(self, args[0])):
            return await in_thread(self, fn, *args, **kwargs)
        if args and not raw.in_transaction:
            await asyncio.sleep(0)  # others have their turn before it begins
            if not self._running or self._connection is not raw or _waits(self):
                return await in_thread(self, fn, *args, **kwargs)
        return fn(*args, **kwargs)

    async def in_thread(self: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        def counted() -> Any:
            try:
                return fn(*args, **kwargs)
            finally:
                self.waiting -= 1

        if self._running and self._connection:
            self.waiting = getattr(self, "waiting", 0) + 1
        return await by_thread(self, counted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "_execute", execute)
        yield


def _waits(connection: Any) -> bool:
    """Whether the thread still has something of a caller that may have left; what follows must not overtake it."""
    return bool(getattr(connection, "waiting", 0))


def _cannot_wait(connection: Any, statement: object) -> bool:
    """Whether it reads, or belongs to a transaction that has its turn to write."""
    if not isinstance(statement, str):
        return False
    if statement.startswith("BEGIN"):
        connection.is_writer = statement == "BEGIN IMMEDIATE"
        return not connection.is_writer
    is_read = statement.lstrip()[:6].upper().startswith(_READS)
    return is_read or (connection._conn.in_transaction and getattr(connection, "is_writer", False))
