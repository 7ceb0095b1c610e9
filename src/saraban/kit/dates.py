"""Days and eras, computed and never asked for: whoever needs the present moment is given it (`kit.clock`)."""

import re
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from babel.dates import get_month_names

from saraban.kit.errors import invalid

BUDDHIST_OFFSET = 543


def local_date(moment: datetime, zone: ZoneInfo) -> date:
    """Return the calendar day of a moment in the deployment's zone (REQ-NUM-29)."""
    return moment.astimezone(zone).date()


def moments_of_days(first: date | None, last: date | None, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
    """
    Return when the first day begins and the last one is over, for what is asked of a list; None leaves an end open.

    :raises Invalid: at `query:until`, when the last day is before the first one
    """
    if first and last and last < first:
        raise invalid("query:until", "before_start", "วันสุดท้ายต้องไม่อยู่ก่อนวันแรก", "The last day is before the first one.")
    begin = datetime.combine(first, time.min, tzinfo=zone) if first else None
    return begin, datetime.combine(last + timedelta(days=1), time.min, tzinfo=zone) if last else None


@cache
def _months(language: str) -> tuple[str, ...]:
    return tuple(get_month_names("abbreviated", locale=language).values())


def date_in_words(day: date, language: str) -> str:
    """Write a date: 20 พ.ย. 2569, or 20 Nov 2026."""
    year = day.year + BUDDHIST_OFFSET if language == "th" else day.year
    return f"{day.day} {_months(language)[day.month - 1]} {year}"


_EARLIEST_BUDDHIST: Final = 2400
_FIGURES_FIRST = re.compile(
    r"(?P<day>\d{1,2})\s*[-/.\s]\s*(?P<month>\d{1,2}|[^\W\d_][^\d]*?)\s*[-/.\s]\s*(?P<year>\d{4})"
)
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})")


def parse_date(typed: str) -> date | None:
    """
    Read a date as people type it: 31/12/2569, 31 ธ.ค. 2569, 31 Dec 2026, 2569-12-31; None for what is no date.

    A year from 2400 on is of the Buddhist era. Months by their names are those of `day_in_words`.
    """
    found = _YEAR_FIRST.fullmatch(typed.strip()) or _FIGURES_FIRST.fullmatch(typed.strip())
    if found is None:
        return None
    year, month = int(found["year"]), _month(found["month"])
    try:
        return date(year - BUDDHIST_OFFSET if year >= _EARLIEST_BUDDHIST else year, month, int(found["day"]))
    except ValueError:
        return None


def _month(typed: str) -> int:
    """Return the month of a name or a figure, 0 for what is none."""
    if typed.isdecimal():
        return int(typed)
    names = [[_letters(name) for name in row] for row in map(_months, ("th", "en"))]
    return next((row.index(_letters(typed)) + 1 for row in names if _letters(typed) in row), 0)


def _letters(name: str) -> str:
    return name.replace(".", "").replace(" ", "").lower()


def date_in_figures(day: date, language: str) -> str:
    """Write a date as it is typed: 31/12/2569, or 31/12/2026."""
    return f"{day:%d/%m}/{day.year + BUDDHIST_OFFSET if language == 'th' else day.year}"
