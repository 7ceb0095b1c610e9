"""What becomes of an event whose handler failed: another try later, or the dead letters."""

from dataclasses import dataclass
from datetime import timedelta

FIRST_DELAY = timedelta(milliseconds=500)
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Try again after `delay`."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Give the event up, so that the next of its aggregate may go on."""


def next_attempt(
    attempts: int, *, expected: bool = False, limit: int = ATTEMPTS, first_delay: timedelta = FIRST_DELAY
) -> RetryAfter | GiveUp:
    """
    Return what to do after the handler's failure number `attempts` (1 for the first).

    :param expected: a broken rule stays broken, however often it is tried
    """
    if expected or attempts >= limit:
        return GiveUp()
    return RetryAfter(first_delay * 2 ** (attempts - 1))
