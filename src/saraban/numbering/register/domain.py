"""
The ledger of a series: what became of every sequence from 1 on, and whether audit, renderings and documents agree with it.

Rows in; lines and discrepancies out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import inf
from typing import Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from saraban.kit.errors import DomainError
from saraban.numbering.series.domain.counter import SequenceRange
from saraban.numbering.series.domain.states import NumberSource, NumberState, OperationCode
from saraban.numbering.series.domain.template import Narrowing, stored_template

_NO_END = 2**63 - 1


class GapReason(StrEnum):
    """Why a sequence was never issued."""

    SKIPPED = "SKIPPED"  # taken by another series, or skipped by hand: the audit has a row about it
    BARRED = "BARRED"
    KEPT = "KEPT"  # for somebody who has not drawn it yet
    BEFORE_LEDGER = "BEFORE_LEDGER"  # the schema before the ledger kept no record of it
    NOT_ISSUED = "NOT_ISSUED"  # above the counter: not drawn yet, and neither imported nor stated by hand
    OTHER_ORGANIZATION = "OTHER_ORGANIZATION"  # there is a number, and whoever asks may not see whose
    UNEXPLAINED = "UNEXPLAINED"


@dataclass(frozen=True, slots=True)
class Gap:
    sequences: SequenceRange
    why: GapReason
    reason: str | None = None
    username: str | None = None
    at: datetime | None = None


class HasSequence(Protocol):
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
class NumberRow:
    id: int
    sequence: int
    range: int
    public_id: UUID
    number: str
    status: str
    source: str
    originator: int
    holder_kind: str | None
    holder: UUID | None
    reason: str | None
    username: str
    issued_at: datetime
    changed_at: datetime | None
    replaces: str | None
    replaced_by: str | None


@dataclass(frozen=True, slots=True)
class MainCounter:
    """
    :param before_ledger: the last number from before there was a ledger, 0 for none
    :param originator: the organization that the series was begun for
    """

    last_number: int
    before_ledger: int
    originator: int


class ExportedNumber(NamedTuple):
    """A number as an export writes it, with what tells why it has its format."""

    id: int
    cells: Sequence[object]
    type_code: str
    source: str
    format_source: str | None
    narrowing: Narrowing


class DiscrepancyKind(StrEnum):
    """What two of the records disagree about."""

    AUDIT_MISSING = "AUDIT_MISSING"
    AUDIT_TWICE = "AUDIT_TWICE"
    AUDIT_DIFFERS = "AUDIT_DIFFERS"
    STATE_DIFFERS = "STATE_DIFFERS"
    LEDGER_MISSING = "LEDGER_MISSING"
    RENDERING_MISSING = "RENDERING_MISSING"
    PRINTS_DIFFERENTLY = "PRINTS_DIFFERENTLY"
    LINK_BROKEN = "LINK_BROKEN"
    HOLDER_MISSING = "HOLDER_MISSING"
    HOLDER_DIFFERS = "HOLDER_DIFFERS"
    DOCUMENT_WITHOUT_NUMBER = "DOCUMENT_WITHOUT_NUMBER"
    COUNTER_MISSING = "COUNTER_MISSING"
    COUNTER_BEHIND = "COUNTER_BEHIND"
    ISSUED_TWICE = "ISSUED_TWICE"
    HOLE = "HOLE"


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One thing that does not add up; `about` is a number, a series or a public id, `detail` what was found there."""

    what: DiscrepancyKind
    project: str
    about: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditedOperation:
    """A row of the audit about one number; `id` says what came before what."""

    id: int
    operation: str
    number: str | None
    series: str | None
    sequence: int | None
    new: str | None


@dataclass(frozen=True, slots=True)
class NumberedDocument:
    """A document as it stands in its register: which number it holds, what it prints, whether it is cancelled."""

    public_id: UUID
    number: UUID | None
    printed: str
    cancelled: bool


@dataclass(frozen=True, slots=True)
class LedgerNumber:
    """A row of the ledger, with what the other records say about it."""

    id: int
    public_id: UUID
    project: str
    series: str
    range: int
    sequence: int
    base: str
    number: str
    revision: str
    status: str
    source: str
    holder: UUID | None
    template: str
    values: Mapping[str, str]
    replaces: UUID | None
    replaced_by: UUID | None


