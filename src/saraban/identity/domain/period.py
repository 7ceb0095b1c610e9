"""Role periods: days in the deployment's zone, stored as moments, end excluded."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Self
from zoneinfo import ZoneInfo

from saraban.kit.dates import local_date
from saraban.kit.errors import Text, invalid

# The clocks of server and database may differ: a begin or end this long ago is not announced again.
CLOCK_TOLERANCE = timedelta(minutes=10)
_DAY = timedelta(days=1)
BEFORE_FROM = Text("วันสุดท้ายต้องไม่อยู่ก่อนวันแรก", "The last day is before the first.")


class PeriodState(StrEnum):
    UPCOMING = "upcoming"
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class RolePeriod:
    begins: datetime | None = None
    ends: datetime | None = None

    @classmethod
    def of_days(cls, first: date | None, last: date | None, zone: ZoneInfo) -> Self:
        """:raises Invalid:"""
        if first is not None and last is not None and last < first:
            raise invalid("/until", "before_from", BEFORE_FROM.th, BEFORE_FROM.en)
        begins = None if first is None else datetime.combine(first, time.min, zone)
        return cls(begins, None if last is None else datetime.combine(last + _DAY, time.min, zone))

    def first_day(self, zone: ZoneInfo) -> date | None:
        return None if self.begins is None else local_date(self.begins, zone)

    def last_day(self, zone: ZoneInfo) -> date | None:
        return None if self.ends is None else local_date(self.ends, zone) - _DAY

    def state(self, now: datetime) -> PeriodState:
        if self.ends is not None and self.ends <= now:
            return PeriodState.ENDED
        upcoming = self.begins is not None and self.begins > now
        return PeriodState.UPCOMING if upcoming else PeriodState.ACTIVE

    def meets(self, other: "RolePeriod", now: datetime) -> bool:
        """Return whether both count at some moment from now on."""
        begins = max(period.begins or now for period in (self, other))
        ends = [period.ends for period in (self, other) if period.ends is not None]
        return all(max(begins, now) < end for end in ends)

    def next_change(self, now: datetime) -> datetime | None:
        after = now - CLOCK_TOLERANCE
        return min((at for at in (self.begins, self.ends) if at is not None and at > after), default=None)
