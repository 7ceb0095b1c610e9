"""Days and eras, computed and never asked for: whoever needs the present moment is given it (`kit.clock`)."""

from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

BUDDHIST_OFFSET = 543


def local_date(moment: datetime, zone: ZoneInfo) -> date:
    """This will give the calendar day of a moment in the deployment's zone (ruling N5)."""
    return moment.astimezone(zone).date()


_MONTHS: Final[dict[str, tuple[str, ...]]] = {
    "th": ("ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.", "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.", "พ.ย.", "ธ.ค."),
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
}


def day_in_words(day: date, language: str) -> str:
    """This will write a date: 20 พ.ย. 2569, or 20 Nov 2026."""
    year = day.year + BUDDHIST_OFFSET if language == "th" else day.year
    return f"{day.day} {_MONTHS[language][day.month - 1]} {year}"
