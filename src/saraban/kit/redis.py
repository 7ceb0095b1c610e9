"""
Connections to Redis, and the notification of workers in other processes.

Without Redis, workers find events by polling.
"""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import structlog
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisGone
from redis.exceptions import RedisError

from saraban.kit.addresses import split_url
from saraban.kit.clock import stopwatch
from saraban.kit.ids import new_secret

log = structlog.get_logger(__name__)

REDIS_ERRORS: Final = (RedisError, OSError, TimeoutError)
_SENTINELS: Final = re.compile(
    r"(rediss?)\+sentinel://([^@/?#]*@)?([^@/?#]+)/([A-Za-z0-9._-]+)(/[0-9]*)?(\?.*)?", re.ASCII
)


class SentinelAddress(NamedTuple):
    servers: list[tuple[str, int]]
    service: str
    master: dict[str, Any]
    sentinel: dict[str, Any]


def sentinel_address(url: str) -> SentinelAddress | None:
    """
    Parse `redis+sentinel://user:password@host:26379,host:26379/service/0?…`.
    :returns: None for another scheme or a malformed address
    """
    match = _SENTINELS.fullmatch(url)
    if match is None:
        return None
    scheme, users, hosts, service, database, query = match.groups("")
    servers = [split_url(f"redis://{host.strip()}") for host in hosts.split(",")]
    hosts_and_ports = [(at.hostname, at.port or 26379) for at in servers if at and at.hostname and at.port != 0]
    if len(hosts_and_ports) < len(servers):
        return None
    options: dict[str, Any] = {**parse_url(f"{scheme}://{users}{service}{database}{query}")}
    tls = {"ssl": options.pop("connection_class", None) is not None}
    sentinel_options = {
        name.removeprefix("sentinel_"): options.pop(name) for name in list(options) if name.startswith("sentinel_")
    }
    certificates = {name: value for name, value in options.items() if name.startswith("ssl_")}
    return SentinelAddress(hosts_and_ports, service, options | tls, sentinel_options | certificates | tls)


class _SentinelPool(SentinelConnectionPool, BlockingConnectionPool):
    async def aclose(self) -> None:
        await super().aclose()
        await self.sentinel_manager.aclose()


def redis_pool(url: str, *, timeout: float, connections: int) -> BlockingConnectionPool:
    """Callers wait for a free connection, and a server silent for `timeout` seconds is down."""
    # The default pool raises at its limit instead of waiting. A retry inside the client would hide a frozen server.
    waits = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), timeout) | {"retry": Retry(NoBackoff(), 0)}
    size: dict[str, Any] = {"max_connections": connections, "timeout": timeout}
    if (address := sentinel_address(url)) is None:
        return BlockingConnectionPool.from_url(url, **size, **waits)
    sentinels = Sentinel(address.servers, sentinel_kwargs=waits | address.sentinel)  # type: ignore[no-untyped-call]
    return _SentinelPool(address.service, sentinels, **waits, **size, **address.master)  # type: ignore[no-untyped-call]


class RedisBreaker:
    """Sends nothing to a failed Redis for `rest` seconds, then connects to the new master."""

    def __init__(self, pool: ConnectionPool | None, rest: float) -> None:
        self._pool, self._rest = pool, rest
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        return stopwatch() < self._open_until

    async def trip(self) -> None:
        self._open_until = stopwatch() + self._rest
        await drop_connections(self._pool)

    def reset(self) -> None:
        self._open_until = 0.0


async def drop_connections(pool: ConnectionPool | None) -> None:
    """A demoted master may keep idle connections open."""
    with suppress(*REDIS_ERRORS):
        if pool is not None:
            await pool.disconnect(inuse_connections=False)


async def probe_write(redis: Redis) -> None:
    """A replica, or a server without memory, answers a ping but raises here."""
    try:
        await redis.set("saraban:probe", b"1", px=1000)
    except REDIS_ERRORS:
        await drop_connections(redis.connection_pool)
        raise


CHANNEL = "saraban:events"
_PING_AFTER = 10.0  # seconds of silence after which the connection is pinged


class WorkerNotifier:
    """:param rest: seconds without requests to a Redis that failed"""

    def __init__(self, redis: Redis | None, *, rest: float = 5.0) -> None:
        self._redis, self._rest = redis, rest
        self._breaker = RedisBreaker(redis.connection_pool if redis else None, rest)
        self._name = new_secret(9).encode()
        self._listeners: list[Callable[[], None]] = []
        self._pending = False
        self._publishing: asyncio.Task[None] | None = None

    def on_notify(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def notify(self) -> None:
        """Notify workers, without waiting or raising; other processes only if none listens here."""
        for listener in self._listeners:
            listener()
        if self._listeners or self._redis is None or self._breaker.is_open:
            return
        self._pending = True
        if self._publishing is None or self._publishing.done():
            self._publishing = asyncio.get_running_loop().create_task(self._publish(self._redis))

    async def _publish(self, redis: Redis) -> None:
        while self._pending:  # commits during a publish are combined in one more message
            self._pending = False
            try:
                await redis.publish(CHANNEL, self._name)
            except REDIS_ERRORS as fault:
                await self._breaker.trip()
                log.warning("worker_notifier.broken", error=f"{type(fault).__name__}: {fault}"[:300])
                return

    async def listen(self, wake: Callable[[], None]) -> None:
        if self._redis is None:
            return
        while True:
            try:
                await self._receive(self._redis, wake)
            except REDIS_ERRORS as fault:
                log.warning("worker_notifier.deaf", error=f"{type(fault).__name__}: {fault}"[:300])
            await asyncio.sleep(self._rest)

    async def _receive(self, redis: Redis, wake: Callable[[], None]) -> None:
        async with redis.pubsub() as subscription:
            await subscription.subscribe(CHANNEL)
            wake()  # for notifications missed before the subscription
            last_message_at, has_pinged = stopwatch(), False
            while True:
                message = await subscription.get_message(timeout=1.0)
                if message is not None:
                    last_message_at, has_pinged = stopwatch(), False
                    if message["type"] == "message" and message["data"] != self._name:
                        wake()
                elif stopwatch() - last_message_at > 2 * _PING_AFTER:
                    raise RedisGone("it has been silent for too long")
                elif stopwatch() - last_message_at > _PING_AFTER and not has_pinged:
                    await subscription.ping()
                    has_pinged = True

    async def close(self) -> None:
        if self._publishing is not None:
            await self._publishing
