"""
What to do after an attempt at a number failed: again, when, on which path, or no more (REQ-LCK-06, REQ-LCK-07, REQ-LCK-08).

Each class of failure has its own budget. Pure: counts in, a decision out.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from saraban.kit.errors import ASK_ADMIN, REFRESH, RETRY, DomainError, ErrorKind, Text


class Failure(StrEnum):
    """Why an attempt ended; the value is the `reason` label of `docnum_retry_total`."""

    LOCK = "lock_timeout"
    CONFLICT = "version_conflict"
    CONNECTION = "database_connection"
    COLLISION = "database_collision"
    TAKEN = "number_taken"


class NumberingBusy(DomainError):
    """Another request kept the series for the whole time that was allowed (REQ-LCK-06)."""

    kind, code = ErrorKind.BUSY, "NUMBERING_BUSY"
    says = Text("ระบบกำลังยุ่ง กรุณาลองใหม่ภายหลัง", "The system is busy. Please try again later.")
    recovery = (RETRY,)


class NumberingConflict(DomainError):
    """The counter was changed by another request on every attempt (REQ-LCK-07)."""

    kind, code = ErrorKind.CONFLICT, "NUMBERING_CONFLICT"
    says = Text("เลขที่เอกสารถูกเปลี่ยน กรุณาลองใหม่", "The document number has changed. Please try again.")
    recovery = (REFRESH,)


class NumberingFailed(DomainError):
    """The database could not be reached on any attempt (REQ-LCK-08)."""

    kind, code = ErrorKind.BROKEN, "NUMBERING_DATABASE_ERROR"
    says = Text(
        "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ", "Something went wrong in the system. Please contact the administrator."
    )
    recovery = (RETRY, ASK_ADMIN)


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """
    How often each class of failure is tried again; every figure is a setting.

    :param pause: seconds before the first retry after a lock timeout or a lost connection; each further pause is twice as long
    :param deadline: seconds in which waiting for the series and every rerun that costs no budget must end
    """

    lock: int = 5
    conflict: int = 2
    connection: int = 3
    collision: int = 10
    pause: float = 1.0
    deadline: float = 35.0

    def allows(self, failure: Failure) -> float:
        return {
            Failure.LOCK: self.lock,
            Failure.CONFLICT: self.conflict,
            Failure.CONNECTION: self.connection,
            Failure.COLLISION: self.collision,
            # A taken number is stepped over; that is no conflict and spends no retry (REQ-NUM-05).
            Failure.TAKEN: math.inf,
        }[failure]


@dataclass(frozen=True, slots=True)
class RetryDelay:
    """Try once more, `delay` seconds from now."""

    delay: float


@dataclass(slots=True)
class Attempts:
    """
    The failures of one request so far.

    :param met: what kept its series last, whoever's attempt it was
    """

    budget: RetryBudget
    failures: Counter[Failure] = field(default_factory=Counter)
    met: Failure | None = None

    @property
    def retries(self) -> int:
        """Attempts after the first, as the audit keeps them."""
        return sum(count for failure, count in self.failures.items() if failure is not Failure.TAKEN)

    def left(self, elapsed: float) -> float:
        """Return the seconds that may still be spent waiting."""
        return max(self.budget.deadline - elapsed, 0.0)

    def after(self, failure: Failure, *, elapsed: float) -> RetryDelay:
        """
        Return when to try again.

        :param elapsed: seconds since the request arrived
        :raises NumberingBusy, NumberingConflict, NumberingFailed: when the budget of this class is spent
        """
        self.met = failure
        self.failures[failure] += 1
        count = self.failures[failure]
        if count > self.budget.allows(failure):
            raise _END[failure](retry_after=3 if failure is not Failure.CONNECTION else None)
        delay = _delay(failure, count, self.budget.pause)
        if elapsed + delay >= self.budget.deadline:
            raise self.too_late()
        return RetryDelay(delay)

    def too_late(self) -> DomainError:
        """Return what a request is told at its deadline: a database that does not answer is not "busy"."""
        return NumberingFailed() if self.met is Failure.CONNECTION else NumberingBusy(retry_after=3)


_END: dict[Failure, type[DomainError]] = {
    Failure.LOCK: NumberingBusy,
    Failure.CONFLICT: NumberingConflict,
    Failure.CONNECTION: NumberingFailed,
    Failure.COLLISION: NumberingBusy,
}


def _delay(failure: Failure, count: int, pause: float) -> float:
    if failure in {Failure.LOCK, Failure.CONNECTION}:
        return float(pause * 2 ** (count - 1))
    return 0.02 * count if failure is Failure.COLLISION else 0.0
