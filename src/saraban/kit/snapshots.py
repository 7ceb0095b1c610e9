"""Reads that take minutes, in snapshots that take seconds."""

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database, DatabaseFault, database_fault

T = TypeVar("T")

SECONDS = 2.0
_TRIES = 5


class Snapshots:
    """
    One snapshot after the other, each for about two seconds.

    A snapshot that stays open holds the locks of every table it has read, so that an online `ALTER TABLE` waits for its
    end, and keeps the database from removing old versions of rows. What is compared in one step is of one moment.
    """

    def __init__(self, db: Database, *, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._db, self._seconds, self._clock = db, seconds, clock
        self._open = AsyncExitStack()
        self._session: AsyncSession | None = None
        self._until = 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.end()

    async def end(self) -> None:
        """End the present snapshot; the next step begins another."""
        self._session = None
        await self._open.aclose()

    async def step(self, read: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """Run one short read, in the present snapshot or a new one; in a new one again where a table was changed meanwhile."""
        for attempt in range(1, _TRIES + 1):
            try:
                return await read(await self._present())
            except Exception as error:
                await self.end()
                if database_fault(error) is not DatabaseFault.COLLISION or attempt == _TRIES:
                    raise
        raise AssertionError("unreachable")

    async def _present(self) -> AsyncSession:
        if self._session is None or self._clock() >= self._until:
            await self.end()
            self._session = await self._open.enter_async_context(self._db.snapshot())
            self._until = self._clock() + self._seconds
        return self._session
