"""The order of what happens to an instance: a step that is written later never stands before one that was written earlier."""

from datetime import datetime, timedelta

_TICK = timedelta(microseconds=1)


def not_before(newest: datetime, now: datetime) -> datetime:
    """
    Return the moment of what is written next: `now`, or just after the newest where that lies later.

    Whoever comes first may get the lock last, and the clocks of two servers differ.
    """
    return now if now >= newest else newest + _TICK
