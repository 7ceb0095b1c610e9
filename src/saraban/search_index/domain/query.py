"""Parser of search queries."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Final, NamedTuple

from saraban.kit.dates import BUDDHIST_OFFSET, EARLIEST_BUDDHIST, read_date
from saraban.kit.errors import Invalid, invalid
from saraban.kit.text import INVISIBLE, control_character
from saraban.search_index.domain.folding import fold, has_letters

LONGEST: Final = 500  # characters of a query
MOST_WORDS: Final = 12
SHORTEST: Final = 2  # minimum characters of the longest word

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "from": ("sender", "ผู้ส่ง", "จาก"),
    "to": ("recipient", "ถึง", "ผู้รับ"),
    "party": ("organization", "องค์กร", "หน่วยงาน"),
    "number": ("เลขที่", "เลขที่เอกสาร"),
    "type": ("ประเภท", "ประเภทเอกสาร"),
    "status": ("สถานะ",),
    "due": ("กำหนด", "กำหนดตอบ"),
    "year": ("ปี",),
}
CONDITIONS: Final = {fold(word): name for name, words in _WORDS.items() for word in (name, *words)}
# Pattern of a condition's name; `12:30`, `1:50`, `C:\\plan` and `http://a.b` are words.
_CONDITION: Final = re.compile("[a-z][a-z_-]*[a-z]|[\u0e01-\u0e4e]{2,}", re.IGNORECASE)
_GAP_PATTERN: Final = re.compile(r'(?<!\S)-?([^\s:"]+):\s+')
_PART_PATTERN: Final = re.compile(r'(-)?(?:([^\s:"]+):)?("([^"]*)"?|\S+)')
_DAYS: Final = re.compile(r"([<>]?)(\d{1,4})(?:d|วัน)")
_YEAR: Final = re.compile(r"[12]\d{3}")


@dataclass(frozen=True, slots=True)
class DueRange:
    """Both ends included; None for an open end."""

    first: date | None = None
    last: date | None = None


class Term(NamedTuple):
    """:param is_quoted: match an exact code or name, if there is one"""

    text: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """
    :param words: folded
    :param year: of entry, A.D.
    :param conditions: by `from`, `to`, `party`, `type`, `status` or `number`; all must match
    """

    words: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    conditions: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)
    due: DueRange | None = None
    year: int | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.conditions or self.due or self.year)


def parse(text: str, *, today: date) -> SearchQuery:
    """
    A colon in quotes or after an unlikely name belongs to the word, and so does a lone minus.

    :param today: base of `due:<7d`
    :raises Invalid: at `query:q`, for an empty or too short query, an unknown or an excluded condition
    """
    query = _parse_parts(text, CONDITIONS, today)
    _check_words(query)
    if query.words and max(map(len, query.words)) < SHORTEST:
        raise _too_short()
    if query.is_empty:
        raise _refusal("nothing_sought", "ระบุสิ่งที่ต้องการค้นหา", "Say what is to be found.")
    return query


def parse_words(text: str) -> SearchQuery:
    """
    Parse without conditions, for registers.

    :raises Invalid: at `query:q`, for too many words, and for words of combining marks only
    """
    query = _parse_parts(text, {}, None)
    _check_words(query)
    return query


def _parse_parts(text: str, names: Mapping[str, str], today: date | None) -> SearchQuery:
    text = INVISIBLE.sub("", text)
    if len(text) > LONGEST:
        raise _refusal("too_long", f"คำค้นยาวเกิน {LONGEST} ตัวอักษร", f"A query has at most {LONGEST} characters.")
    if control_character(text, multiline=True) is not None:
        raise _refusal("control_character", "มีอักขระที่มองไม่เห็น", "It has a character that cannot be seen.")
    words: list[str] = []
    excluded: list[str] = []
    conditions: dict[str, tuple[Term, ...]] = {}
    due: DueRange | None = None
    year: int | None = None
    for minus, prefix, part, phrase in _PART_PATTERN.findall(_GAP_PATTERN.sub(partial(_close_gap, names), text)):
        name = _condition_name(names, prefix, part)
        typed = phrase if part.startswith('"') else part
        word = _fold_word(typed, prefix if name is None else "")
        if not word:
            continue
        if name is not None and minus:
            raise _refusal(
                "excluded_condition",
                "เครื่องหมายลบใช้ได้กับคำเท่านั้น ใช้กับเงื่อนไขไม่ได้",
                "A minus goes before a word, not before a condition.",
            )
        if name == "due" and today is not None:
            due = _intersection(due or DueRange(), _parse_due(typed.strip().lower(), today))
        elif name == "year":
            year = _parse_year(word)
        elif name is not None:
            conditions[name] = (*conditions.get(name, ()), Term(word, part.startswith('"')))
        elif minus:
            excluded.append(word)
        else:
            words.append(word)
    is_number = text.lstrip().startswith("-") and bool(excluded) and excluded[0][0].isdigit()
    if not words and (is_number or not (conditions or due or year)):  # `-0012` alone is the end of a number
        words, excluded = [f"-{one}" for one in excluded], []
    return SearchQuery(tuple(dict.fromkeys(words)), tuple(dict.fromkeys(excluded)), conditions, due, year)


def _close_gap(names: Mapping[str, str], gap: re.Match[str]) -> str:
    return gap[0].rstrip() if fold(gap[1]) in names else gap[0]


def _condition_name(names: Mapping[str, str], prefix: str, part: str) -> str | None:
    """:raises Invalid: for an unknown condition"""
    name = names.get(fold(prefix))
    if names and name is None and _CONDITION.fullmatch(prefix) and not part.startswith("//"):
        raise invalid(
            "query:q",
            "unknown_condition",
            "ไม่มีเงื่อนไข “{name}:” ใช้ ผู้ส่ง: ถึง: องค์กร: เลขที่: ประเภท: สถานะ: กำหนด: หรือ ปี: ถ้าจะค้นข้อความนี้ ให้ใส่ในเครื่องหมายคำพูด",
            "There is no condition “{name}:”. Use from:, to:, party:, number:, type:, status:, due: or year:. Put a text with a colon in quotes.",
            name=prefix,
        )
    return name


def _fold_word(part: str, prefix: str) -> str:
    return fold(f"{prefix}:{part}" if prefix else part).strip()


def _check_words(query: SearchQuery) -> None:
    if len(query.words) + len(query.excluded) > MOST_WORDS:
        raise _refusal("too_many", f"ค้นได้ไม่เกิน {MOST_WORDS} คำ", f"A search takes at most {MOST_WORDS} words.")
    if not all(map(has_letters, query.words + query.excluded)):
        raise _too_short()


def _too_short() -> Invalid:
    return _refusal(
        "too_short",
        f"ต้องมีคำที่ยาวอย่างน้อย {SHORTEST} ตัวอักษร",
        f"One of the words has at least {SHORTEST} letters or digits.",
    )


def _intersection(one: DueRange, other: DueRange) -> DueRange:
    firsts = [day for day in (one.first, other.first) if day is not None]
    lasts = [day for day in (one.last, other.last) if day is not None]
    return DueRange(max(firsts, default=None), min(lasts, default=None))


def _parse_due(word: str, today: date) -> DueRange:
    """:raises Invalid: for neither a number of days (`<7d`) nor a date (`>2026-11-30`, `<2569-12-01`)"""
    if days := _DAYS.fullmatch(word):
        sign, day = days[1], today + timedelta(days=int(days[2]))
    else:
        sign = word[:1] if word.startswith(("<", ">")) else ""
        try:
            day = read_date(word.removeprefix(sign), "query:q")
        except Invalid as fault:
            raise _not_due() if fault.fields[0].code == "malformed" else fault from None
    return {"<": DueRange(None, day), ">": DueRange(day, None)}.get(sign, DueRange(day, day))


def _parse_year(word: str) -> int:
    """:raises Invalid: for neither an A.D. nor a B.E. year"""
    if not _YEAR.fullmatch(word):
        raise _refusal("year", "เขียนปีเป็น year:2569", "Write a year as year:2026.")
    return _ad_year(int(word))


def _ad_year(year: int) -> int:
    return year - (BUDDHIST_OFFSET if year >= EARLIEST_BUDDHIST else 0)


def _not_due() -> Invalid:
    return _refusal(
        "due", "เขียนกำหนดเป็น due:<7d หรือ due:<2569-12-31", "Write a due date as due:<7d or due:<2026-12-31."
    )


def _refusal(code: str, th: str, en: str) -> Invalid:
    return invalid("query:q", code, th, en)
