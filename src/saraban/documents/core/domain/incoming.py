"""What came from outside bears dates of its own: the sender's date and the day on which it was received."""

from datetime import date, timedelta
from typing import Literal

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
