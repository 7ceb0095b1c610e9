"""
What numbering does, on two pages: a model that knows no database, no lock, no fault and no other caller.

Each step is a method; it gives what the caller is told, or raises `Refused` and leaves everything as it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from saraban.kit.errors import Invalid, NotFound
from saraban.numbering.issue.domain import NumberHeld, NumberInRange, NumberNotInState, ReservationExpired
from saraban.numbering.ranges.service import RangeOverlaps, RangePassed, RangeReleased
from saraban.numbering.series.domain.counter import NumberNotHeld, NumberTaken, SequenceExhausted


class Refused(Exception):
    """With the code that the caller is told."""


def refuse(error: Any) -> Refused:
    return Refused(error.code)


@dataclass
class Number:
    """A number; `document` stays after a document was renumbered or cancelled."""

    state: str = "CONFIRMED"
    reserved: bool = False
    document: UUID | None = None
    revision: str = "A"
    imported: bool = False


@dataclass
class Closed:
    """A range that is in force; `given` is the last number that a kept one gave."""

    mark: UUID
    first: int
    last: int
    kept: bool
    given: int


@dataclass
class Series:
    """Numbers by their digits as printed: widened or narrowed, a format prints the same sequence otherwise."""

    counter: int = 0
    width: int = 4
    numbers: dict[str, Number] = field(default_factory=dict)
    closed: list[Closed] = field(default_factory=list)

    def key(self, sequence: int) -> str:
        return str(sequence).zfill(self.width)

    def free(self, wanted: int) -> list[int]:
        """The sequences that come next."""
        found: list[int] = []
        sequence = self.counter
        while len(found) < wanted:
            sequence += 1
            if self.key(sequence) not in self.numbers and self.range_at(sequence) is None:
                found.append(sequence)
        return found

    def range_at(self, sequence: int) -> Closed | None:
        return next((one for one in self.closed if one.first <= sequence <= one.last), None)

    def give(self, **more: Any) -> int:
        (self.counter,) = self.free(1)
        self.numbers[self.key(self.counter)] = Number(**more)
        return self.counter


@dataclass
class Model:
    """All series, and which number each document carries: (series, digits)."""

    series: dict[str, Series]
    documents: dict[UUID, tuple[str, str]] = field(default_factory=dict)

    def run(self, step: str, **words: Any) -> Any:
        """What the caller of this step is told."""
        try:
            return getattr(self, step)(**words)
        except Refused as refusal:
            return str(refusal)

    def picture(self) -> tuple[dict[Any, Any], dict[str, int], dict[UUID, Any]]:
        """What the books must say: of numbers, of counters, of documents."""
        numbers = {
            (name, key): (number.state, number.revision, number.document)
            for name, series in self.series.items()
            for key, number in series.numbers.items()
        }
        carried = {
            document: (name, key, self.series[name].numbers[key].state == "CANCELLED")
            for document, (name, key) in self.documents.items()
        }
        return numbers, {name: series.counter for name, series in self.series.items()}, carried

    # Drawing

    def draw(self, *, name: str, **_: Any) -> int:
        return self.series[name].give()

    def reserve(self, *, name: str, **_: Any) -> int:
        return self.series[name].give(state="RESERVED", reserved=True)

    def write(self, *, name: str, document: UUID) -> int:
        sequence = self.series[name].give(document=document)
        self.documents[document] = (name, self.series[name].key(sequence))
        return sequence

    def kept(self, *, name: str, mark: UUID) -> int:
        series = self.series[name]
        closed = next(one for one in series.closed if one.mark == mark)
        left = (n for n in range(closed.given + 1, closed.last + 1) if series.key(n) not in series.numbers)
        sequence = next(left, None)
        if sequence is None:
            raise refuse(SequenceExhausted)
        closed.given = sequence
        series.numbers[series.key(sequence)] = Number()
        return sequence

    # Reservations

    def confirm(self, *, name: str, key: str) -> str:
        return self._settle(name, key, "CONFIRMED")

    def give_up(self, *, name: str, key: str) -> str:
        return self._settle(name, key, "CANCELLED")

    def bind(self, *, name: str, key: str, document: UUID) -> str:
        number = self.series[name].numbers[key]
        if number.reserved and number.state in {"CONFIRMED", "CANCELLED"}:
            raise refuse(NumberNotInState)
        state = self._settle(name, key, "CONFIRMED")
        number.document = document
        self.documents[document] = (name, key)
        return state

    def _settle(self, name: str, key: str, state: str) -> str:
        number = self.series[name].numbers[key]
        if not number.reserved:
            raise refuse(NotFound)
        if number.state not in {"RESERVED", state}:
            raise refuse(ReservationExpired if number.state == "EXPIRED" else NumberNotInState)
        number.state = state
        return state

    def expire(self, *, name: str, key: str) -> str:
        self.series[name].numbers[key].state = "EXPIRED"
        return "EXPIRED"

    # Numbers that are final

    def void(self, *, name: str, key: str) -> str:
        number = self.series[name].numbers[key]
        if number.document is not None:
            raise refuse(NumberHeld)
        if number.state != "CONFIRMED":
            raise refuse(NumberNotInState)
        number.state = "VOID"
        return "VOID"

    def replace(self, *, name: str, key: str) -> int:
        self.void(name=name, key=key)
        return self.series[name].give()

    def state(self, *, name: str, sequence: int, moves: bool) -> int:
        series = self.series[name]
        closed = series.range_at(sequence)
        if series.key(sequence) in series.numbers:
            raise refuse(NumberTaken)
        if closed is not None and not closed.kept:
            raise refuse(NumberInRange)
        series.numbers[series.key(sequence)] = Number()
        if moves:
            series.counter = max(series.counter, sequence)
        return sequence

    def bring(self, *, name: str, sequences: Sequence[int], moves: bool) -> tuple[int, int, int]:
        """An import, which tells how many came in, were there before, and are refused."""
        series = self.series[name]
        keys = {sequence: series.key(sequence) for sequence in sequences}
        ready = [n for n in sequences if keys[n] not in series.numbers]
        there = [n for n in sequences if n not in ready and series.numbers[keys[n]].imported]
        series.numbers |= {keys[n]: Number(imported=True) for n in ready}
        if moves:
            series.counter = max(series.counter, *ready, *there, 0)
        return len(ready), len(there), len(sequences) - len(ready) - len(there)

    # Documents

    def renumber(self, *, document: UUID) -> int:
        name, key = self.documents[document]
        number = self.series[name].numbers[key]
        if number.state != "CONFIRMED":
            raise refuse(NumberNotInState)
        number.state = "VOID"
        return self.write(name=name, document=document)

    def cancel(self, *, document: UUID) -> str:
        self._carried(document).state = "CANCELLED"
        return "CANCELLED"

    def revise(self, *, document: UUID, label: str) -> str:
        self._carried(document).revision = label
        return label

    def _carried(self, document: UUID) -> Number:
        name, key = self.documents[document]
        number = self.series[name].numbers[key]
        if number.state != "CONFIRMED":
            raise refuse(NumberNotHeld)
        return number

    # Counters and ranges

    def reset(self, *, name: str, to: int) -> int:
        if to > self.series[name].counter:
            raise refuse(Invalid)
        self.series[name].counter = to
        return to

    def close(self, *, name: str, mark: UUID, first: int, last: int, is_kept: bool) -> str:
        series = self.series[name]
        if first <= series.counter:
            raise refuse(RangePassed)
        if any(one.first <= last and first <= one.last for one in series.closed):
            raise refuse(RangeOverlaps)
        series.closed.append(Closed(mark, first, last, is_kept, first - 1))
        return "CLOSED"

    def release(self, *, name: str, mark: UUID) -> str:
        series = self.series[name]
        if all(one.mark != mark for one in series.closed):
            raise refuse(RangeReleased)
        series.closed = [one for one in series.closed if one.mark != mark]
        return "RELEASED"
