"""State transitions of a number (REQ-NUM-12), and retry budgets (REQ-LCK-06 to -08)."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from saraban.kit.errors import ASK_ADMIN, REFRESH, RETRY, DomainError, ErrorKind, Invalid, Text, invalid, required
from saraban.kit.text import control_character, fold
from saraban.numbering.series.domain.states import NumberState

SHORTEST_REASON, LONGEST_REASON = 5, 500
SHORTEST_RESET_REASON = 20  # it makes numbers come again


@dataclass(frozen=True, slots=True)
class NumberErrorFilters:
    """:param until: exclusive"""

    kind: str | None = None
    username: str | None = None
    trace: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class NumberActor(StrEnum):
    RESERVER = "the one who reserved it"
    TIMER = "the system's timer"
    DOCUMENT = "its document"
    ADMINISTRATOR = "a project administrator"


# Required source state by target state and actor.
TRANSITIONS = {
    (NumberState.CONFIRMED, NumberActor.RESERVER): NumberState.RESERVED,
    (NumberState.CANCELLED, NumberActor.RESERVER): NumberState.RESERVED,
    (NumberState.EXPIRED, NumberActor.TIMER): NumberState.RESERVED,
    (NumberState.VOID, NumberActor.ADMINISTRATOR): NumberState.CONFIRMED,
    (NumberState.VOID, NumberActor.DOCUMENT): NumberState.CONFIRMED,
    (NumberState.CANCELLED, NumberActor.DOCUMENT): NumberState.CONFIRMED,
}


def required_state(target: NumberState, actor: NumberActor) -> NumberState:
    """:raises KeyError: for an undefined transition, which is a programming error"""
    return TRANSITIONS[target, actor]


class ReservationExpired(DomainError):
    """The reservation's expiry has passed, even if the timer has not marked it yet."""

    kind, code = ErrorKind.GONE, "RESERVATION_EXPIRED"
    says = Text("การจองเลขที่นี้หมดอายุแล้ว", "This reservation has expired.")
    recovery = (Text("จองเลขที่ใหม่", "Reserve a new number."),)


class NumberNotInState(DomainError):
    """The number's status does not allow this transition."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_STATE_CONFLICT"
    says = Text(
        "สถานะปัจจุบันของเลขที่ “{number}” ไม่อนุญาตให้ทำรายการนี้",
        "The status of the number “{number}” does not allow this.",
    )
    recovery = (REFRESH,)


class NumberHeld(DomainError):
    """A document carries the number; only the document's own operations may void it."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_HELD"
    says = Text("เลขที่ “{number}” มีเอกสารใช้อยู่", "The number “{number}” is used by a document.")
    recovery = (Text("ยกเลิกเอกสาร หรือออกเลขที่ใหม่ให้เอกสาร", "Cancel the document, or renumber it."),)


class NumberInRange(DomainError):
    """The number is in a blocked range, or in a range reserved for another organization."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_IN_RANGE"
    says = Text(
        "เลขที่ “{number}” อยู่ในช่วง {first}–{last} ซึ่งระงับการใช้ หรือจองไว้ให้องค์กรอื่น",
        "The number “{number}” is in the range {first}–{last}, which is blocked or reserved for another organization.",
    )
    recovery = (Text("ระบุเลขอื่น หรือปลดช่วงเลขนั้นก่อน", "Enter another number, or release the range first."),)


def checked_reason(reason: str, *, shortest: int = SHORTEST_REASON) -> str:
    """:raises Invalid: at `/reason`"""
    text = fold(reason).strip()
    if not text:
        raise required("/reason")
    if len(text) < shortest:
        raise _refusal(
            "too_short", "ต้องมีอย่างน้อย {least} ตัวอักษร", "At least {least} characters are required.", least=shortest
        )
    if len(text) > LONGEST_REASON:
        raise _refusal(
            "too_long", "ยาวได้ไม่เกิน {most} ตัวอักษร", "At most {most} characters are allowed.", most=LONGEST_REASON
        )
    if control_character(text) is not None:
        raise _refusal("control_character", "มีอักขระควบคุมที่ใช้ไม่ได้", "It has a character that cannot be used.")
    return text


def _refusal(code: str, th: str, en: str, **values: object) -> Invalid:
    return invalid("/reason", code, th, en, **values)


class Failure(StrEnum):
    """The value is the `reason` label of `docnum_retry_total`."""

    LOCK = "lock_timeout"
    CONFLICT = "version_conflict"
    CONNECTION = "database_connection"
    COLLISION = "database_collision"
    TAKEN = "number_taken"


class NumberingBusy(DomainError):
    """Another request held the series for the whole permitted time (REQ-LCK-06)."""

    kind, code = ErrorKind.BUSY, "NUMBERING_BUSY"
    says = Text("ระบบกำลังยุ่ง กรุณาลองใหม่ภายหลัง", "The system is busy. Please try again later.")
    recovery = (RETRY,)


class NumberingConflict(DomainError):
    """Other requests changed the counter on every attempt (REQ-LCK-07)."""

    kind, code = ErrorKind.CONFLICT, "NUMBERING_CONFLICT"
    says = Text("เลขที่เอกสารถูกเปลี่ยน กรุณาลองใหม่", "The document number has changed. Please try again.")
    recovery = (REFRESH,)


class NumberingFailed(DomainError):
    """The database could not be reached on any attempt (REQ-LCK-08)."""

    kind, code = ErrorKind.BUSY, "NUMBERING_DATABASE_ERROR"
    says = Text(
        "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ", "Something went wrong in the system. Please contact the administrator."
    )
    recovery = (RETRY, ASK_ADMIN)


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """
    :param pause: seconds before the first retry after a lock timeout or lost connection; doubles with each retry
    :param deadline: seconds that limit waiting for the series and all retries together
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
            # Skipping a taken number is no conflict and spends no retry (REQ-NUM-05).
            Failure.TAKEN: math.inf,
        }[failure]


@dataclass(slots=True)
class Attempts:
    """:param met: failure that last blocked the series, of any request"""

    budget: RetryBudget
    failures: Counter[Failure] = field(default_factory=Counter)
    met: Failure | None = None

    @property
    def retries(self) -> int:
        """Failed attempts for the audit; skipped taken numbers do not count."""
        return sum(count for failure, count in self.failures.items() if failure is not Failure.TAKEN)

    def left(self, elapsed: float) -> float:
        return max(self.budget.deadline - elapsed, 0.0)

    def after(self, failure: Failure, *, elapsed: float) -> float:
        """
        Record a failure and return the seconds until the next attempt.

        :raises NumberingBusy, NumberingConflict, NumberingFailed: when this class's budget or the time is used up
        """
        self.met = failure
        self.failures[failure] += 1
        count = self.failures[failure]
        if count > self.budget.allows(failure):
            raise _END[failure](retry_after=3)
        delay = _delay(failure, count, self.budget.pause)
        if elapsed + delay >= self.budget.deadline:
            raise self.too_late()
        return delay

    def too_late(self) -> DomainError:
        """Return the error at the deadline: a database that does not answer is not "busy"."""
        return (NumberingFailed if self.met is Failure.CONNECTION else NumberingBusy)(retry_after=3)


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
