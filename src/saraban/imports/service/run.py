"""The interface of an importer, and the processing of its lines in batches."""

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
    pass


@dataclass(slots=True)
class ImportTurn(Generic[OneImport]):
    """
    :param lease: of a worker; None at a terminal
    :param sheet: gets each line with its outcome
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
        return (REFUSED,) if self.is_check else (REFUSED, MISSING)

    def refused(self, counts: Mapping[str, int] | None = None) -> int:
        return sum((counts or self.counts)[state] for state in self.refused_states)

    def take(self, judged: Sequence[JudgedRow]) -> None:
        for line in judged:
            if line.state in self.refused_states or line.row.is_left_out:
                room = max(MOST_FAULTS - len(self.faults), 0)
                self.faults += [shown_fault(line.row.number, fault) for fault in line.faults[:room]]
            if self.sheet is not None:
                self.sheet.add_row(line.row, line.state, line.faults)
        self.counts.update(line.state for line in judged)
        if self.progress is not None:
            self.progress(self.done)

    def report(self) -> dict[str, object]:
        return {name: self.counts[state] for name, state in REPORTED.items()} | {"faults": self.faults}

    async def write(self, session: AsyncSession, values: Mapping[str, object]) -> None:
        """:raises LeaseLost:"""
        model = type(self.row)
        if not await repository.write_progress(session, model, key=self.row.id, lease=self.lease, values=values):
            raise LeaseLost


class ImportRun(ABC, Generic[Batch, Rows]):
    """:cvar constraints: broken by a line when somebody registers the same concurrently"""

    ctx: RequestContext
    constraints: Sequence[str]

    @abstractmethod
    def batches(self, db: Database, rows: Iterable[SheetRow]) -> AsyncGenerator[Batch, None]: ...

    @abstractmethod
    async def judge(
        self, session: AsyncSession, batch: Batch, *, lock: bool = False
    ) -> tuple[Sequence[JudgedRow], Rows]:
        """:param lock: lock the rows that the lines need, before `write`"""

    @abstractmethod
    async def write(self, session: AsyncSession, rows: Rows) -> int: ...

    @abstractmethod
    async def findings(self, session: AsyncSession) -> Mapping[str, object]:
        """Return further fields of the report."""

    async def finish(self, session: AsyncSession) -> Mapping[str, object]:
        """Return further fields of the report, in the last transaction."""
        return await self.findings(session)


class Lookups(Generic[Found]):
    """Caches values that many lines share, including refusals."""

    def __init__(self) -> None:
        self._found: dict[object, Found | DomainError] = {}

    async def get(self, key: object, find: Callable[P, Awaitable[Found]], *args: P.args, **kwargs: P.kwargs) -> Found:
        if key not in self._found:
            if len(self._found) >= _MOST_LOOKUPS:
                self._found.clear()
            try:
                self._found[key] = await find(*args, **kwargs)
            except DomainError as error:
                self._found[key] = error
        value = self._found[key]
        if isinstance(value, DomainError):
            raise value
        return value


class Importer(ABC, Generic[OneImport]):
    """:ivar name: of the template and its sheet"""

    model: type[OneImport]
    path: str
    name: str
    columns: Sequence[SheetColumn]
    most_rows = MOST_ROWS

    def of(self, row: OneImport) -> "Importer[OneImport]":  # noqa: ARG002  several can share a table
        return self

    def rows(self, path: Path, sheet: str | None = None) -> Iterator[SheetRow]:
        """
        Read the lines of a file; the first step is slow.

        :raises Invalid:
        """
        yield from read_table(path, self.columns, most_rows=self.most_rows, sheet=sheet)

    async def template_columns(
        self, _ctx: RequestContext, _session: AsyncSession, _project: UUID | None, /
    ) -> Sequence[SheetColumn]:
        return self.columns

    @abstractmethod
    async def project(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> int:
        """:raises DomainError: for a project whose imports the caller cannot list"""

    def visible_imports(self, ctx: RequestContext, project: int) -> Sequence[sa.ColumnElement[bool]]:  # noqa: ARG002
        return ()

    @abstractmethod
    def may_read(self, ctx: RequestContext, row: OneImport) -> bool: ...

    @abstractmethod
    async def new_import(self, ctx: RequestContext, session: AsyncSession, query: Any) -> OneImport:
        """:raises DomainError:"""

    @abstractmethod
    def choose(self, ctx: RequestContext, row: OneImport, choice: Any) -> Mapping[str, object]:
        """
        Save the choices, and return them for the audit trail.

        :raises DomainError:
        """

    @abstractmethod
    async def begin(self, ctx: RequestContext, db: Database, turn: ImportTurn[OneImport]) -> ImportRun[Any, Any]:
        """:raises DomainError:"""


AnyImporter = Importer[Any]


async def check_rows(
    db: Database, run: ImportRun[Batch, Rows], turn: ImportTurn[OneImport], rows: Iterable[SheetRow]
) -> dict[str, object]:
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
    """:raises LeaseLost:"""
    async with aclosing(run.batches(db, rows)) as batches:
        async for batch in batches:
            turn.take(await import_batch(db, run, turn, batch))
    await db.transact(_finish, run, turn)


async def import_batch(
    db: Database, run: ImportRun[Batch, Rows], turn: ImportTurn[OneImport], batch: Batch
) -> Sequence[JudgedRow]:
    """Import a batch; judge it again if a concurrent change breaks a constraint."""
    for _ in range(_RACES):
        try:
            return await db.transact(_write_batch, run, turn, batch)
        except IntegrityError as error:
            if not violates_constraint(error, *run.constraints):
                raise
    return await db.transact(_write_batch, run, turn, batch)


async def _write_batch(
    run: ImportRun[Batch, Rows], session: AsyncSession, turn: ImportTurn[OneImport], batch: Batch
) -> Sequence[JudgedRow]:
    judged, rows = await run.judge(session, batch, lock=True)
    written = await run.write(session, rows)
    counts = turn.counts + Counter(line.state for line in judged)
    values = {"rows_done": counts.total(), "rows_refused": turn.refused(counts), "updated_at": run.ctx.now}
    await turn.write(session, values | {"rows_written": type(turn.row).rows_written + written})
    return judged


async def _finish(run: ImportRun[Batch, Rows], session: AsyncSession, turn: ImportTurn[OneImport]) -> None:
    row = await repository.lock_import(session, type(turn.row), turn.row.id)
    if row.lease != turn.lease:
        raise LeaseLost
    refused = turn.refused()
    # Rows written before an interruption belong to this import.
    registered = turn.done - refused - turn.counts[REPORTED["left_out"]] - row.rows_written
    counts = {"imported": row.rows_written, "there": registered, "waiting": 0, "refused": refused}
    row.report = {**(row.report or {}), **turn.report(), **await run.finish(session), **counts}
    row.state, row.rows_refused = ImportState.DONE, refused
    row.rows_total = row.rows_done = turn.done
    row.updated_at = row.finished_at = run.ctx.now
    await session.flush()
