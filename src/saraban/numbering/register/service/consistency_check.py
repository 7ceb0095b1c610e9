"""The check that counters, ledger, audit, renderings and documents agree."""

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
    Snapshots last about two seconds: longer ones delay an online `ALTER TABLE` and the purge of old row versions.

    A page with discrepancies is compared again in a new snapshot; only those found twice are returned.
    """
    async with db.reading() as session:
        total = await consistency.count_rows(session, carriers)
    check = _Check(db, carriers, total, progress)
    while check.pages:
        # `repeat` begins another snapshot also after a table was altered.
        for discrepancy in await db.repeat(check.compare_pages):
            yield discrepancy


class _Page(Protocol):
    async def compare(self, session: AsyncSession) -> "_Compared": ...


@dataclass(frozen=True, slots=True)
class _Compared:
    """:param rows: as `progress` counts them"""

    discrepancies: Sequence[Discrepancy]
    following: Sequence[_Page]
    rows: int = 0


class _Check:
    """:ivar pages: a stack: the next page is the last"""

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
        """Compare pages in one snapshot; return confirmed discrepancies."""
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
                if confirmed := [
                    discrepancy for discrepancy in compared.discrepancies if _subject(discrepancy) in suspected
                ]:
                    return confirmed
        return ()


def _subject(discrepancy: Discrepancy) -> tuple[str, ...]:
    """The detail may change between snapshots."""
    return (discrepancy.what, discrepancy.project, discrepancy.about)


@dataclass(frozen=True, slots=True)
class _CounterPage:
    """:param is_counted: counters; otherwise series of the ledger without a counter"""

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
    :param seen: the last sequence before the page
    :param position: sequence and key after which it begins
    :param before: the previous number, and its issuing audit row
    :param drawn: the highest issued sequence, of a counter without a row
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
        # A missing counter is reported once, at the start of its series.
        if last is None and drawn and self.position == (0, 0):
            missing = Discrepancy(DiscrepancyKind.COUNTER_MISSING, counter.project, counter.series)
            return replace(compared, discrepancies=[missing, *compared.discrepancies])
        return compared

    def compare_plain(self, numbers: Sequence[tuple[int, str]], last: int) -> _Compared | None:
        """:returns: None where the numbers need a full check"""
        is_full = len(numbers) == PAGE
        # A page of a single sequence, as in old registers, would repeat itself.
        is_same = is_full and numbers[0][0] == numbers[-1][0]
        if is_same or not are_plain(numbers, seen=self.seen, counter=last, most=PAGE):
            return None
        if not is_full:
            return _Compared((), ())
        # The next page repeats the last sequence, which may have been issued twice.
        before = numbers[-1][0] - 1
        return _Compared((), [replace(self, seen=before, position=(before, consistency.HIGHEST_KEY))])

    async def compare_each(self, session: AsyncSession, last: int) -> _Compared:
        counter = self.counter
        entries = await consistency.ledger_numbers(session, counter, after=self.position, limit=PAGE)
        is_last = len(entries) < PAGE
        operations = await consistency.audited_operations(session, [entry.public_id for entry in entries])
        gaps, resets = await ledger.gaps_of(
            session, project_id=counter.project_id, series=counter.series, counter=counter.range
        )
        issued = {key: issue for key, rows in operations.items() if (issue := issuing_operation(rows)) is not None}
        check = SeriesCheck(counter, last, resets, self.before)
        lines = ledger_lines(entries, after=self.seen, counter=last, gaps=gaps, upto=None if is_last else 0)
        discrepancies = list(check.along(lines, issued))
        if is_last:
            return _Compared(discrepancies, ())
        end = entries[-1]
        seen, position = max(self.seen, end.sequence), (end.sequence, end.id)
        return _Compared(discrepancies, [replace(self, seen=seen, position=position, before=check.before)])


# Numbers of one series have the same values.
_values = lru_cache(maxsize=4096)(orjson.loads)


@dataclass(frozen=True, slots=True)
class _LedgerPage:
    """Only numbers that are not plain get a full check."""

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
        linked = [
            linked_id for entry in entries for linked_id in (entry.replaces, entry.replaced_by) if linked_id is not None
        ]
        links = await consistency.links_of(session, linked)
        holders = {entry.holder for entry in entries if entry.holder is not None}
        documents = await consistency.documents_of(session, self.carriers, list(holders))
        discrepancies = [
            discrepancy
            for entry in entries
            for discrepancy in check_number(
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
    after: int = 0

    async def compare(self, session: AsyncSession) -> _Compared:
        rows, count, last = await consistency.orphaned_operations(session, above=self.after, limit=PAGE)
        discrepancies: dict[UUID, Discrepancy] = {}
        for public_id, operation, number, project in rows:
            about = number or str(public_id)
            discrepancies.setdefault(public_id, Discrepancy(DiscrepancyKind.LEDGER_MISSING, project, about, operation))
        return _Compared(list(discrepancies.values()), () if last is None else [replace(self, after=last)], count)


@dataclass(frozen=True, slots=True)
class _DocumentPage:
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
