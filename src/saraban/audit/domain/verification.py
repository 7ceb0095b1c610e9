"""
Is a journal what was sealed? Fed block by block, from the database or from an export, in constant memory.
"""

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
CLOCK_TOLERANCE = timedelta(minutes=5)  # between two machines, and of blocks from before seal times were monotonic
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


class FindingKind(StrEnum):
    """What somebody did, as far as the blocks can tell."""

    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    MOVED = "moved"
    ROWS_GONE = "rows_gone"  # and the block's own list of them too
    BLOCK_CHANGED = "block_changed"
    BLOCK_REMOVED = "block_removed"
    TAIL_CUT = "tail_cut"
    OTHER_HEAD = "other_head"
    PURGED_EARLY = "purged_early"
    SEALED_IN_FUTURE = "sealed_in_future"
    SEALED_BACKWARDS = "sealed_backwards"
    UNSIGNED = "unsigned"  # behind a block that is signed
    WRONG_SIGNATURE = "wrong_signature"
    UNKNOWN_KEY = "unknown_key"
    NO_SIGNATURES = "no_signatures"
    NO_HEADS = "no_heads"
    FILE_CUT = "file_cut"
    FILE_FAULT = "file_fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that is not as it was sealed.

    :param public_id: of the row, where a row can be named
    :param at: the row's time, or that of the first row of its block
    """

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
    """
    What a verification believes besides the blocks: no block can be sealed after `now`.

    :param keys: may sign; without any, a signature is compared with the key that its block states
    """

    now: datetime
    keys: frozenset[str] = frozenset()
    expects_signatures: bool = False


@dataclass
class JournalVerification:
    """
    One journal, whose blocks are handed in by ascending number.

    :param heads: lines of the head file, or None when there is none to compare with
    """

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
    _gone: list[tuple[int, datetime]] = field(default_factory=list)  # with the time after which no row was added
    _next_head: HeadLine | None = None

    def block(self, header: BlockHeader, *, listed: Sequence[RowDigest] | None, rows: Sequence[RowDigest]) -> None:
        """
        Examine the next block.

        :param listed: the block's own list of its rows; None once they were deleted
        :param rows: the rows that are there, in their order
        """
        self._follow(header)
        self.blocks += 1
        if header.kind is BlockKind.PURGE:
            self._purge(header)
            self._strangers(header, rows)
        elif listed is not None and rows_digest(listed) != header.rows_digest:
            self._found(FindingKind.BLOCK_CHANGED, header)
        elif listed is not None:
            self._compare(header, listed, rows)
        elif rows_digest(rows) != header.rows_digest:
            self._gone.append((header.number, max(header.last_at, header.sealed_at)))
            self._strangers(header, rows)
        self.rows += len(rows)

    def continue_after(self, header: BlockHeader) -> None:
        self.number, self.head = header.number, header.head
        self.sealed_at = max(self.sealed_at, header.sealed_at)
        self._must_be_signed = self._must_be_signed or header.signature is not None

    def finish(self) -> None:
        """Add the findings that only the end shows: rows that nobody deleted lawfully, and a tail that was cut."""
        for number, _ in self._gone:
            self._add(Finding(FindingKind.ROWS_GONE, self.journal, number))
        line = self._head_after(self.number)
        if line is not None:
            self._add(Finding(FindingKind.TAIL_CUT, self.journal, line.number))
        if self.trust.expects_signatures and self.blocks and not self.signed:
            self._add(Finding(FindingKind.NO_SIGNATURES, self.journal))
        self.findings.sort(key=lambda finding: finding.block or 0)

    def stray(self, header: BlockHeader | None, mark: RowDigest) -> None:
        """A row outside any block's place."""
        number = header.number if header else None
        self._add(Finding(FindingKind.INSERTED, self.journal, number, mark.public_id, mark.at))

    def _follow(self, header: BlockHeader) -> None:
        if header.number != self.number + 1:
            self._add(Finding(FindingKind.BLOCK_REMOVED, self.journal, self.number + 1, at=utc_text(header.first_at)))
        elif header.previous_head != self.head or head_digest(header) != header.head:
            self._found(FindingKind.BLOCK_CHANGED, header)
        line = self._head_after(header.number - 1)
        while line is not None and line.number == header.number:
            if line.head != header.head:
                self._found(FindingKind.OTHER_HEAD, header)
            self._must_be_signed = self._must_be_signed or line.is_signed
            line = self._advance()
        self._check_time(header)
        self._check_signature(header)
        self.continue_after(header)

    def _check_time(self, header: BlockHeader) -> None:
        if header.sealed_at - self.trust.now > CLOCK_TOLERANCE:
            self._found(FindingKind.SEALED_IN_FUTURE, header)
        if self.sealed_at - header.sealed_at > (CLOCK_TOLERANCE if header.signature is None else timedelta()):
            self._found(FindingKind.SEALED_BACKWARDS, header)

    def _check_signature(self, header: BlockHeader) -> None:
        key = header.public_key or ""
        if header.signature is None:
            if self._must_be_signed:
                self._found(FindingKind.UNSIGNED, header)
        elif not is_signed_by(key, header.signature, header.head):
            self._found(FindingKind.WRONG_SIGNATURE, header)
        elif self.trust.keys and key not in self.trust.keys:
            self._found(FindingKind.UNKNOWN_KEY, header)
        else:
            self.signed += 1
            self.unproven_keys |= {key} - self.trust.keys

    def _head_after(self, number: int) -> HeadLine | None:
        """A line for a number that was passed already repeats an earlier one: two processes kept the file at once."""
        line = self._next_head or self._advance()
        while line is not None and line.number <= number:
            line = self._advance()
        return line

    def _advance(self) -> HeadLine | None:
        self._next_head = next(self.heads, None) if self.heads is not None else None
        return self._next_head

    def _compare(self, header: BlockHeader, listed: Sequence[RowDigest], rows: Sequence[RowDigest]) -> None:
        for place, (sealed, there) in enumerate(zip_longest(listed, rows)):
            if sealed is None or there is None or there.public_id != sealed.public_id:
                self._differs(header, listed, rows, place)
                return
            if there.digest != sealed.digest:
                self._row(FindingKind.CHANGED, header, there)
                return

    def _differs(self, header: BlockHeader, listed: Sequence[RowDigest], rows: Sequence[RowDigest], place: int) -> None:
        """Say what happened at the first place where another row stands than was sealed there."""
        sealed, there = (marks[place] if place < len(marks) else None for marks in (listed, rows))
        wanted, present, seen = ({mark.public_id for mark in marks} for marks in (listed, rows, rows[:place]))
        if sealed is not None and sealed.public_id not in present:
            # A row with another public id in its very place: removed or renamed, the sealed one is the one to name.
            self._row(FindingKind.REMOVED, header, sealed)
        elif there is not None:
            foreign = there.public_id not in wanted or there.public_id in seen
            self._row(FindingKind.INSERTED if foreign else FindingKind.MOVED, header, there)

    def _strangers(self, header: BlockHeader, rows: Sequence[RowDigest]) -> None:
        if rows:
            self._row(FindingKind.INSERTED, header, rows[0])

    def _purge(self, header: BlockHeader) -> None:
        """Accept the deletion of rows that were sealed long enough before; the block's own dates can be invented."""
        limit = years_before(min(self.sealed_at, self.trust.now), MINIMUM_YEARS)
        first, last = header.purged_first or 0, header.purged_last or -1
        covered = [gone for gone in self._gone if first <= gone[0] <= last]
        lawful = {number for number, youngest in covered if youngest <= limit}
        if header.last_at > limit or len(lawful) < len(covered):
            self._found(FindingKind.PURGED_EARLY, header)
        self._gone = [gone for gone in self._gone if gone[0] not in lawful]
        self.purged += len(lawful)

    def _row(self, what: FindingKind, header: BlockHeader, mark: RowDigest) -> None:
        at = mark.at or utc_text(header.first_at)
        self._add(Finding(what, self.journal, header.number, mark.public_id, at))

    def _found(self, what: FindingKind, header: BlockHeader) -> None:
        self._add(Finding(what, self.journal, header.number, at=utc_text(header.first_at)))

    def _add(self, finding: Finding) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def heads_of(journal: str, lines: Iterable[str]) -> Iterator[HeadLine]:
    """Return the heads of one journal from the lines `sealedAt journal number head [signature publicKey]` of a head file."""
    for line in lines:
        words = line.split()
        # A head that was cut short is a line that was never finished: it is written again behind it.
        if len(words) in {4, 6} and words[1] == journal and words[2].isdigit() and len(words[3]) == len(START):
            yield HeadLine(int(words[2]), words[3], len(words) == 6)