ORIGIN: dict[str, tuple[OperationCode, ...]] = {
    NumberSource.DRAW: (OperationCode.GENERATE, OperationCode.RESERVE),
    NumberSource.OVERRIDE: (OperationCode.OVERRIDE,),
    NumberSource.IMPORT: (OperationCode.IMPORT,),
    NumberSource.MIGRATED: (),
}
_ORIGINS = frozenset(operation for operations in ORIGIN.values() for operation in operations)
_LEADS_TO: dict[str, NumberState] = {
    OperationCode.GENERATE: NumberState.CONFIRMED,
    OperationCode.RESERVE: NumberState.RESERVED,
    OperationCode.OVERRIDE: NumberState.CONFIRMED,
    OperationCode.IMPORT: NumberState.CONFIRMED,
    OperationCode.CONFIRM: NumberState.CONFIRMED,
    OperationCode.CANCEL: NumberState.CANCELLED,
    OperationCode.EXPIRE: NumberState.EXPIRED,
    OperationCode.VOID: NumberState.VOID,
}


def issuing_operation(operations: Iterable[AuditedOperation]) -> int | None:
    """:returns: the audit row that issued the number these rows are about"""
    return next((row.id for row in operations if row.operation in _ORIGINS), None)


def check_number(
    entry: LedgerNumber,
    *,
    operations: Sequence[AuditedOperation],
    renderings: Iterable[str],
    links: Mapping[UUID, tuple[UUID | None, UUID | None]],
    document: NumberedDocument | None,
) -> Iterator[Discrepancy]:
    """
    Compare one number with what the other records say of it.

    :param operations: its audit rows, in order
    :param renderings: what was ever printed for it
    :param links: of the numbers it is linked to, (replaces, replaced by)
    :param document: its document
    """
    for faults in (
        _audit(entry, operations),
        _printed(entry, renderings),
        _linked(entry, links),
        _held(entry, document),
    ):
        for what, detail in faults:
            yield Discrepancy(what, entry.project, entry.number, detail)


_Faults = Iterator[tuple[DiscrepancyKind, str]]


def _printed(entry: LedgerNumber, renderings: Iterable[str]) -> _Faults:
    if entry.number not in renderings:
        yield DiscrepancyKind.RENDERING_MISSING, ""
    stored = (entry.values, entry.sequence, entry.base, entry.number, entry.revision, entry.template)
    if (printed := misprint(*stored)) is not None:
        yield DiscrepancyKind.PRINTS_DIFFERENTLY, printed


def _linked(entry: LedgerNumber, links: Mapping[UUID, tuple[UUID | None, UUID | None]]) -> _Faults:
    if entry.replaced_by is not None and links.get(entry.replaced_by, (None, None))[0] != entry.public_id:
        yield DiscrepancyKind.LINK_BROKEN, str(entry.replaced_by)
    if entry.replaces is not None and links.get(entry.replaces, (None, None))[1] != entry.public_id:
        yield DiscrepancyKind.LINK_BROKEN, str(entry.replaces)


def _audit(entry: LedgerNumber, operations: Sequence[AuditedOperation]) -> _Faults:
    origins = [row for row in operations if row.operation in _ORIGINS]
    wanted = ORIGIN[entry.source]
    if wanted and not any(row.operation in wanted for row in origins):
        yield DiscrepancyKind.AUDIT_MISSING, " / ".join(wanted)
    if len(origins) > 1:
        yield DiscrepancyKind.AUDIT_TWICE, ", ".join(row.operation for row in origins)
    for row in origins:
        former = entry.series.removeprefix("shop:")  # of a drawing's number that migration 0080 moved
        if row.sequence != entry.sequence or row.series not in {entry.series, former}:
            yield DiscrepancyKind.AUDIT_DIFFERS, f"{row.operation}: {row.series} {row.sequence}"
    printed = [row.new if row.operation == OperationCode.REVISE else row.number for row in operations if row.number]
    if printed and printed[-1] != entry.number:
        yield DiscrepancyKind.AUDIT_DIFFERS, f"{operations[-1].operation}: {printed[-1]}"
    states = [_LEADS_TO[row.operation] for row in operations if row.operation in _LEADS_TO]
    state = states[-1] if states else NumberState.CONFIRMED
    if state != entry.status and (states or wanted):
        yield DiscrepancyKind.STATE_DIFFERS, f"ledger {entry.status}, audit {state}"


