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
    in_thread = Connection._execute

    async def execute(self: Connection, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        raw = self._connection
        if not self._running or raw is None or (args and not (raw.in_transaction or _is_read(args[0]))):
            return await in_thread(self, fn, *args, **kwargs)
        if args and not raw.in_transaction:
            await asyncio.sleep(0)  # others have their turn before it begins
            if not self._running or self._connection is not raw:
                return await in_thread(self, fn, *args, **kwargs)
        return fn(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "_execute", execute)
        yield


def _is_read(statement: object) -> bool:
    return isinstance(statement, str) and (statement == "BEGIN" or statement.lstrip()[:6].upper().startswith(_READS))
