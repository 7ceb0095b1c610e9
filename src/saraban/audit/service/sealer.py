"""
Seals rows into blocks, and writes the heads of the blocks to the head file.

Keys become visible out of order: an uncommitted key ends a block. Unseen keys can belong to open transactions, so
only keys up to the highest one of `longest_transaction` ago are sealed.
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
_KEY = "key"  # a server writes its own line `time key publicKey`
_TAIL_BYTES = 64 * 1024


class HeadFile:
    """A server's own file with every head, whichever process sealed the block."""

    def __init__(
        self,
        path: Path,
        *,
        own_key: str | None = None,
        send: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        self.path = path
        self.cut: set[str] = set()  # journals whose last block differs from the last block in the file
        self._own_key, self._send = own_key, send

    @cached_property
    def _written_keys(self) -> set[str]:
        lines = [line.split() for line in self.lines()] if self.exists() else []
        return {words[2] for words in lines if len(words) == 3 and words[1] == _KEY}

    @property
    def trusted_keys(self) -> frozenset[str]:
        """Return public keys that do not come from the database."""
        return frozenset(filter(None, (*self._written_keys, self._own_key)))

    def exists(self) -> bool:
        return self.path.exists()

    def lines(self) -> Iterator[str]:
        with self.path.open(encoding="utf-8", errors="replace") as file:
            yield from file

    def newest(self, journal: str) -> HeadLine | None:
        if not self.exists():
            return None
        head = max(heads_of(journal, self._last_lines()), default=None)
        return head or max(heads_of(journal, self.lines()), default=None)

    async def catch_up(self, db: Database) -> int:
        added = 0
        self.cut.clear()
        for journal in JOURNALS:
            newest = await asyncio.to_thread(self.newest, journal.name)
            await self._compare(db, journal, newest)
            number = newest.number if newest else 0
            while headers := await _headers_after(db, journal.name, number):
                await asyncio.to_thread(self._append, headers)
                for header in headers:
                    log.info("audit_sealed", journal=header.journal, block=header.number, head=header.head)
                number = headers[-1].number
                added += len(headers)
        return added

    async def _compare(self, db: Database, journal: Journal, newest: HeadLine | None) -> None:
        if newest is None:
            return
        async with db.reading() as session:
            last = await repository.last_block(session, journal)
        if last is None or last.number < newest.number or (last.number == newest.number and last.head != newest.head):
            self.cut.add(journal.name)
            log.error("audit_tail_cut", journal=journal.name, block=newest.number, head=newest.head)

    def _last_lines(self) -> list[str]:
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()

    def _append(self, headers: list[BlockHeader]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [_head_line(header) for header in headers]
        with self.path.open("ab+", buffering=0) as file:  # a single write, because processes share the file
            end = file.seek(0, os.SEEK_END)
            if self._own_key and (not end or self._own_key not in self._written_keys):
                lines.insert(0, f"{utc_text(headers[0].sealed_at)} {_KEY} {self._own_key}")
                self._written_keys.add(self._own_key)
            text = "".join(f"{line}\n" for line in lines)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # the line was not finished
                    text = "\n" + text
            file.write(text.encode())
            os.fsync(file.fileno())
        if self._send is not None:
            self._send(lines)


def _head_line(header: BlockHeader) -> str:
    signature = f" {header.signature} {header.public_key}" if header.signature else ""
    return f"{utc_text(header.sealed_at)} {header.journal} {header.number} {header.head}{signature}"


async def _headers_after(db: Database, journal: str, number: int) -> list[BlockHeader]:
    async with db.reading() as session:
        blocks = await repository.blocks(session, journal, above=number, limit=_STEP)
        return [repository.header_of(block) for block in blocks]


BLOCK_ROWS = 500  # sealing must not slow requests down
BLOCKS_AT_ONCE = 60  # for each journal and call: 30,000 rows a minute take 5 % of a core


class Sealer:
    """Several processes can seal one database."""

    def __init__(
        self, db: Database, *, clock: Clock, heads: HeadFile, signer: Signer, block_rows: int = BLOCK_ROWS
    ) -> None:
        self.db, self.clock, self.heads, self.signer = db, clock, heads, signer
        self._block_rows = block_rows
        self._waiting: deque[tuple[float, Mapping[str, int]]] = deque()
        self._sealable: Mapping[str, int] = {}
        self.verified: dict[str, int] = {}  # the worker's last verified block by journal

    def trust(self) -> Trust:
        return Trust(self.clock.now(), self.heads.trusted_keys)

    async def tick(self, _now: datetime) -> int:
        """Seal keys that were committed before the longest possible transaction began."""
        marks = await self.marks()
        self._waiting.append((stopwatch(), marks))
        while self._waiting and self._waiting[0][0] <= stopwatch() - self.db.longest_transaction:
            _, self._sealable = self._waiting.popleft()
        return await self.seal(self._sealable, most=BLOCKS_AT_ONCE)

    async def seal_now(self) -> int:
        """Wait until all open transactions have ended, then seal."""
        marks = await self.marks()
        await asyncio.sleep(self.db.longest_transaction)
        return await self.seal(marks)

    async def marks(self) -> Mapping[str, int]:
        async with self.db.reading() as session:
            return {journal.name: await repository.highest_key(session, journal) for journal in JOURNALS}

    async def seal(self, marks: Mapping[str, int], *, most: int | None = None) -> int:
        """:param most: blocks of each journal; None for no limit"""
        count = 0
        for journal in JOURNALS:
            mark, sealed = marks.get(journal.name, 0), 0
            while (most is None or sealed < most) and await self._seal_block(journal, mark):
                sealed += 1
            count += sealed
        await self.heads.catch_up(self.db)
        return count

    async def _seal_block(self, journal: Journal, mark: int) -> bool:
        async with self.db.reading() as session:
            last = await repository.last_block(session, journal)
        after = last.last_id if last else None
        all_keys = await repository.keys_with_uncommitted(self.db, journal, after, upto=mark, limit=self._block_rows)
        async with self.db.reading() as session:
            rows = await repository.rows(session, journal, after, upto=mark, limit=self._block_rows)
        committed = {row.key for row in rows}
        stop = next((key for key in all_keys if key not in committed), None)
        complete = [row for row in rows if stop is None or row.key < stop]
        if not complete:
            return False
        return await self._add_block(journal, complete, repository.header_of(last) if last else None)

    async def _add_block(
        self, journal: Journal, rows: list[repository.JournalRow], previous: BlockHeader | None
    ) -> bool:
        marks = await asyncio.to_thread(repository.row_digests, rows)
        moments = [moment for mark in marks if (moment := _parse_time(mark.at)) is not None]
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


def _parse_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
