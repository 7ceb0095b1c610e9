"""
Named locks across processes.

They order the waiting. Only the compare-and-set in the database makes numbers unique, also when a paused process
outlives its lock (REQ-LCK-03).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import NamedTuple, Protocol, TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from saraban.kit.batching import BatchQueue, Waiter
from saraban.kit.ids import new_secret
from saraban.kit.redis import REDIS_ERRORS, RedisBreaker, probe_write

log = structlog.get_logger(__name__)
T = TypeVar("T")


class LockBusy(Exception):  # an expected outcome
    """Another holder kept the lock for the whole allowed time."""


class LockServiceDown(Exception):  # an expected outcome
    """The lock service does not respond; the caller continues without it (REQ-LCK-05)."""


class Locks(Protocol):
    path: str

    def hold(self, name: str, *, within: float) -> AbstractAsyncContextManager[None]: ...

    async def up(self) -> bool: ...

    async def close(self) -> None:
        """Release the retained locks."""
        ...


class DatabaseLocks:
    """No lock service: the database's row locks are the only locks."""

    path = "database"

    @asynccontextmanager
    async def hold(self, name: str, *, within: float) -> AsyncIterator[None]:  # noqa: ARG002  nothing to wait for
        yield

    async def up(self) -> bool:
        return True

    async def close(self) -> None:
        pass


