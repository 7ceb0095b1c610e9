"""
Tells workers in other processes that there is something to do: Redis carries the message, and nothing depends on it.

Without Redis, or while it is down, workers find events by looking once in a while, as they do anyway.
"""

import asyncio
from collections.abc import Callable

import structlog
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisGone
from redis.exceptions import RedisError

from saraban.kit.clock import stopwatch
from saraban.kit.ids import new_secret

log = structlog.get_logger(__name__)

CHANNEL = "saraban:events"
_FAULTS = (RedisError, OSError, TimeoutError)
_ASK = 10.0  # seconds of silence after which the connection is asked whether it lives


class Bell:
    """
    One for each process.

    :param rest: seconds that a Redis which failed is left alone
    """

    def __init__(self, redis: Redis | None, *, rest: float = 5.0) -> None:
        self._redis, self._rest = redis, rest
        self._name = new_secret(9).encode()
        self._neighbours: list[Callable[[], None]] = []
        self._rung = False
        self._closed_until = 0.0
        self._ringing: asyncio.Task[None] | None = None

    def wakes(self, neighbour: Callable[[], None]) -> None:
        """Have `neighbour`, in this process, called at each ring."""
        self._neighbours.append(neighbour)

    def ring(self) -> None:
        """Call it after the commit of an event; it never waits and never fails."""
        for neighbour in self._neighbours:
            neighbour()
        if self._redis is None or stopwatch() < self._closed_until:
            return
        self._rung = True
        if self._ringing is None or self._ringing.done():
            self._ringing = asyncio.get_running_loop().create_task(self._publish(self._redis))

    async def _publish(self, redis: Redis) -> None:
        while self._rung:  # many commits while one message is under way are one message more
            self._rung = False
            try:
                await redis.publish(CHANNEL, self._name)
            except _FAULTS as fault:
                self._closed_until = stopwatch() + self._rest
                log.warning("bell.broken", error=f"{type(fault).__name__}: {fault}"[:300])
                return

    async def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever another process rings, until it is cancelled."""
        if self._redis is None:
            return
        while True:
            try:
                await self._hear(self._redis, wake)
            except _FAULTS as fault:
                log.warning("bell.deaf", error=f"{type(fault).__name__}: {fault}"[:300])
            await asyncio.sleep(self._rest)

    async def _hear(self, redis: Redis, wake: Callable[[], None]) -> None:
        async with redis.pubsub() as line:
            await line.subscribe(CHANNEL)
            wake()  # what was rung while nobody listened
            heard, asked = stopwatch(), False
            while True:
                message = await line.get_message(timeout=1.0)
                if message is not None:
                    heard, asked = stopwatch(), False
                    if message["type"] == "message" and message["data"] != self._name:
                        wake()
                elif stopwatch() - heard > 2 * _ASK:
                    raise RedisGone("it has been silent for too long")
                elif stopwatch() - heard > _ASK and not asked:
                    await line.ping()
                    asked = True

    async def close(self) -> None:
        """Let a message under way be sent."""
        if self._ringing is not None:
            await self._ringing
