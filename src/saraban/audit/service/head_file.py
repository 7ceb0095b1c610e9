"""The head file: one line a block in the data folder, so that blocks cut off the end of the table are missed."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import structlog

from saraban.audit import repository
from saraban.audit.domain.blocks import BlockHeader
from saraban.audit.domain.journals import JOURNALS, Journal, utc_text
from saraban.audit.domain.verification import heads_of
from saraban.kit.db import Database

log = structlog.get_logger(__name__)

_STEP = 500
_TAIL_BYTES = 64 * 1024


class HeadFile:
    """
    Lines `sealedAt journal number head`, appended and flushed to the disk after the blocks were committed.

    Each server has its own; whichever process sealed a block, every file gets its head within a minute.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut: set[str] = set()  # journals whose last blocks are not those that the file knows

    def exists(self) -> bool:
        return self.path.exists()

    def lines(self) -> Iterator[str]:
        with self.path.open(encoding="utf-8", errors="replace") as file:
            yield from file

    def newest(self, journal: str) -> tuple[int, str] | None:
        """Return the last number and head that the file knows of a journal."""
        if not self.exists():
            return None
        found = max(heads_of(journal, self._last_lines()), default=None)
        return found or max(heads_of(journal, self.lines()), default=None)

    async def catch_up(self, db: Database) -> int:
        """Append the heads that the file has not yet, and say how many."""
        added = 0
        self.cut.clear()
        for journal in JOURNALS:
            known = await asyncio.to_thread(self.newest, journal.name)
            await self._compare(db, journal, known)
            above = known[0] if known else 0
            while headers := await _above(db, journal.name, above):
                await asyncio.to_thread(self._append, headers)
                for header in headers:
                    log.info("audit_sealed", journal=header.journal, block=header.number, head=header.head)
                above = headers[-1].number
                added += len(headers)
        return added

    async def _compare(self, db: Database, journal: Journal, known: tuple[int, str] | None) -> None:
        if known is None:
            return
        async with db.reading() as session:
            last = await repository.last_block(session, journal)
        if last is None or last.number < known[0] or (last.number == known[0] and last.head != known[1]):
            self.cut.add(journal.name)
            log.error("audit_tail_cut", journal=journal.name, block=known[0], head=known[1])

    def _last_lines(self) -> list[str]:
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()

    def _append(self, headers: list[BlockHeader]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{utc_text(one.sealed_at)} {one.journal} {one.number} {one.head}\n" for one in headers)
        with self.path.open("ab+", buffering=0) as file:  # one write: processes of one server share the file
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # the machine stopped in the middle of a line
                    text = "\n" + text
            file.write(text.encode())
            os.fsync(file.fileno())


async def _above(db: Database, journal: str, number: int) -> list[BlockHeader]:
    async with db.reading() as session:
        found = await repository.blocks(session, journal, above=number, limit=_STEP)
        return [repository.header_of(row) for row in found]
