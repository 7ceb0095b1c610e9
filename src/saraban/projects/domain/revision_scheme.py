"""
Labels of revisions: letters for documents, a scheme for a register of drawings.

`0` counts 0, 1, 2. `A` counts A, B, C without I and O, `A-Z` with them, and `A-HJ-NPRT-WY` names the letters. `P01,
C01` counts P01, P02 until C01, then C02. `P01.01` counts P01.01, P01.02 until P01, then P02.01 (ISO 19650).
"""

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text, invalid

MOST_STAGES: Final = 5
_STAGE: Final = re.compile(r"([A-Z]{0,3})(\d{1,3})(?:\.(\d{1,2}))?|((?:[A-Z](?:-[A-Z])?)+)", re.ASCII)
_RANGE: Final = re.compile(r"([A-Z])(?:-([A-Z]))?")
_DRAWN_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # I and O look like digits on a drawing
_MOST_LETTERS: Final = 3
_MINORS: Final = 1000  # counts of the part after the point; the last one is the label without it


def revision_label(number: int, alphabet: str = string.ascii_uppercase) -> str:
    """Return the label of a revision; the first number is 0."""
    if number < 0:
        raise ValueError("revisions are counted from 0")
    letters = ""
    rest = number + 1
    while rest:
        rest, letter = divmod(rest - 1, len(alphabet))
        letters = alphabet[letter] + letters
    return letters


@dataclass(frozen=True, slots=True)
class RevisionStage:
    """
    :param written: its text in the scheme
    :param width: digits, 0 for letters
    """

    written: str
    prefix: str = ""
    width: int = 0
    first: int = 0
    minor_width: int = 0
    alphabet: str = _DRAWN_LETTERS

    def label(self, count: int) -> str:
        if not self.width:
            return revision_label(count, self.alphabet)
        major, minor = divmod(count, _MINORS) if self.minor_width else (count, _MINORS - 1)
        point = f".{minor:0{self.minor_width}d}" if minor < _MINORS - 1 else ""
        return f"{self.prefix}{major:0{self.width}d}{point}"

    def count(self, label: str) -> int | None:
        """Return the label's count, None for a label of another stage."""
        if not self.width:
            count = _count_of_letters(label, self.alphabet) if len(label) <= _MOST_LETTERS else None
        elif figures := re.fullmatch(re.escape(self.prefix) + r"(\d{1,6})(?:\.(\d{1,3}))?", label, re.ASCII):
            minor = int(figures[2] or _MINORS - 1)
            count = int(figures[1]) * _MINORS + minor if self.minor_width else int(figures[1])
        else:
            return None
        return count if count is not None and count >= self.first and self.label(count) == label else None

    def following(self, count: int) -> list[str]:
        """Return possible next labels; P01.01 is followed by P01.02, P01 and P02.01."""
        if not self.minor_width:
            return [self.label(count + 1)]
        major, minor = divmod(count, _MINORS)
        shared = [] if minor == _MINORS - 1 else [count + 1, major * _MINORS + _MINORS - 1]
        return [self.label(next_count) for next_count in (*shared, (major + 1) * _MINORS + self.first % _MINORS)]


