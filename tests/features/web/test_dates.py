"""Dates on forms: typed in either era, shown in the reader's, and refused by the name of their field."""

import re

import httpx
import pytest

from tests.features.web.conftest import Sit
from tests.features.web.forms import selected
from tests.features.web.page_html import html_of

NAMES = ("key", "projectPublicId", "originatorOrganizationPublicId", "contractPublicId")


async def letter_form(browser: httpx.AsyncClient, **typed: str) -> dict[str, str]:
    page = html_of(await browser.get("/correspondences/new"))
    to = re.search(r'<option value="([^"]+)"[^>]*>คคง\. –', page.split('name="to"')[1])
    assert to
    form = {name: selected(page, name) for name in NAMES}
    return form | {"to": to[1], "subject": "ขอส่งรายงาน", "correspondenceTypeCode": "LETTER"} | typed


def typed_in(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found
    return found[1]


class TestDates:
    @pytest.mark.parametrize(("language", "shown"), [("th", "31/12/2569"), ("en", "31/12/2026")])
    @pytest.mark.parametrize("typed", ["31/12/2569", "2569-12-31", "31 Dec 2026"])
    async def test_are_typed_in_either_era_and_shown_in_the_readers(
        self, sit: Sit, language: str, shown: str, typed: str
    ) -> None:
        browser = await sit("dc.contractor", language)
        written = await browser.post("/correspondences/new", data=await letter_form(browser, dueDate=typed))
        assert written.status_code == 303, written.text
        address = written.headers["location"].partition("?")[0]

        assert (await browser.get(f"/api/v1{address}")).json()["data"]["dueDate"] == "2026-12-31"
        assert typed_in(html_of(await browser.get(f"{address}/edit")), "dueDate") == shown

    async def test_of_what_came_from_outside_are_kept_and_shown(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        outside = {"senderNumber": "วก 0412/2569", "senderDate": "1/11/2569", "receivedDate": "03/11/2026"}
        written = await browser.post(
            "/correspondences/new", data=await letter_form(browser, documentDate="2/11/2569", **outside)
        )
        address = written.headers["location"].partition("?")[0]
        page, found = html_of(await browser.get(address)), html_of(await browser.get("/correspondences?q=0412/2569"))
        read = (await browser.get(f"/api/v1{address}")).json()["data"]

        names = ("documentDate", "senderNumber", "senderDate", "receivedDate")
        assert [read[name] for name in names] == ["2026-11-02", "วก 0412/2569", "2026-11-01", "2026-11-03"]
        for part in ("วก 0412/2569", "1 Nov 2026", "2 Nov 2026", "3 Nov 2026"):
            assert part in page
        assert address in found

    @pytest.mark.parametrize(
        ("field", "typed", "words"),
        [
            ("documentDate", "31/02/2569", ("ไม่มีวันนี้ในปฏิทิน", "There is no such day.")),
            ("documentDate", "1/1/2670", ("กรุณาตรวจสอบปี", "Check the year")),
            ("dueDate", "tomorrow", ("ต้องเป็นวันที่ เช่น 31/12/2569", "This must be a date such as 31/12/2026")),
            ("dueDate", "1/1/2567", ("กำหนดตอบต้องไม่ก่อนวันที่", "The due date must not be before")),
            ("receivedDate", "1/11/2568", ("วันที่รับต้องไม่ก่อนวันที่ของผู้ส่ง", "before the sender")),
        ],
    )
    async def test_that_are_none_are_refused_at_their_field_as_they_were_typed(
        self, sit: Sit, field: str, typed: str, words: tuple[str, str]
    ) -> None:
        for language, said in zip(("th", "en"), words, strict=True):
            browser = await sit("dc.contractor", language)
            form = await letter_form(browser, senderDate="2/11/2568", **{field: typed})
            refused = await browser.post("/correspondences/new", data=form)

            assert refused.status_code == 422
            fault = re.search(rf'id="e-{field}">([^<]*)<', html_of(refused))
            assert fault
            assert said in fault[1].replace("&#39;", "'")
            assert typed_in(html_of(refused), "senderDate") == ("02/11/2568" if language == "th" else "02/11/2025")

    async def test_are_changed_on_a_draft(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        written = await browser.post(
            "/correspondences/new", data=await letter_form(browser, senderDate="2/11/2568", receivedDate="3/11/2568")
        )
        address = written.headers["location"].partition("?")[0]
        page = html_of(await browser.get(f"{address}/edit"))
        form = {"version": typed_in(page, "version").replace("&#34;", '"'), "subject": "แก้", "priority": "HIGH"}
        refused = await browser.post(
            f"{address}/edit", data=form | {"senderDate": "4/11/2568", "receivedDate": "3/11/2568"}
        )
        changed = await browser.post(
            f"{address}/edit", data=form | {"senderNumber": "ก 1", "senderDate": "", "receivedDate": "4/11/2568"}
        )
        read = (await browser.get(f"/api/v1{address}")).json()["data"]

        assert (refused.status_code, changed.status_code) == (422, 303)
        assert [read[name] for name in ("senderNumber", "senderDate", "receivedDate")] == ["ก 1", None, "2025-11-04"]


class TestWarnings:
    async def test_are_shown_before_a_letter_is_saved(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        outside = {"senderNumber": "วก 9/2569", "receivedDate": "1/11/2569"}
        first = await browser.post("/correspondences/new", data=await letter_form(browser, **outside))
        form = await letter_form(browser, **outside, dueDate="31/12/2699")
        asked = await browser.post("/correspondences/new", data=form)
        page = html_of(asked)
        accepted = form | {"accepts": typed_in(page, "accepts"), "key": typed_in(page, "key")}
        doubted = await browser.post("/correspondences/new", data=accepted | {"senderNumber": ""})
        saved = await browser.post("/correspondences/new", data=accepted)

        assert (first.status_code, asked.status_code, saved.status_code) == (303, 422, 303)
        assert "เกิน 5 ปี" in page
        assert "ลงทะเบียนไว้แล้วเป็น" in page
        assert "บันทึกต่อไป" in page
        assert 'form="create"' in page
        assert doubted.status_code == 422  # what was accepted was something else

    async def test_are_shown_before_a_draft_is_changed(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        written = await browser.post("/correspondences/new", data=await letter_form(browser))
        address = written.headers["location"].partition("?")[0]
        page = html_of(await browser.get(f"{address}/edit"))
        form = {
            "version": typed_in(page, "version").replace("&#34;", '"'),
            "subject": "แก้",
            "dueDate": "31 December 2156",
        }
        asked = await browser.post(f"{address}/edit", data=form)
        saved = await browser.post(f"{address}/edit", data=form | {"accepts": typed_in(html_of(asked), "accepts")})

        assert (asked.status_code, saved.status_code) == (422, 303)
        assert "Save anyway" in html_of(asked)
