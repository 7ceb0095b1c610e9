"""One spelling for each Thai or English text, so that what looks alike compares alike (REQ-FMT-05)."""

import codecs
import re
import unicodedata
from typing import Final

from saraban.kit.errors import Text, invalid

codecs.register(lambda name: codecs.lookup("cp874") if name == "windows_874" else None)  # as mail and clients call it

DANGEROUS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text for a formula that begins like this
FORMULA = "\0"  # before the value of a cell that has one: no text of a sheet begins like this
MOST_MARKS: Final = 30  # in a row; Unicode's stream-safe format (UAX 15) has the same bound
TOO_MANY_MARKS: Final = Text(
    "มีเครื่องหมายประกอบอักษรติดกันเกิน {most} ตัว", "There are more than {most} combining marks in a row."
)
# Outside the basic plane marks are rare: each character there may be a mark, and is looked up when 31 stand in a row.
_SUSPECTS: Final = re.compile(
    "["
    + "".join(c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M")
    + f"\U00010000-\U0010ffff]{{{MOST_MARKS + 1},}}"
)
_DECOMPOSED_SARA_AM = "\u0e4d\u0e32"
_SARA_AM = "\u0e33"


def has_mark_run(text: str) -> bool:
    """Return whether more than `MOST_MARKS` combining marks follow each other: normalizing such text takes quadratic time."""
    return not text.isascii() and any(len(_cut_marks(run)) < len(run[0]) for run in _SUSPECTS.finditer(text))


def _cut_marks(run: re.Match[str]) -> str:
    kept, marks = [], 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def check_marks(text: str, pointer: str) -> None:
    """:raises Invalid: naming `pointer`, for more than `MOST_MARKS` combining marks in a row"""
    if has_mark_run(text):
        raise invalid(pointer, "combining_marks", TOO_MANY_MARKS.th, TOO_MANY_MARKS.en, most=MOST_MARKS)


def compose(text: str, pointer: str = "") -> str:
    """Return the NFC form of a text that passes `check_marks`."""
    check_marks(text, pointer)
    return unicodedata.normalize("NFC", text)


def fold(text: str, pointer: str = "") -> str:
    """Return what `compose` does, with the decomposed sara am (U+0E4D U+0E32) joined to U+0E33."""
    check_marks(text, pointer)
    return fold_bounded(text)


def fold_stored(text: str) -> str:
    """Fold what the database or a file contains; of a longer run of combining marks, the first `MOST_MARKS` are kept."""
    return fold_bounded(text if text.isascii() else _SUSPECTS.sub(_cut_marks, text))


def fold_bounded(text: str) -> str:
    """Fold a text that is known to have no run of combining marks that is too long."""
    folded = unicodedata.normalize("NFC", text)
    if _DECOMPOSED_SARA_AM in folded:
        folded = folded.replace(_DECOMPOSED_SARA_AM, _SARA_AM)
    return folded


def control_character(text: str, *, multiline: bool = False) -> int | None:
    """
    Return the position of the first character that must not be stored, or None.

    Controls, surrogates, unassigned and private code points, and bidirectional overrides are refused: each can make
    two different texts look the same. Zero-width joiners are kept out for the same reason.
    """
    if text.isprintable():  # most are, and it costs little to know
        return None
    allowed = "\n\r\t" if multiline else ""
    for position, character in enumerate(text):
        if character in allowed:
            continue
        if unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}:
            return position
        if character in "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff":
            return position
    return None
