"""
The text inside files, so that it can be searched: a worker has each read once, when it belongs to something, the newest first.

A worker puts a file off while it is at it, which is its lease. One that is gone is followed by another after that time, and after
three that were gone the file is left alone: it may be what ended them.
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


async def _tell_nobody(_session: AsyncSession, _attachment_ids: Collection[int]) -> None:
    pass


class TextWorker:
    """
    Reads the files that wait, one at a time; several may run, in one process or in many.

    :param read: returns the text of a file of some MIME type, in less time than `lease`
    :param on_text: told of the files whose text is new, in the transaction that writes it
    """

    def __init__(
        self,
        db: Database,
        storage: Storage,
        read: ReadText,
        *,
        clock: Clock,
        lease: timedelta,
        on_text: OnText = _tell_nobody,
    ) -> None:
        self._db, self._storage, self._read, self._clock = db, storage, read, clock
        self._lease, self._on_text = lease, on_text
        self.due = repository.any_text_waits(events.NOW)

    async def round(self) -> bool:
        """Read one file, unless another worker takes it first; false when none waits."""
        now = self._clock.now()
        async with self._db.reading() as session:
            waiting = await repository.next_waiting_text(session, now=now)
        if waiting is None:
            return False
        file = waiting._replace(due=now + self._lease, tries=waiting.tries + 1)
        put_off = {"text_due_at": file.due, "text_tries": file.tries}
        if await self._db.transact(repository.settle_text, waiting, put_off):
            try:
                found = await self._text(file)
            except asyncio.CancelledError:
                given_back = {"text_due_at": waiting.due, "text_tries": waiting.tries}
                await self._db.transact(repository.settle_text, file, given_back)
                raise
            await self._db.transact(self._store, file, found, now)
        return True

    async def _text(self, file: WaitingFile) -> FileText:
        if file.tries > MOST_TRIES:
            return FileText(problem=TextProblem.CRASHED)
        if not await self._storage.holds(file.key):
            return FileText(problem=TextProblem.MISSING)
        return await self._read(self._storage.read(file.key), file.mime_type)

    async def _store(self, file: WaitingFile, session: AsyncSession, found: FileText, now: datetime) -> None:
        if not await repository.settle_text(file, session, {"text_due_at": None, "text_problem": found.problem}):
            return
        if found.text:
            await repository.replace_text(session, file, found.text, now=now)
            await self._on_text(session, [file.id])
        if found.problem:
            log.info("file_text_problem", attachment=str(file.public_id), problem=found.problem)
