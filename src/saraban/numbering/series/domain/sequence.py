"""Sequences of a series: ranges of them, which come next, and the outcomes of advancing that have nothing to do with locks."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text
from saraban.numbering.series.domain.states import RangeKind

LARGEST: Final = 2**31 - 1  # that the columns hold
LARGEST_STATED: Final = 999_999_999  # by a person: a typing error shall not use a series up


@dataclass(frozen=True, slots=True, order=True)
class SequenceRange:
    """Sequences `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, sequence: int) -> bool:
        return self.first <= sequence <= self.last


@dataclass(frozen=True, slots=True)
class RangeDraft:
    """
    A range as it shall be.

    :param organization: the only one that may use a reserved range; None: whoever may issue from the series
    :param confirmed_size: how many sequences it closes; needed where that is many, or more digits than the format has
    """

    kind: RangeKind
    first: int
    last: int
    organization: UUID | None = None
    reason: str = ""
    confirmed_size: int | None = None

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def open_sequences(after: int, *, closed: Sequence[SequenceRange], taken: Collection[int] = ()) -> Iterator[int]:
    """
    Return the sequences above `after` that may be issued, without end.

    :param closed: sorted, not overlapping
    """
    sequence = after + 1
    for closed_range in closed:
        while sequence < closed_range.first:
            if sequence not in taken:
                yield sequence
            sequence += 1
        sequence = max(sequence, closed_range.last + 1)
    while True:
        if sequence not in taken:
            yield sequence
        sequence += 1


def sequence_ranges(sequences: Collection[int]) -> list[SequenceRange]:
    """Fold single sequences into ranges, in order."""
    folded: list[SequenceRange] = []
    for sequence in sorted(sequences):
        if folded and folded[-1].last == sequence - 1:
            folded[-1] = SequenceRange(folded[-1].first, sequence)
        else:
            folded.append(SequenceRange(sequence, sequence))
    return folded


class SequenceExhausted(DomainError):
    """The next sequence has more digits than the format allows, and the format says to refuse (REQ-FMT-03)."""

    kind, code = ErrorKind.CONFLICT, "SEQUENCE_EXHAUSTED"
    says = Text("เลขลำดับของชุดเลขที่นี้เต็มแล้ว", "This series has no numbers left.")
    recovery = (Text("ให้ผู้ดูแลโครงการเพิ่มจำนวนหลักของ {SEQ:n}", "Ask the project administrator to add digits to {SEQ:n}."),)


class NumberTaken(DomainError):
    """A new rendering of a number would equal one that another document holds."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_TAKEN"
    says = Text("เลขที่ “{number}” มีเอกสารอื่นใช้อยู่แล้ว", "The number “{number}” belongs to another document.")
    recovery = (Text("ติดต่อผู้ดูแลโครงการ", "Ask the project administrator."),)


class NumberNotHeld(DomainError):
    """The document holds no number that this operation could act on."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_NOT_HELD"
    says = Text("เอกสารนี้ไม่มีเลขที่ที่ใช้งานอยู่", "This document has no active number.")
    recovery = (REFRESH,)
