"""What numbering asks of those whose documents carry numbers; they are registered where the parts meet."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import lru_cache, partial
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database, Snapshots
from saraban.kit.statements import PreparedStatement
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

S = TypeVar("S")

PAGE = 1000
Progress = Callable[[int, int], None]  # rows done, rows in all


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
        total = sum([await snapshots.step(partial(consistency.size_of, key)) for key in consistency.keys_of(carriers)])
        run = _CheckRun(snapshots, total, progress)
        for page in (consistency.counters_page, consistency.uncounted_page):
            async for counter in _paged(snapshots, page):
                async for found in run.along(_SeriesWalk(counter).step, _Place(seen=counter.before)):
                    yield found
        numbers = partial(_numbers, carriers, consistency.plain_numbers(carriers))
        steps: list[_Step[int]] = [numbers, _orphans, *(partial(_documents, register) for register in carriers)]
        for step in steps:
            async for found in run.along(step, 0):
                yield found


class _Compared(NamedTuple, Generic[S]):
    """What a page showed, its rows, and where the next one begins; None after the last."""

    found: Sequence[Discrepancy]
    rows: int
    following: S | None


_Step = Callable[[AsyncSession, S], Awaitable[_Compared[S]]]


class _CheckRun:
    """Take steps, tell what they find, and how far they are."""

    def __init__(self, snapshots: Snapshots, total: int, progress: Progress) -> None:
        self._snapshots = snapshots
        self._done, self._total, self._progress = 0, total, progress

    async def along(self, step: _Step[S], begin: S) -> AsyncIterator[Discrepancy]:
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


async def _at(step: _Step[S], place: S, session: AsyncSession) -> _Compared[S]:
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


class _SeriesWalk:
    """The sequences of one counter in order: what is missing between them, and what the counter does not explain."""

    def __init__(self, counter: CounterRow) -> None:
        self._counter = counter
        self._session: AsyncSession | None = None
        self._last: int | None = None
        self._drawn: int | None = None

    async def step(self, session: AsyncSession, place: _Place) -> _Compared[_Place]:
        last, counter = await self._read(session), self._counter
        numbers = await consistency.sequences(session, counter, after=place.position, limit=PAGE)
        full = len(numbers) == PAGE
        following: _Place | None = None
        # A page of one sequence alone (an old register has them) would be the next page, too.
        if (full and numbers[0][0] == numbers[-1][0]) or not are_plain(
            numbers, seen=place.seen, counter=last, most=PAGE
        ):
            found, following = await self._compared(session, place, last)
        else:
            found = []
            if full:
                # The next page begins with the last number of this one: it may have been issued twice.
                before = numbers[-1][0] - 1
                following = _Place(before, (before, consistency.HIGHEST_KEY), place.before)
        # Where a counter is missing, it must have stood where the last number was drawn.
        if self._last is None and self._drawn and place.position == (0, 0):
            found.insert(0, Discrepancy(DiscrepancyKind.COUNTER_MISSING, counter.project, counter.series))
        return _Compared(found, 0, following)

    async def _read(self, session: AsyncSession) -> int:
        """Once in each snapshot: a number that was issued since has moved the counter too."""
        if self._session is not session:
            self._session, self._last = session, await consistency.last_number(session, self._counter)
        if self._last is None and self._drawn is None:
            self._drawn = await consistency.last_issued(session, self._counter)
        return self._drawn or 0 if self._last is None else self._last

    async def _compared(
        self, session: AsyncSession, place: _Place, last: int
    ) -> tuple[list[Discrepancy], _Place | None]:
        counter = self._counter
        entries = await consistency.ledger_numbers(session, counter, after=place.position, limit=PAGE)
        ended = len(entries) < PAGE
        operations = await consistency.audited_operations(session, [entry.public_id for entry in entries])
        gaps, resets = await ledger.gaps_of(
            session, project_id=counter.project_id, series=counter.series, counter=counter.range
        )
        issued = {key: issue for key, those in operations.items() if (issue := issuing_operation(those)) is not None}
        check = SeriesCheck(counter, last, resets, place.before)
        lines = ledger_lines(entries, after=place.seen, counter=last, gaps=gaps, upto=None if ended else 0)
        found = list(check.along(lines, issued))
        if ended:
            return found, None
        end = entries[-1]
        return found, _Place(max(place.seen, end.sequence), (end.sequence, end.id), check.before)


async def _numbers(
    carriers: Sequence[NumberedDocuments], statement: PreparedStatement, session: AsyncSession, after: int
) -> _Compared[int]:
    """Numbers of the ledger that are not what the other records say; those that are plain are not looked at further."""
    rows = await statement.rows(session, after=after, most=PAGE)
    doubtful = [
        key for key, plain, values, *printed in rows if not plain or misprint(_values(values), *printed) is not None
    ]
    entries = await consistency.numbers_of(session, doubtful)
    operations = await consistency.audited_operations(session, [entry.public_id for entry in entries])
    renderings = await consistency.renderings_of(session, doubtful)
    linked = [one for entry in entries for one in (entry.replaces, entry.replaced_by) if one is not None]
    links = await consistency.links_of(session, linked)
    holders = {entry.holder for entry in entries if entry.holder is not None}
    documents = await consistency.documents_of(session, carriers, list(holders))
    found = [
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
    return _Compared(found, len(rows), rows[-1][0] if rows else None)


# Numbers of one series have the same values.
_values = lru_cache(maxsize=4096)(orjson.loads)


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
    rows, count, last = await consistency.documents_without_number(session, register, above=after, limit=PAGE)
    found = [
        Discrepancy(DiscrepancyKind.DOCUMENT_WITHOUT_NUMBER, project, one.printed, str(one.public_id))
        for project, one in rows
    ]
    return _Compared(found, count, last)
