"""
How revisions are labelled: those of documents by letters, those of a register of drawings by its scheme: `0` counts 0, 1, 2; `A` counts A, B, C; `P01, C01` counts P01, P02 and so on
until C01, from where it goes on with C02.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text, invalid

MOST_STAGES: Final = 5
LONGEST_LABEL: Final = 10  # characters, which the column holds
_STAGE: Final = re.compile(r"([A-Z]{0,3})(\d{1,3})|([A-Z])")
_LETTERS: Final = 26


def revision_label(number: int) -> str:
    """Return the label of the revision with this number, the first being 0."""
    if number < 0:
        raise ValueError("revisions are counted from 0")
    letters = ""
    rest = number + 1
    while rest:
        rest, letter = divmod(rest - 1, _LETTERS)
        letters = chr(ord("A") + letter) + letters
    return letters


@dataclass(frozen=True, slots=True)
class RevisionStage:
    """
    Labels that are counted on: a prefix with figures, or letters alone.

    :param width: of the figures, 0 for letters
    :param first: the count of the first label
    """

    prefix: str
    width: int
    first: int

    def label(self, count: int) -> str:
        return f"{self.prefix}{count:0{self.width}d}" if self.width else revision_label(count)

    def count(self, label: str) -> int | None:
        """Return the count that a label of this stage stands for, None for any other text."""
        if not self.width:
            count = _count_of_letters(label) if re.fullmatch(r"[A-Z]{1,3}", label) else None
        elif re.fullmatch(re.escape(self.prefix) + r"\d{1,6}", label, re.ASCII):
            count = int(label.removeprefix(self.prefix))
        else:
            return None
        return count if count is not None and count >= self.first and self.label(count) == label else None


@dataclass(frozen=True, slots=True)
class RevisionScheme:
    """The stages of a register's revisions, in the order in which a drawing goes through them."""

    stages: tuple[RevisionStage, ...]

    @classmethod
    def parse(cls, text: str, *, pointer: str = "/revisionScheme") -> Self:
        """
        :param text: the first label of each stage, commas between
        :raises Invalid: for what is no label, for too many stages, and for two whose labels could be the same
        """
        stages = tuple(_stage(part.strip(), pointer) for part in text.split(","))
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
        return ", ".join(stage.label(stage.first) for stage in self.stages)

    def place(self, label: str) -> tuple[int, int] | None:
        """Return where a label stands, as stage and count, which compare as labels follow each other; None for a strange one."""
        return _place(self, label)

    def latest(self, labels: Iterable[str | None]) -> str | None:
        """Return which label of a history stands last in this scheme; labels of an earlier scheme stand nowhere."""
        placed = [(place, label) for label in labels if label is not None and (place := self.place(label))]
        return max(placed)[1] if placed else None

    def next_labels(self, after: str | None) -> list[str]:
        """
        Return what may be offered next: the label that counts on, then the first one of each later stage.

        :param after: the latest label; None, or one of another scheme, offers all first ones
        """
        found = self.place(after) if after is not None else None
        firsts = [stage.label(stage.first) for stage in self.stages]
        if found is None:
            return firsts
        index, count = found
        return [self.stages[index].label(count + 1), *firsts[index + 1 :]]

    def require_next(self, label: str, *, after: str | None, pointer: str) -> None:
        """
        Check the label of a new revision; the first one may be any of the scheme, since a history may begin anywhere.

        :raises Invalid: for a label of another scheme
        :raises RevisionNotForward: for one that does not come after `after`
        """
        place = self.place(label)
        if place is None:
            raise Invalid(fields=[FieldProblem(pointer, "not_in_scheme", _STRANGE, {"value": label, "scheme": self})])
        before = self.place(after) if after is not None else None
        if before is not None and place <= before:
            values = {"value": label, "current": after}
            raise RevisionNotForward(
                fields=[FieldProblem(pointer, "not_forward", RevisionNotForward.says, values)], values=values
            )


@lru_cache(maxsize=4096)  # a register says few labels, many times
def _place(scheme: RevisionScheme, label: str) -> tuple[int, int] | None:
    for index, stage in enumerate(scheme.stages):
        if (count := stage.count(label)) is not None:
            return index, count
    return None


_STRANGE: Final = Text(
    "“{value}” ไม่อยู่ในลำดับฉบับแก้ไขของทะเบียนนี้ ({scheme})",
    "“{value}” is not a label of this register's revision scheme ({scheme}).",
)


class RevisionNotForward(DomainError):
    """The label of a new revision does not come after that of the newest one: a register never goes backwards."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_REVISION_NOT_FORWARD"
    says = Text(
        "ฉบับแก้ไข {value} ต้องมาหลังฉบับ {current} ที่เป็นฉบับล่าสุด",
        "Revision {value} does not come after {current}, which is the newest.",
    )
    recovery = (Text("ใช้ฉบับแก้ไขถัดไป", "Use the next revision."),)


def _stage(text: str, pointer: str) -> RevisionStage:
    found = _STAGE.fullmatch(text)
    if found is None:
        raise invalid(
            pointer,
            "malformed",
            "“{value}” ไม่ใช่ฉบับแรกของช่วง ตัวอย่าง: 0, A, P01",
            "“{value}” is not a first label. Examples: 0, A, P01.",
            value=text,
        )
    prefix, figures, letter = found.groups()
    if letter:
        return RevisionStage("", 0, _count_of_letters(letter))
    return RevisionStage(prefix, len(figures), int(figures))


def _count_of_letters(text: str) -> int:
    count = 0
    for letter in text:
        count = count * _LETTERS + ord(letter) - ord("A") + 1
    return count - 1
