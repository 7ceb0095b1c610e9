"""
Working days: weekend, public holidays of the `holidays` package, and exceptions.

Public holidays are those of government offices, with Labour Day. Special days, the ploughing ceremony and years outside
of `YEARS` are for each project to add.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cache
from typing import Final, Literal, get_args

from saraban.kit.errors import Text

Weekday = Literal["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]
WEEKDAYS: Final[tuple[Weekday, ...]] = get_args(Weekday)
USUAL_WEEKEND: Final[tuple[Weekday, ...]] = ("SATURDAY", "SUNDAY")


class DayKind(StrEnum):
    HOLIDAY = "HOLIDAY"
    WORKING = "WORKING"


class DaySource(StrEnum):
    PUBLIC = "PUBLIC"
    PROJECT = "PROJECT"


@dataclass(frozen=True, slots=True)
class WorkCalendar:
    """`open` days are worked although they are holidays or weekend."""

    weekend: frozenset[str] = frozenset(USUAL_WEEKEND)
    closed: frozenset[date] = frozenset()
    open: frozenset[date] = frozenset()

    def __post_init__(self) -> None:
        if self.weekend >= set(WEEKDAYS):
            raise ValueError("a week without a working day has no working days to count")

    def is_working(self, day: date) -> bool:
        if day in self.open:
            return True
        return day not in self.closed and WEEKDAYS[day.weekday()] not in self.weekend


def working_days_after(calendar: WorkCalendar, start: date, count: int) -> date:
    """Return the working day `count` after `start`, or before it if negative; 0 returns `start`."""
    step = timedelta(days=1 if count >= 0 else -1)
    day, left = start, abs(count)
    while left:
        day += step
        left -= calendar.is_working(day)
    return day


def working_days_between(calendar: WorkCalendar, first: date, last: date) -> int:
    """Count working days after `first` up to `last`; negative if `last` is earlier."""
    step = timedelta(days=1 if last >= first else -1)
    day, count = first, 0
    while day != last:
        day += step
        count += calendar.is_working(day)
    return count if last >= first else -count


YEARS: Final = range(2024, 2028)
_NO_DAY_OFF: Final = "National Children's Day"  # always a Saturday, without a substitute day


@cache
def public_holidays() -> Mapping[date, Text]:
    from holidays import country_holidays  # slow import: it loads the calendars of all countries

    th, en = (
        country_holidays("TH", years=YEARS, categories=("public", "government"), language=language)
        for language in ("th", "en_US")
    )
    return {day: Text(th[day], name) for day, name in sorted(en.items()) if name != _NO_DAY_OFF}
