"""The clock. Tests replace it, and an administrator chooses its zone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic, time
from typing import Protocol
from zoneinfo import ZoneInfo

from saraban.kit.dates import local_date

__all__ = ["Clock", "FixedClock", "SystemClock", "epoch", "local_date", "micros", "moment_of", "stopwatch"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    @property
    def zone(self) -> ZoneInfo: ...

    def now(self) -> datetime: ...


@dataclass(frozen=True)
class SystemClock:
    zone: ZoneInfo

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass
class FixedClock:
    at: datetime
    zone: ZoneInfo

    def now(self) -> datetime:
        return self.at


def stopwatch() -> float:
    return monotonic()


def epoch() -> float:
    """For libraries that need it. Do not store the result."""
    return time()


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment_of(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)
