"""
How often somebody may do something in a minute: counted in Redis for all servers together, in this process without it.

A Redis that fails is left alone for a while; meanwhile each process counts by itself, and nobody waits for a timeout.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import structlog
from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter
from limits.errors import StorageError
from redis.asyncio import BlockingConnectionPool

from saraban.kit.clock import epoch
from saraban.kit.redis import REDIS_ERRORS, RedisBreaker, redis_pool

T = TypeVar("T")

log = structlog.get_logger(__name__)

WINDOW = 60
HOUR, DAY = 60, 24 * 60  # minutes
_CONNECTIONS = 20


@dataclass(frozen=True, slots=True)
class RateLimitRule:
    """
    One count that an operation is charged to.

    :param policy: its name in the headers, such as `user`
    :param subject: who is counted; empty where all are counted together
    :param limit: operations a minute, or in `minutes`
    :param cost: what this operation counts; more than 1 with a window of a day only
    """

    policy: str
    subject: str
    limit: int
    minutes: int = 1
    cost: int = 1

    @property
    def window(self) -> RateLimitItemPerMinute:
        return RateLimitItemPerMinute(self.limit, self.minutes)


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """
    What a rule came to.

    :param refused: the rule that is used up; None when the operation may go on
    :param remaining: of the rule that the caller was told of first, or of the refused one
    :param reset: seconds until at least one more is free
    """

    rules: tuple[RateLimitRule, ...]
    refused: RateLimitRule | None
    remaining: int
    reset: int

    @property
    def headers(self) -> dict[str, str]:
        """`RateLimit-Policy` and `RateLimit` as the IETF's draft has them."""
        shown = self.refused or self.rules[0]
        policies = ", ".join(f'"{one.policy}";q={one.limit};w={WINDOW * one.minutes}' for one in self.rules)
        return {"RateLimit-Policy": policies, "RateLimit": f'"{shown.policy}";r={self.remaining};t={self.reset}'}


def outbound_rule(limit: int) -> RateLimitRule:
    """Return the rule that e-mails and messages to webhooks are charged to together."""
    return RateLimitRule("outbound", "", limit)


class RateLimitUsage(NamedTuple):
    """
    :param used: operations in the window
    :param reset: seconds until one less is counted
    """

    used: int
    reset: int


class RateLimiter:
    """
    :param redis_url: where all servers count together; empty: this process counts alone
    :param timeout: seconds until a silent Redis counts as down
    :param rest: seconds that a Redis which failed is left alone
    """

    def __init__(self, redis_url: str = "", *, timeout: float = 0.5, rest: float = 5.0) -> None:
        self._in_process = MovingWindowRateLimiter(MemoryStorage())
        self._pool = redis_pool(redis_url, timeout=timeout, connections=_CONNECTIONS) if redis_url else None
        self._shared = MovingWindowRateLimiter(_storage(self._pool)) if self._pool is not None else None
        self._breaker = RedisBreaker(self._pool, rest)
        # A burst waits for its turn here: a pool without a free connection would look like a Redis that is down.
        self._turns = asyncio.Semaphore(_CONNECTIONS)

    async def take(self, rules: Sequence[RateLimitRule]) -> RateLimitResult:
        """Count one operation, rule after rule, until one is used up."""
        return await self._counting(_take, rules)

    async def usage(self, rules: Sequence[RateLimitRule]) -> list[RateLimitUsage]:
        """Return how much of each rule is used, and count nothing."""
        return await self._counting(_usages, rules)

    async def seconds_left(self, rule: RateLimitRule) -> int:
        """Return the seconds until the rule has room, 0 where it has some; count nothing."""
        usages = await self.usage([rule]) if rule.limit else []
        return next((usage.reset for usage in usages if usage.used >= rule.limit), 0)

    async def clear(self, rules: Sequence[RateLimitRule]) -> None:
        """Forget what was counted."""
        await self._counting(_forget, rules)

    async def _counting(
        self,
        work: Callable[[MovingWindowRateLimiter, Sequence[RateLimitRule]], Awaitable[T]],
        rules: Sequence[RateLimitRule],
    ) -> T:
        if self._shared is not None and not self._breaker.is_open:
            async with self._turns:
                if not self._breaker.is_open:  # Redis may have failed while this one waited for its turn
                    try:
                        return await work(self._shared, rules)
                    except (StorageError, *REDIS_ERRORS) as fault:
                        await self._breaker.trip()
                        log.warning("limits.counting_in_process", error=f"{type(fault).__name__}: {fault}"[:300])
        return await work(self._in_process, rules)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()


async def _take(limiter: MovingWindowRateLimiter, rules: Sequence[RateLimitRule]) -> RateLimitResult:
    refused = None
    for rule in rules:
        if not await _hit(limiter, rule):
            refused = rule
            break
    shown = refused or rules[0]
    usage = await _usage(limiter, shown)
    return RateLimitResult(tuple(rules), refused, 0 if refused else max(shown.limit - usage.used, 0), usage.reset)


async def _usages(limiter: MovingWindowRateLimiter, rules: Sequence[RateLimitRule]) -> list[RateLimitUsage]:
    return [await _usage(limiter, rule) for rule in rules]


async def _forget(limiter: MovingWindowRateLimiter, rules: Sequence[RateLimitRule]) -> None:
    for rule in rules:
        await limiter.clear(rule.window, rule.policy, rule.subject)


async def _hit(limiter: MovingWindowRateLimiter, rule: RateLimitRule) -> bool:
    counter, names = _counter(limiter, rule), (rule.window, rule.policy, rule.subject)
    # What is refused counts nothing: an upload that is too large leaves room for a smaller one. A moving window keeps to that itself.
    if counter is not limiter and not await counter.test(*names, cost=rule.cost):
        return False
    return await counter.hit(*names, cost=rule.cost)


def _counter(limiter: MovingWindowRateLimiter, rule: RateLimitRule) -> MovingWindowRateLimiter | FixedWindowRateLimiter:
    # A moving window stores an entry for each unit: too many where bytes are counted.
    return FixedWindowRateLimiter(limiter.storage) if rule.minutes >= DAY else limiter


async def _usage(limiter: MovingWindowRateLimiter, rule: RateLimitRule) -> RateLimitUsage:
    stats = await _counter(limiter, rule).get_window_stats(rule.window, rule.policy, rule.subject)
    reset = max(1, min(WINDOW * rule.minutes, round(stats.reset_time - epoch())))
    return RateLimitUsage(rule.limit - max(stats.remaining, 0), reset)


def _storage(pool: BlockingConnectionPool) -> Storage:
    options: dict[str, Any] = {"connection_pool": pool}  # the library hands it on to redis-py
    return RedisStorage("async+redis://", implementation="redispy", key_prefix="saraban:rate", **options)
