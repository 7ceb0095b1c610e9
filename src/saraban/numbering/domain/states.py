"""The life of a number (ruling N12): one table of who may take it from which state to which, and what refuses the rest."""

from dataclasses import dataclass
from enum import StrEnum

from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text


class NumberState(StrEnum):
    """A number's state in the ledger. Only the first two can still change."""

    RESERVED = "RESERVED"
    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    VOID = "VOID"


class NumberActor(StrEnum):
    """Who takes a step."""

    RESERVER = "the one who reserved it"
    TIMER = "the system's timer"
    DOCUMENT = "its document"
    ADMINISTRATOR = "a project administrator"


@dataclass(frozen=True, slots=True)
class NumberTransition:
    source: NumberState
    target: NumberState
    who: NumberActor


TRANSITIONS = (
    NumberTransition(NumberState.RESERVED, NumberState.CONFIRMED, NumberActor.RESERVER),
    NumberTransition(NumberState.RESERVED, NumberState.CANCELLED, NumberActor.RESERVER),
    NumberTransition(NumberState.RESERVED, NumberState.EXPIRED, NumberActor.TIMER),
    NumberTransition(NumberState.CONFIRMED, NumberState.VOID, NumberActor.ADMINISTRATOR),
    NumberTransition(NumberState.CONFIRMED, NumberState.VOID, NumberActor.DOCUMENT),
    NumberTransition(NumberState.CONFIRMED, NumberState.CANCELLED, NumberActor.DOCUMENT),
)


def required_state(target: NumberState, who: NumberActor) -> NumberState:
    """
    Return the state a number must be in for `who` to take it to `target`.

    :raises KeyError: for a step that the table does not have: a fault of ours
    """
    return {(step.target, step.who): step.source for step in TRANSITIONS}[target, who]


class ReservationExpired(DomainError):
    """The reservation's time is over, whether or not the timer has marked it."""

    kind, code = ErrorKind.GONE, "RESERVATION_EXPIRED"
    says = Text("การจองเลขที่นี้หมดอายุแล้ว", "This reservation has expired.")
    recovery = (Text("จองเลขที่ใหม่", "Reserve a new number."),)


class NumberNotInState(DomainError):
    """The number is not in the state that this step starts from."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_STATE_CONFLICT"
    says = Text(
        "สถานะปัจจุบันของเลขที่ “{number}” ไม่อนุญาตให้ทำรายการนี้",
        "The status of the number “{number}” does not allow this.",
    )
    recovery = (REFRESH,)


class NumberHeld(DomainError):
    """A number that a document carries cannot be made void behind the document's back."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_HELD"
    says = Text("เลขที่ “{number}” มีเอกสารใช้อยู่", "The number “{number}” is used by a document.")
    recovery = (Text("ยกเลิกเอกสาร หรือออกเลขที่ใหม่ให้เอกสาร", "Cancel the document, or renumber it."),)


class RangeOverlaps(DomainError):
    """Part of the stretch is kept or barred already."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_RANGE_OVERLAPS"
    says = Text("ช่วงเลขนี้ทับซ้อนกับช่วงที่กำหนดไว้แล้ว", "This range overlaps an existing one.")
    recovery = (Text("เลือกช่วงเลขอื่น", "Choose another range."),)


class RangePassed(DomainError):
    """The series has counted past the beginning of the stretch."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_RANGE_PASSED"
    says = Text(
        "ชุดเลขนี้ออกเลขถึงลำดับ {last} แล้ว ช่วงเลขต้องเริ่มหลังจากนั้น",
        "The series has issued numbers up to {last}; a range must start after it.",
    )
    recovery = (Text("เลือกช่วงเลขที่เริ่มหลังจากนั้น", "Choose a range that starts later."),)


class RangeReleased(DomainError):
    """The range was released before."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_RANGE_RELEASED"
    says = Text("ช่วงเลขนี้ถูกปลดแล้ว", "This range is already released.")
    recovery = (REFRESH,)


class NumberInRange(DomainError):
    """The stated number lies in a range that is barred, or kept for another organization."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_IN_RANGE"
    says = Text(
        "เลขที่ “{number}” อยู่ในช่วง {first}–{last} ซึ่งระงับการใช้ หรือจองไว้ให้องค์กรอื่น",
        "The number “{number}” is in the range {first}–{last}, which is blocked or reserved for another organization.",
    )
    recovery = (Text("ระบุเลขอื่น หรือปลดช่วงเลขนั้นก่อน", "Enter another number, or release the range first."),)
