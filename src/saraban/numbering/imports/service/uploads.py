"""
Imports of uploaded files: uploaded and started by people; checked and imported by a worker, who takes a lease and tells how far it is.

A turn is a lease that the worker keeps while it is heard of. After it anybody goes on: what was written is found again
by its token, so that an import which was broken off anywhere ends as if it had not been.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import XLSX, Storage, acceptable_file_name, detect_kind
from saraban.attachments.service import CHECKSUM, UploadStream, require_same_file
from saraban.audit import service as audit
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.clock import Clock
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.errors import DiskFull, DomainError, FieldProblem, NotFound, invalid
from saraban.kit.idempotency import Claim, Idempotency
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt
from saraban.kit.pagination import Page, page_of
from saraban.kit.spreadsheets import unreadable
from saraban.numbering.imports import repository
from saraban.numbering.imports.domain import ImportInterrupted, ImportNotChecked, ImportResultMissing
from saraban.numbering.imports.service import legacy_import
from saraban.numbering.imports.service.legacy_import import (
    MOST_BYTES,
    ImportLease,
    ImportObserver,
    ImportOutcome,
    LeaseLost,
    ResultWorkbook,
    SourceFile,
)
from saraban.numbering.imports.service.rows import CheckedRow
from saraban.numbering.issue.service.lifecycle import MANAGE_NUMBERS
from saraban.numbering.series.domain.states import ImportState
from saraban.numbering.series.models import ImportRow, NumberImport
from saraban.projects import service as projects

log = structlog.get_logger(__name__)
SUFFIXES = (".xlsx", ".csv")
_SNIFFED = 4096
LEASE = timedelta(seconds=30)
BEAT = 1.0  # seconds between two signs of life
MOST_FAULTS = 200  # the result workbook has all
MOST_SERIES = 1000
MOST_LEASES_LOST = 2
_CHUNK = 256 * 1024
_FREE = {"lease": None, "lease_until": None}


class CounterMove(NamedTuple):
    """A series whose counter shall go on after `to`, as the dry run showed it."""

    series: str
    to: int


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file on its way in."""

    name: str
    intake: UploadStream

    @classmethod
    def of(cls, name: str, chunks: AsyncIterator[bytes]) -> "ImportFile":
        """:raises Invalid: for a name that cannot be kept"""
        return cls(acceptable_file_name(name), UploadStream(chunks, MOST_BYTES))

    @property
    def suffix(self) -> str:
        return PurePath(self.name).suffix.lower()


async def upload_import(
    ctx: RequestContext,
    db: Database,
    storage: Storage,
    idempotency: Idempotency,
    *,
    project_public_id: UUID,
    sheet: ImportFile,
) -> Receipt:
    """
    Store a file for a worker to check; nothing is imported before `start_import`.

    What the file holds shows only when it has been read: the key is claimed for its name, and the file of a repetition is
    read to its end and held against the first.

    :raises KeyReused: when the key came before with another name, project or content
    :raises Forbidden: for who does not manage the numbers of the project; nothing of the file is read then
    :raises Invalid: at `/file`, when it is neither XLSX nor CSV
    :raises FileTooLarge: as soon as it has more than 20 MB
    """
    asked = {"file": sheet.name, "projectPublicId": str(project_public_id)}
    async with idempotency.claim(Operation.of(ctx, "POST /document-numbering/imports", asked)) as claim:
        if claim.receipt is not None:
            await require_same_file(claim.receipt, sheet.intake)
            return claim.receipt
        project_id = await _importable(ctx, db, project_public_id, sheet)
        return await _stored(ctx, db, storage, claim, sheet, project_id)


async def _importable(ctx: RequestContext, db: Database, project_public_id: UUID, sheet: ImportFile) -> int:
    if sheet.suffix not in SUFFIXES:
        raise unreadable()
    async with db.reading() as session:
        project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
        ctx.caller.require(MANAGE_NUMBERS, Scope(project=project.id))
        return project.id


