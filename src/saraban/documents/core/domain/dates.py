"""Due dates: the last day on which an answer is in time; the day after it, the document is overdue."""

from datetime import date


def is_overdue(due: date | None, *, today: date, closed: bool) -> bool:
    """Return whether an open document's day has passed; what is closed is never overdue."""
    return due is not None and not closed and today > due


def earliest_due(document_date: date | None, *, today: date) -> date:
    """Return the first acceptable due date: the document's own date, or today when that is later."""
    return max(document_date or today, today)
