"""The ledger of a series: what became of every sequence from 1 on. Rows in, lines out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from saraban.numbering.series.domain.sequence import SequenceRange

_NO_END = 2**63 - 1


class GapReason(StrEnum):
    """Why a sequence was never issued."""

    SKIPPED = "SKIPPED"  # taken by another series, or skipped by hand: the audit has a row about it
    BARRED = "BARRED"
    KEPT = "KEPT"  # for somebody who has not drawn it yet
    BEFORE_LEDGER = "BEFORE_LEDGER"  # the schema before the ledger kept no record of it
    NOT_ISSUED = "NOT_ISSUED"  # above the counter: not drawn yet, and neither imported nor stated by hand
    UNEXPLAINED = "UNEXPLAINED"


@dataclass(frozen=True, slots=True)
class Gap:
    """A range that may have no numbers, and the reason."""

    sequences: SequenceRange
    why: GapReason
    reason: str | None = None
    username: str | None = None
    at: datetime | None = None


class HasSequence(Protocol):
    """A row that stands for one sequence."""

    @property
    def sequence(self) -> int: ...


N = TypeVar("N", bound=HasSequence)


@dataclass(frozen=True, slots=True)
class LedgerLine(Generic[N]):
    """One number, or one range of the same hole; exactly one of `entry` and `gap` is there."""

    first: int
    last: int
    entry: N | None = None
    gap: Gap | None = None


def ledger_lines(
    entries: Iterable[N], *, after: int, counter: int, gaps: Sequence[Gap], upto: int | None = None
) -> Iterator[LedgerLine[N]]:
    """
    Return the lines of the sequences above `after`, in order.

    :param entries: by sequence; several may stand for the same one, when a format was widened
    :param counter: how far the series has counted; 0 where it never did. What is missing above was not issued yet
    :param gaps: the first that covers a sequence explains it
    :param upto: where the holes behind the last entry end; None: where the counter stands
    """
    gaps = [*gaps, Gap(SequenceRange(counter + 1, _NO_END), GapReason.NOT_ISSUED)]
    seen = after
    for entry in entries:
        yield from _holes(SequenceRange(seen + 1, entry.sequence - 1), gaps)
        yield LedgerLine(entry.sequence, entry.sequence, entry=entry)
        seen = max(seen, entry.sequence)
    yield from _holes(SequenceRange(seen + 1, counter if upto is None else upto), gaps)


def _holes(hole: SequenceRange, gaps: Sequence[Gap]) -> Iterator[LedgerLine[N]]:
    """Cut a hole where its explanation changes."""
    first = hole.first
    while first <= hole.last:
        position = next((position for position, one in enumerate(gaps) if first in one.sequences), len(gaps))
        better = [one.sequences.first for one in gaps[:position] if first < one.sequences.first]
        gap = gaps[position] if position < len(gaps) else Gap(hole, GapReason.UNEXPLAINED)
        last = min([gap.sequences.last, hole.last, *(begin - 1 for begin in better)])
        yield LedgerLine(first, last, gap=gap)
        first = last + 1


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """
    A series as a list shows it.

    :param last_number: where the main counter stands; 0 also where there is none
    :param highest: the highest sequence of the main series in the ledger, imported and stated numbers included
    """

    series: str
    type_code: str | None
    year: int
    last_number: int
    range_count: int
    updated_at: datetime
    highest: int


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A number as an account shows it."""

    id: int
    sequence: int
    range: int
    public_id: UUID
    number: str
    status: str
    source: str
    holder_kind: str | None
    holder: UUID | None
    reason: str | None
    username: str
    issued_at: datetime
    changed_at: datetime | None
    replaces: str | None
    replaced_by: str | None
