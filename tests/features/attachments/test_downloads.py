"""Who may read a file, and how it is sent."""

from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from tests.factories.contexts import context
from tests.uploaded_files import PDF, content_of, make_permanent, upload

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@pytest.fixture
async def uploader(signed_in: Any) -> httpx.AsyncClient:
    return await signed_in("dc.contractor")


@pytest.fixture
async def outsider(signed_in: Any) -> httpx.AsyncClient:
    return await signed_in("dc.consultant")


class TestGuard:
    async def test_lets_only_the_uploader_at_a_temporary_file(
        self, uploader: httpx.AsyncClient, outsider: httpx.AsyncClient, signed_in: Any, client: httpx.AsyncClient
    ) -> None:
        file = await upload(uploader)
        others = [outsider, await signed_in("admin"), client]

        own = await uploader.get(content_of(file))
        theirs = [(await other.get(content_of(file))).status_code for other in others]

        assert (own.status_code, own.content) == (200, PDF)
        assert theirs == [404, 404, 401]
        assert (await outsider.get(f"/api/v1/attachments/{file['publicId']}")).status_code == 404

    async def test_asks_what_the_file_belongs_to_once_it_is_permanent(
        self, app: Any, uploader: httpx.AsyncClient, outsider: httpx.AsyncClient
    ) -> None:
        file = await upload(uploader)
        await make_permanent(app, "dc.contractor", file)
        assert (await uploader.get(content_of(file))).status_code == 404

        async def only_the_consultant(ctx: RequestContext, _session: AsyncSession, _attachment_id: int) -> bool:
            return ctx.caller.username == "dc.consultant"

        app.state.readers.add(only_the_consultant)

        assert (await outsider.get(content_of(file))).content == PDF
        assert (await uploader.get(content_of(file))).status_code == 404

    async def test_knows_no_other_file(self, uploader: httpx.AsyncClient) -> None:
        missing = await uploader.get("/api/v1/attachments/019505a1-7c3e-7000-8000-abc123def456/content")
        number = await uploader.get("/api/v1/attachments/1/content")

        assert (missing.status_code, number.status_code) == (404, 422)


class TestContent:
    async def test_is_sent_with_its_thai_name_and_nothing_to_guess(self, uploader: httpx.AsyncClient) -> None:
        file = await upload(uploader)

        answer = await uploader.get(content_of(file))

        assert answer.headers["content-type"] == "application/pdf"
        assert answer.headers["content-length"] == str(len(PDF))
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["etag"] == f'"{file["checksum"]}"'
        assert answer.headers["content-disposition"] == (
            "attachment; filename=\"1.pdf\"; filename*=UTF-8''%E0%B9%81%E0%B8%9A%E0%B8%9A%201.pdf"
        )

    async def test_is_not_sent_again_to_who_has_it(self, uploader: httpx.AsyncClient) -> None:
        file = await upload(uploader)

        answer = await uploader.get(content_of(file), headers={"If-None-Match": f'"{file["checksum"]}"'})

        assert (answer.status_code, answer.content) == (304, b"")

    async def test_is_sent_in_ranges(self, uploader: httpx.AsyncClient) -> None:
        file = await upload(uploader)
        cases = [
            ("bytes=0-8", 206, PDF[:9], f"bytes 0-8/{len(PDF)}"),
            ("bytes=-4", 206, PDF[-4:], f"bytes {len(PDF) - 4}-{len(PDF) - 1}/{len(PDF)}"),
            ("bytes=0-1,4-5", 200, PDF, None),
        ]

        for wanted, status, sent, content_range in cases:
            answer = await uploader.get(content_of(file), headers={"Range": wanted})

            assert (answer.status_code, answer.content) == (status, sent)
            assert answer.headers.get("content-range") == content_range

    async def test_has_nothing_behind_its_end(self, uploader: httpx.AsyncClient) -> None:
        file = await upload(uploader)

        answer = await uploader.get(content_of(file), headers={"Range": "bytes=99999-"})

        assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{len(PDF)}")
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["status"]) == ("RANGE_NOT_SATISFIABLE", 416)
        assert str(len(PDF)) in answer.json()["userMessage"]

    async def test_is_sent_whole_when_the_range_is_of_another_version(self, uploader: httpx.AsyncClient) -> None:
        file = await upload(uploader)

        answer = await uploader.get(content_of(file), headers={"Range": "bytes=0-1", "If-Range": '"old"'})

        assert (answer.status_code, answer.content) == (200, PDF)

    async def test_is_shown_inline_only_where_nothing_can_run(self, uploader: httpx.AsyncClient) -> None:
        picture = await upload(uploader, "a.png", PNG)
        drawing = await upload(uploader, "a.dwg", b"AC1032\x00\x00\x00\x00\x00")

        shown = await uploader.get(content_of(picture), params={"inline": "1"})
        page = await uploader.get(content_of(await upload(uploader)), params={"inline": "1"})
        saved = await uploader.get(content_of(drawing), params={"inline": "1"})

        for answer in (shown, page):
            assert answer.headers["content-disposition"].startswith("inline;")
            assert "sandbox" in answer.headers["content-security-policy"]
            assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert saved.headers["content-disposition"].startswith("attachment;")

    async def test_that_was_lost_is_said_to_be_lost(self, app: Any, uploader: httpx.AsyncClient) -> None:
        file = await upload(uploader)
        async with app.state.db.reading() as session:
            caller = await identity.find_caller(session, username="dc.contractor")
            assert caller is not None
            row = await attachments.find(
                context(caller=caller), session, public_id=UUID(file["publicId"]), rules=app.state.readers
            )
        await app.state.storage.delete(row.storage_key)

        answer = await uploader.get(content_of(file), headers={"Accept-Language": "th"})

        assert (answer.status_code, answer.json()["userMessage"]) == (410, "ไฟล์ไม่พร้อมใช้งาน")
        assert (await uploader.get(f"/api/v1/attachments/{file['publicId']}")).status_code == 200


class TestMetadata:
    async def test_says_where_the_file_is(self, uploader: httpx.AsyncClient) -> None:
        file = await upload(uploader)

        said = (await uploader.get(f"/api/v1/attachments/{file['publicId']}")).json()

        assert said["downloadUrl"] == content_of(file)
        assert (said["fileName"], said["isTemporary"]) == ("แบบ 1.pdf", True)
