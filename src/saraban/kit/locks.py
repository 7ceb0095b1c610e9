"""
Named locks across processes, and the queue in front of them.

A lock here makes waiting orderly; it never makes a number unique. That is the work of the compare-and-set in the
database, which holds even when a paused process outlives its lock (ruling N10).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import Protocol

import structlog
from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError

log = structlog.get_logger(__name__)


class LockBusy(Exception):  # an expected outcome
    """Another holder kept the lock for the whole time that was allowed."""


class LockServiceDown(Exception):  # an expected outcome
    """The lock service does not answer; whoever asked goes on without it (ADR-002, scenario 1)."""


class Locks(Protocol):
    """Two ship: Redis, and none at all (the database's own row lock is then the only one)."""

    path: str

    def hold(self, name: str, *, within: float) -> AbstractAsyncContextManager[None]: ...

    async def up(self) -> bool: ...


class DatabaseOnly:
    """No lock service is set up: every request takes the database path, which is no failure and no fallback."""

    path = "database"

    @asynccontextmanager
    async def hold(self, name: str, *, within: float) -> AsyncIterator[None]:  # noqa: ARG002  nothing to wait for
        yield

    async def up(self) -> bool:
        return True


class RedisLocks:
    """
    One Redis; a breaker keeps a frozen one from costing every request its timeout.

    :param ttl: seconds after which a lock frees itself
    :param rest: seconds a Redis that failed is left alone
    """

    path = "redis"

    def __init__(self, redis: Redis, *, ttl: float, rest: float) -> None:
        self._redis = redis
        self._ttl = ttl
        self._rest = rest
        self._closed_until = 0.0

    async def up(self) -> bool:
        try:
            await self._redis.ping()
        except (RedisError, OSError, TimeoutError):
            return False
        return True

    @asynccontextmanager
    async def hold(self, name: str, *, within: float) -> AsyncIterator[None]:
        """
        :raises LockBusy: when another holder did not let go in `within` seconds
        :raises LockServiceDown: when Redis cannot be reached or does not answer
        """
        lock = await self._acquire(name, within)
        try:
            yield
        finally:
            await self._release(lock, name)

    async def _acquire(self, name: str, within: float) -> Lock:
        if monotonic() < self._closed_until:
            raise LockServiceDown("Redis is left alone after a failure.")
        # The queue in front lets one task per process and lock through, so polling every 4 ms is not a storm.
        lock = Lock(self._redis, name, timeout=self._ttl, sleep=0.004, blocking_timeout=within, thread_local=False)
        try:
            acquired = await lock.acquire()
        except (RedisError, OSError, TimeoutError) as fault:
            self._closed_until = monotonic() + self._rest
            raise LockServiceDown(f"{type(fault).__name__}: {fault}") from fault
        if not acquired:
            raise LockBusy(name)
        return lock

    async def _release(self, lock: Lock, name: str) -> None:
        try:
            await lock.release()
        except (LockError, RedisError, OSError, TimeoutError) as fault:
            # What was done under the lock is committed; a lock that cannot be released ends with its TTL.
            log.warning("lock.release_failed", lock=name, error=f"{type(fault).__name__}: {fault}")


class Queues:
    """First come, first served within this process: one task at a time for each name; idle names are forgotten."""

    def __init__(self) -> None:
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, name: str, *, within: float) -> AsyncIterator[None]:
        """
        :raises LockBusy: when the turn did not come in `within` seconds
        """
        lock, waiting = self._turns.get(name, (asyncio.Lock(), 0))
        self._turns[name] = (lock, waiting + 1)
        try:
            try:
                await asyncio.wait_for(lock.acquire(), within)
            except TimeoutError as late:
                raise LockBusy(name) from late
            try:
                yield
            finally:
                lock.release()
        finally:
            self._leave(name)

    def _leave(self, name: str) -> None:
        lock, waiting = self._turns[name]
        if waiting == 1:
            del self._turns[name]
        else:
            self._turns[name] = (lock, waiting - 1)

    def __len__(self) -> int:
        return len(self._turns)
