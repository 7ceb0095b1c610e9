"""Uploaded imports on each database: turns, workers that vanish, and a server that is killed in the middle."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.attachments.adapters import FolderStorage
from saraban.bootstrap import carriers
from saraban.imports import repository
from saraban.imports.schemas import ImportQuery
from saraban.imports.service import run, uploads
from saraban.imports.service.uploads import ImportFile
from saraban.imports.service.worker import LEASE, ImportWorker
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.idempotency import Idempotency
from saraban.numbering import service as numbering
from saraban.numbering.imports.schemas import ImportCommitIn
from saraban.numbering.imports.service import rows
from saraban.numbering.series.models import LedgerEntry, NumberImport
from saraban.numbering.service import NUMBER_IMPORTER
from tests.factories.contexts import context
from tests.numbering_world import BANGKOK, NOW, World, world_of
from tests.processes import RunningSaraban, read_until, signed_in_client

pytestmark = [pytest.mark.servers, pytest.mark.sampled("mariadb")]
ROWS = 1_500  # a batch, and half of one


class Works:
    """A world with a storage and a clock that workers share."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.db = world, world.db
        self.storage = FolderStorage(folder)
        self.clock = FixedClock(NOW, BANGKOK)

    def worker(self) -> ImportWorker[NumberImport]:
        return ImportWorker(self.db, self.storage, NUMBER_IMPORTER, clock=self.clock, beat=0.02)

    async def send(self, last: int, first: int = 1) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"number,type,originator,recipient\n"
            for sequence in range(first, last + 1):
                yield f"คคง.-ผรม.1-{sequence:04}-2569,LETTER,คคง.,ผรม.1\n".encode()

        await uploads.upload_import(
            context(caller=self.world.caller, now=self.clock.now(), address=""),
            self.db,
            self.storage,
            Idempotency(self.db),
            NUMBER_IMPORTER,
            query=ImportQuery(project=self.world.project),
            sheet=ImportFile.of("old.csv", chunks()),
        )

    async def started(self, last: int) -> None:
        await self.send(last)
        assert await self.worker().round()
        row = await self.row()
        await self.db.transact(
            lambda session: uploads.start_import(
                context(caller=self.world.caller, now=NOW, address=""),
                session,
                NUMBER_IMPORTER,
                row.public_id,
                ImportCommitIn(),
            )
        )

    async def vanish(self) -> None:
        """Take a turn and never be heard of again."""
        key, now = (await self.row()).id, self.clock.now()
        assert await self.db.transact(
            repository.acquire_lease, self.world.project, NumberImport, key=key, until=now + LEASE, now=now
        )
        self.clock.at = now + LEASE + timedelta(seconds=1)

    async def row(self) -> NumberImport:
        async with self.db.reading() as session:
            return (await session.scalars(sa.select(NumberImport))).one()

    async def numbers(self) -> int:
        async with self.db.reading() as session:
            return int(await session.scalar(sa.select(sa.func.count()).select_from(LedgerEntry)) or 0)


@pytest_asyncio.fixture
async def works(any_demo_url: str, tmp_path: Path) -> AsyncIterator[Works]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield Works(await world_of(db), tmp_path / "files")
    await db.close()


class TestTurns:
    @pytest.mark.slow
    async def test_are_of_one_worker_at_a_time(self, works: Works) -> None:
        await works.started(60)

        taken = await asyncio.gather(*(works.worker().round() for _ in range(4)))

        row = await works.row()
        assert taken.count(True) == 1
        assert (row.state, row.rows_written, await works.numbers()) == ("DONE", 60, 60)

    async def test_pass_to_another_when_a_worker_is_not_heard_of(self, works: Works) -> None:
        await works.started(50)
        key = (await works.row()).id
        await works.db.transact(
            repository.acquire_lease, works.world.project, NumberImport, key=key, until=NOW + LEASE, now=NOW
        )

        assert await works.worker().round() is False
        works.clock.at = NOW + LEASE + timedelta(seconds=1)
        assert await works.worker().round() is True

        assert (await works.row()).state == "DONE"

    async def test_that_were_lost_twice_end_the_import_with_the_reason(self, works: Works) -> None:
        await works.started(5)
        for _ in range(2):
            await works.vanish()

        assert await works.worker().round() is True

        row = await works.row()
        assert (row.state, row.lease, await works.numbers()) == ("FAILED", None, 0)
        problem = (row.report or {})["problem"]
        assert (problem["code"], "twice" in problem["en"], "สองครั้ง" in problem["th"]) == (
            "IMPORT_INTERRUPTED",
            True,
            True,
        )

    async def test_that_were_lost_write_nothing_more(self, works: Works, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rows, "BATCH", 20)
        await works.started(60)
        write, batches = run._write_batch, 0

        async def lose_the_turn(*given: Any) -> Any:
            """Before the second batch another has it: no server can be told that moment."""
            nonlocal batches
            batches += 1
            if batches == 2:
                other = {"lease": works.world.project, "lease_until": NOW + LEASE}
                await works.db.transact(lambda session: session.execute(sa.update(NumberImport).values(**other)))
            return await write(*given)

        with monkeypatch.context() as during:
            during.setattr(run, "_write_batch", lose_the_turn)
            await works.worker().round()
        written = (await works.row()).rows_written
        works.clock.at = NOW + LEASE + timedelta(seconds=1)
        await works.worker().round()

        row = await works.row()
        assert written == 20
        assert (row.state, row.rows_written, row.report["there"] if row.report else None) == ("DONE", 60, 0)
        assert [found async for found in numbering.check_consistency(works.db, carriers=carriers())] == []


class TestServer:
    @pytest.mark.slow
    def test_that_is_killed_in_the_middle_goes_on_where_it_was(self, started_demo_url: str, tmp_path: Path) -> None:
        server = RunningSaraban(tmp_path / "data", database_url=started_demo_url, import_lease=5).start()
        try:
            with signed_in_client(server, "padmin") as client:
                address = _send(client, ROWS)
                read_until(client, address, lambda body: body["state"] == "CHECKED")
                client.post(f"{address}/commit", json={}).raise_for_status()
                read_until(client, address, lambda body: body["rowsDone"] > 0)
            server.kill()
            server.start()
            with signed_in_client(server, "padmin") as client:
                done = read_until(client, address, lambda body: body["state"] == "DONE")
        finally:
            server.kill()

        assert (done["report"]["imported"], done["report"]["there"], done["rowsDone"]) == (ROWS, 0, ROWS)


def _send(client: httpx.Client, count: int) -> str:
    project = client.get("/api/v1/projects").json()["items"][0]["publicId"]
    lines = "".join(f"คคง.-ผรม.1-{n:04}-2567,LETTER,คคง.,ผรม.1,2567\n" for n in range(1, count + 1))
    sent = client.post(
        "/api/v1/document-numbering/imports",
        params={"projectPublicId": project},
        files={"file": ("old.csv", f"number,type,originator,recipient,year\n{lines}".encode())},
    )
    return str(sent.raise_for_status().headers["Location"])
