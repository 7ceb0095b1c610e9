"""The time, in one place, so that a test can hold it still and an administrator can choose its zone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from time import monotonic
from typing import Protocol
from zoneinfo import ZoneInfo

BUDDHIST_OFFSET = 543


class Clock(Protocol):
    """Two ship: the system's, and one that stands still until it is told otherwise."""

    zone: ZoneInfo

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


def local_date(moment: datetime, zone: ZoneInfo) -> date:
    """This will give the calendar day of a moment in the deployment's zone (ruling N5)."""
    return moment.astimezone(zone).date()


def stopwatch() -> float:
    """This will give seconds on a clock that never goes back, for durations only."""
    return monotonic()
