"""
Named locks across processes.

A lock here makes waiting orderly; it never makes a number unique. That is the work of the compare-and-set in the
database, which holds even when a paused process outlives its lock (REQ-LCK-03).
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
    """Another holder kept the lock for the whole time that was allowed."""


class LockServiceDown(Exception):  # an expected outcome
    """The lock service does not answer; whoever asked goes on without it (REQ-LCK-05)."""


class Locks(Protocol):
    """Two ship: Redis, and none at all (the database's own row lock is then the only one)."""

    path: str

    def hold(self, name: str, *, within: float) -> AbstractAsyncContextManager[None]: ...

    async def up(self) -> bool: ...

    async def close(self) -> None:
        """Let go of whatever is kept for the next who asks."""
        ...


class DatabaseLocks:
    """No lock service is set up: every request takes the database path, which is no failure and no fallback."""

    path = "database"

    @asynccontextmanager
    async def hold(self, name: str, *, within: float) -> AsyncIterator[None]:  # noqa: ARG002  nothing to wait for
        yield

    async def up(self) -> bool:
        return True

    async def close(self) -> None:
        pass


# Who asks while the lock is held stands in a queue beside it, and only its head gets the lock: a server that releases
# and asks again at once, as a hot series makes it do, cannot starve the others. Whoever stops asking leaves the queue.
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
_POLL = 0.002  # seconds; one task per process and series asks, so this is no storm
_OTHERS_WAIT = 2
_SILENT = 500  # milliseconds without asking after which one is no longer in the queue
# Who asks for the same lock again at once, as somebody does who draws one number after the other, need not go to Redis and
# back twice for each: the lock is kept a moment, and given up after a slice so that other servers have their turn. Where
# others stood in the queue lately it is not kept at all: while they work, this process serves its own callers.
_MOMENT = 0.02  # seconds
_SLICE = 0.05  # seconds
_LATELY = 1.0  # seconds
_MOST_NAMES = 10_000
_MOST_CALLS = 200


class RedisLocks:
    """
    One Redis, or several that are masters of their own: then the lock is held with a majority of them (Redlock).

    A breaker keeps a frozen Redis from costing every request its timeout.

    :param masters: an odd number of independent servers
    :param ttl: seconds after which a lock frees itself
    :param rest: seconds without a majority after which Redis is asked again
    """

    path = "redis"

    def __init__(self, *masters: Redis, ttl: float, rest: float) -> None:
        self._masters = [_Master(redis, rest) for redis in masters]
        self._kept: dict[str, _RetainedLock] = {}
        self._shared: dict[str, float] = {}
        self._releasing: set[asyncio.Task[None]] = set()
        self._quorum = len(masters) // 2 + 1
        self._ttl = ttl

    async def up(self) -> bool:
        """Whether a majority takes writes."""
        answers = await asyncio.gather(*(master.takes_writes() for master in self._masters))
        return sum(answers) >= self._quorum

    @asynccontextmanager
    async def hold(self, name: str, *, within: float) -> AsyncIterator[None]:
        """
        :raises LockBusy: when another holder did not let go in `within` seconds
        :raises LockServiceDown: when no majority of the servers can be reached
        """
        kept = await self._taken_up(name)
        token = kept.token if kept else new_secret(16)
        since = kept.since if kept else monotonic()
        try:
            if kept is None:
                await self._acquire(name, token, within)
                since = monotonic()
            yield
        except BaseException:
            await self._release(name, token)
            raise
        if monotonic() - since < _SLICE and monotonic() - self._shared.get(name, -_LATELY) >= _LATELY:
            again = asyncio.get_running_loop().call_later(_MOMENT, self._let_go, name)
            self._kept[name] = _RetainedLock(token, since, again)
        else:
            await self._release(name, token)

    async def close(self) -> None:
        for name in list(self._kept):
            self._let_go(name)
        if self._releasing:
            await asyncio.wait(self._releasing)

    async def _taken_up(self, name: str) -> "_RetainedLock | None":
        """Return the lock that was kept; one that was kept for too long, by a paused process say, is given back."""
        kept = self._kept.pop(name, None)
        if kept is None:
            return None
        kept.end.cancel()
        if monotonic() - kept.since < _SLICE:
            return kept
        await self._release(name, kept.token)
        return None

    def _let_go(self, name: str) -> None:
        kept = self._kept.pop(name, None)
        if kept is not None:
            kept.end.cancel()
            task = asyncio.get_running_loop().create_task(self._release(name, kept.token))
            self._releasing.add(task)
            task.add_done_callback(self._releasing.discard)

    async def _acquire(self, name: str, token: str, within: float) -> None:
        end = monotonic() + within
        # Two servers that each hold a part of several masters must not ask again at the same moment; tokens are random.
        pause = _POLL if len(self._masters) == 1 else _POLL * (1 + 4 * ord(token[0]) / 128)
        while True:
            started = monotonic()
            answers = await _each([master.acquire(name, token, self._ttl) for master in self._masters])
            if sum(answer is not None for answer in answers) < self._quorum:
                raise LockServiceDown("; ".join(filter(None, (master.fault for master in self._masters))) or "resting")
            # What is left of the lock's life counts only while it is longer than what getting it has taken.
            if sum(bool(answer) for answer in answers) >= self._quorum and monotonic() - started < self._ttl / 2:
                if _OTHERS_WAIT in answers:
                    self._note_others(name)
                return
            if any(answers):  # a part of the locks helps nobody: give it back, or two servers block each other
                await self._release(name, token)
            if monotonic() >= end:
                raise LockBusy(name)
            await asyncio.sleep(pause)

    def _note_others(self, name: str) -> None:
        if len(self._shared) >= _MOST_NAMES:
            self._shared.clear()
        self._shared[name] = monotonic()

    async def _release(self, name: str, token: str) -> None:
        """What was done under the lock is committed; where it cannot be released it ends with its TTL."""
        await _each([master.release(name, token) for master in self._masters])


class _RetainedLock(NamedTuple):
    """A lock that nobody uses at the moment; `end` gives it up."""

    token: str
    since: float
    end: asyncio.TimerHandle


async def _each(calls: Sequence[Awaitable[T]]) -> list[T]:
    """All at once; one alone, as most have it, without the tasks that this takes."""
    return [await calls[0]] if len(calls) == 1 else await asyncio.gather(*calls)


class _ScriptCall(NamedTuple):
    """A script that is to run, with the name of the lock and what else it is told."""

    script: str
    name: str
    words: Sequence[str | int]


class _Master:
    """One Redis server, left alone for a while after it failed. What is asked of it at the same moment is one round trip."""

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
        """:returns: 0 when the lock is somebody else's, 2 when it is ours and others wait; None without an answer"""
        if self._breaker.is_open:
            return None
        try:
            return await self._calls.ask(_ScriptCall(_ACQUIRE, name, (token, int(ttl * 1000), _SILENT)), token)
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
        if self._breaker.is_open:  # they have waited for the calls that failed
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
    # The braces keep the three in one slot of a cluster.
    return f"{{{name}}}", f"{{{name}}}:queue", f"{{{name}}}:asked"
