"""
Sealing: rows become blocks once no row can come between them any more; the head of each goes to the head file.

Keys are given out in order and become visible out of order. A key that is seen uncommitted ends a block. A key that was
given out and is not seen is the reason for the mark: only keys up to the highest one of so long ago count that every
transaction of that time has ended.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

import structlog
from sqlalchemy.exc import IntegrityError

from saraban.audit import repository
from saraban.audit.domain.journals import (
    JOURNALS,
    START,
    BlockHeader,
    BlockKind,
    Journal,
    rows_digest,
    utc_text,
    with_digest,
)
from saraban.audit.domain.verification import HeadLine, Trust, heads_of
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.signatures import Signer

log = structlog.get_logger(__name__)

_STEP = 500
_KEY = "key"  # the word of the line `time key publicKey`, which a server writes about itself
_TAIL_BYTES = 64 * 1024


class HeadFile:
    """
    Lines `sealedAt journal number head signature publicKey`, appended and flushed to the disk after the blocks were committed.

    Each server has its own; whichever process sealed a block, every file gets its head within a minute.

    :param own_key: this server's public key, which gets a line of its own: those of heads come from the database
    :param send: gets the lines after they were written
    """

    def __init__(
        self,
        path: Path,
        *,
        own_key: str | None = None,
        send: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        self.path = path
        self.cut: set[str] = set()  # journals whose last blocks are not those that the file knows
        self._own_key, self._send = own_key, send

    @cached_property
    def _written_keys(self) -> set[str]:
        lines = [line.split() for line in self.lines()] if self.exists() else []
        return {words[2] for words in lines if len(words) == 3 and words[1] == _KEY}

    @property
    def trusted_keys(self) -> frozenset[str]:
        """Return the public keys that do not come from the database."""
        return frozenset(filter(None, (*self._written_keys, self._own_key)))

    def exists(self) -> bool:
        return self.path.exists()

    def lines(self) -> Iterator[str]:
        with self.path.open(encoding="utf-8", errors="replace") as file:
            yield from file

    def newest(self, journal: str) -> HeadLine | None:
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
            above = known.number if known else 0
            while headers := await _above(db, journal.name, above):
                await asyncio.to_thread(self._append, headers)
                for header in headers:
                    log.info("audit_sealed", journal=header.journal, block=header.number, head=header.head)
                above = headers[-1].number
                added += len(headers)
        return added

    async def _compare(self, db: Database, journal: Journal, known: HeadLine | None) -> None:
        if known is None:
            return
        async with db.reading() as session:
            last = await repository.last_block(session, journal)
        if last is None or last.number < known.number or (last.number == known.number and last.head != known.head):
            self.cut.add(journal.name)
            log.error("audit_tail_cut", journal=journal.name, block=known.number, head=known.head)

    def _last_lines(self) -> list[str]:
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()

    def _append(self, headers: list[BlockHeader]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [_head_line(header) for header in headers]
        with self.path.open("ab+", buffering=0) as file:  # one write: processes of one server share the file
            end = file.seek(0, os.SEEK_END)
            if self._own_key and (not end or self._own_key not in self._written_keys):
                lines.insert(0, f"{utc_text(headers[0].sealed_at)} {_KEY} {self._own_key}")
                self._written_keys.add(self._own_key)
            text = "".join(f"{line}\n" for line in lines)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # the machine stopped in the middle of a line
                    text = "\n" + text
            file.write(text.encode())
            os.fsync(file.fileno())
        if self._send is not None:
            self._send(lines)


def _head_line(header: BlockHeader) -> str:
    signature = f" {header.signature} {header.public_key}" if header.signature else ""
    return f"{utc_text(header.sealed_at)} {header.journal} {header.number} {header.head}{signature}"


async def _above(db: Database, journal: str, number: int) -> list[BlockHeader]:
    async with db.reading() as session:
        found = await repository.blocks(session, journal, above=number, limit=_STEP)
        return [repository.header_of(row) for row in found]


BLOCK_ROWS = 500  # few enough that requests beside it notice nothing
BLOCKS_AT_ONCE = 60  # of a journal in one call of the timer: 30,000 rows a minute take a twentieth of a core


class Sealer:
    """Any number of processes may seal one database: a number is given to one block, and the others try again later."""

    def __init__(
        self, db: Database, *, clock: Clock, heads: HeadFile, signer: Signer, block_rows: int = BLOCK_ROWS
    ) -> None:
        self.db, self.clock, self.heads, self.signer = db, clock, heads, signer
        self._block_rows = block_rows
        self._waiting: deque[tuple[float, Mapping[str, int]]] = deque()
        self._ripe: Mapping[str, int] = {}
        self.verified: dict[
            str, int
        ] = {}  # by journal, the number of the block after which the worker goes on to verify

    def trust(self) -> Trust:
        """Return what this server believes of the blocks in the database."""
        return Trust(self.clock.now(), self.heads.trusted_keys)

    async def tick(self, _now: datetime) -> int:
        """
        Seal up to where the journals stood at the last call before the longest transaction.

        What many rows at once leave is sealed over the next calls.
        """
        marks = await self.marks()
        self._waiting.append((stopwatch(), marks))
        while self._waiting and self._waiting[0][0] <= stopwatch() - self.db.longest_transaction:
            _, self._ripe = self._waiting.popleft()
        return await self.seal(self._ripe, most=BLOCKS_AT_ONCE)

    async def seal_now(self) -> int:
        """Seal what is there now, once every transaction has ended, and return the number of blocks."""
        marks = await self.marks()
        await asyncio.sleep(self.db.longest_transaction)
        return await self.seal(marks)

    async def marks(self) -> Mapping[str, int]:
        """Return the highest committed key of each journal."""
        async with self.db.reading() as session:
            return {journal.name: await repository.highest_key(session, journal) for journal in JOURNALS}

    async def seal(self, marks: Mapping[str, int], *, most: int | None = None) -> int:
        """
        Seal rows up to the marks, write their heads to the file and the log, and count the blocks.

        :param most: blocks of each journal; None for no limit
        """
        count = 0
        for journal in JOURNALS:
            mark, sealed = marks.get(journal.name, 0), 0
            while (most is None or sealed < most) and await self._block(journal, mark):
                sealed += 1
            count += sealed
        await self.heads.catch_up(self.db)
        return count

    async def _block(self, journal: Journal, mark: int) -> bool:
        async with self.db.reading() as session:
            last = await repository.last_block(session, journal)
        after = last.last_id if last else None
        anyone = await repository.keys_with_uncommitted(self.db, journal, after, upto=mark, limit=self._block_rows)
        async with self.db.reading() as session:
            rows = await repository.rows(session, journal, after, upto=mark, limit=self._block_rows)
        committed = {row.key for row in rows}
        stop = next((key for key in anyone if key not in committed), None)
        closed = [row for row in rows if stop is None or row.key < stop]
        if not closed:
            return False
        return await self._write(journal, closed, repository.header_of(last) if last else None)

    async def _write(self, journal: Journal, rows: list[repository.JournalRow], previous: BlockHeader | None) -> bool:
        marks = await asyncio.to_thread(repository.marks_of, rows)
        moments = [when for mark in marks if (when := _time(mark.at)) is not None]
        now = self.clock.now()
        header = with_digest(
            BlockHeader(
                journal=journal.name,
                number=previous.number + 1 if previous else 1,
                kind=BlockKind.SEAL,
                row_count=len(marks),
                rows_digest=rows_digest(marks),
                previous_head=previous.head if previous else START,
                first_at=min(moments, default=now),
                last_at=max(moments, default=now),
                sealed_at=max(now, previous.sealed_at) if previous else now,
            ),
            self.signer,
        )
        try:
            await self.db.transact(repository.add_block, header, last_id=rows[-1].key, marks=marks)
        except IntegrityError:
            log.info("audit_block_taken", journal=journal.name, block=header.number)
            return False
        return True


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
