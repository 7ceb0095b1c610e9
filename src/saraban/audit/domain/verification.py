"""
Is a journal what was sealed? Fed block by block, from the database or from an export, in constant memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest

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

MOST_FINDINGS = 20


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


@dataclass
class JournalVerification:
    """
    One journal, whose blocks are handed in by ascending number.

    :param heads: (number, head) as the head file tells them, or None when there is none to compare with
    """

    journal: str
    heads: Iterator[tuple[int, str]] | None = None
    findings: list[Finding] = field(default_factory=list)
    blocks: int = 0
    rows: int = 0
    purged: int = 0
    number: int = 0
    head: str = START
    last_at: datetime | None = None
    _gone: list[tuple[int, datetime]] = field(default_factory=list)
    _next_head: tuple[int, str] | None = None

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
            self._gone.append((header.number, header.last_at))
            self._strangers(header, rows)
        self.rows += len(rows)
        self.last_at = header.last_at

    def finish(self) -> None:
        """Add the findings that only the end shows: rows that nobody deleted lawfully, and a tail that was cut."""
        for number, _ in self._gone:
            self._add(Finding(FindingKind.ROWS_GONE, self.journal, number))
        line = self._head_after(self.number)
        if line is not None:
            self._add(Finding(FindingKind.TAIL_CUT, self.journal, line[0]))
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
        while line is not None and line[0] == header.number:
            if line[1] != header.head:
                self._found(FindingKind.OTHER_HEAD, header)
            line = self._advance()
        self.number, self.head = header.number, header.head

    def _head_after(self, number: int) -> tuple[int, str] | None:
        """A line for a number that was passed already repeats an earlier one: two processes kept the file at once."""
        line = self._next_head or self._advance()
        while line is not None and line[0] <= number:
            line = self._advance()
        return line

    def _advance(self) -> tuple[int, str] | None:
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
        if header.last_at > years_before(header.sealed_at, MINIMUM_YEARS):
            self._found(FindingKind.PURGED_EARLY, header)
            return
        first, last = header.purged_first or 0, header.purged_last or -1
        before = len(self._gone)
        self._gone = [gone for gone in self._gone if not (first <= gone[0] <= last and gone[1] <= header.last_at)]
        self.purged += before - len(self._gone)

    def _row(self, what: FindingKind, header: BlockHeader, mark: RowDigest) -> None:
        at = mark.at or utc_text(header.first_at)
        self._add(Finding(what, self.journal, header.number, mark.public_id, at))

    def _found(self, what: FindingKind, header: BlockHeader) -> None:
        self._add(Finding(what, self.journal, header.number, at=utc_text(header.first_at)))

    def _add(self, finding: Finding) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def heads_of(journal: str, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Return (number, head) of one journal from the lines `sealedAt journal number head` of a head file."""
    for line in lines:
        words = line.split()
        # A head that was cut short is a line that was never finished: it is written again behind it.
        if len(words) == 4 and words[1] == journal and words[2].isdigit() and len(words[3]) == len(START):
            yield int(words[2]), words[3]
