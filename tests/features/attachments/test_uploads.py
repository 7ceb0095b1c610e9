"""The first phase through the door: what is taken, what is refused, and what is left behind."""

import hashlib
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service
from saraban.attachments.models import Attachment
from saraban.audit import service as audit
from saraban.config import Settings
from saraban.kit.db import Database
from tests.readable_files import packed

PDF = b"%PDF-1.7\n" + b"x" * 5000
URL = "/api/v1/attachments"


def archive(*names: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name in names:
            target.writestr(name, "<Types/>")
    return buffer.getvalue()


TAKEN = [
    ("a.docx", packed(word__document="<a/>"), "wordprocessingml"),
    ("a.xlsx", packed(xl__workbook="<a/>"), "spreadsheetml"),
    ("a.zip", archive("drawing.dwg"), "application/zip"),
    ("a.dwg", b"AC1032\x00\x00\x00\x00\x00", "image/vnd.dwg"),
    ("a.JPG", b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
    ("a.csv", "รหัส,ชื่อ\n1,เสาเข็ม\n".encode("cp874"), "text/csv"),
    ("memo.txt", b"From: site office\nTo: all\n\nNo pour today.\n", "text/plain"),
    ("a.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"),
]
REFUSED = [
    ("setup.exe", b"MZ\x90\x00", "FILE_TYPE_MISMATCH", "type_not_allowed"),
    ("setup.pdf", b"MZ\x90\x00", "FILE_TYPE_MISMATCH", "type_not_allowed"),
    ("a.pdf", b"<html><script>alert(1)</script>", "FILE_TYPE_MISMATCH", "type_not_allowed"),
    ("a.svg", b"<svg onload='alert(1)'/>", "FILE_TYPE_MISMATCH", "type_not_allowed"),
    ("a.pdf", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "FILE_TYPE_MISMATCH", "type_mismatch"),
    ("a.xlsx", packed(word__document="<a/>"), "FILE_TYPE_MISMATCH", "type_mismatch"),
    (
        "a.docx",
        archive("[Content_Types].xml", "word/document.xml", "word/vbaProject.bin"),
        "VALIDATION_ERROR",
        "macros",
    ),
    ("a.docx", archive("anything.txt"), "FILE_TYPE_MISMATCH", "type_mismatch"),
    ("a.eml", b"no mail\n", "FILE_TYPE_MISMATCH", "type_mismatch"),
    ("empty.pdf", b"", "VALIDATION_ERROR", "empty"),
    ("a\ue000fdp.pdf", PDF, "VALIDATION_ERROR", "control_character"),
    ("ก" * 260 + ".pdf", PDF, "VALIDATION_ERROR", "too_long"),
]
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
MALFORMED = [
    (b"", "/file"),
    (b"--b--\r\n", "/file"),
    (b"no multipart at all", "/file"),
    (PART + b"%PDF-1.7 broken o", "/file"),
    (PART.replace(b'"file"', b'"other"') + b"x\r\n--b--\r\n", "/other"),
    (PART.replace(b'; filename="a.pdf"', b"") + b"x\r\n--b--\r\n", "/file"),
    (PART.replace(b"a.pdf", b"\xff.pdf") + b"x\r\n--b--\r\n", "/file"),
    (b"--b\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\nx\r\n--b--\r\n", "/file"),
    (PART + b"%PDF-1.7\r\n" + PART + b"%PDF-1.7\r\n--b--\r\n", "/file"),
]


async def send(client: httpx.AsyncClient, name: str, content: bytes, kind: str = "") -> httpx.Response:
    return await client.post(URL, files={"file": (name, content, kind or "application/octet-stream")})


async def rows(db: Database) -> list[Attachment]:
    async with db.reading() as session:
        return list(await session.scalars(sa.select(Attachment)))


def stored(settings: Settings) -> list[Path]:
    return [path for path in (settings.data_dir / "files").rglob("*") if path.is_file()]


@pytest.fixture
async def uploader(signed_in: Any) -> httpx.AsyncClient:
    return await signed_in("dc.contractor")


@pytest.fixture
def db(app: Any) -> Database:
    return app.state.db


class TestUpload:
    async def test_answers_what_the_file_is(self, uploader: httpx.AsyncClient, settings: Settings) -> None:
        answer = await send(uploader, "รายการคำนวณ.pdf", PDF, "text/html")

        said = answer.json()
        assert answer.status_code == 201, answer.text
        assert set(said) == {"publicId", "fileName", "mimeType", "size", "checksum", "expiresAt"}
        assert said["fileName"] == "รายการคำนวณ.pdf"
        assert said["mimeType"] == "application/pdf"
        assert (said["size"], said["checksum"]) == (len(PDF), hashlib.sha256(PDF).hexdigest())
        assert [path.read_bytes() for path in stored(settings)] == [PDF]

    async def test_takes_every_kind_on_the_list(self, uploader: httpx.AsyncClient) -> None:
        for name, content, mime_type in TAKEN:
            answer = await send(uploader, name, content)

            assert answer.status_code == 201, answer.text
            assert mime_type in answer.json()["mimeType"]

    async def test_refuses_with_a_problem_and_leaves_nothing(
        self, uploader: httpx.AsyncClient, db: Database, settings: Settings
    ) -> None:
        for name, content, code, field in REFUSED:
            answer = await send(uploader, name, content, "application/pdf")

            said = answer.json()
            assert answer.status_code == 422, answer.text
            assert (said["code"], said["errors"][0]["pointer"], said["errors"][0]["code"]) == (code, "/file", field)
        assert await rows(db) == []
        assert stored(settings) == []

    @pytest.mark.parametrize(("name", "code"), [("a.dwg", "type_not_allowed"), ("a.txt", "type_mismatch")])
    async def test_names_the_kinds_that_the_installation_takes(
        self, uploader: httpx.AsyncClient, app: FastAPI, monkeypatch: pytest.MonkeyPatch, name: str, code: str
    ) -> None:
        monkeypatch.setattr(app, "state", replace(app.state, uploads=service.UploadRules(extensions="pdf, txt")))
        answer = await send(uploader, name, b"AC1032\x00\x00\x00\x00\x00")

        said = answer.json()
        assert (answer.status_code, said["code"], said["errors"][0]["code"]) == (422, "FILE_TYPE_MISMATCH", code)
        assert said["recovery"] == ["Use one of these kinds: pdf, txt."]

    async def test_writes_refused_types_into_the_audit(self, uploader: httpx.AsyncClient, db: Database) -> None:
        await send(uploader, "a.pdf", b"MZ\x90\x00")

        async with db.reading() as session:
            (entry,) = (await audit.list_records(session, action="attachment.refuse")).items
        assert (entry.severity, entry.details["fileName"]) == ("WARN", "a.pdf")

    async def test_keeps_only_the_last_part_of_a_path(self, uploader: httpx.AsyncClient, settings: Settings) -> None:
        answer = await send(uploader, "../../../tmp/evil.pdf", PDF)

        assert answer.json()["fileName"] == "evil.pdf"
        assert len(stored(settings)) == 1

    async def test_needs_somebody_who_may_attach(self, client: httpx.AsyncClient, signed_in: Any) -> None:
        nobody = await send(client, "a.pdf", PDF)
        viewer = await send(await signed_in("viewer"), "a.pdf", PDF)

        assert (nobody.status_code, viewer.status_code) == (401, 403)


class TestKey:
    """The same upload sent twice, as after a timeout."""

    async def send(self, client: httpx.AsyncClient, name: str, content: bytes, key: str = "k-1") -> httpx.Response:
        return await client.post(URL, files={"file": (name, content)}, headers={"Idempotency-Key": key})

    async def test_makes_one_file_and_gives_one_answer(self, uploader: httpx.AsyncClient, settings: Settings) -> None:
        first = await self.send(uploader, "a.pdf", PDF)
        again = await self.send(uploader, "a.pdf", PDF)

        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert again.headers["idempotent-replay"] == "true"
        assert len(stored(settings)) == 1

    @pytest.mark.parametrize(("name", "content"), [("b.pdf", PDF), ("a.pdf", PDF + b"y")])
    async def test_is_refused_for_another_file(
        self, uploader: httpx.AsyncClient, settings: Settings, name: str, content: bytes
    ) -> None:
        await self.send(uploader, "a.pdf", PDF)
        other = await self.send(uploader, name, content)

        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
        assert len(stored(settings)) == 1

    async def test_finds_the_file_whose_commit_was_not_answered(
        self, uploader: httpx.AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        complete = service._complete

        async def lost(record: Any, session: AsyncSession, *given: Any) -> Any:
            await complete(record, session, *given)
            await session.commit()
            raise DBAPIError("COMMIT", None, ConnectionResetError(), connection_invalidated=True)

        with monkeypatch.context() as once:
            once.setattr(service, "_complete", lost)
            first = await self.send(uploader, "a.pdf", PDF)
        again = await self.send(uploader, "a.pdf", PDF)

        assert (first.status_code, again.status_code) == (503, 201)
        assert len(stored(settings)) == 1

    async def test_is_free_again_after_a_refusal(self, uploader: httpx.AsyncClient) -> None:
        refused = await self.send(uploader, "a.pdf", b"MZ")
        taken = await self.send(uploader, "a.pdf", PDF)

        assert (refused.status_code, taken.status_code) == (422, 201)


class TestLimit:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"upload_max_bytes": 4096})

    async def test_is_answered_with_413(self, uploader: httpx.AsyncClient, db: Database, settings: Settings) -> None:
        answer = await send(uploader, "a.pdf", PDF)

        assert (answer.status_code, answer.json()["code"]) == (413, "FILE_TOO_LARGE")
        assert await rows(db) == []
        assert stored(settings) == []

    async def test_holds_without_a_content_length(
        self, uploader: httpx.AsyncClient, db: Database, settings: Settings
    ) -> None:
        async def endless() -> AsyncIterator[bytes]:
            yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7'
            while True:
                yield b"x" * 1000

        answer = await uploader.post(
            URL, content=endless(), headers={"Content-Type": "multipart/form-data; boundary=b"}
        )

        assert answer.status_code == 413
        assert await rows(db) == []
        assert stored(settings) == []


class TestBody:
    async def test_that_is_malformed_is_a_problem_and_leaves_nothing(
        self, uploader: httpx.AsyncClient, db: Database, settings: Settings
    ) -> None:
        for body, pointer in MALFORMED:
            answer = await uploader.post(URL, content=body, headers={"Content-Type": "multipart/form-data; boundary=b"})

            assert answer.status_code == 422, (body[:80], answer.text)
            assert answer.json()["errors"][0]["pointer"] == pointer
        assert await rows(db) == []
        assert stored(settings) == []

    async def test_must_be_multipart(self, uploader: httpx.AsyncClient) -> None:
        answer = await uploader.post(URL, json={"file": "x"})

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "header:Content-Type"

    async def test_may_come_in_single_bytes(self, uploader: httpx.AsyncClient) -> None:
        whole = (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
            + PDF[:200]
            + b"\r\n--b--\r\n"
        )

        async def slowly() -> AsyncIterator[bytes]:
            for position in range(len(whole)):
                yield whole[position : position + 1]

        answer = await uploader.post(URL, content=slowly(), headers={"Content-Type": "multipart/form-data; boundary=b"})

        assert answer.status_code == 201, answer.text
        assert answer.json()["checksum"] == hashlib.sha256(PDF[:200]).hexdigest()
