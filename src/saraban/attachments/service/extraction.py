"""
Extract the text of files for search.

A worker postpones a file while it reads it, as a lease. After three expired leases the file is given up.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from datetime import datetime, timedelta

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import repository
from saraban.attachments.domain import FileText, Storage, TextProblem
from saraban.attachments.repository import WaitingFile, count_texts, retry_texts, texts
from saraban.events import service as events
from saraban.kit.clock import Clock
from saraban.kit.db import Database

__all__ = ["TextWorker", "count_texts", "retry_texts", "texts"]
log = structlog.get_logger(__name__)
MOST_TRIES = 3
ReadText = Callable[[AsyncIterator[bytes], str], Awaitable[FileText]]
OnText = Callable[[AsyncSession, Collection[int]], Awaitable[None]]


async def _ignore_text(_session: AsyncSession, _attachment_ids: Collection[int]) -> None:
    pass


class TextWorker:
    """
    :param read: must end within `lease`
    :param on_text: called in the transaction that stores the text
    """

    def __init__(
        self,
        db: Database,
        storage: Storage,
        read: ReadText,
        *,
        clock: Clock,
        lease: timedelta,
        on_text: OnText = _ignore_text,
    ) -> None:
        self._db, self._storage, self._read, self._clock = db, storage, read, clock
        self._lease, self._on_text = lease, on_text
        self.due = repository.any_text_waits(events.NOW)

    async def round(self) -> bool:
        """Return False when no file waits."""
        now = self._clock.now()
        async with self._db.reading() as session:
            waiting = await repository.next_waiting_text(session, now=now)
        if waiting is None:
            return False
        file = waiting._replace(due=now + self._lease, tries=waiting.tries + 1)
        lease = {"text_due_at": file.due, "text_tries": file.tries}
        if await self._db.transact(repository.settle_text, waiting, lease):
            try:
                text = await self._extract(file)
            except asyncio.CancelledError:
                previous = {"text_due_at": waiting.due, "text_tries": waiting.tries}
                await self._db.transact(repository.settle_text, file, previous)
                raise
            await self._db.transact(self._store, file, text, now)
        return True

    async def _extract(self, file: WaitingFile) -> FileText:
        if file.tries > MOST_TRIES:
            return FileText(problem=TextProblem.CRASHED)
        if not await self._storage.holds(file.key):
            return FileText(problem=TextProblem.MISSING)
        return await self._read(self._storage.read(file.key), file.mime_type)

    async def _store(self, file: WaitingFile, session: AsyncSession, extracted: FileText, now: datetime) -> None:
        if not await repository.settle_text(file, session, {"text_due_at": None, "text_problem": extracted.problem}):
            return
        if extracted.text:
            await repository.replace_text(session, file, extracted.text, now=now)
            await self._on_text(session, [file.id])
        if extracted.problem:
            log.info("file_text_problem", attachment=str(file.public_id), problem=extracted.problem)