def misprint(values: Mapping[str, str], sequence: int, base: str, number: str, label: str, template: str) -> str | None:
    """:returns: what the stored format prints, where that is not the number of the ledger"""
    if not template:  # it comes from outside
        return base if base != number else None
    try:
        parsed = stored_template(template)
        printed = parsed.render(values, sequence=sequence, revision=label)
        printed_base = parsed.base(values, sequence=sequence)
    except DomainError as error:
        return str(error)
    if printed != number:
        return printed
    return printed_base if printed_base != base else None


def _held(entry: LedgerNumber, document: NumberedDocument | None) -> _Faults:
    if entry.holder is None:
        return
    if document is None:
        yield DiscrepancyKind.HOLDER_MISSING, str(entry.holder)
    elif entry.replaced_by is None:
        if document.number != entry.public_id or document.printed != entry.number:
            yield DiscrepancyKind.HOLDER_DIFFERS, document.printed
        elif document.cancelled != (entry.status == NumberState.CANCELLED):
            yield DiscrepancyKind.STATE_DIFFERS, "document " + ("cancelled" if document.cancelled else "not cancelled")


@dataclass(frozen=True, slots=True)
class CounterRow:
    """A counter, main or of a kept range, whether it has a row or numbers alone; `before` is where it began to count."""

    project_id: int
    project: str
    series: str
    range: int
    before: int


def are_plain(numbers: Sequence[tuple[int, str]], *, seen: int, counter: int, most: int) -> bool:
    """
    Whether `SeriesCheck` would find nothing: one by one up to the counter, or above it and none drawn.

    :param numbers: sequences and sources of the numbers behind `seen`, so many at `most`
    :param counter: where it stands
    """
    one_by_one = [sequence for sequence, _ in numbers] == list(range(seen + 1, min(counter, seen + most) + 1))
    return one_by_one or (seen >= counter and all(source != NumberSource.DRAW for _, source in numbers))


class SeriesCheck:
    """
    Follow the numbers of one counter in order and report what the counter cannot explain.

    :param last: where the counter stands
    :param resets: the audit rows that set it back, in order: what was issued before one may stand above it
    :param before: the number that came before, and the audit row of its issue; it is here for the next part of the walk
    """

    def __init__(
        self, counter: CounterRow, last: int, resets: Sequence[int], before: tuple[LedgerNumber, float] | None = None
    ) -> None:
        self._counter, self._last, self._resets = counter, last, resets
        self.before = before

    def along(self, lines: Iterable[LedgerLine[LedgerNumber]], issued: Mapping[UUID, int]) -> Iterator[Discrepancy]:
        """:param issued: the audit row of each number's issue"""
        for line in lines:
            if line.entry is not None:
                # Without such a row no reset can excuse the number.
                yield from self._number(line.entry, issued.get(line.entry.public_id, inf))
            elif line.gap is not None and line.gap.why is GapReason.UNEXPLAINED:
                where = str(line.first) if line.first == line.last else f"{line.first}-{line.last}"
                yield Discrepancy(DiscrepancyKind.HOLE, self._counter.project, self._counter.series, where)

    def _number(self, entry: LedgerNumber, issue: float) -> Iterator[Discrepancy]:
        counter = self._counter
        if entry.source != NumberSource.DRAW:
            return
        if entry.sequence > self._last and not any(issue < reset for reset in self._resets):
            yield Discrepancy(DiscrepancyKind.COUNTER_BEHIND, counter.project, entry.number, f"counter {self._last}")
        before, self.before = self.before, (entry, issue)
        if before is None or before[0].sequence != entry.sequence:
            return
        # Set back in between, and printed in another width, the sequence is free again (REQ-NUM-17).
        first, second = sorted((before[1], issue))
        if not any(first < reset < second for reset in self._resets):
            yield Discrepancy(DiscrepancyKind.ISSUED_TWICE, counter.project, entry.number, before[0].number)
