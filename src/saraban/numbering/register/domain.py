"""Ledger lines of a series, and the comparison of records."""

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
    """Why a sequence has no number."""

    SKIPPED = "SKIPPED"  # taken by another series, or skipped by an administrator, as the audit records
    BARRED = "BARRED"
    KEPT = "KEPT"  # reserved and not issued yet
    BEFORE_LEDGER = "BEFORE_LEDGER"  # the previous schema kept no record
    NOT_ISSUED = "NOT_ISSUED"  # above the counter
    OTHER_ORGANIZATION = "OTHER_ORGANIZATION"  # another organization's number, which the reader may not see
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
    """One number, or a range of sequences without numbers; exactly one of `entry` and `gap` is set."""

    first: int
    last: int
    entry: N | None = None
    gap: Gap | None = None


def ledger_lines(
    entries: Iterable[N], *, after: int, counter: int, gaps: Sequence[Gap], upto: int | None = None
) -> Iterator[LedgerLine[N]]:
    """
    Return the lines of the sequences above `after`, in order.

    :param entries: by sequence; a widened format can give one sequence several entries
    :param gaps: the first that covers a sequence explains it
    :param upto: end of the gap after the last entry; None: the counter
    """
    gaps = [*gaps, Gap(SequenceRange(counter + 1, _NO_END), GapReason.NOT_ISSUED)]
    seen = after
    for entry in entries:
        yield from _gap_lines(SequenceRange(seen + 1, entry.sequence - 1), gaps)
        yield LedgerLine(entry.sequence, entry.sequence, entry=entry)
        seen = max(seen, entry.sequence)
    yield from _gap_lines(SequenceRange(seen + 1, counter if upto is None else upto), gaps)


def _gap_lines(missing: SequenceRange, gaps: Sequence[Gap]) -> Iterator[LedgerLine[N]]:
    """Split a range of missing sequences where its explanation changes."""
    first = missing.first
    while first <= missing.last:
        position = next((position for position, gap_ in enumerate(gaps) if first in gap_.sequences), len(gaps))
        earlier_starts = [gap_.sequences.first for gap_ in gaps[:position] if first < gap_.sequences.first]
        gap = gaps[position] if position < len(gaps) else Gap(missing, GapReason.UNEXPLAINED)
        last = min([gap.sequences.last, missing.last, *(begin - 1 for begin in earlier_starts)])
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
    """:param before_ledger: last number of the previous schema; 0 for none"""

    last_number: int
    before_ledger: int
    originator: int


class ExportedNumber(NamedTuple):
    id: int
    cells: Sequence[object]
    type_code: str
    source: str
    format_source: str | None
    narrowing: Narrowing


class DiscrepancyKind(StrEnum):
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
    """:param about: a number, a series or a public id"""

    what: DiscrepancyKind
    project: str
    about: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditedOperation:
    id: int
    operation: str
    number: str | None
    series: str | None
    sequence: int | None
    new: str | None


@dataclass(frozen=True, slots=True)
class NumberedDocument:
    public_id: UUID
    number: UUID | None
    printed: str
    cancelled: bool


