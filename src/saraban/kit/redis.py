"""
Connections to Redis as everything here wants them, and the notice of new events that workers in other processes get by it.

Nothing depends on the notice: without Redis, or while it is down, workers find events by polling, as they do anyway.
"""

import asyncio
from collections.abc import Callable

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisGone
from redis.exceptions import RedisError

from saraban.kit.clock import stopwatch
from saraban.kit.ids import new_secret

log = structlog.get_logger(__name__)


def redis_pool(url: str, *, timeout: float, connections: int) -> BlockingConnectionPool:
    """
    Return a pool in which a burst waits for a connection; they open when they are first needed.

    :param timeout: seconds until a silent server counts as down
    """
    # The default pool raises at its limit instead of waiting; a retry inside the client would hide a frozen server.
    return BlockingConnectionPool.from_url(
        url,
        max_connections=connections,
        timeout=timeout,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
    )


CHANNEL = "saraban:events"
_REDIS_ERRORS = (RedisError, OSError, TimeoutError)
_PING_AFTER = 10.0  # seconds of silence after which the connection is pinged


class WorkerNotifier:
    """
    One for each process.

    :param rest: seconds that a Redis which failed is left alone
    """

    def __init__(self, redis: Redis | None, *, rest: float = 5.0) -> None:
        self._redis, self._rest = redis, rest
        self._name = new_secret(9).encode()
        self._listeners: list[Callable[[], None]] = []
        self._pending = False
        self._closed_until = 0.0
        self._publishing: asyncio.Task[None] | None = None

    def on_notify(self, listener: Callable[[], None]) -> None:
        """Call `listener`, in this process, at each notification."""
        self._listeners.append(listener)

    def notify(self) -> None:
        """
        Call it after the commit of an event; it never waits and never fails.

        Other processes are told only where no worker of this one hears it: one round is enough.
        """
        for listener in self._listeners:
            listener()
        if self._listeners or self._redis is None or stopwatch() < self._closed_until:
            return
        self._pending = True
        if self._publishing is None or self._publishing.done():
            self._publishing = asyncio.get_running_loop().create_task(self._publish(self._redis))

    async def _publish(self, redis: Redis) -> None:
        while self._pending:  # many commits while one message is under way are one message more
            self._pending = False
            try:
                await redis.publish(CHANNEL, self._name)
            except _REDIS_ERRORS as fault:
                self._closed_until = stopwatch() + self._rest
                log.warning("worker_notifier.broken", error=f"{type(fault).__name__}: {fault}"[:300])
                return

    async def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` at each notification of another process, until it is cancelled."""
        if self._redis is None:
            return
        while True:
            try:
                await self._receive(self._redis, wake)
            except _REDIS_ERRORS as fault:
                log.warning("worker_notifier.deaf", error=f"{type(fault).__name__}: {fault}"[:300])
            await asyncio.sleep(self._rest)

    async def _receive(self, redis: Redis, wake: Callable[[], None]) -> None:
        async with redis.pubsub() as subscription:
            await subscription.subscribe(CHANNEL)
            wake()  # what was sent while nobody listened
            heard, asked = stopwatch(), False
            while True:
                message = await subscription.get_message(timeout=1.0)
                if message is not None:
                    heard, asked = stopwatch(), False
                    if message["type"] == "message" and message["data"] != self._name:
                        wake()
                elif stopwatch() - heard > 2 * _PING_AFTER:
                    raise RedisGone("it has been silent for too long")
                elif stopwatch() - heard > _PING_AFTER and not asked:
                    await subscription.ping()
                    asked = True

    async def close(self) -> None:
        """Let a message under way be sent."""
        if self._publishing is not None:
            await self._publishing
