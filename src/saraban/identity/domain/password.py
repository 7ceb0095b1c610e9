"""Check new passwords by length and blocklists (NIST SP 800-63B)."""

import unicodedata
from collections.abc import Container, Iterable
from typing import Final

from saraban.kit.errors import Text
from saraban.kit.text import compose

SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 128
_LENGTH: Final = Text("รหัสผ่านต้องมี 12 ถึง 128 ตัวอักษร", "A password has 12 to 128 characters.")
_COMMON: Final = Text("รหัสผ่านนี้มีผู้ใช้มากและเดาง่าย", "This password is common and easy to guess.")
_REPEATED: Final = Text("รหัสผ่านนี้ซ้ำคำหรือตัวอักษรเดิม", "This password repeats one word or character.")
_SEQUENCE: Final = Text("รหัสผ่านนี้เป็นตัวอักษรที่เรียงกัน", "This password is a sequence of letters, digits or keys.")
_NAMES: Final = Text("รหัสผ่านนี้มีแต่ชื่อคน องค์กร หรือโครงการ", "This password is only a name of you, a company or a project.")


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


# Alphabets and rows of keys.
_LINES: Final = _fold(
    "01234567890 1234567890-= abcdefghijklmnopqrstuvwxyz qwertyuiop[] asdfghjkl;' zxcvbnm,./ ๐๑๒๓๔๕๖๗๘๙๐ กขคฆงจฉชซฌญ "
    "กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ ๅ/-ภถุึคตขจช ๆไำพะัีรนยบลฃ ฟหกดเ้่าสวง ผปแอิืทมใฝ"
)
_SEQUENCES: Final = (_LINES + " " + _LINES[::-1]).split()


def password_weakness(password: str, *, names: Iterable[str] = (), common: Container[str] = frozenset()) -> Text | None:
    """:param common: in lower case and form NFKC"""
    if not SHORTEST_PASSWORD <= len(canonical_password(password)) <= LONGEST_PASSWORD:
        return _LENGTH
    text = _fold(password)
    stem, letters = _strip_ends(text), _letters(text)
    if text in common or stem in common:
        return _COMMON
    if len(set(text)) < 5 or any(_repeats(part) for part in (text, stem, letters) if len(part) * 2 >= len(text)):
        return _REPEATED
    spellings = sorted(_spellings(("saraban", "สารบรรณ", *names)), key=len, reverse=True)
    if len(stem) >= 3 and any(stem in spelling for spelling in spellings):
        spellings.insert(0, stem)
    unnamed = text
    for spelling in spellings:
        unnamed = unnamed.replace(spelling, " ")
    for rest, why in ((unnamed, _NAMES), (_replace_runs(text), _SEQUENCE), (_replace_runs(unnamed), _NAMES)):
        little = len(_letters(rest)) < 4 and len("".join(rest.split())) < SHORTEST_PASSWORD
        if rest != text and (little or _strip_ends(rest) in common):
            return why
    return None


def canonical_password(password: str) -> str:
    return compose(password, "/password")


def _letters(text: str, categories: str = "LM") -> str:
    """Return the characters of the categories; Thai vowels and tone marks are M."""
    return "".join(character for character in text if unicodedata.category(character)[0] in categories)


def _strip_ends(text: str) -> str:
    return text.strip(_letters(text, "NPSZC"))


def _repeats(text: str) -> bool:
    """Return whether a shorter text repeats; the last repetition may be cut off."""
    return any(text.startswith(text[period:]) for period in range(1, len(text) // 2 + 1))


def _spellings(names: Iterable[str]) -> set[str]:
    spellings: set[str] = set()
    for name in map(_fold, names):
        parts = name.translate(dict.fromkeys(map(ord, _letters(name, "PSZC")), " ")).split()
        spellings.update((name, "".join(parts), *parts))
    return {spelling for spelling in spellings if len(spelling) >= 3}


def _replace_runs(text: str) -> str:
    """Replace runs of 4 equal or adjacent characters by a blank."""
    result, start = "", 0
    while start < len(text):
        end = start + 1
        while len(set(text[start : end + 1])) == 1 or any(text[start : end + 1] in line for line in _SEQUENCES):
            if end == len(text):
                break
            end += 1
        result, start = (result + " ", end) if end - start >= 4 else (result + text[start], start + 1)
    return result
