"""A file whose text cannot be searched says so on its document, in the API and at the terminal."""

from datetime import timedelta

import pytest
from fastapi import FastAPI

from saraban.attachments.adapters.text_reader import TextReader
from saraban.attachments.service.extraction import TextWorker
from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk_of
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of
from tests.readable_files import line, locked_pdf, pdf


@pytest.fixture
async def desk(signed_in: SignIn) -> Desk:
    return await desk_of(signed_in)


async def upload(desk: Desk, content: bytes, account: str = "dc.contractor") -> str:
    sent = await (await desk.as_(account)).post("/api/v1/attachments", files={"file": ("a.pdf", content)})
    return str(sent.json()["publicId"])


async def read_all(app: FastAPI) -> None:
    state = app.state
    reader = TextReader(seconds=20, memory=512)
    worker = TextWorker(state.db, state.storage, reader.read, clock=state.clock, lease=timedelta(minutes=2))
    while await worker.round():
        pass


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("th", "ค้นข้อความในไฟล์ไม่ได้: ไฟล์ถูกล็อกด้วยรหัสผ่าน"),
        ("en", "Text cannot be searched: the file has a password"),
    ],
)
@pytest.mark.sampled("[th")
class TestAFileThatIsLocked:
    async def test_says_so_on_its_document(self, app: FastAPI, desk: Desk, sit: Sit, language: str, words: str) -> None:
        files = [await upload(desk, content) for content in (locked_pdf(), pdf(line("open")))]
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=files))
        before = [file["textProblem"] for file in rfa["attachments"]]

        await read_all(app)

        read = (await desk.read("dc.contractor", "rfas", rfa["publicId"])).json()["data"]
        page = html_of(await (await sit("dc.contractor", language)).get(f"/rfas/{rfa['publicId']}"))
        told = {file["publicId"]: file["textProblem"] for file in read["attachments"]}
        assert (before, told) == ([None, None], {files[0]: "password", files[1]: None})
        assert page.count(words) == 1

    async def test_says_so_on_its_drawing(self, app: FastAPI, desk: Desk, sit: Sit, language: str, words: str) -> None:
        revision = {"attachmentPublicIds": [await upload(desk, locked_pdf(), "admin")], "date": "2026-03-02"}
        drawing = await desk.register("admin", "shop", "S-1", revision=revision)

        await read_all(app)

        page = html_of(await (await sit("dc.contractor", language)).get(f"/drawings/shop/{drawing['publicId']}"))
        assert page.count(words) == 1
