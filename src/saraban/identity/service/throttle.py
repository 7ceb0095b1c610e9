"""Queue and count log-ins by address: parallel guesses must not exceed the limit."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Final

import structlog
from prometheus_client import Counter

from saraban.identity.domain.throttle import (
    FailedLogIns,
    ThrottleRules,
    delay,
    must_wait,
    network_of,
    password_check_timeout,
)
from saraban.identity.service.passwords import PasswordsBusy
from saraban.kit.admission import slot_released
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.ids import new_secret
from saraban.kit.rate_limits import RateLimiter, RateLimitRule

DEVICE_COOKIE_LIFE: Final = timedelta(days=365)


class DeviceCookies:
    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"device cookies", hashlib.sha256)

    def issue(self, name: str, *, now: datetime) -> str:
        stated = f"{new_secret(12)}.{int((now + DEVICE_COOKIE_LIFE).timestamp())}"
        return f"{stated}.{self._seal(stated, name)}"

    def device(self, cookie: str, *, name: str, now: datetime) -> str | None:
        """Return None for a forged, expired or other name's cookie."""
        stated, _, seal = cookie.rpartition(".")
        if not hmac.compare_digest(seal.encode(errors="replace"), self._seal(stated, name).encode()):
            return None
        device, _, expires = stated.partition(".")
        return device if now.timestamp() < int(expires) else None

    def _seal(self, stated: str, name: str) -> str:
        text = f"{stated}\n{name}".encode(errors="surrogatepass")
        return hmac.digest(self._key, text, hashlib.sha256).hex()


log = structlog.get_logger(__name__)

LOG_INS: Final = Counter("saraban_log_ins_total", "Attempts to log in, by what came of them", ["outcome"])
_MOST_WAITING = 50  # log-ins of one address, delayed or queued
_LONGEST: Final = 5.0  # seconds until each log-in has a response
_DELAYED: Final = 4  # failures over the limit that still lengthen the delay


class LogInThrottled(DomainError):
    """
    Too many log-ins from this address failed, at one name or at many. Other addresses may still log in, and this one
    may again after the time; `saraban user unlock` ends the delay of a name sooner.
    """

    kind, code = ErrorKind.THROTTLED, "LOGIN_THROTTLED"
    says = Text(
        "เข้าสู่ระบบไม่สำเร็จหลายครั้งเกินไป กรุณาลองใหม่ใน {minutes} นาที",
        "Too many failed sign-ins. Try again in {minutes} minutes.",
    )
    recovery = (
        Text("รอจนครบเวลาแล้วลองใหม่", "Wait, then try again."),
        Text("หากลืมรหัสผ่าน ติดต่อผู้ดูแลระบบ", "If you forgot your password, contact the administrator."),
    )


@dataclass(slots=True)
class _AddressQueue:
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class LogInAttempt:
    """`place` is an address or a known browser; `address` is None for the latter."""

    place: str
    here: RateLimitRule
    name: RateLimitRule
    address: RateLimitRule | None


class LogInThrottle:
    def __init__(self, limiter: RateLimiter, rules: ThrottleRules, *, key: str) -> None:
        self.rules = rules
        self._limiter, self._key = limiter, key.encode()
        self._queues: dict[str, _AddressQueue] = {}
        self.cookies = DeviceCookies(self._key)

    def attempt(self, *, name: str, address: str, unlocked: datetime | None, device: str | None = None) -> LogInAttempt:
        text = f"{name}\n{unlocked.timestamp() if unlocked else ''}"
        digest = hmac.digest(self._key, text.encode(errors="surrogatepass"), hashlib.sha256).hex()[:32]
        network, rules = network_of(address), self.rules
        place = network if device is None else f"device {device}"
        return LogInAttempt(
            place,
            RateLimitRule("login_here", f"{place} {digest}", rules.attempts, rules.minutes),
            RateLimitRule("login_name", digest, rules.attempts + _DELAYED, rules.minutes),
            RateLimitRule("login_address", network, rules.of_address or 1) if device is None else None,
        )

    @asynccontextmanager
    async def turn(self, attempt: LogInAttempt) -> AsyncIterator[float]:
        """
        Wait for the turn; yield the seconds that the check may wait for argon2.

        :raises LogInThrottled, PasswordsBusy:
        """
        queue = self._queues.setdefault(attempt.place, _AddressQueue())
        if queue.waiting >= _MOST_WAITING:
            LOG_INS.labels("busy").inc()
            raise PasswordsBusy(retry_after=_MOST_WAITING / 10)
        queue.waiting += 1
        try:
            async with asyncio.timeout(_LONGEST):
                with slot_released():
                    await asyncio.sleep(delay(await self._require_allowed(attempt), self.rules))
                    await queue.turn.acquire()
                try:
                    yield password_check_timeout(
                        await self._require_allowed(attempt)
                    )  # earlier log-ins may have failed meanwhile
                finally:
                    queue.turn.release()
        except PasswordsBusy:
            LOG_INS.labels("busy").inc()
            raise
        except TimeoutError as late:
            LOG_INS.labels("busy").inc()
            raise PasswordsBusy(retry_after=_LONGEST) from late
        finally:
            queue.waiting -= 1
            if not queue.waiting:
                del self._queues[attempt.place]

    async def failed(self, attempt: LogInAttempt) -> bool:
        """Return whether this address has to wait from now on."""
        LOG_INS.labels("wrong").inc()
        for rule in filter(None, (attempt.here, attempt.name, attempt.address)):
            await self._limiter.take([rule])
        counted = (await self._count_failures(attempt))[0]
        if self.rules.of_address and counted.address == self.rules.of_address:
            log.warning("login.address_throttled", address=attempt.place)
        return counted.here == self.rules.attempts

    async def succeeded(self, attempt: LogInAttempt) -> None:
        LOG_INS.labels("success").inc()
        await self._limiter.clear([attempt.here])

    async def _require_allowed(self, attempt: LogInAttempt) -> FailedLogIns:
        failures, wait = await self._count_failures(attempt)
        if must_wait(failures, self.rules):
            LOG_INS.labels("throttled").inc()
            raise LogInThrottled(values={"minutes": ceil(wait / 60)}, retry_after=wait)
        return failures

    async def _count_failures(self, attempt: LogInAttempt) -> tuple[FailedLogIns, int]:
        """Return the failures, and the seconds until one expires."""
        rules = filter(None, (attempt.here, attempt.name, attempt.address))
        here, name, *rest = await self._limiter.usage(list(rules))
        wait = here.reset if here.used >= self.rules.attempts or not rest else rest[0].reset
        return FailedLogIns(here.used, name.used, rest[0].used if rest else 0, known=not rest), wait
