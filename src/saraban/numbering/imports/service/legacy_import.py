"""
Legacy numbers brought into the ledger, many at a time: first as a dry run, then one transaction for each batch.

An import may be broken off and begun again: what is there already is found by its token and left alone. The spreadsheets of
an import stand here too: the template, the file that is read, the result.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.imports import service as imports
from saraban.imports.domain import READY, REFUSED, THERE, ImportState
from saraban.imports.service import MOST_BYTES
from saraban.kit.child_processes import CHILDREN
from saraban.kit.db import Database, violates_constraint
from saraban.kit.errors import invalid
from saraban.kit.ids import new_id
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.spreadsheets import MOST_ROWS, read_table
from saraban.numbering.imports import repository
from saraban.numbering.imports.domain import COLUMNS
from saraban.numbering.imports.service.rows import (
    REASON,
    CheckedRow,
    ImportTarget,
    RowReader,
    compare_with_ledger,
    import_target,
    write_rows,
)
from saraban.numbering.issue.repository import NUMBER_CONSTRAINTS, TOKEN_CONSTRAINTS
from saraban.numbering.issue.service.manual_number import lock_counter, skip_to
from saraban.numbering.issue.service.number_plan import Plan
from saraban.numbering.series.models import NumberImport
from saraban.numbering.series.repository import last_number

BATCH = 1000
Each = Callable[[CheckedRow, str], None]


@dataclass(frozen=True, slots=True)
class ImportObserver:
    """
    Who is told of an import while it runs.

    :param each: told of each line and what comes of it, in order
    :param progress: told how many lines are done, after each batch
    """

    each: Each | None = None
    progress: Callable[[int], None] | None = None


_NOBODY = ImportObserver()


@dataclass(slots=True)
class HighestNumber:
    """
    The highest number of a series in the file.

    :param counter: where the series stands; the counter would jump from here
    :param plan: of its counter; series of literal numbers have none that could be moved
    """

    series: str
    sequence: int
    counter: int
    plan: Plan | None

    @property
    def jump(self) -> int:
        return max(self.sequence - self.counter, 0) if self.plan is not None else 0


@dataclass(slots=True)
class ImportOutcome:
    """What came of a file: lines that are (or would be) imported, that were there before, and that are refused."""

    ready: int = 0
    there: int = 0
    refused: int = 0
    highest: dict[str, HighestNumber] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.ready + self.there + self.refused

    def count(self, read: CheckedRow, state: str) -> None:
        self.ready += state == READY
        self.there += state == THERE
        self.refused += state == REFUSED
        number = read.number
        if number is None:
            return
        known = self.highest.get(number.series)
        if known is None:
            plan = None if number.is_literal else number.group.plan
            self.highest[number.series] = HighestNumber(number.series, number.sequence, 0, plan)
        elif number.sequence > known.sequence:
            known.sequence = number.sequence


@dataclass(frozen=True, slots=True)
class SourceFile:
    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ImportLease:
    """
    The row that tells how far an import is.

    :param lease: whose turn the work is; None for an import at a terminal, which nobody else takes up
    """

    row: int
    lease: UUID | None = None


async def dry_run(
    ctx: RequestContext,
    db: Database,
    *,
    project_public_id: UUID,
    rows: Iterable[SheetRow],
    observer: ImportObserver = _NOBODY,
) -> ImportOutcome:
    """
    Return what an import of these lines would do; nothing is written.

    :raises Forbidden: for who does not manage the numbers of the project
    """
    outcome = ImportOutcome()
    async with db.reading() as session:
        place = await import_target(ctx, session, project_public_id=project_public_id)
    reader = RowReader(ctx, place)
    async with aclosing(_ahead(db, reader, rows)) as batches:
        async for reads in batches:
            async with db.reading() as session:
                judged, before = await compare_with_ledger(session, place, reads)
            _tell(outcome, judged, before, observer)
    async with db.reading() as session:
        await _standing(session, place, outcome)
    return outcome


async def import_rows(
    ctx: RequestContext,
    db: Database,
    *,
    project_public_id: UUID,
    rows: Iterable[SheetRow],
    file: SourceFile,
    moves: Mapping[str, int] | None = None,
    ticket: ImportLease | None = None,
    observer: ImportObserver = _NOBODY,
) -> ImportOutcome:
    """
    Bring the lines into the ledger, one transaction for each batch; a line that is refused harms no other.

    :param moves: series and where their counters go on after, as the dry run showed; None: counters stay (REQ-NUM-18)
    :param ticket: the row of an upload; without it, that of an import at a terminal is made, or found again
    :raises Forbidden: for who does not manage the numbers of the project
    :raises LeaseLost: when the ticket is somebody else's by now
    """
    outcome = ImportOutcome()
    async with db.reading() as session:
        place = await import_target(ctx, session, project_public_id=project_public_id)
    reader = RowReader(ctx, place)
    if ticket is None:
        key = await db.transact(lambda session: _begin(ctx, session, place, file, moving=moves is not None))
        ticket = ImportLease(key)
    run = _ImportRun(ctx, place, ticket, outcome)
    async with aclosing(_ahead(db, reader, rows)) as batches:
        async for reads in batches:
            judged, before = await _written(db, partial(_write, run, reads))
            _tell(outcome, judged, before, observer)
    await db.transact(partial(_finish, run, moves or {}))
    return outcome


async def _ahead(db: Database, reader: RowReader, rows: Iterable[SheetRow]) -> AsyncGenerator[list[CheckedRow], None]:
    """Return the lines in batches; the next is read while the database writes the one before."""
    remaining = iter(rows)
    following = asyncio.ensure_future(_read(db, reader, remaining))
    try:
        while reads := await following:
            following = asyncio.ensure_future(_read(db, reader, remaining))
            yield reads
    finally:
        following.cancel()
        await asyncio.wait([following])


async def _read(db: Database, reader: RowReader, remaining: Iterator[SheetRow]) -> list[CheckedRow]:
    reads = []
    rows = await CHILDREN.run_in_background(lambda: list(islice(remaining, BATCH)))
    if not rows:
        return []
    async with db.reading() as session:
        for row in rows:
            reads.append(await reader.read(session, row))
            if len(reads) % 50 == 0:
                await asyncio.sleep(0)  # others have their turn, the writing of the batch before among them
    return reads


@dataclass(frozen=True, slots=True)
class _ImportRun:
    ctx: RequestContext
    place: ImportTarget
    ticket: ImportLease
    outcome: ImportOutcome


Judged = tuple[list[CheckedRow], set[int]]  # lines as they are judged, and which of them were imported before


async def _written(db: Database, step: Callable[[AsyncSession], Awaitable[Judged]]) -> Judged:
    """A number drawn by somebody between the look and the write breaks a constraint: look again, and it is refused."""
    for _ in range(4):
        try:
            return await db.transact(step)
        except IntegrityError as error:
            if not violates_constraint(error, *NUMBER_CONSTRAINTS, *TOKEN_CONSTRAINTS):
                raise
    return await db.transact(step)


async def _write(run: _ImportRun, reads: list[CheckedRow], session: AsyncSession) -> Judged:
    outcome, ticket = run.outcome, run.ticket
    judged, before = await compare_with_ledger(session, run.place, reads)
    fresh = [read.number for read in judged if read.number is not None and read.row.number not in before]
    if fresh:
        await write_rows(run.ctx, session, run.place, fresh)
    values = {
        "rows_done": outcome.total + len(judged),
        "rows_refused": outcome.refused + sum(read.number is None for read in judged),
        "rows_written": NumberImport.rows_written + len(fresh),
        "updated_at": run.ctx.now,
    }
    await imports.write_progress(session, NumberImport, key=ticket.row, lease=ticket.lease, values=values)
    return judged, before


def _tell(outcome: ImportOutcome, reads: Sequence[CheckedRow], before: set[int], observer: ImportObserver) -> None:
    for read in reads:
        state = REFUSED if read.number is None else THERE if read.row.number in before else READY
        outcome.count(read, state)
        if observer.each is not None:
            observer.each(read, state)
    if observer.progress is not None:
        observer.progress(outcome.total)


async def _begin(
    ctx: RequestContext, session: AsyncSession, place: ImportTarget, file: SourceFile, *, moving: bool
) -> int:
    """Note that the file is being imported, or that an import of it that was broken off goes on."""
    row = await repository.unfinished_import(session, project_id=place.project.id, sha256=file.sha256)
    if row is None:
        row = NumberImport(
            public_id=new_id(),
            project_id=place.project.id,
            user_id=ctx.caller.user_id,
            file_name=file.name[:255],
            file_sha256=file.sha256,
            state=ImportState.IMPORTING,
            created_at=ctx.now,
            rows_total=0,
        )
        session.add(row)
    row.moves_counters, row.rows_done, row.rows_refused, row.updated_at = moving, 0, 0, ctx.now
    await session.flush()
    return row.id


async def _finish(run: _ImportRun, moves: Mapping[str, int], session: AsyncSession) -> None:
    ctx, ticket, outcome = run.ctx, run.ticket, run.outcome
    row = await imports.hold(session, NumberImport, key=ticket.row, lease=ticket.lease)
    await _standing(session, run.place, outcome)
    moved: dict[str, list[int]] = {}
    for series in sorted(moves.keys() & outcome.highest.keys()):
        highest = outcome.highest[series]
        to = min(moves[series], highest.sequence)  # never past what was shown, nor past what the file has
        if highest.plan is not None and to > highest.counter:
            moved[series] = [highest.counter, to]
            counter = await lock_counter(session, highest.plan, now=ctx.now)
            await skip_to(ctx, session, counter, to, reason=REASON, plan=highest.plan)
    row.state, row.rows_refused = ImportState.DONE, outcome.refused
    row.rows_total = row.rows_done = outcome.total
    there = outcome.total - outcome.refused - row.rows_written  # what was written before a break is of this import
    counts = {"imported": row.rows_written, "there": there, "refused": outcome.refused, "moved": moved}
    row.report = (row.report or {}) | counts
    row.updated_at = row.finished_at = ctx.now
    await session.flush()


async def _standing(session: AsyncSession, place: ImportTarget, outcome: ImportOutcome) -> None:
    for highest in outcome.highest.values():
        highest.counter = await last_number(session, project_id=place.project.id, series=highest.series)


def source_file(path: Path) -> SourceFile:
    """:raises Invalid: for a file that is too large"""
    if path.stat().st_size > MOST_BYTES:
        raise invalid(
            "/file", "too_large", "ไฟล์ใหญ่เกิน {most} MB", "The file is larger than {most} MB.", most=MOST_BYTES >> 20
        )
    with path.open("rb") as file:
        return SourceFile(path.name, hashlib.file_digest(file, "sha256").hexdigest())


def rows_of(path: Path) -> Iterator[SheetRow]:
    """
    Return the rows below the headings.

    :raises Invalid: for a file that `read_table` refuses, or that is too large
    """
    source_file(path)
    return read_table(path, COLUMNS, most_rows=MOST_ROWS).rows
