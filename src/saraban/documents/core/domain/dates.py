"""
Dates of a document: the due date is the last day on which an answer is in time, and what came from outside has dates of its
own, the sender's and the day on which it was received.
"""

from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from saraban.kit.dates import local_date


def is_overdue(due: date | None, *, today: date, closed: bool) -> bool:
    """Return whether an open document's day has passed; what is closed is never overdue."""
    return due is not None and not closed and today > due


def earliest_due(document_date: date | None, *, today: date) -> date:
    """Return the first acceptable due date: the document's own date, or today when that is later."""
    return max(document_date or today, today)


AHEAD = timedelta(days=366)  # a document may be dated ahead, but no typing error of a year is a date

Fault = Literal["too_late", "before_sender"]


def date_faults(*, document: date | None, sent: date | None, received: date | None, today: date) -> dict[str, Fault]:
    """Give what is wrong with the dates of a document, by the field."""
    found: dict[str, Fault] = {}
    if document is not None and document > today + AHEAD:
        found["documentDate"] = "too_late"
    if sent is not None and sent > today:
        found["senderDate"] = "too_late"
    if received is not None and received > today:
        found["receivedDate"] = "too_late"
    elif received is not None and sent is not None and received < sent:
        found["receivedDate"] = "before_sender"
    return found


def day_of(moment: datetime | None, zone: ZoneInfo) -> date | None:
    return None if moment is None else local_date(moment, zone)


def start_of_day(day: date | None, zone: ZoneInfo) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), zone)


def end_of_day(day: date | None, zone: ZoneInfo) -> datetime | None:
    """Return the last second on which something due on `day` is in time (EC-CIRC-003)."""
    return None if day is None else datetime.combine(day, time(23, 59, 59), zone)
