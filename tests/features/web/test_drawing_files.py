"""A file of a drawing in the browser: under the words which revision it is, and whether that still counts."""

from typing import Any

import httpx
import pytest

from tests.conftest import SignIn
from tests.features.documents.conftest import PDF, Desk, desk_of
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of


@pytest.fixture
async def desk(signed_in: SignIn) -> Desk:
    return await desk_of(signed_in)


async def drawn(desk: Desk, name: str = "S-1.pdf", content: bytes = PDF, **more: Any) -> tuple[str, str, str]:
    """Register a drawing with a file, and return the addresses of the drawing and of the file, and the id of the revision."""
    sent = await (await desk.as_("admin")).post("/api/v1/attachments", files={"file": (name, content)})
    revision = {"attachmentPublicIds": [sent.json()["publicId"]], "date": "2026-03-02"}
    drawing = await desk.register("admin", "shop", "S-1", revision=revision, **more)
    address, file = f"/drawings/shop/{drawing['publicId']}", f"/drawings/files/{sent.json()['publicId']}"
    return address, file, drawing["revision"]["publicId"]


async def revise(desk: Desk, address: str) -> None:
    await (await desk.as_("admin")).post(f"/api/v1{address}/revisions", json={})


class TestAFile:
    @pytest.mark.parametrize(
        ("language", "words"),
        [
            ("th", ("แบบฉบับนี้ถูกแทนที่แล้ว", "ฉบับปัจจุบันคือ Rev. 1", "2 มี.ค. 2569")),
            ("en", ("This revision is superseded.", "The current one is Rev. 1", "2 Mar 2026")),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_is_shown_under_its_revision_and_a_warning(
        self, sit: Sit, desk: Desk, language: str, words: tuple[str, str, str]
    ) -> None:
        address, file, _ = await drawn(desk)
        browser = await sit("viewer", language)
        drawing, before = html_of(await browser.get(address)), html_of(await browser.get(file))
        await revise(desk, address)
        after = html_of(await browser.get(file))
        framed = file.replace("/drawings", "") + "?inline=1"
        content = await browser.get(framed, follow_redirects=True)

        assert f'href="{file}"' in drawing
        assert f'<iframe src="{framed}"' in before
        assert [word in before for word in words] == [False, False, True]
        assert [word in after for word in words] == [True, True, True]
        assert f'<a href="{address}">{words[1]}</a>' in after
        assert (content.content, content.headers["x-frame-options"]) == (PDF, "SAMEORIGIN")

    async def test_that_no_browser_shows_can_be_downloaded(self, sit: Sit, desk: Desk) -> None:
        address, file, _ = await drawn(desk, "S-1.dwg", b"AC1032\x00\x00\x00\x00\x00")
        browser = await sit("viewer", "en")
        page = html_of(await browser.get(file))

        assert f'href="{file.replace("/drawings", "")}"' in html_of(await browser.get(address))
        assert "This kind of file is not shown in the browser." in page
        assert "<iframe" not in page


class TestItsReaders:
    async def test_are_those_of_the_file(self, sit: Sit, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        address, file, revision = await drawn(desk, **own)
        letter = await desk.upload("admin")
        consultant = await sit("dc.consultant", "en")
        before = [await consultant.get(one) for one in (file, f"/drawings/files/{letter}")]
        body = desk.transmittal(drawingRevisionPublicIds=[revision])
        sent = await desk.write("dc.contractor", "transmittals", body)
        await desk.act("dc.contractor", sent, "submit")
        await revise(desk, address)

        page = html_of(await consultant.get(file))

        assert [one.status_code for one in before] == [httpx.codes.NOT_FOUND] * 2
        assert f'href="{file}"' in html_of(await consultant.get(f"/transmittals/{sent['publicId']}"))
        # Of a drawing that is hidden from them nothing newer is told.
        assert "This revision is superseded." in page
        assert "The current one is" not in page
        assert address not in page
        assert "The current one is Rev. 1" in html_of(await (await sit("dc.contractor", "en")).get(file))
