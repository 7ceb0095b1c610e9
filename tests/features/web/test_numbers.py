"""The books of numbers as the project's administrator sees them."""

import re

import pytest

from tests.features.web.conftest import Sit
from tests.features.web.forms import new_rfa
from tests.features.web.page_html import html_of

FRAGMENT = {"HX-Request": "true"}
ROW = re.compile(r'class="number row-link" href="([^"]+)"')


class TestNumbers:
    @pytest.mark.parametrize(("language", "words"), [("th", "ยังไม่มีการออกเลขที่"), ("en", "No numbers issued yet")])
    async def test_is_friendly_before_the_first_number(self, sit: Sit, language: str, words: str) -> None:
        browser = await sit("padmin", language)

        assert words in html_of(await browser.get("/numbers"))

    async def test_leads_from_the_series_to_what_became_of_each_number(self, sit: Sit) -> None:
        contractor, admin = await sit("dc.contractor"), await sit("padmin")
        address = await new_rfa(contractor)
        listed = await admin.get("/numbers", headers=FRAGMENT)
        (row,) = ROW.findall(html_of(listed))

        account = await admin.get(row.replace("&amp;", "&"))

        holder = address.rpartition("/")[2]
        assert f'href="/documents/rfa/{holder}"' in html_of(account)
        assert (await admin.get(f"/documents/rfa/{holder}")).status_code == 303

    @pytest.mark.parametrize(("language", "words"), [("th", "ส่งออก (XLSX)"), ("en", "Export (XLSX)")])
    async def test_offers_the_ledger_as_a_sheet(self, sit: Sit, language: str, words: str) -> None:
        browser = await sit("padmin", language)
        page = html_of(await browser.get("/numbers"))
        (link,) = re.findall(r'href="(/api/v1/document-numbering/ledger/export[^"]+)"', page)

        sheet = await browser.get(link)

        assert words in page
        assert sheet.content[:2] == b"PK"

    async def test_finds_a_series_by_a_part_of_it(self, sit: Sit) -> None:
        contractor, admin = await sit("dc.contractor"), await sit("padmin")
        await new_rfa(contractor)
        await new_rfa(contractor, rfaTypeCode="SDW")

        found = await admin.get("/numbers", params={"q": "SDW"}, headers=FRAGMENT)

        assert len(ROW.findall(html_of(found))) == 1

    async def test_finds_a_number_by_a_part_of_it_and_the_address_says_what_was_asked(self, sit: Sit) -> None:
        contractor, admin = await sit("dc.contractor"), await sit("padmin")
        await new_rfa(contractor, rfaTypeCode="SDW")

        found = await admin.get("/numbers", params={"q": "-SDW-0001"}, headers=FRAGMENT)
        again = await admin.get(found.headers["HX-Push-Url"])

        hit = re.compile(r'<a class="number" href="/numbers/[^"]+">LCBP3-C2-RFA-TER-SDW-0001-A?</a>')
        assert hit.search(html_of(found))
        assert hit.search(html_of(again))
        assert 'value="-SDW-0001"' in html_of(again)

    @pytest.mark.parametrize(
        ("language", "words"),
        [("th", "แสดงเฉพาะชุดเลขและเลขที่ขององค์กรคุณ"), ("en", "Only your organization's series")],
    )
    @pytest.mark.sampled("[th")
    async def test_shows_a_document_controller_the_series_of_the_organization(
        self, sit: Sit, language: str, words: str
    ) -> None:
        contractor, consultant = await sit("dc.contractor", language), await sit("dc.consultant", language)
        await new_rfa(contractor)

        own, others = html_of(await contractor.get("/numbers")), html_of(await consultant.get("/numbers"))

        assert words in own
        assert "/numbers/ranges" not in own
        assert (len(ROW.findall(own)), len(ROW.findall(others))) == (1, 0)

    async def test_goes_on_page_by_page(self, sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("saraban.web.numbers.register.ROWS", 1)
        contractor, admin = await sit("dc.contractor"), await sit("padmin")
        for _ in range(2):
            await new_rfa(contractor)
        (row,) = ROW.findall(html_of(await admin.get("/numbers", headers=FRAGMENT)))

        first = await admin.get(row.replace("&amp;", "&"), headers=FRAGMENT)
        (more,) = re.findall(r'hx-get="([^"]+)" hx-target="closest', html_of(first))
        second = await admin.get(more.replace("&amp;", "&"), headers=FRAGMENT)

        assert "-0001-" in html_of(first)
        assert "-0002-" in html_of(second)
        assert "<table" not in html_of(second)

    async def test_begins_where_it_is_asked_to_and_says_when_nothing_is_there(self, sit: Sit) -> None:
        contractor, admin = await sit("dc.contractor"), await sit("padmin", "en")
        await new_rfa(contractor)
        (row,) = ROW.findall(html_of(await admin.get("/numbers", headers=FRAGMENT)))

        later = await admin.get(row.replace("&amp;", "&") + "&from=5")

        assert "No numbers from here" in html_of(later)

    async def test_is_closed_to_who_may_not_see_counters(self, sit: Sit) -> None:
        browser = await sit("viewer")

        answers = [await browser.get("/numbers"), await browser.get("/inbox")]

        assert answers[0].status_code == 403
        assert 'href="/numbers"' not in html_of(answers[1])
