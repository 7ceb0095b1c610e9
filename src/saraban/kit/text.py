"""Stored forms, normal forms and sort keys of Thai and English text (REQ-FMT-05)."""

import codecs
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from saraban.kit.errors import Text, invalid

codecs.register(lambda name: codecs.lookup("cp874") if name == "windows_874" else None)  # the name in mail and HTTP

T = TypeVar("T")
DANGEROUS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet reads a text that begins with one of these as a formula
MOST_KEY: Final = 255  # characters
MOST_MARKS: Final = 30  # in a row; Unicode's stream-safe format (UAX 15) has the same bound
TOO_MANY_MARKS: Final = Text(
    "มีเครื่องหมายประกอบอักษรติดกันเกิน {most} ตัว", "There are more than {most} combining marks in a row."
)
# Marks outside the basic plane are rare: a run of 31 characters there is checked one by one.
_SUSPECTS: Final = re.compile(
    "["
    + "".join(c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M")
    + f"\U00010000-\U0010ffff]{{{MOST_MARKS + 1},}}"
)
_DECOMPOSED_SARA_AM = "\u0e4d\u0e32"
_SARA_AM = "\u0e33"
# Characters that print nothing: format characters and Unicode's Default_Ignorable_Code_Point.
INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CONTROLS: Final = re.compile("[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f]")
UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
DASHES: Final = re.compile(
    "[" + "".join(c for c in map(chr, range(0x80, 0x10000)) if unicodedata.category(c) == "Pd") + "\u2043\u2212]"
)
_BLANKS: Final = re.compile(r"\s+")
# Keyboards store Thai marks in either order, or twice. The order and the number do not show.
_UNORDERED_MARKS: Final = re.compile(
    "[\u0e48-\u0e4c][\u0e31\u0e34-\u0e3a\u0e47]|([\u0e31\u0e34-\u0e3a\u0e47-\u0e4c])\\1"
)
_THAI_MARKS: Final = re.compile("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4c]{2,}")
_SPLIT_SARA_AM: Final = re.compile("\u0e4d([\u0e48-\u0e4b]*)\u0e32")
# Characters that look like others: เเ and แ, ๅ and า, the blank of Braille and a space.
_LOOK_ALIKES: Final = (("\u0e40\u0e40", "\u0e41"), ("\u0e45", "\u0e32"), ("\u2800", " "))
_PLAIN: Final = re.compile("[ -~\u0e01-\u0e5b]*")
_DIGITS: Final = re.compile("[0-9]+")


def has_mark_run(text: str) -> bool:
    """Detect text that would take quadratic time to normalize."""
    return not text.isascii() and any(len(_cut_marks(run)) < len(run[0]) for run in _SUSPECTS.finditer(text))


def _cut_marks(run: re.Match[str]) -> str:
    kept, marks = [], 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def check_marks(text: str, pointer: str) -> None:
    """:raises Invalid: naming `pointer`"""
    if has_mark_run(text):
        raise invalid(pointer, "combining_marks", TOO_MANY_MARKS.th, TOO_MANY_MARKS.en, most=MOST_MARKS)


def compose(text: str, pointer: str = "") -> str:
    check_marks(text, pointer)
    return unicodedata.normalize("NFC", text)


def fold(text: str, pointer: str = "") -> str:
    """Return the text to store: NFC, sara am joined, no invisible characters."""
    check_marks(text, pointer)
    return fold_bounded(text)


def fold_stored(text: str) -> str:
    return fold_bounded(text if text.isascii() else _SUSPECTS.sub(_cut_marks, text))


def fold_bounded(text: str) -> str:
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFC", INVISIBLE.sub("", text))
    if _DECOMPOSED_SARA_AM in folded:
        folded = folded.replace(_DECOMPOSED_SARA_AM, _SARA_AM)
    return folded


def unify(text: str) -> str:
    if not text.isprintable():
        text = _CONTROLS.sub("", text)
    if text.isascii():
        folded = text.lower()
    else:
        folded = _nfkc(INVISIBLE.sub("", _SUSPECTS.sub(_cut_marks, text))).casefold()
        if _UNORDERED_MARKS.search(folded):
            folded = _THAI_MARKS.sub(_vowels_first, folded)
        folded = DASHES.sub("-", _nfkc(folded))
        for typed, unified in _LOOK_ALIKES:
            folded = folded.replace(typed, unified)
        if "\u0e4d" in folded:
            folded = _SPLIT_SARA_AM.sub("\\1\u0e33", folded)
    return _BLANKS.sub(" ", folded) if "  " in folded or not folded.isprintable() else folded


def is_text(content: bytes) -> bool:
    """Return whether bytes may be text: a UTF-16 mark, or at most 5 % zero bytes."""
    return content.startswith(UTF_16) or content.count(0) * 20 <= len(content)


def ascii_digits(text: str) -> str:
    return "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in text)


def plain_signs(text: str) -> str:
    return DASHES.sub("-", ascii_digits(text))


def _nfkc(text: str) -> str:
    return _SARA_AM.join([unicodedata.normalize("NFKC", part) for part in text.split(_SARA_AM)])


def _vowels_first(marks: re.Match[str]) -> str:
    return "".join(sorted(dict.fromkeys(marks[0]), key=lambda mark: "\u0e48" <= mark <= "\u0e4c"))


def normal_form(text: str) -> str:
    """
    Return the form in which codes, numbers, user names and searches compare.

    NFKC with sara am joined, lower case, one hyphen, single spaces, Thai marks once and in one order, เเ as แ,
    without invisible characters and outer blanks. The database stores normal forms: a change needs a migration that
    rewrites them.
    """
    folded = unify(text).strip()
    # Normalization can move another script's mark from between two Thai marks.
    return folded if _PLAIN.fullmatch(folded) or folded == text else normal_form(folded)


def system_code(code: str) -> str:
    return normal_form(code).upper()


def key_text(text: str) -> str:
    """Return the normal form to store; a digest replaces the end of a long one."""
    key = normal_form(text)
    if len(key) <= MOST_KEY:
        return key
    return key[: MOST_KEY - 32] + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


class Spellings(Mapping[str, T]):
    """Values by code; an unknown code gets the value of the first code with its normal form."""

    def __init__(self, known: Mapping[str, T]) -> None:
        self._known = known
        self._by_form = {normal_form(code): value for code, value in reversed([*known.items()])}

    def __getitem__(self, code: str) -> T:
        return self._known[code] if code in self._known else self._by_form[normal_form(code)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, codes: Iterable[str]) -> dict[str, T]:
        return {code: self[code] for code in codes if code in self}


def sort_key(number: str) -> str:
    """
    Return a text that sorts numbers naturally: 1, 2, 10.
    Different normal forms have different keys. Each run of digits follows its length and precedes its leading zeros.
    """
    return _DIGITS.sub(_sortable_digits, normal_form(number))[:MOST_KEY]


def _sortable_digits(digits: re.Match[str]) -> str:
    number = digits[0].lstrip("0")
    length = f"{len(number)}" if len(number) < 9 else f"9{len(number):03}"
    return length + number + "\x01" * (len(digits[0]) - len(number))


def control_character(text: str, *, multiline: bool = False) -> int | None:
    """Return the position of the first control, unassigned or private character, or None."""
    if text.isprintable():  # a cheap check that most texts pass
        return None
    allowed = "\n\r\t" if multiline else ""
    for position, character in enumerate(text):
        if character in allowed:
            continue
        if unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}:
            return position
    return None
