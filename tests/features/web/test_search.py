"""The search in the browser: the box in the header, what is found with marks, and what a query is refused for."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi import FastAPI

from saraban.search.service.indexing import index_next
from tests.conftest import SignIn
from tests.features.documents.conftest import desk_of
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

FRAGMENT = {"HX-Request": "true"}


class TestSearch:
    @pytest.mark.parametrize(
        ("language", "counted", "refused"),
        [
            ("th", "พบ 1 รายการ", "ต้องมีคำที่ยาวอย่างน้อย 2 ตัวอักษร"),
            ("en", "1 found", "One of the words has at least 2 letters or digits."),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_shows_what_is_found_with_marks(
        self, app: FastAPI, sit: Sit, signed_in: SignIn, language: str, counted: str, refused: str
    ) -> None:
        desk = await desk_of(signed_in)
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(body="ดูผลที่แนบมา"))
        await desk.register("admin", "shop", "S-1", title="แปลนฐานราก")
        while await index_next(app.state.db):
            pass
        browser = await sit("dc.contractor", language)

        page = html_of(await browser.get("/search", params={"q": "เสาเข็ม แนบ"}))
        short = await browser.get("/search", params={"q": "ก"}, headers=FRAGMENT)
        nothing = html_of(await browser.get("/search", params={"q": "ไม่มีทางพบ"}))
        drawing = html_of(await browser.get("/search", params={"q": "ฐานราก"}))

        assert counted in page
        assert "ทดสอบ<mark>เสาเข็ม</mark>" in page
        assert "ดูผลที่<mark>แนบ</mark>มา" in page
        assert f'href="/rfas/{rfa["publicId"]}"' in page
        assert "data-search-all" in page
        assert (short.status_code, refused in short.text) == (200, True)
        assert "<mark>" not in nothing
        assert drawing.count("แปลน<mark>ฐานราก</mark>") == 1  # its title is also that of its revision

    @pytest.mark.parametrize(("language", "said"), [("th", "กำลังสร้างดัชนีค้นหา"), ("en", "index is being built")])
    @pytest.mark.sampled("[th")
    async def test_says_that_the_index_is_built(
        self, app: FastAPI, sit: Sit, signed_in: SignIn, language: str, said: str
    ) -> None:
        desk = await desk_of(signed_in)
        await desk.write("dc.contractor", "rfas", desk.rfa())
        browser = await sit("dc.contractor", language)

        before = html_of(await browser.get("/search", params={"q": "เสาเข็ม"}))
        while await index_next(app.state.db):
            pass
        after = html_of(await browser.get("/search", params={"q": "เสาเข็ม"}))

        assert (said in before, "empty-state" in before) == (True, False)
        assert (said in after, "<mark>" in after) == (False, True)

    @pytest.mark.parametrize(("language", "said"), [("th", ["ทะเบียน", "ฉบับร่าง"]), ("en", ["Register", "Draft"])])
    @pytest.mark.sampled("[th")
    async def test_shows_what_was_found_by_what_it_is(
        self, app: FastAPI, sit: Sit, signed_in: SignIn, language: str, said: list[str]
    ) -> None:
        desk = await desk_of(signed_in)
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(subject="ฐานรากแผ่"))
        await desk.act("dc.contractor", rfa, "submit")
        await desk.write("dc.contractor", "rfas", desk.rfa(subject="ฐานรากลึก"))
        await desk.write("dc.contractor", "correspondences", desk.letter("คคง.", subject="ฐานราก"))
        while await index_next(app.state.db):
            pass
        browser = await sit("dc.contractor", language)

        page = html_of(await browser.get("/search", params={"q": "ฐานราก"}))
        facets = html_of(await browser.get("/search/facets", params={"q": "ฐานราก"}, headers=FRAGMENT))
        narrowed = re.search(r'href="([^"]*kind=rfas[^"]*)"', facets)
        assert narrowed is not None
        rfas = html_of(await browser.get(unescape(narrowed[1])))
        none = await browser.get("/search/facets", params={"q": "ก"}, headers=FRAGMENT)

        assert 'hx-get="/search/facets?' in page
        assert [one for one in said if one not in facets] == []
        assert ("ลึก" in rfas, "correspondences/" in rfas.partition("<tbody>")[2]) == (True, False)
        assert (none.status_code, none.text.strip()) == (200, "")


class TestSuggestions:
    @pytest.mark.parametrize(
        ("language", "documents", "people"), [("th", "เอกสาร", "ผู้ใช้งาน"), ("en", "Documents", "People")]
    )
    @pytest.mark.sampled("[th")
    async def test_lead_to_documents_and_to_what_a_person_has_to_do_with(
        self, app: FastAPI, sit: Sit, signed_in: SignIn, language: str, documents: str, people: str
    ) -> None:
        desk = await desk_of(signed_in)
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        while await index_next(app.state.db):
            pass
        browser = await sit("dc.contractor", language)

        page = html_of(await browser.get("/search/suggestions", params={"q": "เอกสารครบ"}, headers=FRAGMENT))
        nothing = await browser.get("/search/suggestions", params={"q": "ก"}, headers=FRAGMENT)

        assert f'id="suggested-documents">{documents}<' in page
        assert f'href="/rfas/{rfa["publicId"]}"><span class="number">{rfa["documentNumber"]}<' in page
        assert f'id="suggested-people">{people}<' in page
        address = unescape(page.split('id="suggested-people"')[1].split('href="')[1].split('"')[0])
        assert parse_qs(urlsplit(address).query)["q"] == ['"ดวงใจ เอกสารครบ"']
        assert rfa["documentNumber"] in html_of(await browser.get(address))
        assert nothing.text.strip() == ""