# Callers queue while the lock is held, and only the head of the queue gets it: a server that releases and asks again at
# once cannot starve the others. A caller that stops asking leaves the queue.
_ACQUIRE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[3])
for _, gone in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if not redis.call('ZSCORE', KEYS[3], gone) then redis.call('LREM', KEYS[2], 1, gone) end
end
local head = redis.call('LINDEX', KEYS[2], 0)
if (not head or head == ARGV[1]) and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('LREM', KEYS[2], 1, ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  return redis.call('LLEN', KEYS[2]) > 0 and 2 or 1
end
if redis.call('ZADD', KEYS[3], now, ARGV[1]) == 1 then redis.call('RPUSH', KEYS[2], ARGV[1]) end
redis.call('PEXPIRE', KEYS[2], 60000)
redis.call('PEXPIRE', KEYS[3], 60000)
return 0
"""
_RELEASE = """
redis.call('LREM', KEYS[2], 1, ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""
_POLL = 0.002  # seconds; only one task per process and series polls
_OTHERS_WAIT = 2
_QUEUE_TIMEOUT_MS = 500  # without a poll, then a caller leaves the queue
# A process that takes the same lock again at once saves two round trips: it retains the lock for a moment. After a slice it
# releases the lock for other servers, and it retains nothing while others were in the queue lately.
_RETAIN_SECONDS = 0.02  # seconds
_SLICE_SECONDS = 0.05  # seconds
_CONTENTION_SECONDS = 1.0  # seconds
_MOST_NAMES = 10_000
_MOST_CALLS = 200


class RedisLocks:
    """
    Locks in one Redis, or in a majority of independent masters (Redlock).
    :param masters: an odd number of independent servers
    :param ttl: seconds after which a lock expires
    :param rest: seconds without requests to a master that failed
    """

    path = "redis"

    def __init__(self, *masters: Redis, ttl: float, rest: float) -> None:
        self._masters = [_Master(redis, rest) for redis in masters]
        self._retained: dict[str, _RetainedLock] = {}
        self._contended: dict[str, float] = {}
        self._releasing: set[asyncio.Task[None]] = set()
        self._quorum = len(masters) // 2 + 1
        self._ttl = ttl

    async def up(self) -> bool:
        answers = await asyncio.gather(*(master.takes_writes() for master in self._masters))
        return sum(answers) >= self._quorum

    @asynccontextmanager
    async def hold(self, name: str, *, within: float) -> AsyncIterator[None]:
        """
        :raises LockBusy: when another holder keeps the lock for `within` seconds
        :raises LockServiceDown: when no majority of the servers responds
        """
        retained = await self._take_retained(name)
        token = retained.token if retained else new_secret(16)
        since = retained.since if retained else monotonic()
        try:
            if retained is None:
                await self._acquire(name, token, within)
                since = monotonic()
            yield
        except BaseException:
            await self._release(name, token)
            raise
        if (
            monotonic() - since < _SLICE_SECONDS
            and monotonic() - self._contended.get(name, -_CONTENTION_SECONDS) >= _CONTENTION_SECONDS
        ):
            again = asyncio.get_running_loop().call_later(_RETAIN_SECONDS, self._release_retained, name)
            self._retained[name] = _RetainedLock(token, since, again)
        else:
            await self._release(name, token)

    async def close(self) -> None:
        for name in list(self._retained):
            self._release_retained(name)
        if self._releasing:
            await asyncio.wait(self._releasing)

    async def _take_retained(self, name: str) -> "_RetainedLock | None":
        """Return the retained lock; release it if a paused process kept it too long."""
        retained = self._retained.pop(name, None)
        if retained is None:
            return None
        retained.end.cancel()
        if monotonic() - retained.since < _SLICE_SECONDS:
            return retained
        await self._release(name, retained.token)
        return None

    def _release_retained(self, name: str) -> None:
        retained = self._retained.pop(name, None)
        if retained is not None:
            retained.end.cancel()
            task = asyncio.get_running_loop().create_task(self._release(name, retained.token))
            self._releasing.add(task)
            task.add_done_callback(self._releasing.discard)

    async def _acquire(self, name: str, token: str, within: float) -> None:
        end = monotonic() + within
        # Two servers that each hold some of the masters must not poll at the same moment; the tokens are random.
        pause = _POLL if len(self._masters) == 1 else _POLL * (1 + 4 * ord(token[0]) / 128)
        while True:
            asked_at = monotonic()
            answers = await _gather([master.acquire(name, token, self._ttl) for master in self._masters])
            if sum(answer is not None for answer in answers) < self._quorum:
                raise LockServiceDown("; ".join(filter(None, (master.fault for master in self._masters))) or "resting")
            # Redlock: a lock whose acquisition took most of its lifetime does not count.
            if sum(bool(answer) for answer in answers) >= self._quorum and monotonic() - asked_at < self._ttl / 2:
                if _OTHERS_WAIT in answers:
                    self._record_contention(name)
                return
            if any(answers):  # without a majority, release the rest, or two servers block each other
                await self._release(name, token)
            if monotonic() >= end:
                raise LockBusy(name)
            await asyncio.sleep(pause)

    def _record_contention(self, name: str) -> None:
        if len(self._contended) >= _MOST_NAMES:
            self._contended.clear()
        self._contended[name] = monotonic()

    async def _release(self, name: str, token: str) -> None:
        """The work is committed already; a lock that cannot be released expires."""
        await _gather([master.release(name, token) for master in self._masters])


class _RetainedLock(NamedTuple):
    """A lock that is kept a moment for the next caller of this process; `end` releases it."""

    token: str
    since: float
    end: asyncio.TimerHandle


async def _gather(calls: Sequence[Awaitable[T]]) -> list[T]:
    """A single call, the usual case, needs no tasks."""
    return [await calls[0]] if len(calls) == 1 else await asyncio.gather(*calls)


class _ScriptCall(NamedTuple):
    script: str
    name: str
    words: Sequence[str | int]


class _Master:
    """One Redis server; simultaneous calls share a round trip."""

    def __init__(self, redis: Redis, rest: float) -> None:
        self._redis, self._breaker = redis, RedisBreaker(redis.connection_pool, rest)
        self._calls: BatchQueue[_ScriptCall, int] = BatchQueue(self._send, most=_MOST_CALLS)
        self.fault = ""

    async def takes_writes(self) -> bool:
        try:
            await probe_write(self._redis)
        except REDIS_ERRORS:
            return False
        return True

    async def acquire(self, name: str, token: str, ttl: float) -> int | None:
        """Return 0 if the lock is taken, 2 if others wait for it too, None without a response."""
        if self._breaker.is_open:
            return None
        try:
            return await self._calls.ask(
                _ScriptCall(_ACQUIRE, name, (token, int(ttl * 1000), _QUEUE_TIMEOUT_MS)), token
            )
        except REDIS_ERRORS as fault:
            if not self._breaker.is_open:
                self.fault = f"{type(fault).__name__}: {fault}"[:300]
                await self._breaker.trip()
            return None

    async def release(self, name: str, token: str) -> None:
        if self._breaker.is_open:
            return
        try:
            await self._calls.ask(_ScriptCall(_RELEASE, name, (token,)), token)
        except REDIS_ERRORS as fault:
            log.warning("lock.release_failed", lock=name, error=f"{type(fault).__name__}: {fault}")

    async def _send(self, calls: Sequence[Waiter[_ScriptCall, int]]) -> None:
        if self._breaker.is_open:  # these calls waited for a batch that failed
            raise RedisError(self.fault)
        pipeline = self._redis.pipeline(transaction=False)
        for call in calls:
            script, name, words = call.item
            keys = _keys(name)
            pipeline.eval(script, len(keys), *keys, *words)
        for call, answer in zip(calls, await pipeline.execute(raise_on_error=False), strict=True):
            if isinstance(answer, Exception):
                call.fail(answer)
            else:
                call.succeed(int(answer))


def _keys(name: str) -> Sequence[str]:
    # The braces keep the three keys in one slot of a cluster.
    return f"{{{name}}}", f"{{{name}}}:queue", f"{{{name}}}:asked"
