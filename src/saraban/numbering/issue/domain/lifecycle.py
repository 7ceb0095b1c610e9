"""The lifecycle of a number (REQ-NUM-12): who may take it from which state to which, for what reason, and what refuses the rest."""

from dataclasses import dataclass
from enum import StrEnum

from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Invalid, Text, invalid
from saraban.kit.text import control_character, fold
from saraban.numbering.series.domain.states import NumberState

SHORTEST_REASON, LONGEST_REASON = 5, 500
SHORTEST_RESET_REASON = 20  # it makes numbers come again


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


class NumberInRange(DomainError):
    """The stated number lies in a range that is barred, or kept for another organization."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_IN_RANGE"
    says = Text(
        "เลขที่ “{number}” อยู่ในช่วง {first}–{last} ซึ่งระงับการใช้ หรือจองไว้ให้องค์กรอื่น",
        "The number “{number}” is in the range {first}–{last}, which is blocked or reserved for another organization.",
    )
    recovery = (Text("ระบุเลขอื่น หรือปลดช่วงเลขนั้นก่อน", "Enter another number, or release the range first."),)


def checked_reason(reason: str, *, shortest: int = SHORTEST_REASON) -> str:
    """
    Return a reason as it is kept: folded, without outer blanks.

    :raises Invalid: at `/reason`, for one that is too short, too long or not printable
    """
    text = fold(reason).strip()
    if not text:
        raise _refusal("required", "จำเป็นต้องระบุเหตุผล", "A reason is required.")
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
