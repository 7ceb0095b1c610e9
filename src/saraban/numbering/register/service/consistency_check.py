"""What numbering asks of those whose documents carry numbers; they are registered where the parts meet."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database, Snapshots
from saraban.numbering.register.domain import (
    AuditedOperation,
    CounterRow,
    Discrepancy,
    DiscrepancyKind,
    Gap,
    LedgerNumber,
    NumberedDocument,
    SeriesCheck,
    check_number,
    document_without_number,
    issuing_operation,
    ledger_lines,
)
from saraban.numbering.register.repository import consistency, ledger

S = TypeVar("S")

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

    A page is compared in one snapshot and snapshots are short, so that a check of hours delays nobody. A page with a
    discrepancy is compared once more in a new snapshot, and what is found both times is told.

    :param carriers: the registers whose documents carry numbers
    """
    async with Snapshots(db) as snapshots:
        run = _CheckRun(snapshots, await _total(snapshots, carriers), progress)
        for page in (consistency.counters_page, consistency.uncounted_page):
            async for counter in _paged(snapshots, page):
                walk = _SeriesWalk(counter, carriers)
                async for found in run.along(walk.step, _Place(seen=counter.before)):
                    yield found
        async for found in run.along(_orphans, 0):
            yield found
        for register in carriers:
            async for found in run.along(partial(_documents, register), 0):
                yield found


async def _total(snapshots: Snapshots, carriers: Sequence[NumberedDocuments]) -> int:
    counts = [consistency.size_of_ledger, consistency.size_of_audit, *(register.count for register in carriers)]
    return sum([await snapshots.step(count) for count in counts])


class _Compared(NamedTuple, Generic[S]):
    """What a page showed, its rows, and where the next one begins; None after the last."""

    found: Sequence[Discrepancy]
    rows: int
    following: S | None


class _CheckRun:
    """Take steps, tell what they find, and how far they are."""

    def __init__(self, snapshots: Snapshots, total: int, progress: Progress) -> None:
        self._snapshots = snapshots
        self._done, self._total, self._progress = 0, total, progress

    async def along(
        self, step: Callable[[AsyncSession, S], Awaitable[_Compared[S]]], begin: S
    ) -> AsyncIterator[Discrepancy]:
        place: S | None = begin
        while place is not None:
            compared = await self._snapshots.step(partial(_at, step, place))
            if compared.found:
                suspected = {_subject(one) for one in compared.found}
                await self._snapshots.end()
                compared = await self._snapshots.step(partial(_at, step, place))
                await self._snapshots.end()  # whoever is told may take their time
                for one in compared.found:
                    if _subject(one) in suspected:
                        yield one
            place = compared.following
            self._done += compared.rows
            self._progress(self._done, max(self._total, self._done))


async def _at(
    step: Callable[[AsyncSession, S], Awaitable[_Compared[S]]], place: S, session: AsyncSession
) -> _Compared[S]:
    return await step(session, place)


def _subject(found: Discrepancy) -> tuple[str, ...]:
    """What a discrepancy is about: its detail may have gone on counting meanwhile."""
    return (found.what, found.project, found.about)


async def _paged(
    snapshots: Snapshots,
    page: Callable[..., Awaitable[tuple[Sequence[CounterRow], consistency.CounterPlace | None]]],
) -> AsyncIterator[CounterRow]:
    after: consistency.CounterPlace | None = None
    while True:
        counters, after = await snapshots.step(partial(page, after=after, limit=PAGE))
        for counter in counters:
            yield counter
        if after is None:
            return


class _Place(NamedTuple):
    """How far a walk along the numbers of a counter is."""

    seen: int
    position: tuple[int, int] = (0, 0)
    before: tuple[LedgerNumber, float] | None = None


class _Books(NamedTuple):
    """What one snapshot says of a counter: where it stands, what explains its holes, and what set it back."""

    session: AsyncSession
    last: int
    missing: bool
    gaps: Sequence[Gap]
    resets: Sequence[int]


class _SeriesWalk:
    """The numbers of one counter in order, each against the other records, and what is missing between them."""

    def __init__(self, counter: CounterRow, carriers: Sequence[NumberedDocuments]) -> None:
        self._counter, self._carriers = counter, carriers
        self._books: _Books | None = None
        self._drawn: int | None = None

    async def step(self, session: AsyncSession, place: _Place) -> _Compared[_Place]:
        books, counter = await self._read(session), self._counter
        entries = await consistency.ledger_numbers(session, counter, after=place.position, limit=PAGE)
        ended = len(entries) < PAGE
        operations = await consistency.audited_operations(session, [entry.public_id for entry in entries])
        found = await _compared(session, entries, operations, self._carriers)
        issued = {key: issue for key, those in operations.items() if (issue := issuing_operation(those)) is not None}
        check = SeriesCheck(counter, books.last, books.resets, place.before)
        lines = ledger_lines(entries, after=place.seen, counter=books.last, gaps=books.gaps, upto=None if ended else 0)
        found += check.along(lines, issued)
        if books.missing and place.position == (0, 0):
            found.insert(0, Discrepancy(DiscrepancyKind.COUNTER_MISSING, counter.project, counter.series))
        if ended:
            return _Compared(found, len(entries), None)
        last = entries[-1]
        return _Compared(
            found, PAGE, _Place(max(place.seen, last.sequence), (last.sequence, last.id), before=check.before)
        )

    async def _read(self, session: AsyncSession) -> _Books:
        """Once in each snapshot: a number that was issued since has moved the counter too."""
        if self._books is not None and self._books.session is session:
            return self._books
        counter = self._counter
        last = await consistency.last_number(session, counter)
        if last is None and self._drawn is None:
            self._drawn = await consistency.last_issued(session, counter)
        gaps, resets = await ledger.gaps_of(
            session, project_id=counter.project_id, series=counter.series, counter=counter.range
        )
        # Where a counter is missing, it must have stood where the last number was drawn.
        missing = last is None and bool(self._drawn)
        self._books = _Books(session, self._drawn or 0 if last is None else last, missing, gaps, resets)
        return self._books


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


async def _orphans(session: AsyncSession, after: int) -> _Compared[int]:
    """Rows of the audit whose number the ledger does not have."""
    rows, count, last = await consistency.orphaned_operations(session, above=after, limit=PAGE)
    lost: dict[UUID, Discrepancy] = {}
    for public_id, operation, number, project in rows:
        about = number or str(public_id)
        lost.setdefault(public_id, Discrepancy(DiscrepancyKind.LEDGER_MISSING, project, about, operation))
    return _Compared(list(lost.values()), count, last)


async def _documents(register: NumberedDocuments, session: AsyncSession, after: int) -> _Compared[int]:
    """Documents whose number is not theirs."""
    rows, last = await register.page(session, after=after, limit=PAGE)
    holders = await consistency.holders_of(session, [one.number for _, one in rows if one.number is not None])
    found = [
        wrong
        for project, one in rows
        for wrong in document_without_number(project, one, holders.get(one.number) if one.number else None)
    ]
    return _Compared(found, len(rows), last if rows else None)