async def _stored(
    ctx: RequestContext, db: Database, storage: Storage, claim: Claim, sheet: ImportFile, project_id: int
) -> Receipt:
    public_id = new_id()
    key = source_key(public_id)
    await storage.write(key, sheet.intake.pour())
    row = NumberImport(
        public_id=public_id,
        project_id=project_id,
        user_id=ctx.caller.user_id,
        file_name=sheet.name,
        file_sha256=sheet.intake.digest.hexdigest(),
        file_key=key,
        state=ImportState.CHECKING,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    receipt = Receipt("number_import", public_id, {CHECKSUM: row.file_sha256})
    try:
        await storage.examine(key, lambda file: _refuse_other(file, sheet.suffix))
        await db.transact(partial(_received, ctx, row, claim, receipt))
    except BaseException:
        if not await db.transact(partial(repository.is_import, public_id)):
            await storage.delete(key)
        raise  # where it is, its COMMIT went through, though the answer to it was lost or nobody waited for it
    return receipt


def _refuse_other(file: BinaryIO, suffix: str) -> None:
    """The name is not believed. The encoding of a CSV is looked at later, line by line."""
    file.seek(0)
    if detect_kind(file) != XLSX if suffix == ".xlsx" else b"\0" in file.read(_SNIFFED):
        raise unreadable()


async def _received(
    ctx: RequestContext, row: NumberImport, claim: Claim, receipt: Receipt, session: AsyncSession
) -> None:
    session.add(row)
    await _noted(ctx, session, row, "uploaded", sha256=row.file_sha256)
    await claim.complete(session, receipt)


async def start_import(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, moves: Sequence[CounterMove]
) -> ImportRow:
    """
    Let a worker import what the dry run accepted.

    :param moves: the series that were ticked; all other counters stay (REQ-NUM-18)
    :raises ImportNotChecked: before the dry run is done, and when it was told to go on before
    :raises Invalid: at `/moves`, for a series that the dry run did not offer, or at another number
    """
    found = await read_import(ctx, session, public_id=public_id)
    row = await repository.locked_import(session, found.row.id)
    if row.state != ImportState.CHECKED:
        raise ImportNotChecked
    row.moves = _ticked(row.report or {}, moves)
    row.moves_counters = bool(moves)
    row.state, row.rows_done, row.leases_lost, row.updated_at = ImportState.IMPORTING, 0, 0, ctx.now
    row.lease = row.lease_until = None
    await _noted(ctx, session, row, "started", moves=row.moves)
    return found


def _ticked(report: Mapping[str, Any], moves: Sequence[CounterMove]) -> dict[str, int]:
    offered = {one["series"]: one["highest"] for one in report.get("series", []) if one["jump"]}
    for place, move in enumerate(moves):
        if move.series not in offered:
            raise invalid(
                f"/moves/{place}/series",
                "not_offered",
                "ผลการตรวจไม่ได้เสนอให้เลื่อนตัวนับของชุดเลขนี้",
                "The check did not offer to move the counter of this series.",
            )
        if move.to != offered[move.series]:
            raise invalid(
                f"/moves/{place}/to",
                "not_as_shown",
                "ผลการตรวจแสดงเลขสูงสุด {shown}",
                "The check showed {shown} as the highest number.",
                shown=offered[move.series],
            )
    return {move.series: move.to for move in moves}


async def read_import(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> ImportRow:
    """
    Return one import; those at a terminal are among them.

    :raises NotFound: also for who does not manage the numbers of its project
    """
    found = await repository.find_import(session, public_id)
    if found is None or not ctx.caller.may(MANAGE_NUMBERS, Scope(project=found.row.project_id)):
        raise NotFound("There is no such import.")
    return found


async def list_imports(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, cursor: str | None, limit: int
) -> Page[ImportRow]:
    """Return the imports of a project, newest first."""
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    ctx.caller.require(MANAGE_NUMBERS, Scope(project=project.id))
    found = await repository.imports_page(session, project_id=project.id, cursor=cursor, limit=limit)
    return page_of(found, limit=limit, key=lambda one: (one.row.created_at, one.row.public_id))


def source_key(public_id: UUID) -> str:
    """Return the place of an import's file; both stay, as the proof of what was asked and what came of it."""
    return f"imports/{public_id}/source"


def result_key(public_id: UUID) -> str:
    return f"imports/{public_id}/result.xlsx"


async def import_result(ctx: RequestContext, session: AsyncSession, storage: Storage, *, public_id: UUID) -> str:
    """
    Return the storage key of the result workbook: each line of the file with what came of it, or would.

    :raises ImportResultMissing: before the dry run is done
    """
    found = await read_import(ctx, session, public_id=public_id)
    key = result_key(found.row.public_id)
    if found.row.file_key is None or not await storage.holds(key):
        raise ImportResultMissing
    return key


async def _noted(ctx: RequestContext, session: AsyncSession, row: NumberImport, what: str, **details: object) -> None:
    told = {"fileName": row.file_name, **details}
    entry = audit.AuditEntry(f"number_import.{what}", "number_import", str(row.public_id), told)
    await audit.record(ctx, session, entry)


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
