"""A disk without room: named wherever it is met, nothing half written, and everything goes on when there is room again."""

import errno
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError

from saraban.attachments import adapters
from saraban.attachments.models import Attachment
from saraban.config import Settings
from saraban.imports.service import worker as import_worker
from saraban.kit import workbooks
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.workbooks import SheetWriter
from saraban.numbering.series.models import LedgerEntry
from saraban.ops import health
from tests.command_tree import run_program
from tests.conftest import SignIn
from tests.number_imports import Desk, letter, work_of
from tests.numbering_requests import GENERATE, read_project

PDF = b"%PDF-1.7\n" + b"x" * 100_000
WORDS = {"th": "พื้นที่จัดเก็บข้อมูลของระบบเต็ม", "en": "The system's disk is full. Nothing was saved."}


@contextmanager
def full(db: Database) -> Iterator[None]:
    """The database's file may not grow: what SQLite itself says of a full disk."""

    def limited(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count=1")  # no less than it has

    def unlimited(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count=1073741823")

    engine = db.engine.sync_engine
    event.listen(engine, "checkout", limited)
    try:
        yield
    finally:
        event.remove(engine, "checkout", limited)
        event.listen(engine, "checkout", unlimited)


async def count(db: Database, model: Any) -> int:
    async with db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(model)) or 0)


def on_a_full_device(draft: Path) -> BinaryIO:
    draft.parent.mkdir(parents=True, exist_ok=True)
    draft.touch()
    return Path("/dev/full").open("wb")


class TestFaultOf:
    @pytest.mark.parametrize(
        "error",
        [
            OSError(errno.ENOSPC, "No space left on device"),
            OSError(errno.EDQUOT, "Disk quota exceeded"),
            OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full")),
            OperationalError("INSERT", {}, Exception(1021, "Disk full (/tmp); waiting for someone to free some space")),
            OperationalError("INSERT", {}, Exception(1114, "The table 'audit_logs' is full")),
            OperationalError(
                "INSERT", {}, Exception(3, "Error writing file '/tmp/ML' (Errcode: 28 \"No space left\")")
            ),
            OperationalError("INSERT", {}, Exception(1030, 'Got error 28 "No space" from storage engine InnoDB')),
        ],
    )
    def test_names_a_full_disk(self, error: Exception) -> None:
        assert database_fault(error) is DatabaseFault.FULL


class TestDatabase:
    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.sampled("en")
    @pytest.mark.sampled("[th")
    async def test_without_room_draws_no_number_and_goes_on_when_there_is_some(
        self, app: FastAPI, signed_in: SignIn, language: str
    ) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        before, drawn = await count(app.state.db, LedgerEntry), 0
        with full(app.state.db):
            for _ in range(2000):  # what is free in the file's pages is used first
                answer = await client.post(GENERATE, json=project.letter(), headers={"Accept-Language": language})
                if answer.status_code != 201:
                    break
                drawn += 1

        body = answer.json()
        assert (answer.status_code, body["code"], body["status"]) == (507, "DISK_FULL", 507)
        assert WORDS[language] in body["userMessage"]
        assert len(body["recovery"]) == 2
        assert await count(app.state.db, LedgerEntry) == before + drawn
        assert (await client.post(GENERATE, json=project.letter())).status_code == 201
        assert await count(app.state.db, LedgerEntry) == before + drawn + 1


class TestUpload:
    async def test_without_room_leaves_nothing_and_is_taken_when_there_is_some(
        self, app: FastAPI, signed_in: SignIn, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = await signed_in("dc.contractor")
        sent: dict[str, Any] = {"files": {"file": ("a.pdf", PDF)}}
        files, before = set((settings.data_dir / "files").rglob("*")), await count(app.state.db, Attachment)
        with monkeypatch.context() as patch:
            patch.setattr(adapters, "_open_draft", on_a_full_device)
            answer = await client.post("/api/v1/attachments", **sent)

        assert (answer.status_code, answer.json()["code"]) == (507, "DISK_FULL")
        assert [path for path in set((settings.data_dir / "files").rglob("*")) - files if path.is_file()] == []
        assert await count(app.state.db, Attachment) == before
        assert (await client.post("/api/v1/attachments", **sent)).status_code == 201

    async def test_of_a_page_says_the_same(self, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adapters, "_open_draft", on_a_full_device)
        client = await signed_in("padmin")
        project = (await read_project(client)).id
        sent: dict[str, Any] = {"files": {"file": ("old.csv", b"number,type,originator\n")}}
        cookie = {"Cookie": f"saraban_access={client.headers.pop('Authorization').split()[1]}"}
        headers = {"Accept": "text/html", "Accept-Language": "th", "Sec-Fetch-Site": "same-origin"} | cookie
        answer = await client.post(f"/numbers/imports?project={project}", headers=headers, **sent)

        assert answer.status_code == 507
        assert WORDS["th"] in answer.text


class TestImport:
    async def test_without_room_for_its_temporary_files_fails_with_the_reason(
        self, app: FastAPI, signed_in: SignIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = await signed_in("padmin")
        desk = Desk(client, app, (await read_project(client)).id, tmp_path)

        class FullFolder(TemporaryDirectory[str]):
            def __enter__(self) -> str:
                (Path(self.name) / "source.csv").symlink_to("/dev/full")
                return self.name

        monkeypatch.setattr(import_worker, "TemporaryDirectory", FullFolder)
        sent = await desk.send(letter(1))
        with pytest.raises(OSError, match="No space"):
            await work_of(desk.app).round()

        found = await desk.read(sent.json()["publicId"])
        assert (found["state"], found["problem"]["code"]) == ("FAILED", "DISK_FULL")

    def test_of_a_workbook_says_what_the_system_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Patched: the library leaves its archive open when it fails, which a test would be told of later."""

        def fails(_: Workbook) -> None:
            raise FileCreateError(OSError(errno.ENOSPC, "No space left on device"))

        monkeypatch.setattr(Workbook, "close", fails)
        with pytest.raises(OSError, match="No space"), SheetWriter(tmp_path / "a.xlsx", ["a"]) as sheet:
            sheet.add(["b"])
        monkeypatch.undo()
        sheet._book.close()


class TestCommand:
    def test_says_it_in_one_line(
        self, settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:

        monkeypatch.setenv("SARABAN_LANG", "en")
        monkeypatch.setattr(sys, "argv", ["saraban", "number", "template", "/dev/full.csv"])
        monkeypatch.setattr(workbooks, "write_template", lambda *_: Path("/dev/full").write_text("x" * 100_000))

        assert run_program() == 8
        said = capsys.readouterr().err
        assert (len(said.splitlines()), "no space left on the disk" in said) == (1, True)


class TestReady:
    async def test_tells_when_there_is_too_little_room(
        self, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(health, "LEAST_FREE_BYTES", 1 << 62)
        told = await client.get("/health/ready")

        assert told.status_code == 503
        dependencies = told.json()["dependencies"]
        assert {dependencies[name]["reason"] for name in ("storage", "database")} == {"less than 50 MB are free"}
