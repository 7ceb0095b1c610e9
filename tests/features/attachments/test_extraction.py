"""The text inside files, from the upload to where the search finds it."""

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.adapters import MemoryStorage
from saraban.attachments.domain import FileText, TextProblem
from saraban.attachments.models import Attachment
from saraban.attachments.service import AttachmentRow, FileStore, UploadRules, extraction
from saraban.attachments.service.extraction import MOST_TRIES, TextWorker
from saraban.bootstrap import System
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from tests.factories.contexts import context
from tests.readable_files import docx, paragraph

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)
LEASE = timedelta(minutes=3)


@dataclass
class Shelf:
    """Files of one person, and a reader that says of each what a test wants."""

    db: Database
    caller: Caller
    storage: MemoryStorage = field(default_factory=MemoryStorage)
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOW, ZoneInfo("Asia/Bangkok")))
    answers: dict[bytes, FileText] = field(default_factory=dict)
    read: list[bytes] = field(default_factory=list)
    told: list[int] = field(default_factory=list)

    def worker(self) -> TextWorker:
        return TextWorker(self.db, self.storage, self._read, clock=self.clock, lease=LEASE, on_text=self._on_text)

    async def _read(self, chunks: AsyncIterator[bytes], _mime_type: str) -> FileText:
        content = b"".join([chunk async for chunk in chunks])
        self.read.append(content)
        return self.answers.get(content, FileText(f"text of {content.decode(errors='replace')}"))

    async def _on_text(self, session: AsyncSession, attachment_ids: Collection[int]) -> None:
        texts = await extraction.texts(session, attachment_ids)  # of this very transaction
        assert texts.keys() == set(attachment_ids)
        self.told += attachment_ids

    async def upload(self, name: str, content: bytes) -> AttachmentRow:
        async def chunks() -> AsyncIterator[bytes]:
            yield content

        store = FileStore(self.db, self.storage, UploadRules(), self.clock)
        return await attachments.upload(
            context(caller=self.caller, now=self.clock.now()), store, name=name, chunks=chunks()
        )

    async def claim(self, *public_ids: UUID) -> None:
        ctx = context(caller=self.caller, now=self.clock.now())
        await self.db.transact(lambda session: attachments.claim(ctx, session, public_ids=public_ids, pointer="/files"))

    async def attached(self, content: bytes) -> int:
        """Attach a PDF, a minute after the one before."""
        self.clock.at += timedelta(minutes=1)
        row = await self.upload("a.pdf", content)
        await self.claim(row.public_id)
        return row.id

    async def row(self, attachment_id: int) -> Attachment:
        async with self.db.reading() as session:
            return (await session.scalars(sa.select(Attachment).where(Attachment.id == attachment_id))).one()

    async def texts(self, *attachment_ids: int) -> dict[int, str]:
        async with self.db.reading() as session:
            return await extraction.texts(session, attachment_ids)


@pytest.fixture
async def shelf(system: System) -> Shelf:
    async with system.db.reading() as session:
        caller = await identity.find_caller(session, username="dc.contractor")
    assert caller is not None
    return Shelf(system.db, caller)