@dataclass(frozen=True, slots=True)
class LedgerNumber:
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
_ISSUING_OPERATIONS = frozenset(operation for operations in ORIGIN.values() for operation in operations)
_STATE_AFTER: dict[str, NumberState] = {
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
    """:returns: id of the audit row"""
    return next((row.id for row in operations if row.operation in _ISSUING_OPERATIONS), None)


def check_number(
    entry: LedgerNumber,
    *,
    operations: Sequence[AuditedOperation],
    renderings: Iterable[str],
    links: Mapping[UUID, tuple[UUID | None, UUID | None]],
    document: NumberedDocument | None,
) -> Iterator[Discrepancy]:
    """
    :param renderings: all its printed forms
    :param links: (replaces, replaced by) of linked numbers
    """
    for faults in (
        _audit_faults(entry, operations),
        _rendering_faults(entry, renderings),
        _link_faults(entry, links),
        _holder_faults(entry, document),
    ):
        for what, detail in faults:
            yield Discrepancy(what, entry.project, entry.number, detail)


_Faults = Iterator[tuple[DiscrepancyKind, str]]


def _rendering_faults(entry: LedgerNumber, renderings: Iterable[str]) -> _Faults:
    if entry.number not in renderings:
        yield DiscrepancyKind.RENDERING_MISSING, ""
    stored = (entry.values, entry.sequence, entry.base, entry.number, entry.revision, entry.template)
    if (printed := misprint(*stored)) is not None:
        yield DiscrepancyKind.PRINTS_DIFFERENTLY, printed


def _link_faults(entry: LedgerNumber, links: Mapping[UUID, tuple[UUID | None, UUID | None]]) -> _Faults:
    if entry.replaced_by is not None and links.get(entry.replaced_by, (None, None))[0] != entry.public_id:
        yield DiscrepancyKind.LINK_BROKEN, str(entry.replaced_by)
    if entry.replaces is not None and links.get(entry.replaces, (None, None))[1] != entry.public_id:
        yield DiscrepancyKind.LINK_BROKEN, str(entry.replaces)


def _audit_faults(entry: LedgerNumber, operations: Sequence[AuditedOperation]) -> _Faults:
    origins = [row for row in operations if row.operation in _ISSUING_OPERATIONS]
    expected = ORIGIN[entry.source]
    if expected and not any(row.operation in expected for row in origins):
        yield DiscrepancyKind.AUDIT_MISSING, " / ".join(expected)
    if len(origins) > 1:
        yield DiscrepancyKind.AUDIT_TWICE, ", ".join(row.operation for row in origins)
    for row in origins:
        former = entry.series.removeprefix(
            "shop:"
        )  # migration 0080 renamed the series of drawings; audit rows keep the former name
        if row.sequence != entry.sequence or row.series not in {entry.series, former}:
            yield DiscrepancyKind.AUDIT_DIFFERS, f"{row.operation}: {row.series} {row.sequence}"
    printed = [row.new if row.operation == OperationCode.REVISE else row.number for row in operations if row.number]
    if printed and printed[-1] != entry.number:
        yield DiscrepancyKind.AUDIT_DIFFERS, f"{operations[-1].operation}: {printed[-1]}"
    states = [_STATE_AFTER[row.operation] for row in operations if row.operation in _STATE_AFTER]
    state = states[-1] if states else NumberState.CONFIRMED
    if state != entry.status and (states or expected):
        yield DiscrepancyKind.STATE_DIFFERS, f"ledger {entry.status}, audit {state}"


def misprint(values: Mapping[str, str], sequence: int, base: str, number: str, label: str, template: str) -> str | None:
    """:returns: the rendering of the stored format if it differs"""
    if not template:  # a number from outside
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


def _holder_faults(entry: LedgerNumber, document: NumberedDocument | None) -> _Faults:
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
    """A counter, or a series without one; `before` is the number before its first."""

    project_id: int
    project: str
    series: str
    range: int
    before: int


def are_plain(numbers: Sequence[tuple[int, str]], *, seen: int, counter: int, most: int) -> bool:
    """
    Return whether `SeriesCheck` would find nothing.

    :param numbers: sequences and sources of the numbers after `seen`, at most `most`
    """
    is_consecutive = [sequence for sequence, _ in numbers] == list(range(seen + 1, min(counter, seen + most) + 1))
    return is_consecutive or (seen >= counter and all(source != NumberSource.DRAW for _, source in numbers))


class SeriesCheck:
    """
    Reports numbers that their counter cannot explain.

    :param resets: ids of audit rows; numbers issued before a reset may be above the counter
    :param before: previous number with its issuing audit row; updated for the next page
    """

    def __init__(
        self, counter: CounterRow, last: int, resets: Sequence[int], before: tuple[LedgerNumber, float] | None = None
    ) -> None:
        self._counter, self._last, self._resets = counter, last, resets
        self.before = before

    def along(self, lines: Iterable[LedgerLine[LedgerNumber]], issued: Mapping[UUID, int]) -> Iterator[Discrepancy]:
        """:param issued: id of the issuing audit row by number"""
        for line in lines:
            if line.entry is not None:
                # Without an issuing row, no reset can explain the number.
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
        # A reset in between and another width make the sequence valid again (REQ-NUM-17).
        first, second = sorted((before[1], issue))
        if not any(first < reset < second for reset in self._resets):
            yield Discrepancy(DiscrepancyKind.ISSUED_TWICE, counter.project, entry.number, before[0].number)
