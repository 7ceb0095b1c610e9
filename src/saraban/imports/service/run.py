"""One kind of import, and the work on the lines of a file: judge and write each batch in a transaction, and go on after a break."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.imports import repository
from saraban.imports.domain import MISSING, MOST_FAULTS, REFUSED, REPORTED, ImportState, JudgedRow, shown_fault
from saraban.imports.models import ImportRow, OneImport
from saraban.kit.db import Database, violates_constraint
from saraban.kit.errors import DomainError
from saraban.kit.sheet_columns import SheetColumn, SheetRow
from saraban.kit.spreadsheets import MOST_ROWS, read_table
from saraban.kit.workbooks import ResultWorkbook

Batch = TypeVar("Batch")
Rows = TypeVar("Rows")
Found = TypeVar("Found")
P = ParamSpec("P")
_RACES = 4
_MOST_LOOKUPS = 2000


class LeaseLost(Exception):
    """Another worker took the import over, because this worker's lease had expired."""


@dataclass(slots=True)
class ImportTurn(Generic[OneImport]):
    """
    Somebody at work on one import, and what came of its lines so far.

    :param lease: of a worker; None at a terminal
    :param sheet: gets each line with its outcome
    :param progress: called with the number of lines that are done
    """

    found: ImportRow[OneImport]
    lease: UUID | None = None
    sheet: ResultWorkbook | None = None
    progress: Callable[[int], object] | None = None
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, object]] = field(default_factory=list)

    @property
    def row(self) -> OneImport:
        return self.found.row

    @property
    def is_check(self) -> bool:
        return self.row.state == ImportState.CHECKING

    @property
    def done(self) -> int:
        return self.counts.total()

    @property
    def refused_states(self) -> tuple[str, ...]:
        """Lines that wait for codes count as refused after the import."""
        return (REFUSED,) if self.is_check else (REFUSED, MISSING)

    def refused(self, counts: Mapping[str, int] | None = None) -> int:
        return sum((counts or self.counts)[state] for state in self.refused_states)

    def take(self, judged: Sequence[JudgedRow]) -> None:
        for one in judged:
            if one.state in self.refused_states or one.row.is_left_out:
                room = max(MOST_FAULTS - len(self.faults), 0)
                self.faults += [shown_fault(one.row.number, fault) for fault in one.faults[:room]]
            if self.sheet is not None:
                self.sheet.add_row(one.row, one.state, one.faults)
        self.counts.update(one.state for one in judged)
        if self.progress is not None:
            self.progress(self.done)

    def report(self) -> dict[str, object]:
        return {name: self.counts[state] for name, state in REPORTED.items()} | {"faults": self.faults}

    async def write(self, session: AsyncSession, values: Mapping[str, object]) -> None:
        """
        Write how far it is, in the transaction of what it tells of.

        :raises LeaseLost: when it is somebody else's turn by now
        """
        model = type(self.row)
        if not await repository.write_progress(session, model, key=self.row.id, lease=self.lease, values=values):
            raise LeaseLost


class ImportRun(ABC, Generic[Batch, Rows]):
    """
    The lines of one file beside the register that they are for.

    :cvar constraints: broken by a line when somebody registers the same between the look and the write
    """

    ctx: RequestContext
    constraints: Sequence[str]

    @abstractmethod
    def batches(self, db: Database, rows: Iterable[SheetRow]) -> AsyncGenerator[Batch, None]: ...

    @abstractmethod
    async def judge(
        self, session: AsyncSession, batch: Batch, *, lock: bool = False
    ) -> tuple[Sequence[JudgedRow], Rows]:
        """
        Say what each line comes to, and which rows that would be.

        :param lock: hold what is there, to write the rows
        """

    @abstractmethod
    async def write(self, session: AsyncSession, rows: Rows) -> int:
        """Return how many lines were written."""

    @abstractmethod
    async def findings(self, session: AsyncSession) -> Mapping[str, object]:
        """Return the further fields of the report, beside the counts."""

    async def finish(self, session: AsyncSession) -> Mapping[str, object]:
        """Finish the import in its last transaction, and return further fields of its report."""
        return await self.findings(session)


class Lookups(Generic[Found]):
    """Values that many lines share, looked up once. A refusal is kept as well."""

    def __init__(self) -> None:
        self._found: dict[object, Found | DomainError] = {}

    async def get(self, key: object, find: Callable[P, Awaitable[Found]], *args: P.args, **kwargs: P.kwargs) -> Found:
        if key not in self._found:
            if len(self._found) >= _MOST_LOOKUPS:
                self._found.clear()
            try:
                self._found[key] = await find(*args, **kwargs)
            except DomainError as refused:
                self._found[key] = refused
        found = self._found[key]
        if isinstance(found, DomainError):
            raise found
        return found


