"""The check of numbers: whether counters, ledger, audit, renderings and documents agree."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from time import monotonic
from typing import Protocol
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.numbering.register.domain import (
    CounterRow,
    Discrepancy,
    DiscrepancyKind,
    LedgerNumber,
    SeriesCheck,
    are_plain,
    check_number,
    issuing_operation,
    ledger_lines,
    misprint,
)
from saraban.numbering.register.repository import consistency, ledger
from saraban.numbering.register.repository.consistency import NumberedDocuments

PAGE = 1000
SNAPSHOT_SECONDS = 2.0
Progress = Callable[[int, int], None]  # rows done, rows in all


async def check_consistency(
    db: Database, *, carriers: Sequence[NumberedDocuments], progress: Progress = lambda _done, _total: None
) -> AsyncIterator[Discrepancy]:
    """
    Name whatever two of the records disagree about, in the order in which it is found.

    A page is compared in one snapshot. A snapshot lasts about two seconds: an open one makes an online `ALTER TABLE`
    wait, and keeps the database from removing old versions of rows. A page with a discrepancy is compared once more in a
    new snapshot, and what is found both times is reported.

    :param carriers: the registers whose documents carry numbers
    """
    async with db.reading() as session:
        total = await consistency.count_rows(session, carriers)
    check = _Check(db, carriers, total, progress)
    while check.pages:
        # Another snapshot begins also where a table was altered after the last one began.
        for discrepancy in await db.repeat(check.compare_pages):
            yield discrepancy


class _Page(Protocol):
    """A page of one of the records, which is still to be compared."""

    async def compare(self, session: AsyncSession) -> "_Compared": ...


@dataclass(frozen=True, slots=True)
class _Compared:
    """
    What a page showed.

    :param following: the pages that come after it
    :param rows: how many it has, as `progress` counts them
    """

    discrepancies: Sequence[Discrepancy]
    following: Sequence[_Page]
    rows: int = 0


class _Check:
    """:ivar pages: the next one is the last in the list"""

    def __init__(self, db: Database, carriers: Sequence[NumberedDocuments], total: int, progress: Progress) -> None:
        self._db = db
        self._done, self._total, self._progress = 0, total, progress
        self._suspected: set[tuple[str, ...]] | None = None
        self.pages: list[_Page] = [
            *(_DocumentPage(register) for register in reversed(carriers)),
            _AuditPage(),
            _LedgerPage(carriers),
            _CounterPage(is_counted=False),
            _CounterPage(is_counted=True),
        ]

    async def compare_pages(self) -> Sequence[Discrepancy]:
        """Compare pages in one snapshot until its time is over or a page has discrepancies; return those found twice."""
        async with self._db.snapshot() as session:
            end = monotonic() + SNAPSHOT_SECONDS
            while self.pages and monotonic() < end:
                compared = await self.pages[-1].compare(session)
                if compared.discrepancies and self._suspected is None:
                    self._suspected = set(map(_subject, compared.discrepancies))
                    return ()
                suspected, self._suspected = self._suspected or (), None
                self.pages[-1:] = reversed(compared.following)
                self._done += compared.rows
                self._progress(self._done, max(self._total, self._done))
                if confirmed := [one for one in compared.discrepancies if _subject(one) in suspected]:
                    return confirmed
        return ()


def _subject(discrepancy: Discrepancy) -> tuple[str, ...]:
    """What a discrepancy is about: its detail may have gone on counting meanwhile."""
    return (discrepancy.what, discrepancy.project, discrepancy.about)


@dataclass(frozen=True, slots=True)
class _CounterPage:
    """:param is_counted: counters; otherwise the series of the ledger that have none"""

    is_counted: bool
    after: consistency.CounterPlace | None = None

    async def compare(self, session: AsyncSession) -> _Compared:
        read = consistency.counters_page if self.is_counted else consistency.uncounted_page
        counters, after = await read(session, after=self.after, limit=PAGE)
        following: list[_Page] = [_SeriesPage(counter, seen=counter.before) for counter in counters]
        return _Compared((), following if after is None else [*following, replace(self, after=after)])


@dataclass(frozen=True, slots=True)
class _SeriesPage:
    """
    Sequences of one counter in order: what is missing between them, and what the counter does not explain.

    :param seen: the last sequence before the page
    :param position: sequence and key behind which it begins
    :param before: the number before it, and the audit row of its issue
    :param drawn: the highest sequence that was drawn, of a counter that has no row
    """

    counter: CounterRow
    seen: int
    position: tuple[int, int] = (0, 0)
    before: tuple[LedgerNumber, float] | None = None
    drawn: int | None = None

    async def compare(self, session: AsyncSession) -> _Compared:
        counter, last, drawn = self.counter, await consistency.last_number(session, self.counter), self.drawn
        if last is None and drawn is None:
            drawn = await consistency.last_issued(session, counter)
        counted = (drawn or 0) if last is None else last
        page = replace(self, drawn=drawn)
        numbers = await consistency.sequences(session, counter, after=self.position, limit=PAGE)
        compared = page.compare_plain(numbers, counted) or await page.compare_each(session, counted)
        # Where a counter is missing, it must have stood where the last number was drawn.
        if last is None and drawn and self.position == (0, 0):
            missing = Discrepancy(DiscrepancyKind.COUNTER_MISSING, counter.project, counter.series)
            return replace(compared, discrepancies=[missing, *compared.discrepancies])
        return compared

    def compare_plain(self, numbers: Sequence[tuple[int, str]], last: int) -> _Compared | None:
        """:returns: None where the numbers have to be looked at one by one"""
        is_full = len(numbers) == PAGE
        # A page of one sequence alone (an old register has them) would be the next page, too.
        is_same = is_full and numbers[0][0] == numbers[-1][0]
        if is_same or not are_plain(numbers, seen=self.seen, counter=last, most=PAGE):
            return None
        if not is_full:
            return _Compared((), ())
        # The next page begins with the last number of this one: it may have been issued twice.
        before = numbers[-1][0] - 1
        return _Compared((), [replace(self, seen=before, position=(before, consistency.HIGHEST_KEY))])

    async def compare_each(self, session: AsyncSession, last: int) -> _Compared:
        counter = self.counter
        entries = await consistency.ledger_numbers(session, counter, after=self.position, limit=PAGE)
        ended = len(entries) < PAGE
        operations = await consistency.audited_operations(session, [entry.public_id for entry in entries])
        gaps, resets = await ledger.gaps_of(
            session, project_id=counter.project_id, series=counter.series, counter=counter.range
        )
        issued = {key: issue for key, those in operations.items() if (issue := issuing_operation(those)) is not None}
        check = SeriesCheck(counter, last, resets, self.before)
        lines = ledger_lines(entries, after=self.seen, counter=last, gaps=gaps, upto=None if ended else 0)
        discrepancies = list(check.along(lines, issued))
        if ended:
            return _Compared(discrepancies, ())
        end = entries[-1]
        seen, position = max(self.seen, end.sequence), (end.sequence, end.id)
        return _Compared(discrepancies, [replace(self, seen=seen, position=position, before=check.before)])


# Numbers of one series have the same values.
_values = lru_cache(maxsize=4096)(orjson.loads)


@dataclass(frozen=True, slots=True)
class _LedgerPage:
    """Numbers of the ledger that are not what the other records say; those that are plain are not looked at further."""

    carriers: Sequence[NumberedDocuments]
    after: int = 0

    async def compare(self, session: AsyncSession) -> _Compared:
        rows = await consistency.plain_numbers(session, self.carriers, above=self.after, limit=PAGE)
        doubtful = [
            key for key, plain, values, *printed in rows if not plain or misprint(_values(values), *printed) is not None
        ]
        entries = await consistency.numbers_of(session, doubtful)
        operations = await consistency.audited_operations(session, [entry.public_id for entry in entries])
        renderings = await consistency.renderings_of(session, doubtful)
        linked = [one for entry in entries for one in (entry.replaces, entry.replaced_by) if one is not None]
        links = await consistency.links_of(session, linked)
        holders = {entry.holder for entry in entries if entry.holder is not None}
        documents = await consistency.documents_of(session, self.carriers, list(holders))
        discrepancies = [
            wrong
            for entry in entries
            for wrong in check_number(
                entry,
                operations=operations.get(entry.public_id, []),
                renderings=renderings.get(entry.id, ()),
                links=links,
                document=documents.get(entry.holder) if entry.holder else None,
            )
        ]
        return _Compared(discrepancies, [replace(self, after=rows[-1][0])] if rows else (), len(rows))


@dataclass(frozen=True, slots=True)
class _AuditPage:
    """Rows of the audit whose number the ledger does not have."""

    after: int = 0

    async def compare(self, session: AsyncSession) -> _Compared:
        rows, count, last = await consistency.orphaned_operations(session, above=self.after, limit=PAGE)
        lost: dict[UUID, Discrepancy] = {}
        for public_id, operation, number, project in rows:
            about = number or str(public_id)
            lost.setdefault(public_id, Discrepancy(DiscrepancyKind.LEDGER_MISSING, project, about, operation))
        return _Compared(list(lost.values()), () if last is None else [replace(self, after=last)], count)


@dataclass(frozen=True, slots=True)
class _DocumentPage:
    """Documents whose number is not theirs."""

    register: NumberedDocuments
    after: int = 0

    async def compare(self, session: AsyncSession) -> _Compared:
        rows, count, last = await consistency.documents_without_number(
            session, self.register, above=self.after, limit=PAGE
        )
        discrepancies = [
            Discrepancy(DiscrepancyKind.DOCUMENT_WITHOUT_NUMBER, project, document.printed, str(document.public_id))
            for project, document in rows
        ]
        return _Compared(discrepancies, () if last is None else [replace(self, after=last)], count)