class TestRound:
    async def test_reads_a_file_once_it_belongs_to_something(self, shelf: Shelf) -> None:
        row = await shelf.upload("a.pdf", b"%PDF-1")
        assert await shelf.worker().round() is False

        await shelf.claim(row.public_id)

        assert [await shelf.worker().round() for _ in range(2)] == [True, False]
        assert await shelf.texts(row.id) == {row.id: "text of %PDF-1"}
        assert (shelf.told, (await shelf.row(row.id)).text_due_at) == ([row.id], None)

    @pytest.mark.parametrize(
        ("name", "content", "waits"), [("a.docx", docx(paragraph("x")), True), ("a.png", b"\x89PNG\r\n\x1a\n", False)]
    )
    async def test_reads_the_kinds_that_have_text(
        self, shelf: Shelf, name: str, content: bytes, *, waits: bool
    ) -> None:
        shelf.answers[content] = FileText("x")
        row = await shelf.upload(name, content)
        await shelf.claim(row.public_id)

        assert await shelf.worker().round() is waits

    async def test_begins_with_the_newest(self, shelf: Shelf) -> None:
        for content in (b"%PDF-1", b"%PDF-2"):
            await shelf.attached(content)

        await shelf.worker().round()

        assert shelf.read == [b"%PDF-2"]

    async def test_keeps_the_reason_and_goes_on(self, shelf: Shelf) -> None:
        shelf.answers[b"%PDF-2"] = FileText(problem=TextProblem.PASSWORD)
        first, second = await shelf.attached(b"%PDF-1"), await shelf.attached(b"%PDF-2")

        while await shelf.worker().round():
            pass

        assert (await shelf.row(second)).text_problem == TextProblem.PASSWORD
        assert (list(await shelf.texts(first, second)), shelf.told) == ([first], [first])

    async def test_says_when_the_bytes_are_gone(self, shelf: Shelf) -> None:
        file = await shelf.attached(b"%PDF-1")
        shelf.storage.files.clear()

        await shelf.worker().round()

        assert (await shelf.row(file)).text_problem == TextProblem.MISSING

    async def test_gives_a_file_back_when_the_worker_stops(self, shelf: Shelf) -> None:
        file = await shelf.attached(b"%PDF-1")
        began = asyncio.Event()

        async def dawdle(_chunks: AsyncIterator[bytes], _mime_type: str) -> FileText:
            began.set()
            await asyncio.Event().wait()
            raise AssertionError

        work = asyncio.create_task(TextWorker(shelf.db, shelf.storage, dawdle, clock=shelf.clock, lease=LEASE).round())
        await began.wait()
        work.cancel()
        await asyncio.wait([work])

        assert (await shelf.row(file)).text_tries == 0
        assert await shelf.worker().round() is True

    async def test_leaves_a_file_alone_that_ended_each_worker(self, shelf: Shelf) -> None:
        file = await shelf.attached(b"%PDF-1")

        async def fail(_chunks: AsyncIterator[bytes], _mime_type: str) -> FileText:
            raise RuntimeError("no way to begin")

        worker = TextWorker(shelf.db, shelf.storage, fail, clock=shelf.clock, lease=LEASE)
        for _ in range(MOST_TRIES):
            with pytest.raises(RuntimeError):
                await worker.round()
            assert await worker.round() is False
            shelf.clock.at += LEASE + timedelta(seconds=1)

        assert [await worker.round() for _ in range(2)] == [True, False]
        assert (await shelf.row(file)).text_problem == TextProblem.CRASHED


class TestRetry:
    async def test_has_files_without_a_text_wait_again(self, shelf: Shelf) -> None:
        cut = FileText("begin", TextProblem.CUT)
        shelf.answers |= {b"%PDF-1": FileText(problem=TextProblem.TIMED_OUT), b"%PDF-2": cut}
        slow, long = await shelf.attached(b"%PDF-1"), await shelf.attached(b"%PDF-2")
        while await shelf.worker().round():
            pass
        shelf.answers.clear()

        count = await shelf.db.transact(lambda session: extraction.retry_texts(session, now=shelf.clock.now()))
        while await shelf.worker().round():
            pass

        assert (count, await shelf.texts(slow, long)) == (1, {slow: "text of %PDF-1", long: "begin"})
        assert (await shelf.row(slow)).text_problem is None
        async with shelf.db.reading() as session:
            assert await extraction.count_texts(session) == (0, 2, {TextProblem.CUT: 1})

    async def test_of_all_files_replaces_what_was_read(self, shelf: Shelf) -> None:
        shelf.answers |= {b"%PDF-2": FileText("little", TextProblem.NO_UNICODE)}
        first, second = await shelf.attached(b"%PDF-1"), await shelf.attached(b"%PDF-2")
        while await shelf.worker().round():
            pass
        shelf.answers |= {b"%PDF-1": FileText("more"), b"%PDF-2": FileText(problem=TextProblem.CRASHED)}

        await shelf.db.transact(lambda session: extraction.retry_texts(session, now=shelf.clock.now(), all_files=True))
        while await shelf.worker().round():
            pass

        assert await shelf.texts(first, second) == {first: "more", second: "little"}
