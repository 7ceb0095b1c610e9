"""
The worker of uploaded imports: checks and imports files, under a lease, and tells how far it is.

A turn is a lease that the worker keeps while it is heard of. After it anybody goes on: what was written is found again
by its token, so that an import which was broken off anywhere ends as if it had not been.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, Protocol
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import Storage
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.imports import repository
from saraban.imports.domain import MOST_FAULTS, ImportInterrupted, ImportState, shown_fault
from saraban.imports.models import FileImport, ImportRow, OneImport
from saraban.imports.service.uploads import result_key, source_key
from saraban.kit.child_processes import CHILDREN
from saraban.kit.clock import Clock
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.errors import DiskFull, DomainError, FieldProblem
from saraban.kit.ids import new_id

log = structlog.get_logger(__name__)
LEASE = timedelta(seconds=30)
BEAT = 1.0  # seconds between two signs of life
MOST_LEASES_LOST = 2
_CHUNK = 256 * 1024
_FREE = {"lease": None, "lease_until": None}


class LeaseLost(Exception):
    """Another worker took the import over, because this one was not heard of for too long."""


@dataclass(slots=True)
class ImportTurn(Generic[OneImport]):
    """One worker at one import: under which lease, how far it is, and the first faults that it has found."""

    found: ImportRow[OneImport]
    lease: UUID
    done: int = 0
    refused: int = 0
    faults: list[dict[str, object]] = field(default_factory=list)

    @property
    def row(self) -> OneImport:
        return self.found.row

    @property
    def is_check(self) -> bool:
        return self.row.state == ImportState.CHECKING

    @property
    def is_lost_cause(self) -> bool:
        return self.row.leases_lost + (self.row.lease is not None) >= MOST_LEASES_LOST

    def refuse(self, line: int, faults: Sequence[FieldProblem]) -> None:
        self.refused += 1
        room = max(MOST_FAULTS - len(self.faults), 0)
        self.faults += [shown_fault(line, fault.pointer.lstrip("/"), fault) for fault in faults[:room]]

    def count(self, done: int) -> None:
        self.done = done

    async def write(self, session: AsyncSession, **values: object) -> None:
        """
        Write how far it is, in the transaction of what it tells of.

        :raises LeaseLost: when it is somebody else's turn by now
        """
        await write_progress(session, type(self.row), key=self.row.id, lease=self.lease, values=values)


async def write_progress(
    session: AsyncSession, model: type[FileImport], *, key: int, lease: UUID | None, values: Mapping[str, object]
) -> None:
    """
    :param lease: None for an import at a terminal
    :raises LeaseLost: when it is somebody else's turn by now
    """
    if not await repository.write_progress(session, model, key=key, lease=lease, values=values):
        raise LeaseLost


async def hold(session: AsyncSession, model: type[OneImport], *, key: int, lease: UUID | None) -> OneImport:
    """
    Hold an import until the end of the transaction in which it ends.

    :raises LeaseLost: when it is somebody else's turn by now
    """
    row = await repository.locked_import(session, model, key)
    if row.lease != lease:
        raise LeaseLost
    return row


class ImportJob(Protocol[OneImport]):
    """What is done with the files of one kind of import."""

    @property
    def model(self) -> type[OneImport]: ...

    def count(self, path: Path) -> int:
        """
        Return how many lines a file has.

        :raises Invalid: at `/file`, for what cannot be read, or lacks a column
        """
        ...

    async def check(
        self, ctx: RequestContext, db: Database, turn: ImportTurn[OneImport], path: Path, result: Path
    ) -> Mapping[str, object]:
        """Say what an import of the file would do: write the result workbook and return the report; nothing else is written."""
        ...

    async def run(
        self, ctx: RequestContext, db: Database, turn: ImportTurn[OneImport], path: Path, result: Path
    ) -> None:
        """Import the file, each transaction under the lease; the last one makes it `DONE`."""
        ...


class ImportWorker(Generic[OneImport]):
    """Looks for uploads of one kind that wait and works on one at a time; several may run, in one process or in many."""

    def __init__(
        self,
        db: Database,
        storage: Storage,
        job: ImportJob[OneImport],
        *,
        clock: Clock,
        beat: float = BEAT,
        lease: timedelta = LEASE,
    ) -> None:
        self._db, self._storage, self._job, self._clock = db, storage, job, clock
        self._beat, self._lease = beat, lease
        self.due = repository.waiting_imports(job.model, events.NOW)

    async def round(self) -> bool:
        """Work on one import until it is checked, imported or failed; false when none waits."""
        turn = await self._turn()
        if turn is None:
            return False
        try:
            await self._kept(turn)
        except LeaseLost:
            log.warning("import_turn_lost", entity=turn.row.entity, public_id=str(turn.row.public_id))
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

    async def _turn(self) -> ImportTurn[OneImport] | None:
        now = self._clock.now()
        async with self._db.reading() as session:
            found = await repository.next_waiting(session, self._job.model, now=now)
        if found is None:
            return None
        lease, key = new_id(), found.row.id
        taken = await self._db.transact(
            lambda session: repository.acquire_lease(
                session, self._job.model, key=key, lease=lease, until=now + self._lease, now=now
            )
        )
        return ImportTurn(found, lease) if taken else None

    async def _kept(self, turn: ImportTurn[OneImport]) -> None:
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

    async def _alive(self, turn: ImportTurn[OneImport]) -> None:
        now = self._clock.now()
        shown = {"rows_done": turn.done, "rows_refused": turn.refused} if turn.is_check else {}
        kept = await self._db.transact(
            lambda session: repository.extend_lease(
                session,
                self._job.model,
                key=turn.row.id,
                lease=turn.lease,
                until=now + self._lease,
                values={"updated_at": now, **shown},
            )
        )
        if not kept:
            raise LeaseLost

    async def _check(self, turn: ImportTurn[OneImport]) -> None:
        async with self._unpacked(turn) as path:
            result = path.with_name("result.xlsx")
            await self._tell(turn, rows_total=await CHILDREN.run_in_background(partial(self._job.count, path)))
            report = await self._job.check(await self._context(turn), self._db, turn, path, result)
            await self._store(turn, result)
        await self._tell(
            turn, state=ImportState.CHECKED, rows_done=turn.done, rows_refused=turn.refused, report=report, **_FREE
        )

    async def _import(self, turn: ImportTurn[OneImport]) -> None:
        async with self._unpacked(turn) as path:
            result = path.with_name("result.xlsx")
            await self._job.run(await self._context(turn), self._db, turn, path, result)
            await self._store(turn, result)
        await self._tell(turn, **_FREE)

    async def _context(self, turn: ImportTurn[OneImport]) -> RequestContext:
        """The rights that count are those of now: an account that was closed since imports nothing."""
        async with self._db.reading() as session:
            caller = await identity.load_caller(session, turn.found.user)
        return RequestContext(caller, self._clock.now(), self._clock.zone)

    async def _tell(self, turn: ImportTurn[OneImport], **values: object) -> None:
        now = self._clock.now()
        await self._db.transact(lambda session: turn.write(session, updated_at=now, **values))

    async def _given_back(self, turn: ImportTurn[OneImport]) -> None:
        with suppress(LeaseLost):
            await self._tell(turn, **_FREE)

    async def _failed(self, turn: ImportTurn[OneImport], error: Exception) -> None:
        reason = type(error).__name__
        log.warning("import_failed", entity=turn.row.entity, public_id=str(turn.row.public_id), reason=reason)
        with suppress(LeaseLost):
            await self._tell(
                turn,
                state=ImportState.FAILED,
                report=(turn.row.report or {}) | {"problem": _problem(error)},
                finished_at=self._clock.now(),
                **_FREE,
            )

    @asynccontextmanager
    async def _unpacked(self, turn: ImportTurn[OneImport]) -> AsyncIterator[Path]:
        """The file, beside an empty place for its result."""
        suffix = Path(turn.row.file_name).suffix.lower()
        with TemporaryDirectory(prefix="saraban-") as folder:
            path = Path(folder) / f"source{suffix}"
            with path.open("wb") as file:
                async for chunk in self._storage.read(source_key(turn.row.public_id)):
                    await asyncio.to_thread(file.write, chunk)
            yield path

    async def _store(self, turn: ImportTurn[OneImport], path: Path) -> None:
        await self._storage.write(result_key(turn.row.public_id), _chunks(path))


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
