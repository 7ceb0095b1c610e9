"""Verifies a journal block by block, in constant memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from saraban.audit.domain.journals import (
    MINIMUM_YEARS,
    START,
    BlockHeader,
    BlockKind,
    RowDigest,
    head_digest,
    rows_digest,
    utc_text,
    years_before,
)
from saraban.kit.signatures import is_signed_by

MOST_FINDINGS = 20
CLOCK_TOLERANCE = timedelta(minutes=5)  # between machines, and for old blocks whose seal times were not monotonic
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


class FindingKind(StrEnum):
    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    MOVED = "moved"
    ROWS_GONE = "rows_gone"  # with the block's list of them
    BLOCK_CHANGED = "block_changed"
    BLOCK_REMOVED = "block_removed"
    TAIL_CUT = "tail_cut"
    OTHER_HEAD = "other_head"
    PURGED_EARLY = "purged_early"
    SEALED_IN_FUTURE = "sealed_in_future"
    SEALED_BACKWARDS = "sealed_backwards"
    UNSIGNED = "unsigned"  # after a signed block
    WRONG_SIGNATURE = "wrong_signature"
    UNKNOWN_KEY = "unknown_key"
    NO_SIGNATURES = "no_signatures"
    NO_HEADS = "no_heads"
    FILE_CUT = "file_cut"
    FILE_FAULT = "file_fault"


@dataclass(frozen=True, slots=True)
class Finding:
    what: FindingKind
    journal: str
    block: int | None = None
    public_id: str | None = None
    at: str | None = None


class HeadLine(NamedTuple):
    number: int
    head: str
    is_signed: bool = False


@dataclass(frozen=True, slots=True)
class Trust:
    """:param keys: may sign; without any, the key that a block states is accepted"""

    now: datetime
    keys: frozenset[str] = frozenset()
    expects_signatures: bool = False


@dataclass
class JournalVerification:
    """:param heads: lines of the head file, or None without one"""

    journal: str
    trust: Trust
    heads: Iterator[HeadLine] | None = None
    findings: list[Finding] = field(default_factory=list)
    blocks: int = 0
    rows: int = 0
    purged: int = 0
    number: int = 0
    head: str = START
    sealed_at: datetime = _BEFORE_ALL
    signed: int = 0
    unproven_keys: set[str] = field(default_factory=set)
    _must_be_signed: bool = False
    _gone: list[tuple[int, datetime]] = field(default_factory=list)  # number, and the time of the youngest row
    _next_head: HeadLine | None = None

    def block(self, header: BlockHeader, *, listed: Sequence[RowDigest] | None, rows: Sequence[RowDigest]) -> None:
        """:param listed: the block's list of its rows; None once they were deleted"""
        self._check_chain(header)
        self.blocks += 1
        if header.kind is BlockKind.PURGE:
            self._check_purge(header)
            self._report_surplus(header, rows)
        elif listed is not None and rows_digest(listed) != header.rows_digest:
            self._add_for_block(FindingKind.BLOCK_CHANGED, header)
        elif listed is not None:
            self._compare(header, listed, rows)
        elif rows_digest(rows) != header.rows_digest:
            self._gone.append((header.number, max(header.last_at, header.sealed_at)))
            self._report_surplus(header, rows)
        self.rows += len(rows)

    def continue_after(self, header: BlockHeader) -> None:
        self.number, self.head = header.number, header.head
        self.sealed_at = max(self.sealed_at, header.sealed_at)
        self._must_be_signed = self._must_be_signed or header.signature is not None

    def finish(self) -> None:
        for number, _ in self._gone:
            self._add(Finding(FindingKind.ROWS_GONE, self.journal, number))
        line = self._head_after(self.number)
        if line is not None:
            self._add(Finding(FindingKind.TAIL_CUT, self.journal, line.number))
        if self.trust.expects_signatures and self.blocks and not self.signed:
            self._add(Finding(FindingKind.NO_SIGNATURES, self.journal))
        self.findings.sort(key=lambda finding: finding.block or 0)

    def stray(self, header: BlockHeader | None, mark: RowDigest) -> None:
        number = header.number if header else None
        self._add(Finding(FindingKind.INSERTED, self.journal, number, mark.public_id, mark.at))

    def _check_chain(self, header: BlockHeader) -> None:
        if header.number != self.number + 1:
            self._add(Finding(FindingKind.BLOCK_REMOVED, self.journal, self.number + 1, at=utc_text(header.first_at)))
        elif header.previous_head != self.head or head_digest(header) != header.head:
            self._add_for_block(FindingKind.BLOCK_CHANGED, header)
        line = self._head_after(header.number - 1)
        while line is not None and line.number == header.number:
            if line.head != header.head:
                self._add_for_block(FindingKind.OTHER_HEAD, header)
            self._must_be_signed = self._must_be_signed or line.is_signed
            line = self._next_line()
        self._check_time(header)
        self._check_signature(header)
        self.continue_after(header)

    def _check_time(self, header: BlockHeader) -> None:
        if header.sealed_at - self.trust.now > CLOCK_TOLERANCE:
            self._add_for_block(FindingKind.SEALED_IN_FUTURE, header)
        if self.sealed_at - header.sealed_at > (CLOCK_TOLERANCE if header.signature is None else timedelta()):
            self._add_for_block(FindingKind.SEALED_BACKWARDS, header)

    def _check_signature(self, header: BlockHeader) -> None:
        key = header.public_key or ""
        if header.signature is None:
            if self._must_be_signed:
                self._add_for_block(FindingKind.UNSIGNED, header)
        elif not is_signed_by(key, header.signature, header.head):
            self._add_for_block(FindingKind.WRONG_SIGNATURE, header)
        elif self.trust.keys and key not in self.trust.keys:
            self._add_for_block(FindingKind.UNKNOWN_KEY, header)
        else:
            self.signed += 1
            self.unproven_keys |= {key} - self.trust.keys

    def _head_after(self, number: int) -> HeadLine | None:
        """Skip repeated numbers, which two writing processes leave in the file."""
        line = self._next_head or self._next_line()
        while line is not None and line.number <= number:
            line = self._next_line()
        return line

    def _next_line(self) -> HeadLine | None:
        self._next_head = next(self.heads, None) if self.heads is not None else None
        return self._next_head

    def _compare(self, header: BlockHeader, listed: Sequence[RowDigest], rows: Sequence[RowDigest]) -> None:
        for index, (sealed, row) in enumerate(zip_longest(listed, rows)):
            if sealed is None or row is None or row.public_id != sealed.public_id:
                self._report_difference(header, listed, rows, index)
                return
            if row.digest != sealed.digest:
                self._add_for_row(FindingKind.CHANGED, header, row)
                return

    def _report_difference(
        self, header: BlockHeader, listed: Sequence[RowDigest], rows: Sequence[RowDigest], index: int
    ) -> None:
        sealed, row = (marks[index] if index < len(marks) else None for marks in (listed, rows))
        lists = (listed, rows, rows[:index])
        sealed_ids, current_ids, previous_ids = ({mark.public_id for mark in marks} for marks in lists)
        if sealed is not None and sealed.public_id not in current_ids:
            # Report the sealed row, whether it was removed or got another public id.
            self._add_for_row(FindingKind.REMOVED, header, sealed)
        elif row is not None:
            is_foreign = row.public_id not in sealed_ids or row.public_id in previous_ids
            self._add_for_row(FindingKind.INSERTED if is_foreign else FindingKind.MOVED, header, row)

    def _report_surplus(self, header: BlockHeader, rows: Sequence[RowDigest]) -> None:
        if rows:
            self._add_for_row(FindingKind.INSERTED, header, rows[0])

    def _check_purge(self, header: BlockHeader) -> None:
        """Accept rows sealed long enough ago; the dates of the purge block prove nothing."""
        limit = years_before(min(self.sealed_at, self.trust.now), MINIMUM_YEARS)
        first, last = header.purged_first or 0, header.purged_last or -1
        covered = [block for block in self._gone if first <= block[0] <= last]
        lawful = {number for number, youngest in covered if youngest <= limit}
        if header.last_at > limit or len(lawful) < len(covered):
            self._add_for_block(FindingKind.PURGED_EARLY, header)
        self._gone = [block for block in self._gone if block[0] not in lawful]
        self.purged += len(lawful)

    def _add_for_row(self, what: FindingKind, header: BlockHeader, mark: RowDigest) -> None:
        at = mark.at or utc_text(header.first_at)
        self._add(Finding(what, self.journal, header.number, mark.public_id, at))

    def _add_for_block(self, what: FindingKind, header: BlockHeader) -> None:
        self._add(Finding(what, self.journal, header.number, at=utc_text(header.first_at)))

    def _add(self, finding: Finding) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def heads_of(journal: str, lines: Iterable[str]) -> Iterator[HeadLine]:
    """Parse lines `sealedAt journal number head [signature publicKey]`."""
    for line in lines:
        words = line.split()
        # An unfinished line is followed by a complete one.
        if len(words) in {4, 6} and words[1] == journal and words[2].isdigit() and len(words[3]) == len(START):
            yield HeadLine(int(words[2]), words[3], len(words) == 6)
