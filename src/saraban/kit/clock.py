"""The time, in one place, so that a test can hold it still and an administrator can choose its zone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic, time
from typing import Protocol
from zoneinfo import ZoneInfo

from saraban.kit.dates import local_date

__all__ = ["Clock", "FixedClock", "SystemClock", "epoch", "local_date", "micros", "moment_of", "stopwatch"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Two ship: the system's, and one that stands still until it is told otherwise."""

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
    """Stands still at `at`; the demo uses it for documents of the past, tests for everything."""

    at: datetime
    zone: ZoneInfo

    def now(self) -> datetime:
        return self.at


def stopwatch() -> float:
    """Return seconds on a clock that never goes back, for durations only."""
    return monotonic()


def epoch() -> float:
    """Seconds since 1970, for libraries that reckon so; never for a moment that is kept."""
    return time()


def micros(moment: datetime) -> int:
    """Return the microseconds since 1970, as an index of search orders moments."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment_of(value: int) -> datetime:
    """Return the moment of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=value)
