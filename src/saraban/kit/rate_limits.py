"""
Rate limits per minute, counted in Redis for all servers, or in this process.

After a Redis error each process counts by itself for a while, so no request waits for a timeout.
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
    :param policy: name in the headers, such as `user`
    :param subject: whose operations are counted; empty counts all together
    :param limit: operations per `minutes`
    :param cost: more than 1 only with a window of a day
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
    :param remaining: of the first rule, or 0 when refused
    :param reset: seconds until one more operation is allowed
    """

    rules: tuple[RateLimitRule, ...]
    refused: RateLimitRule | None
    remaining: int
    reset: int

    @property
    def headers(self) -> dict[str, str]:
        rule = self.refused or self.rules[0]
        policies = ", ".join(f'"{rule_.policy}";q={rule_.limit};w={WINDOW * rule_.minutes}' for rule_ in self.rules)
        return {"RateLimit-Policy": policies, "RateLimit": f'"{rule.policy}";r={self.remaining};t={self.reset}'}


def outbound_rule(limit: int) -> RateLimitRule:
    return RateLimitRule("outbound", "", limit)


class RateLimitUsage(NamedTuple):
    used: int
    reset: int


class RateLimiter:
    """
    :param redis_url: empty counts in this process alone
    :param timeout: seconds until a silent Redis counts as down
    :param rest: seconds without requests to a Redis that failed
    """

    def __init__(self, redis_url: str = "", *, timeout: float = 0.5, rest: float = 5.0) -> None:
        self._in_process = MovingWindowRateLimiter(MemoryStorage())
        self._pool = redis_pool(redis_url, timeout=timeout, connections=_CONNECTIONS) if redis_url else None
        self._shared = MovingWindowRateLimiter(_storage(self._pool)) if self._pool is not None else None
        self._breaker = RedisBreaker(self._pool, rest)
        # A burst waits here: an exhausted pool would look like a Redis that is down.
        self._turns = asyncio.Semaphore(_CONNECTIONS)

    async def take(self, rules: Sequence[RateLimitRule]) -> RateLimitResult:
        """Count in each rule, up to the first exhausted one."""
        return await self._run_on_counter(_take, rules)

    async def usage(self, rules: Sequence[RateLimitRule]) -> list[RateLimitUsage]:
        return await self._run_on_counter(_list_usages, rules)

    async def seconds_left(self, rule: RateLimitRule) -> int:
        usages = await self.usage([rule]) if rule.limit else []
        return next((usage.reset for usage in usages if usage.used >= rule.limit), 0)

    async def clear(self, rules: Sequence[RateLimitRule]) -> None:
        await self._run_on_counter(_clear, rules)

    async def _run_on_counter(
        self,
        work: Callable[[MovingWindowRateLimiter, Sequence[RateLimitRule]], Awaitable[T]],
        rules: Sequence[RateLimitRule],
    ) -> T:
        if self._shared is not None and not self._breaker.is_open:
            async with self._turns:
                if not self._breaker.is_open:  # Redis may have failed during the wait
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
    rule_shown = refused or rules[0]
    usage = await _usage(limiter, rule_shown)
    return RateLimitResult(tuple(rules), refused, 0 if refused else max(rule_shown.limit - usage.used, 0), usage.reset)


async def _list_usages(limiter: MovingWindowRateLimiter, rules: Sequence[RateLimitRule]) -> list[RateLimitUsage]:
    return [await _usage(limiter, rule) for rule in rules]


async def _clear(limiter: MovingWindowRateLimiter, rules: Sequence[RateLimitRule]) -> None:
    for rule in rules:
        await limiter.clear(rule.window, rule.policy, rule.subject)


async def _hit(limiter: MovingWindowRateLimiter, rule: RateLimitRule) -> bool:
    counter, names = _counter(limiter, rule), (rule.window, rule.policy, rule.subject)
    # A refused upload must not count, so that a smaller one still fits. A moving window does this itself.
    if counter is not limiter and not await counter.test(*names, cost=rule.cost):
        return False
    return await counter.hit(*names, cost=rule.cost)


def _counter(limiter: MovingWindowRateLimiter, rule: RateLimitRule) -> MovingWindowRateLimiter | FixedWindowRateLimiter:
    # A moving window stores an entry per unit, which is too much for bytes.
    return FixedWindowRateLimiter(limiter.storage) if rule.minutes >= DAY else limiter


async def _usage(limiter: MovingWindowRateLimiter, rule: RateLimitRule) -> RateLimitUsage:
    stats = await _counter(limiter, rule).get_window_stats(rule.window, rule.policy, rule.subject)
    reset = max(1, min(WINDOW * rule.minutes, round(stats.reset_time - epoch())))
    return RateLimitUsage(rule.limit - max(stats.remaining, 0), reset)


def _storage(pool: BlockingConnectionPool) -> Storage:
    options: dict[str, Any] = {"connection_pool": pool}  # the library passes it to redis-py
    return RedisStorage("async+redis://", implementation="redispy", key_prefix="saraban:rate", **options)
