"""Why somebody does something to numbers by hand: long enough to tell a reader years from now."""

from saraban.kit.errors import Invalid, invalid
from saraban.kit.text import control_character, fold

SHORTEST, LONGEST = 5, 500
SHORTEST_FOR_RESET = 20  # it makes numbers come again


def checked_reason(reason: str, *, shortest: int = SHORTEST) -> str:
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
    if len(text) > LONGEST:
        raise _refusal("too_long", "ยาวได้ไม่เกิน {most} ตัวอักษร", "At most {most} characters are allowed.", most=LONGEST)
    if control_character(text) is not None:
        raise _refusal("control_character", "มีอักขระควบคุมที่ใช้ไม่ได้", "It has a character that cannot be used.")
    return text


def _refusal(code: str, th: str, en: str, **values: object) -> Invalid:
    return invalid("/reason", code, th, en, **values)