class Importer(ABC, Generic[OneImport]):
    """
    One kind of import.

    :ivar path: of the API; the pages and the receipts use it, too
    :ivar name: of the template and its sheet
    """

    model: type[OneImport]
    path: str
    name: str
    columns: Sequence[SheetColumn]
    most_rows = MOST_ROWS

    def of(self, row: OneImport) -> "Importer[OneImport]":  # noqa: ARG002  several may share a table
        return self

    def rows(self, path: Path, sheet: str | None = None) -> Iterator[SheetRow]:
        """
        Read the lines of a file; the first step takes long.

        :raises Invalid: at `/file`, for what cannot be read, or lacks a column
        """
        yield from read_table(path, self.columns, most_rows=self.most_rows, sheet=sheet)

    async def template_columns(
        self, _ctx: RequestContext, _session: AsyncSession, _project: UUID | None, /
    ) -> Sequence[SheetColumn]:
        """Return the columns with the codes of a project that the caller can see, as choices."""
        return self.columns

    @abstractmethod
    async def project(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> int:
        """
        Return the key of a project whose imports the caller may list.

        :raises DomainError: for others
        """

    def visible_imports(self, ctx: RequestContext, project: int) -> Sequence[sa.ColumnElement[bool]]:  # noqa: ARG002
        """Return the condition for the imports of a project that the caller can see."""
        return ()

    @abstractmethod
    def may_read(self, ctx: RequestContext, row: OneImport) -> bool: ...

    @abstractmethod
    async def new_import(self, ctx: RequestContext, session: AsyncSession, query: Any) -> OneImport:
        """
        Return the row of a file that the caller may send.

        :raises DomainError: for others, and for what the query names wrongly
        """

    @abstractmethod
    def choose(self, ctx: RequestContext, row: OneImport, choice: Any) -> Mapping[str, object]:
        """
        Keep what is chosen beside what the dry run shows, and return it for the audit trail.

        :raises DomainError: for what cannot be chosen
        """

    @abstractmethod
    async def begin(self, ctx: RequestContext, db: Database, turn: ImportTurn[OneImport]) -> ImportRun[Any, Any]:
        """:raises DomainError: when the account has lost its permission"""


AnyImporter = Importer[Any]


async def check_rows(
    db: Database, run: ImportRun[Batch, Rows], turn: ImportTurn[OneImport], rows: Iterable[SheetRow]
) -> dict[str, object]:
    """Return the report of what an import of these lines would do; nothing is written."""
    async with aclosing(run.batches(db, rows)) as batches:
        async for batch in batches:
            async with db.reading() as session:
                judged, _ = await run.judge(session, batch)
            turn.take(judged)
            await asyncio.sleep(0)
    async with db.reading() as session:
        return turn.report() | dict(await run.findings(session))


async def import_rows(
    db: Database, run: ImportRun[Batch, Rows], turn: ImportTurn[OneImport], rows: Iterable[SheetRow]
) -> None:
    """
    Import these lines, one transaction for each batch; a line that is refused harms no other.

    :raises LeaseLost: when it is somebody else's turn by now
    """
    async with aclosing(run.batches(db, rows)) as batches:
        async for batch in batches:
            turn.take(await import_batch(db, run, turn, batch))
    await db.transact(_finish, run, turn)


async def import_batch(
    db: Database, run: ImportRun[Batch, Rows], turn: ImportTurn[OneImport], batch: Batch
) -> Sequence[JudgedRow]:
    """Import some lines. Judge them again when a concurrent change breaks a constraint."""
    for _ in range(_RACES):
        try:
            return await db.transact(_write, run, turn, batch)
        except IntegrityError as error:
            if not violates_constraint(error, *run.constraints):
                raise
    return await db.transact(_write, run, turn, batch)


async def _write(
    run: ImportRun[Batch, Rows], session: AsyncSession, turn: ImportTurn[OneImport], batch: Batch
) -> Sequence[JudgedRow]:
    judged, rows = await run.judge(session, batch, lock=True)
    written = await run.write(session, rows)
    counts = turn.counts + Counter(one.state for one in judged)
    values = {"rows_done": counts.total(), "rows_refused": turn.refused(counts), "updated_at": run.ctx.now}
    await turn.write(session, values | {"rows_written": type(turn.row).rows_written + written})
    return judged


async def _finish(run: ImportRun[Batch, Rows], session: AsyncSession, turn: ImportTurn[OneImport]) -> None:
    row = await repository.locked_import(session, type(turn.row), turn.row.id)
    if row.lease != turn.lease:
        raise LeaseLost
    refused = turn.refused()
    # What was written before a break is of this import.
    there = turn.done - refused - turn.counts[REPORTED["left_out"]] - row.rows_written
    counts = {"imported": row.rows_written, "there": there, "waiting": 0, "refused": refused}
    row.report = {**(row.report or {}), **turn.report(), **await run.finish(session), **counts}
    row.state, row.rows_refused = ImportState.DONE, refused
    row.rows_total = row.rows_done = turn.done
    row.updated_at = row.finished_at = run.ctx.now
    await session.flush()
