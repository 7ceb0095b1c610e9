"""Dates in words and figures, and dates as people type them. Nothing here reads the clock."""

import re
from datetime import date, datetime, time, timedelta
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from babel.dates import get_month_names

from saraban.kit.errors import Text, invalid
from saraban.kit.text import ascii_digits, normal_form

BUDDHIST_OFFSET = 543


def local_date(moment: datetime, zone: ZoneInfo) -> date:
    """Return the calendar day in the deployment's zone (REQ-NUM-29)."""
    return moment.astimezone(zone).date()


def moments_of_days(first: date | None, last: date | None, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
    """:raises Invalid: at `query:until`, when the last day is before the first"""
    if first and last and last < first:
        raise invalid("query:until", "before_start", "วันสุดท้ายต้องไม่อยู่ก่อนวันแรก", "The last day is before the first one.")
    begin = datetime.combine(first, time.min, tzinfo=zone) if first else None
    return begin, datetime.combine(last + timedelta(days=1), time.min, tzinfo=zone) if last else None


@cache
def _months(language: str) -> tuple[str, ...]:
    return tuple(get_month_names("abbreviated", locale=language).values())


def date_in_words(day: date, language: str) -> str:
    year = day.year + BUDDHIST_OFFSET if language == "th" else day.year
    return f"{day.day} {_months(language)[day.month - 1]} {year}"


EARLIEST_BUDDHIST: Final = 2400
_YEARS: Final = range(1900, 2201)
_MOST: Final = 60
_FAULTS: Final = {
    "malformed": Text("ต้องเป็นวันที่ เช่น 31/12/2569", "This must be a date such as 31/12/2026 or 2026-12-31."),
    "two_digit_year": Text("เขียนปีเป็นเลขสี่หลัก เช่น 2569", "Write the year in four digits, such as 2026 or 2569."),
    "no_such_day": Text("ไม่มีวันนี้ในปฏิทิน ให้เขียนวันก่อนเดือน", "There is no such day. Write the day before the month."),
    "has_time": Text("ระบุเฉพาะวันที่ ไม่ต้องระบุเวลา", "Write the day alone, without a time."),
    "out_of_range": Text("ปีต้องอยู่ระหว่าง พ.ศ. 2443 ถึง 2743", "The year must be 1900 to 2200 (B.E. 2443 to 2743)."),
}
_BUDDHIST, _COMMON = r"พ\.? ?ศ\.?|พุทธศักราช|b\.? ?e\.?", r"ค\.? ?ศ\.?|คริสต์ศักราช|a\.? ?d\.?|c\.? ?e\.?"
_YEAR: Final = (
    rf"(?:(?P<be>{_BUDDHIST})|(?P<ad>{_COMMON}))? ?(?P<year>\d{{4}}|\d\d)"
    rf"(?: ?\(?(?:(?P<be_after>{_BUDDHIST})|(?P<ad_after>{_COMMON}))\)?)?"
)
_TIME: Final = r"(?:[t ] ?(?:เวลา ?)?(?P<time>\d{1,2}[:.]\d\d.*))?"
_WEEKDAY: Final = r"(?:(?:ลง)?(?:วัน)?[ก-๎]*ที่ ?|(?:อา|จ|อ|พ|พฤ|ศ|ส)\. ?|(?:mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?[,.]{0,2} )?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of )?"
_NAME: Final = r"(?:เดือน ?)?(?P<month>[^\W\d_]\D*?)"
_SPELLINGS: Final = tuple(
    re.compile(_WEEKDAY + spelling + _TIME)
    for spelling in (
        rf"{_YEAR} ?[-/.] ?(?P<month>\d{{1,2}}) ?[-/.] ?(?P<day>\d{{1,2}})",
        rf"(?P<day>\d{{1,2}}) ?[-/. ] ?(?P<month>\d{{1,2}}) ?[-/. ] ?{_YEAR}",
        rf"{_DAY}[-/., ]*{_NAME}[-/., ]*{_YEAR}",
        rf"{_NAME}[-/., ]*{_DAY}[-/., ]+{_YEAR}",
    )
)
_MIDNIGHT: Final = re.compile(r"0?0[:.]00(?:[:.]00(?:\.0+)?)?(?: ?น\.?)?|12[:.]00(?:[:.]00)? ?(?:a\.?m\.?|ก่อนเที่ยง)")


def read_date(typed: str, pointer: str = "") -> date:
    """
    Read a typed date: day or year first, months in figures or Thai and English names.
    A year from 2400 on is Buddhist. Midnight after the day, as spreadsheets write it, is ignored.
    :raises Invalid: naming `pointer`
    """
    result = _date_or_fault(typed) if len(typed) <= _MOST else "malformed"
    if isinstance(result, date):
        return result
    raise invalid(pointer, result, _FAULTS[result].th, _FAULTS[result].en)


def parse_date(typed: str) -> date | None:
    result = _date_or_fault(typed) if len(typed) <= _MOST else None
    return result if isinstance(result, date) else None


@lru_cache(maxsize=4096)
def _date_or_fault(typed: str) -> date | str:
    """Return the date, or the code of the fault."""
    plain = ascii_digits(normal_form(typed))
    spellings = _SPELLINGS if len(plain) <= _MOST else ()
    match = next((match for spelling in spellings if (match := spelling.fullmatch(plain))), None)
    month_text = match["month"] if match else ""
    month = int(month_text) if month_text.isdecimal() else _month_names().get(_letters(month_text))
    if match is None or month is None:
        return "malformed"
    if len(match["year"]) == 2:
        return "two_digit_year"
    if match["time"] and not _MIDNIGHT.fullmatch(match["time"]):
        return "has_time"
    year = int(match["year"])
    if match["be"] or match["be_after"] or (year >= EARLIEST_BUDDHIST and not (match["ad"] or match["ad_after"])):
        year -= BUDDHIST_OFFSET
    if year not in _YEARS:
        return "out_of_range"
    try:
        return date(year, month, int(match["day"]))
    except ValueError:
        return "no_such_day"


@cache
def _month_names() -> dict[str, int]:
    names = {
        _letters(name): number
        for language in ("th", "en")
        for width in ("abbreviated", "wide")
        for number, name in get_month_names(width, locale=language).items()
    }
    return names | {"sept": 9}


def _letters(name: str) -> str:
    return name.replace(".", "").replace(" ", "").lower()


def date_in_figures(day: date, language: str) -> str:
    return f"{day:%d/%m}/{day.year + BUDDHIST_OFFSET if language == 'th' else day.year}"
