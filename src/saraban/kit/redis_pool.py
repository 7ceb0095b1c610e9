"""Connections to Redis as everything here wants them: a burst waits for one, and a silent server is found out at once."""

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff


def redis_pool(url: str, *, timeout: float, connections: int) -> BlockingConnectionPool:
    """
    Return a pool; connections open when they are first needed.

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
