"""
Working days: a weekend, holidays, and days that are worked in spite of both. Days in, days out.

The public holidays are those that the cabinet lists for government offices, with Labour Day, which building sites keep. The
days and their names come from the `holidays` package, in which a day that falls on a weekend has its substitute beside it.
Special days that the cabinet gives late, and the ploughing ceremony until the palace has named its day, are for each project
to add, as are the years that are not in `YEARS`.
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
    """What a day is that is no ordinary one: closed, or worked although it would be closed."""

    HOLIDAY = "HOLIDAY"
    WORKING = "WORKING"


class DaySource(StrEnum):
    """Who says so: the public holidays that ship, or the project."""

    PUBLIC = "PUBLIC"
    PROJECT = "PROJECT"


@dataclass(frozen=True, slots=True)
class WorkCalendar:
    """
    When a project works. At least one weekday is no weekend, so that counting always ends.

    :param closed: holidays, whatever weekday they are
    :param open: days that are worked although they are holidays or weekend
    """

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
    """
    Return the working day that is `count` working days after `start`, or before it when `count` is negative.

    `start` itself is never counted, and is the answer for 0, be it worked or not.
    """
    step = timedelta(days=1 if count >= 0 else -1)
    day, left = start, abs(count)
    while left:
        day += step
        left -= calendar.is_working(day)
    return day


def working_days_between(calendar: WorkCalendar, first: date, last: date) -> int:
    """
    Return how many working days lie after `first`, up to and with `last`; negative when `last` comes before.

    It undoes `working_days_after`: the days between a day and the one that is `n` after it are `n`.
    """
    step = timedelta(days=1 if last >= first else -1)
    day, count = first, 0
    while day != last:
        day += step
        count += calendar.is_working(day)
    return count if last >= first else -count


YEARS: Final = range(2024, 2028)
_NO_DAY_OFF: Final = "National Children's Day"  # always a Saturday, and nobody is given another day for it


@cache
def public_holidays() -> Mapping[date, Text]:
    from holidays import country_holidays  # it loads the calendars of all countries, which few commands need

    th, en = (
        country_holidays("TH", years=YEARS, categories=("public", "government"), language=language)
        for language in ("th", "en_US")
    )
    return {day: Text(th[day], name) for day, name in sorted(en.items()) if name != _NO_DAY_OFF}