@dataclass(frozen=True, slots=True)
class RevisionScheme:
    stages: tuple[RevisionStage, ...]

    @classmethod
    def parse(cls, text: str, *, pointer: str = "/revisionScheme") -> Self:
        """
        :param text: first label of each stage, separated by commas
        :raises Invalid:
        """
        stages = tuple(_parse_stage(part.strip(), pointer) for part in text.split(","))
        if len(stages) > MOST_STAGES or len({stage.prefix if stage.width else None for stage in stages}) < len(stages):
            raise invalid(
                pointer,
                "ambiguous",
                "ลำดับฉบับแก้ไขมีได้ไม่เกิน {most} ช่วง และแต่ละช่วงต้องขึ้นต้นต่างกัน",
                "A revision scheme has at most {most} stages, and each begins in another way.",
                most=MOST_STAGES,
            )
        return cls(stages)

    def __str__(self) -> str:
        return ", ".join(stage.written for stage in self.stages)

    def place(self, label: str) -> tuple[int, int] | None:
        """Return (stage, count), which sort in order; None for a label of another scheme."""
        return _place(self, label)

    def latest(self, labels: Iterable[str | None]) -> str | None:
        """Return the last label; labels of an earlier scheme are ignored."""
        placed = [(place, label) for label in labels if label is not None and (place := self.place(label))]
        return max(placed)[1] if placed else None

    def next_labels(self, after: str | None) -> list[str]:
        """Return the labels that continue, then the first one of each later stage."""
        place = self.place(after) if after is not None else None
        firsts = [stage.label(stage.first) for stage in self.stages]
        if place is None:
            return firsts
        index, count = place
        return [*self.stages[index].following(count), *firsts[index + 1 :]]

    def require_next(self, label: str, *, after: str | None, pointer: str) -> None:
        """:raises Invalid, RevisionNotForward:"""
        place = self.place(label)
        if place is None:
            raise Invalid(
                fields=[FieldProblem(pointer, "not_in_scheme", _NOT_IN_SCHEME, {"value": label, "scheme": self})]
            )
        before = self.place(after) if after is not None else None
        if before is not None and place <= before:
            values = {"value": label, "current": after}
            raise RevisionNotForward(
                fields=[FieldProblem(pointer, "not_forward", RevisionNotForward.says, values)], values=values
            )


@lru_cache(maxsize=4096)  # a register has few distinct labels
def _place(scheme: RevisionScheme, label: str) -> tuple[int, int] | None:
    for index, stage in enumerate(scheme.stages):
        if (count := stage.count(label)) is not None:
            return index, count
    return None


_NOT_IN_SCHEME: Final = Text(
    "“{value}” ไม่อยู่ในลำดับฉบับแก้ไขของทะเบียนนี้ ({scheme})",
    "“{value}” is not a label of this register's revision scheme ({scheme}).",
)


class RevisionNotForward(DomainError):
    """The label of a new revision must come after the label of the newest revision."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_REVISION_NOT_FORWARD"
    says = Text(
        "ฉบับแก้ไข {value} ต้องมาหลังฉบับ {current} ที่เป็นฉบับล่าสุด",
        "Revision {value} does not come after {current}, which is the newest.",
    )
    recovery = (Text("ใช้ฉบับแก้ไขถัดไป", "Use the next revision."),)


def _parse_stage(text: str, pointer: str) -> RevisionStage:
    match = _STAGE.fullmatch(text)
    alphabet = _parse_letters(match[4]) if match is not None and match[4] else _DRAWN_LETTERS
    if match is None or not alphabet or text in {"I", "O"}:
        raise invalid(
            pointer,
            "malformed",
            "“{value}” ไม่ใช่ฉบับแรกของช่วง ตัวอย่าง: 0, A (ไม่มี I และ O), A-Z, P01, P01.01",
            "“{value}” is not a first label. Examples: 0, A (without I and O), A-Z, P01, P01.01.",
            value=text,
        )
    prefix, figures, minor, letters = match.groups()
    if letters:
        return RevisionStage(text, first=_count_of_letters(text, alphabet) or 0, alphabet=alphabet)
    first = int(figures) * _MINORS + int(minor) if minor else int(figures)
    return RevisionStage(text, prefix, len(figures), first, len(minor or ""))


def _parse_letters(text: str) -> str:
    """Return the letters of ranges such as `A-HJ-NP-Z`; none if they are not in order."""
    if len(text) == 1:
        return _DRAWN_LETTERS
    pairs = [(match[1], match[2] or match[1]) for match in _RANGE.finditer(text)]
    ends = [letter for pair in pairs for letter in pair]
    if ends != sorted(ends) or len({first for first, _ in pairs}) < len(pairs) or "-" not in text:
        return ""
    return "".join(letter for letter in string.ascii_uppercase if any(first <= letter <= last for first, last in pairs))


def _count_of_letters(text: str, alphabet: str) -> int | None:
    count = 0
    for letter in text:
        if letter not in alphabet:
            return None
        count = count * len(alphabet) + alphabet.index(letter) + 1
    return count - 1 if text else None
