"""
Sealing: rows become blocks once no row can come between them any more.

Keys are given out in order and become visible out of order. A key that is seen uncommitted ends a block. A key that was
given out and is not in the table yet is the reason for the mark: only keys up to the highest one of some time ago count.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime

import structlog
from sqlalchemy.exc import IntegrityError

from saraban.audit import repository
from saraban.audit.domain.blocks import START, BlockHeader, BlockKind, rows_digest, with_digest
from saraban.audit.domain.journals import JOURNALS, Journal
from saraban.audit.service.head_file import HeadFile
from saraban.kit.clock import Clock
from saraban.kit.db import Database

log = structlog.get_logger(__name__)

BLOCK_ROWS = 500  # few enough that requests beside it notice nothing
SETTLE = 5.0  # seconds between a key's being given out and its row's being in the table, open or committed


class Sealer:
    """Any number of processes may seal one database: a number is given to one block, and the others try again later."""

    def __init__(self, db: Database, *, clock: Clock, heads: HeadFile, block_rows: int = BLOCK_ROWS) -> None:
        self._db, self._clock, self._block_rows = db, clock, block_rows
        self.heads = heads
        self._earlier: Mapping[str, int] = {}

    async def tick(self, _now: datetime) -> int:
        """Seal up to where the journals stood at the call before: for a timer, whose pause is the margin."""
        marks = await self.marks()
        ripe, self._earlier = (marks if self._db.is_sqlite else self._earlier), marks
        return await self.seal(ripe)

    async def seal_now(self, *, settle: float = SETTLE) -> int:
        """Seal what is there now, and return the number of blocks."""
        marks = await self.marks()
        if not self._db.is_sqlite:
            await asyncio.sleep(settle)
        return await self.seal(marks)

    async def marks(self) -> Mapping[str, int]:
        """Return the highest committed key of each journal."""
        async with self._db.reading() as session:
            return {journal.name: await repository.highest_key(session, journal) for journal in JOURNALS}

    async def seal(self, marks: Mapping[str, int]) -> int:
        """Seal rows up to the marks, write their heads to the file and the log, and count the blocks."""
        count = 0
        for journal in JOURNALS:
            mark = marks.get(journal.name, 0)
            while await self._block(journal, mark):
                count += 1
        await self.heads.catch_up(self._db)
        return count

    async def _block(self, journal: Journal, mark: int) -> bool:
        async with self._db.reading() as session:
            last = await repository.last_block(session, journal)
        after = last.last_id if last else None
        anyone = await repository.keys_with_uncommitted(self._db, journal, after, upto=mark, limit=self._block_rows)
        async with self._db.reading() as session:
            rows = await repository.rows(session, journal, after, upto=mark, limit=self._block_rows)
        committed = {row.key for row in rows}
        stop = next((key for key in anyone if key not in committed), None)
        closed = [row for row in rows if stop is None or row.key < stop]
        if not closed:
            return False
        previous = (last.number, last.head) if last else (0, START)
        return await self._write(journal, closed, previous)

    async def _write(self, journal: Journal, rows: list[repository.JournalRow], previous: tuple[int, str]) -> bool:
        marks = await asyncio.to_thread(lambda: [row.mark for row in rows])
        moments = [when for mark in marks if (when := _time(mark.at)) is not None]
        now = self._clock.now()
        header = with_digest(
            BlockHeader(
                journal=journal.name,
                number=previous[0] + 1,
                kind=BlockKind.SEAL,
                row_count=len(marks),
                rows_digest=rows_digest(marks),
                previous_head=previous[1],
                first_at=min(moments, default=now),
                last_at=max(moments, default=now),
                sealed_at=now,
            )
        )
        try:
            await self._db.transact(
                lambda session: repository.add_block(session, header, last_id=rows[-1].key, marks=marks)
            )
        except IntegrityError:
            log.info("audit_block_taken", journal=journal.name, block=header.number)
            return False
        return True


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
