"""
Values that all servers keep in Redis for a while, so that a read need not ask the database.

A Redis that is down, frozen or emptied makes reads slower and nothing else: whoever takes nothing asks the database,
and no wait is longer than the client's timeout, once, before Redis is left alone for a while.

Each group of values has a turn, a random word. Whoever reads the database for want of a value puts it here under the
turn that was on before the read; `forget` ends the turn, so that a slow reader cannot put an old value back.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from saraban.kit.clock import stopwatch
from saraban.kit.ids import new_secret

log = structlog.get_logger(__name__)

KEPT = 3600  # seconds
_FAULTS = (RedisError, OSError, TimeoutError)
_TURN = "turn"
_TURN_KEPT = 24 * KEPT  # outlives every value that was put under it

# A group without a turn gets one, and its value is put at the next miss: names that nobody ever kept leave no trace.
_PUT = """
local turn = redis.call('GET', KEYS[1])
if not turn then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[4])
elseif turn == ARGV[1] then
  redis.call('EXPIRE', KEYS[1], ARGV[4])
  for place = 2, #KEYS do redis.call('SET', KEYS[place], ARGV[place + 3], 'EX', ARGV[3]) end
  return 1
end
return 0
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """
    What was found of one group.

    :param turn: under which the missing values may be put; None when they may not
    """

    values: Mapping[str, bytes] = field(default_factory=dict)
    turn: bytes | None = None


class Shelf:
    """
    One for each process.

    :param redis: None where there is none: nothing is ever found
    :param name: what its keys begin with
    :param rest: seconds that a Redis which failed is left alone
    """

    def __init__(self, redis: Redis | None, *, name: str, rest: float = 5.0) -> None:
        self._redis, self._name, self._rest = redis, name, rest
        self._closed_until = 0.0
        self._stale: dict[str, set[str]] = {}
        self._tried = asyncio.Event()
        self._forgetting: asyncio.Task[None] | None = None
        self._put = redis.register_script(_PUT) if redis is not None else None

    async def take(self, group: str, names: Iterable[str]) -> Taken:
        """Return what is kept of these; nothing at all while Redis rests, or of what is to be forgotten."""
        wanted = list(names)
        if self._redis is None or group in self._stale or stopwatch() < self._closed_until:
            return Taken()
        try:
            answer: list[Any] = await self._redis.mget([self._key(group, name) for name in (_TURN, *wanted)])
        except _FAULTS as fault:
            self._broken(fault)
            return Taken()
        turn, *found = answer
        values = {name: value for name, value in zip(wanted, found, strict=True) if value is not None}
        return Taken({} if group in self._stale else values, turn or b"")

    async def put(self, group: str, values: Mapping[str, bytes], *, turn: bytes | None) -> bool:
        """Keep values that were read after `turn` was taken; False where they may be old by now, or Redis rests."""
        if self._put is None or turn is None or not values or stopwatch() < self._closed_until:
            return False
        keys = [self._key(group, name) for name in (_TURN, *values)]
        try:
            return bool(await self._put(keys=keys, args=[turn, new_secret(12), KEPT, _TURN_KEPT, *values.values()]))
        except _FAULTS as fault:
            self._broken(fault)
            return False

    def forget(self, group: str, names: Iterable[str]) -> None:
        """
        Have these removed for all servers, as soon as Redis can be reached; here they are gone at once.

        Call it after the commit that made them old. It never waits and never fails.
        """
        if self._redis is None:
            return
        self._stale.setdefault(group, set()).update(names)
        self._tried.clear()
        if self._forgetting is None or self._forgetting.done():
            self._forgetting = asyncio.get_running_loop().create_task(self._forget(self._redis))

    async def settled(self) -> None:
        """Wait for one attempt to remove what was to be forgotten, so that other servers have heard of it."""
        if self._stale and stopwatch() >= self._closed_until:
            await self._tried.wait()

    async def close(self) -> None:
        """Try once more to remove what is left: nobody else knows that it is old."""
        if self._forgetting is not None:
            self._forgetting.cancel()
            await asyncio.wait([self._forgetting])
            self._tried.set()
        try:
            while self._stale and self._redis is not None:
                await self._forget_one(self._redis)
        except _FAULTS as fault:
            log.warning(
                "shelf.not_forgotten", groups=sorted(self._stale), error=f"{type(fault).__name__}: {fault}"[:300]
            )

    async def _forget(self, redis: Redis) -> None:
        while self._stale:
            await asyncio.sleep(max(self._closed_until - stopwatch(), 0))
            try:
                while self._stale:
                    await self._forget_one(redis)
            except _FAULTS as fault:
                self._broken(fault)
            self._tried.set()

    async def _forget_one(self, redis: Redis) -> None:
        group, names = next(iter(self._stale.items()))
        self._stale[group] = set()  # still stale, and ready to hear of more
        try:
            async with redis.pipeline(transaction=True) as both:
                both.set(self._key(group, _TURN), new_secret(12), ex=_TURN_KEPT)
                both.delete(*(self._key(group, name) for name in sorted(names)))
                await both.execute()
        except BaseException:
            self._stale[group] |= names
            raise
        if not self._stale[group]:
            del self._stale[group]

    def _broken(self, fault: BaseException) -> None:
        self._closed_until = stopwatch() + self._rest
        log.warning("shelf.broken", name=self._name, error=f"{type(fault).__name__}: {fault}"[:300])

    def _key(self, group: str, name: str) -> str:
        return f"{self._name}:{group}:{name}"
