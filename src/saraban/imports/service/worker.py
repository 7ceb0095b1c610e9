"""
The worker of uploaded imports, which works under a lease.

After a lease expires, another worker finds the written rows by their tokens.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic

import structlog

from saraban.attachments.domain import Storage
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.imports import repository
from saraban.imports.domain import DONE_OUTCOMES, OUTCOMES, ImportInterrupted, ImportState
from saraban.imports.models import OneImport
from saraban.imports.service.run import Importer, ImportTurn, LeaseLost, check_rows, import_rows
from saraban.imports.service.uploads import result_key, source_key
from saraban.kit.child_processes import CHILDREN
from saraban.kit.clock import Clock
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.errors import DiskFull, DomainError
from saraban.kit.ids import new_id
from saraban.kit.workbooks import ResultWorkbook

log = structlog.get_logger(__name__)
LEASE = timedelta(seconds=30)
BEAT = 1.0  # seconds between heartbeats
MOST_LEASES_LOST = 2
_CHUNK = 256 * 1024
_FREE = {"lease": None, "lease_until": None}


class ImportWorker(Generic[OneImport]):
    def __init__(
        self,
        db: Database,
        storage: Storage,
        importer: Importer[OneImport],
        *,
        clock: Clock,
        beat: float = BEAT,
        lease: timedelta = LEASE,
    ) -> None:
        self._db, self._storage, self._importer, self._clock = db, storage, importer, clock
        self._beat, self._lease = beat, lease
        self.due = repository.waiting_imports(importer.model, events.NOW)

    async def round(self) -> bool:
        """Check or import one file; return False if none waits."""
        turn = await self._acquire_turn()
        if turn is None:
            return False
        try:
            await self._work_with_lease(turn)
        except LeaseLost:
            log.warning("import_turn_lost", entity=turn.row.entity, public_id=str(turn.row.public_id))
        except asyncio.CancelledError:
            await self._release(turn)
            raise
        except DomainError as error:
            await self._fail(turn, error)
        except Exception as error:
            if database_fault(error) is DatabaseFault.FULL:
                await self._fail(turn, DiskFull())
            elif database_fault(error) is None:  # if the database is unreachable, the lease expires
                await self._fail(turn, error)
            raise
        return True

    async def _acquire_turn(self) -> ImportTurn[OneImport] | None:
        now = self._clock.now()
        async with self._db.reading() as session:
            waiting = await repository.find_waiting(session, self._importer.model, now=now)
        if waiting is None:
            return None
        lease, key = new_id(), waiting.row.id
        until = now + self._lease
        is_acquired = await self._db.transact(
            repository.acquire_lease, lease, self._importer.model, key=key, until=until, now=now
        )
        return ImportTurn(waiting, lease) if is_acquired else None

    async def _work_with_lease(self, turn: ImportTurn[OneImport]) -> None:
        if turn.row.leases_lost + (turn.row.lease is not None) >= MOST_LEASES_LOST:
            raise ImportInterrupted
        work = asyncio.create_task(self._work(turn))
        try:
            while not (await asyncio.wait({work}, timeout=self._beat))[0]:
                await self._renew_lease(turn)
        finally:
            work.cancel()
            await asyncio.wait({work})
        work.result()

    async def _renew_lease(self, turn: ImportTurn[OneImport]) -> None:
        progress = {"rows_done": turn.done, "rows_refused": turn.refused()} if turn.is_check else {}
        await self._write_progress(turn, lease_until=self._clock.now() + self._lease, **progress)

    async def _work(self, turn: ImportTurn[OneImport]) -> None:
        importer = self._importer.of(turn.row)
        values: dict[str, object] = dict(_FREE)
        async with self._download_file(turn) as path:
            result = path.with_name("result.xlsx")
            if turn.is_check:
                count = await CHILDREN.run_in_background(lambda: sum(1 for _ in importer.rows(path, turn.row.sheet)))
                await self._write_progress(turn, rows_total=count)
            run = await importer.begin(await self._context(turn), self._db, turn)
            outcomes = OUTCOMES if turn.is_check else DONE_OUTCOMES
            with ResultWorkbook(result, importer.columns, outcomes) as turn.sheet:
                if turn.is_check:
                    report = await check_rows(self._db, run, turn, importer.rows(path, turn.row.sheet))
                    counts = {"rows_done": turn.done, "rows_refused": turn.refused()}
                    values |= {"state": ImportState.CHECKED, "report": {"sheet": turn.row.sheet, **report}, **counts}
                else:
                    await import_rows(self._db, run, turn, importer.rows(path, turn.row.sheet))
            await self._storage.write(result_key(turn.row.public_id), _chunks(result))
        await self._write_progress(turn, **values)

    async def _context(self, turn: ImportTurn[OneImport]) -> RequestContext:
        """Load the current permissions of the account."""
        async with self._db.reading() as session:
            caller = await identity.load_caller(session, turn.found.user)
        return RequestContext(caller, self._clock.now(), self._clock.zone)

    async def _write_progress(self, turn: ImportTurn[OneImport], **values: object) -> None:
        await self._db.transact(ImportTurn.write, turn, {"updated_at": self._clock.now(), **values})

    async def _release(self, turn: ImportTurn[OneImport]) -> None:
        with suppress(LeaseLost):
            await self._write_progress(turn, **_FREE)

    async def _fail(self, turn: ImportTurn[OneImport], error: Exception) -> None:
        reason = type(error).__name__
        log.warning("import_failed", entity=turn.row.entity, public_id=str(turn.row.public_id), reason=reason)
        with suppress(LeaseLost):
            await self._write_progress(
                turn,
                state=ImportState.FAILED,
                report=(turn.row.report or {}) | {"problem": _problem(error)},
                finished_at=self._clock.now(),
                **_FREE,
            )

    @asynccontextmanager
    async def _download_file(self, turn: ImportTurn[OneImport]) -> AsyncIterator[Path]:
        suffix = Path(turn.row.file_name).suffix.lower()
        with TemporaryDirectory(prefix="saraban-") as folder:
            path = Path(folder) / f"source{suffix}"
            with path.open("wb") as file:
                async for chunk in self._storage.read(source_key(turn.row.public_id)):
                    await asyncio.to_thread(file.write, chunk)
            yield path


def _problem(error: Exception) -> dict[str, str]:
    if not isinstance(error, DomainError):
        return {"code": "UNEXPECTED_ERROR", "th": "เกิดข้อผิดพลาดที่ไม่คาดคิด", "en": "Something unexpected went wrong."}
    texts = [(field.text, field.values) for field in error.fields] or [(error.words, error.values)]
    return {
        "code": error.code,
        "th": " ".join(text.say("th", values) for text, values in texts),
        "en": " ".join(text.say("en", values) for text, values in texts),
    }


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
