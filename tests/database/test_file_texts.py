"""The text inside files on each database: workers that meet at one file, vanish or come back late, and what a look costs."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

import saraban.workflow.runtime.models  # noqa: F401  where the foreign key of step files leads
from saraban.attachments import repository
from saraban.attachments.adapters import MemoryStorage
from saraban.attachments.adapters.text_reader import TextReader
from saraban.attachments.domain import FileText, TextProblem
from saraban.attachments.domain.kinds import DOCX
from saraban.attachments.models import Attachment, AttachmentText
from saraban.attachments.service.extraction import MOST_TRIES, TextWorker
from saraban.events import service as events
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from tests.factories.uploaders import NOW, uploader
from tests.numbering_world import BANGKOK
from tests.processes import RunningSaraban, signed_in_client
from tests.readable_files import docx, line, locked_pdf, million_pages, paragraph, pdf

pytestmark = [pytest.mark.servers, pytest.mark.sampled("mariadb")]
LEASE = timedelta(minutes=3)


class Archive:
    """Files that belong to something, and workers on a clock they share."""

    def __init__(self, db: Database) -> None:
        self.db, self.storage, self.clock = db, MemoryStorage(), FixedClock(NOW, BANGKOK)
        self.told: list[int] = []

    def worker(self, reader: TextReader | None = None) -> TextWorker:
        read = (reader or TextReader(seconds=20, memory=512)).read
        return TextWorker(self.db, self.storage, read, clock=self.clock, lease=LEASE, on_text=self._on_text)

    async def _on_text(self, _session: AsyncSession, attachment_ids: Collection[int]) -> None:
        self.told += attachment_ids

    async def put(self, *contents: bytes, mime_type: str = "application/pdf") -> None:
        caller = await uploader(self.db)

        async def work(session: AsyncSession) -> None:
            for number, content in enumerate(contents):
                key = f"files/{number}"
                self.storage.files[key] = content
                session.add(
                    Attachment(
                        original_filename="a",
                        stored_filename="a",
                        file_path=key,
                        mime_type=mime_type,
                        file_size=len(content),
                        is_temporary=False,
                        uploaded_by_user_id=caller.user_id,
                        created_at=NOW,
                        text_due_at=NOW,
                    )
                )

        await self.db.transact(work)

    async def vanish(self) -> None:
        """Begin with a file and never be heard of again."""
        now = self.clock.now()
        async with self.db.reading() as session:
            file = await repository.next_waiting_text(session, now=now)
        assert file is not None
        changes = {"text_due_at": now + LEASE, "text_tries": file.tries + 1}
        assert await self.db.transact(repository.settle_text, file, changes)

    async def found(self) -> list[tuple[str | None, str | None]]:
        """Return problem and text of each file."""
        statement = sa.select(Attachment.text_problem, AttachmentText.text).outerjoin(AttachmentText)
        async with self.db.reading() as session:
            return [(row[0], row[1]) for row in await session.execute(statement.order_by(Attachment.id))]


@pytest.fixture
def archive(any_db: Database) -> Archive:
    """The test runs once on each database."""
    return Archive(any_db)


class TestWorkers:
    async def test_read_each_file_once_between_them(self, archive: Archive) -> None:
        await archive.put(*(pdf(line(f"file {number}")) for number in range(3)), locked_pdf())

        async def work() -> int:
            worker, rounds = archive.worker(), 0
            while await worker.round():
                rounds += 1
            return rounds

        await asyncio.gather(*(work() for _ in range(3)))

        texts = [(None, f"file {number}") for number in range(3)]
        assert await archive.found() == [*texts, (TextProblem.PASSWORD, None)]
        assert sorted(archive.told) == sorted(set(archive.told))
        assert len(archive.told) == 3

    async def test_that_vanished_are_followed_by_another_when_their_time_is_over(self, archive: Archive) -> None:
        await archive.put(pdf(line("one")))
        await archive.vanish()

        assert await archive.worker().round() is False
        archive.clock.at += LEASE + timedelta(seconds=1)
        assert await archive.worker().round() is True

        assert await archive.found() == [(None, "one")]

    async def test_that_come_back_late_write_nothing(self, archive: Archive) -> None:
        await archive.put(pdf(line("one")))
        began, go_on = asyncio.Event(), asyncio.Event()

        class Slow(TextReader):
            async def read(self, _chunks: AsyncIterator[bytes], _mime_type: str) -> FileText:
                began.set()
                await go_on.wait()
                return FileText("late")

        late = asyncio.create_task(archive.worker(Slow(seconds=1, memory=128)).round())
        await began.wait()
        archive.clock.at += LEASE + timedelta(seconds=1)
        await archive.worker().round()
        go_on.set()
        await late

        assert await archive.found() == [(None, "one")]
        assert len(archive.told) == 1

    async def test_give_a_file_up_that_three_vanished_with(self, archive: Archive) -> None:
        await archive.put(pdf(line("one")))
        for _ in range(MOST_TRIES):
            await archive.vanish()
            archive.clock.at += LEASE + timedelta(seconds=1)

        assert [await archive.worker().round() for _ in range(2)] == [True, False]
        assert await archive.found() == [(TextProblem.CRASHED, None)]

    async def test_keep_every_letter_of_a_long_text(self, archive: Archive) -> None:
        await archive.put(docx(paragraph("ก😀ำ" * 1_000) * 400), mime_type=DOCX.mime_type)

        await archive.worker().round()

        ((_, text),) = await archive.found()
        assert text == " ".join(["ก😀ำ" * 1_000] * 400)[:1_000_000]


class TestLook:
    async def test_is_answered_by_an_index(self, archive: Archive) -> None:
        statement = sa.select(repository.any_text_waits(events.NOW))

        async def plan(session: AsyncSession) -> str:
            bound = statement.compile(session.get_bind().engine, compile_kwargs={"render_postcompile": True})
            explain = "EXPLAIN " if session.get_bind().dialect.name != "sqlite" else "EXPLAIN QUERY PLAN "
            values = (NOW.replace(tzinfo=None),)
            rows = await (await session.connection()).exec_driver_sql(explain + str(bound), values)
            return " ".join(str(tuple(row)) for row in rows)

        assert "idx_attachments_text_due" in await archive.db.transact(plan)


class TestServer:
    @pytest.mark.slow
    def test_reads_files_beside_its_requests(self, started_demo_url: str, tmp_path: Path) -> None:
        server = RunningSaraban(tmp_path / "data", database_url=started_demo_url, file_text_seconds=1).start()
        try:
            with signed_in_client(server, "admin") as client:
                files = [
                    client.post("/api/v1/attachments", files={"file": ("a.pdf", content)}).json()["publicId"]
                    for content in (million_pages(), locked_pdf(), pdf(line("the newest is read first")))
                ]
                drawing = {
                    "projectPublicId": client.get("/api/v1/projects").json()["items"][0]["publicId"],
                    "drawingNumber": "S-1",
                    "title": "แปลนฐานราก",
                    "revision": {"attachmentPublicIds": files, "date": "2026-03-02"},
                }
                sent = client.post("/api/v1/drawings/shop", json=drawing).raise_for_status()
                address = f"/api/v1/drawings/shop/{sent.json()['data']['publicId']}"
                while (problems := _problems(client, address))[files[0]] is None:
                    time.sleep(0.05)
        finally:
            server.kill()

        assert [problems[file] for file in files] == ["timed_out", "password", None]


def _problems(client: httpx.Client, address: str) -> dict[str, str | None]:
    (revision,) = client.get(address).raise_for_status().json()["data"]["revisions"]
    return {file["publicId"]: file["textProblem"] for file in revision["attachments"]}
