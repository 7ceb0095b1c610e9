"""The account of a series: what became of every sequence from 1 on. Rows in, lines out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from saraban.numbering.domain.stretch import Stretch


class Why(StrEnum):
    """Why a sequence was never issued."""

    SKIPPED = "SKIPPED"  # taken by another series, or leapt over by hand: the audit has a row about it
    BARRED = "BARRED"
    KEPT = "KEPT"  # for somebody who has not drawn it yet
    BEFORE_LEDGER = "BEFORE_LEDGER"  # the schema before the ledger kept no record of it
    UNEXPLAINED = "UNEXPLAINED"


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch that may have no numbers, and the reason."""

    stretch: Stretch
    why: Why
    reason: str | None = None
    username: str | None = None
    at: datetime | None = None


class Numbered(Protocol):
    """A row that stands for one sequence."""

    @property
    def sequence(self) -> int: ...


N = TypeVar("N", bound=Numbered)


@dataclass(frozen=True, slots=True)
class Line(Generic[N]):
    """One number, or one stretch of the same hole; exactly one of `entry` and `gap` is there."""

    first: int
    last: int
    entry: N | None = None
    gap: Gap | None = None


def account_lines(entries: Iterable[N], *, after: int, upto: int, gaps: Sequence[Gap]) -> Iterator[Line[N]]:
    """
    This will give the lines of the sequences above `after`, in order.

    :param entries: by sequence; several may stand for the same one, when a format was widened
    :param upto: where the holes end: above the counter nothing is missing
    :param gaps: the first that covers a sequence explains it
    """
    seen = after
    for entry in entries:
        yield from _holes(Stretch(seen + 1, min(entry.sequence - 1, upto)), gaps)
        yield Line(entry.sequence, entry.sequence, entry=entry)
        seen = max(seen, entry.sequence)
    yield from _holes(Stretch(seen + 1, upto), gaps)


def _holes(hole: Stretch, gaps: Sequence[Gap]) -> Iterator[Line[N]]:
    """This will cut a hole where its explanation changes."""
    first = hole.first
    while first <= hole.last:
        place = next((place for place, one in enumerate(gaps) if first in one.stretch), len(gaps))
        better = [one.stretch.first for one in gaps[:place] if first < one.stretch.first]
        gap = gaps[place] if place < len(gaps) else Gap(hole, Why.UNEXPLAINED)
        last = min([gap.stretch.last, hole.last, *(begin - 1 for begin in better)])
        yield Line(first, last, gap=gap)
        first = last + 1
