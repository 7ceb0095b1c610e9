"""What numbering asks of those whose documents carry numbers; they are registered where the parts meet."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.numbering.register.domain import (
    AuditedOperation,
    CounterRow,
    Discrepancy,
    DiscrepancyKind,
    LedgerNumber,
    NumberedDocument,
    SeriesCheck,
    check_number,
    document_without_number,
    issuing_operation,
    ledger_lines,
)
from saraban.numbering.register.repository import consistency, ledger

PAGE = 1000
Progress = Callable[[int, int], None]  # rows done, rows in all


class NumberedDocuments(Protocol):
    """A register of documents, as far as numbers are concerned."""

    async def named(self, session: AsyncSession, public_ids: Sequence[UUID]) -> Sequence[NumberedDocument]:
        """Return those of these documents that the register has."""

    async def page(
        self, session: AsyncSession, *, after: int, limit: int
    ) -> tuple[Sequence[tuple[str, NumberedDocument]], int]:
        """Return documents with their projects' codes, above a key that stays inside the process, and the last key."""

    async def count(self, session: AsyncSession) -> int: ...


async def check_consistency(
    db: Database, *, carriers: Sequence[NumberedDocuments], progress: Progress = lambda _done, _total: None
) -> AsyncIterator[Discrepancy]:
    """
    Name whatever two of the records disagree about, in the order in which it is found.

    :param carriers: the registers whose documents carry numbers
    """
    async with db.snapshot() as session:
        tally = await _tally(session, carriers, progress)
        async for found in _counters(session, carriers, tally):
            yield found
        async for found in _orphans(session, tally):
            yield found
        async for found in _documents(session, carriers, tally):
            yield found


class _Tally:
    """How far it is."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def add(self, rows: int) -> None:
        self._done += rows
        self._progress(self._done, max(self._total, self._done))


async def _tally(session: AsyncSession, carriers: Sequence[NumberedDocuments], progress: Progress) -> _Tally:
    total = sum(await consistency.sizes(session))
    for register in carriers:
        total += await register.count(session)
    return _Tally(total, progress)


async def _counters(
    session: AsyncSession, carriers: Sequence[NumberedDocuments], tally: _Tally
) -> AsyncIterator[Discrepancy]:
    """The series with a counter, then those that have numbers and no counter: imported, or stated by hand."""
    for page in (consistency.counters_page, consistency.uncounted_page):
        async for counter in _paged(session, page):
            if not counter.there and (last := await consistency.last_issued(session, counter)):
                yield Discrepancy(DiscrepancyKind.COUNTER_MISSING, counter.project, counter.series)
                counter = replace(counter, last_number=last)  # noqa: PLW2901  as it must have been
            async for found in _series(session, counter, carriers, tally):
                yield found


async def _paged(
    session: AsyncSession, page: Callable[..., Awaitable[Sequence[CounterRow]]]
) -> AsyncIterator[CounterRow]:
    after: tuple[int, str, int] | None = None
    while counters := await page(session, after=after, limit=PAGE):
        for counter in counters:
            yield counter
        after = (counters[-1].project_id, counters[-1].series, counters[-1].range)


async def _series(
    session: AsyncSession, counter: CounterRow, carriers: Sequence[NumberedDocuments], tally: _Tally
) -> AsyncIterator[Discrepancy]:
    """The numbers of one counter in order, each against the other records, and what is missing between them."""
    gaps, resets = await ledger.gaps_of(
        session, project_id=counter.project_id, series=counter.series, counter=counter.range
    )
    last = counter.last_number
    walk = SeriesCheck(counter, resets)
    position, seen = (0, 0), counter.before
    while entries := await consistency.ledger_numbers(session, counter, after=position, limit=PAGE):
        operations = await consistency.audited_operations(session, [entry.public_id for entry in entries])
        for found in await _compared(session, entries, operations, carriers):
            yield found
        issued = {key: issue for key, those in operations.items() if (issue := issuing_operation(those)) is not None}
        for found in walk.along(ledger_lines(entries, after=seen, counter=last, gaps=gaps, upto=0), issued):
            yield found
        position, seen = (entries[-1].sequence, entries[-1].id), max(seen, entries[-1].sequence)
        tally.add(len(entries))
    nobody: list[LedgerNumber] = []
    for found in walk.along(ledger_lines(nobody, after=seen, counter=last, gaps=gaps), {}):
        yield found


async def _compared(
    session: AsyncSession,
    entries: Sequence[LedgerNumber],
    operations: Mapping[UUID, Sequence[AuditedOperation]],
    carriers: Sequence[NumberedDocuments],
) -> list[Discrepancy]:
    renderings = await consistency.renderings_of(session, [entry.id for entry in entries])
    linked = [one for entry in entries for one in (entry.replaces, entry.replaced_by) if one is not None]
    links = await consistency.links_of(session, linked)
    holders = list({entry.holder for entry in entries if entry.holder is not None})
    documents = {one.public_id: one for one in await _named(session, carriers, holders)}
    return [
        found
        for entry in entries
        for found in check_number(
            entry,
            operations=operations.get(entry.public_id, []),
            renderings=renderings.get(entry.id, ()),
            links=links,
            document=documents.get(entry.holder) if entry.holder else None,
        )
    ]


async def _named(
    session: AsyncSession, carriers: Sequence[NumberedDocuments], public_ids: Sequence[UUID]
) -> list[NumberedDocument]:
    if not public_ids:
        return []
    return [one for register in carriers for one in await register.named(session, public_ids)]


async def _orphans(session: AsyncSession, tally: _Tally) -> AsyncIterator[Discrepancy]:
    """Rows of the audit whose number the ledger does not have."""
    after = 0
    while rows := await consistency.audited_page(session, after=after, limit=PAGE):
        named = {row.number_id for row in rows if row.number_id is not None}
        known = await consistency.holders_of(session, list(named))
        reported: set[UUID] = set()
        for row in rows:
            if row.number_id is not None and row.number_id not in known and row.number_id not in reported:
                reported.add(row.number_id)
                yield Discrepancy(
                    DiscrepancyKind.LEDGER_MISSING, row.project, row.number or str(row.number_id), row.operation
                )
        after = rows[-1].id
        tally.add(len(rows))


async def _documents(
    session: AsyncSession, carriers: Sequence[NumberedDocuments], tally: _Tally
) -> AsyncIterator[Discrepancy]:
    """Documents whose number is not theirs."""
    for register in carriers:
        after = 0
        while True:
            rows, after = await register.page(session, after=after, limit=PAGE)
            if not rows:
                break
            holders = await consistency.holders_of(session, [one.number for _, one in rows if one.number is not None])
            for project, one in rows:
                for found in document_without_number(project, one, holders.get(one.number) if one.number else None):
                    yield found
            tally.add(len(rows))
