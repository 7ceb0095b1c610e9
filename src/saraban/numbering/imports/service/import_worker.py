"""
The worker of uploaded imports: checks and imports files, under a lease, and tells how far it is.

A turn is a lease that the worker keeps while it is heard of. After it anybody goes on: what was written is found again
by its token, so that an import which was broken off anywhere ends as if it had not been.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import structlog

from saraban.attachments.domain import Storage
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import Clock
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.errors import DiskFull, DomainError, FieldProblem
from saraban.kit.ids import new_id
from saraban.numbering.imports import repository
from saraban.numbering.imports.domain import ImportInterrupted
from saraban.numbering.imports.service import legacy_import
from saraban.numbering.imports.service.legacy_import import (
    ImportLease,
    ImportObserver,
    ImportOutcome,
    LeaseLost,
    ResultWorkbook,
    SourceFile,
)
from saraban.numbering.imports.service.rows import CheckedRow
from saraban.numbering.imports.service.uploads import result_key, source_key
from saraban.numbering.series.domain.states import ImportState
from saraban.numbering.series.models import ImportRow

log = structlog.get_logger(__name__)
LEASE = timedelta(seconds=30)
BEAT = 1.0  # seconds between two signs of life
MOST_FAULTS = 200  # the result workbook has all
MOST_SERIES = 1000
MOST_LEASES_LOST = 2
_CHUNK = 256 * 1024
_FREE = {"lease": None, "lease_until": None}


@dataclass(slots=True)
class _Turn:
    """One worker at one import."""

    found: ImportRow
    ticket: ImportLease
    lease: UUID
    done: int = 0
    refused: int = 0
    faults: list[dict[str, object]] = field(default_factory=list)

    @property
    def is_check(self) -> bool:
        return self.found.row.state == ImportState.CHECKING

    @property
    def is_lost_cause(self) -> bool:
        row = self.found.row
        return row.leases_lost + (row.lease is not None) >= MOST_LEASES_LOST

    def note(self, read: CheckedRow, state: str) -> None:
        if state == legacy_import.REFUSED:
            self.refused += 1
            room = max(MOST_FAULTS - len(self.faults), 0)
            self.faults += [_fault(read.line, one) for one in read.faults[:room]]

    def count(self, done: int) -> None:
        self.done = done


def _fault(line: int, one: FieldProblem) -> dict[str, object]:
    return {
        "line": line,
        "column": one.pointer.lstrip("/"),
        "code": one.code,
        "th": one.text.say("th", one.values),
        "en": one.text.say("en", one.values),
    }


class ImportWorker:
    """Looks for uploads that wait and works on one at a time; several may run, in one process or in many."""

    def __init__(
        self, db: Database, storage: Storage, *, clock: Clock, beat: float = BEAT, lease: timedelta = LEASE
    ) -> None:
        self._db, self._storage, self._clock, self._beat, self._lease = db, storage, clock, beat, lease
        self.due = repository.waiting_imports(events.NOW)

    async def round(self) -> bool:
        """Work on one import until it is checked, imported or failed; false when none waits."""
        turn = await self._turn()
        if turn is None:
            return False
        try:
            await self._kept(turn)
        except LeaseLost:
            log.warning("number_import_turn_lost", number_import=str(turn.found.row.public_id))
        except asyncio.CancelledError:
            await self._given_back(turn)
            raise
        except DomainError as error:
            await self._failed(turn, error)
        except Exception as error:
            if database_fault(error) is DatabaseFault.FULL:
                await self._failed(turn, DiskFull())
            elif database_fault(error) is None:  # a database that is away only ends the turn: the lease runs out
                await self._failed(turn, error)
            raise
        return True

    async def _turn(self) -> _Turn | None:
        now = self._clock.now()
        async with self._db.reading() as session:
            found = await repository.next_waiting(session, now=now)
        if found is None:
            return None
        lease, key = new_id(), found.row.id
        taken = await self._db.transact(
            lambda session: repository.acquire_lease(session, key=key, lease=lease, until=now + self._lease, now=now)
        )
        return _Turn(found, ImportLease(key, lease), lease) if taken else None

    async def _kept(self, turn: _Turn) -> None:
        """Do the work and show signs of life meanwhile; a turn that was lost breaks it off."""
        if turn.is_lost_cause:
            raise ImportInterrupted
        work = asyncio.create_task(self._check(turn) if turn.is_check else self._import(turn))
        try:
            while not (await asyncio.wait({work}, timeout=self._beat))[0]:
                await self._alive(turn)
        finally:
            work.cancel()
            await asyncio.wait({work})
        work.result()

    async def _alive(self, turn: _Turn) -> None:
        now = self._clock.now()
        shown = {"rows_done": turn.done, "rows_refused": turn.refused} if turn.is_check else {}
        kept = await self._db.transact(
            lambda session: repository.extend_lease(
                session,
                key=turn.ticket.row,
                lease=turn.lease,
                until=now + self._lease,
                values={"updated_at": now, **shown},
            )
        )
        if not kept:
            raise LeaseLost

    async def _check(self, turn: _Turn) -> None:
        async with self._unpacked(turn) as path:
            await self._tell(
                turn, rows_total=await asyncio.to_thread(lambda: sum(1 for _ in legacy_import.rows_of(path)))
            )
            with ResultWorkbook(path.with_name("result.xlsx")) as sheet:
                outcome = await legacy_import.dry_run(
                    await self._context(turn),
                    self._db,
                    project_public_id=turn.found.project,
                    lines=legacy_import.rows_of(path),
                    observer=_observer(turn, sheet),
                )
            await self._store(turn, path.with_name("result.xlsx"))
        await self._tell(
            turn,
            state=ImportState.CHECKED,
            rows_done=outcome.total,
            rows_refused=outcome.refused,
            report=_report(turn, outcome),
            **_FREE,
        )

    async def _import(self, turn: _Turn) -> None:
        row = turn.found.row
        async with self._unpacked(turn) as path:
            with ResultWorkbook(path.with_name("result.xlsx"), done=True) as sheet:
                await legacy_import.import_rows(
                    await self._context(turn),
                    self._db,
                    project_public_id=turn.found.project,
                    lines=legacy_import.rows_of(path),
                    file=SourceFile(row.file_name, row.file_sha256),
                    moves=row.moves,
                    ticket=turn.ticket,
                    observer=_observer(turn, sheet),
                )
            await self._store(turn, path.with_name("result.xlsx"))
        await self._tell(turn, **_FREE)

    async def _context(self, turn: _Turn) -> RequestContext:
        """The rights that count are those of now: an account that was closed since imports nothing."""
        async with self._db.reading() as session:
            caller = await identity.load_caller(session, turn.found.user)
        return RequestContext(caller, self._clock.now(), self._clock.zone)

    async def _tell(self, turn: _Turn, **values: object) -> None:
        now = self._clock.now()
        told = await self._db.transact(
            lambda session: repository.write_progress(
                session, key=turn.ticket.row, lease=turn.lease, values={"updated_at": now, **values}
            )
        )
        if not told:
            raise LeaseLost

    async def _given_back(self, turn: _Turn) -> None:
        with suppress(LeaseLost):
            await self._tell(turn, **_FREE)

    async def _failed(self, turn: _Turn, error: Exception) -> None:
        log.warning("number_import_failed", number_import=str(turn.found.row.public_id), reason=type(error).__name__)
        with suppress(LeaseLost):
            await self._tell(
                turn,
                state=ImportState.FAILED,
                report=(turn.found.row.report or {}) | {"problem": _problem(error)},
                finished_at=self._clock.now(),
                **_FREE,
            )

    @asynccontextmanager
    async def _unpacked(self, turn: _Turn) -> AsyncIterator[Path]:
        """The file, beside an empty place for its result."""
        suffix = Path(turn.found.row.file_name).suffix.lower()
        with TemporaryDirectory(prefix="saraban-") as folder:
            path = Path(folder) / f"source{suffix}"
            with path.open("wb") as file:
                async for chunk in self._storage.read(source_key(turn.found.row.public_id)):
                    await asyncio.to_thread(file.write, chunk)
            yield path

    async def _store(self, turn: _Turn, path: Path) -> None:
        await self._storage.write(result_key(turn.found.row.public_id), _chunks(path))


def _observer(turn: _Turn, sheet: ResultWorkbook) -> ImportObserver:
    def each(read: CheckedRow, state: str) -> None:
        turn.note(read, state)
        sheet.add(read, state)

    return ImportObserver(each, turn.count)


def _report(turn: _Turn, outcome: ImportOutcome) -> dict[str, object]:
    series = sorted(outcome.highest.values(), key=lambda one: one.series)
    return {
        "ready": outcome.ready,
        "there": outcome.there,
        "refused": outcome.refused,
        "faults": turn.faults,
        "series": [
            {"series": one.series, "highest": one.sequence, "counter": one.counter, "jump": one.jump}
            for one in series[:MOST_SERIES]
        ],
        "seriesTotal": len(series),
    }


def _problem(error: Exception) -> dict[str, str]:
    """What the page and the API say of a file that could not be worked on."""
    if not isinstance(error, DomainError):
        return {"code": "UNEXPECTED_ERROR", "th": "เกิดข้อผิดพลาดที่ไม่คาดคิด", "en": "Something unexpected went wrong."}
    texts = [(one.text, one.values) for one in error.fields] or [(error.words, error.values)]
    return {
        "code": error.code,
        "th": " ".join(text.say("th", values) for text, values in texts),
        "en": " ".join(text.say("en", values) for text, values in texts),
    }


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
