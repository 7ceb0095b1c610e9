"""The form of a new document: its choices, its number, its refusals, and that it writes once."""

import asyncio
import re

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.projects.models import Project
from tests.features.web.conftest import Sit
from tests.features.web.forms import new_rfa, rfa_form, selected
from tests.features.web.page_html import html_of

NUMBER = "LCBP3-C2-RFA-TER-RPT-0001-A"
FRAGMENT = {"HX-Request": "true"}


class TestForm:
    @pytest.mark.parametrize("path", ["/rfas/new", "/correspondences/new", "/transmittals/new", "/circulations/new"])
    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.sampled("[th")
    async def test_opens_for_who_may_write(self, sit: Sit, path: str, language: str) -> None:
        browser = await sit("dc.contractor", language)
        answer = await browser.get(path)

        assert answer.status_code == 200
        assert "data-submit" in html_of(answer)

    async def test_is_closed_to_who_may_not(self, sit: Sit) -> None:
        browser = await sit("viewer")
        answer = await browser.get("/rfas/new")

        assert answer.status_code == 403
        assert "คุณไม่มีสิทธิ์ดำเนินการนี้" in html_of(answer)
        assert answer.headers["x-trace-id"] in html_of(answer)

    async def test_proposes_the_callers_organization_its_contract_and_the_consultant(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        page = html_of(await browser.get("/rfas/new"))

        assert re.search(r"selected>ผรม\.2 –", page)
        assert re.search(r"selected>LCBP3-C2 –", page)
        assert re.search(r"selected>คคง\. –", page)

    async def test_offers_other_codes_for_another_contract(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        form = await rfa_form(browser)
        page = html_of(await browser.get("/rfas/new"))
        other = re.search(r'<option value="([^"]+)">LCBP3-C2-M –', page)
        assert other
        answer = await browser.post("/rfas/new/choices", data=form | {"contractPublicId": other[1]}, headers=FRAGMENT)

        assert 'value="NAV"' in html_of(answer)
        assert 'value="TER"' not in html_of(answer)
        assert "<html" not in html_of(answer)

    async def test_offers_the_kinds_of_files_that_the_project_accepts(self, sit: Sit, app: FastAPI) -> None:
        browser = await sit("dc.contractor")
        made = await browser.get(await new_rfa(browser))
        await app.state.db.transact(lambda session: session.execute(sa.update(Project).values(file_kinds="jpg, pdf")))
        form = await rfa_form(browser)
        choices = await browser.post("/rfas/new/choices", data=form, headers=FRAGMENT)
        pages = [await browser.get(path) for path in ("/rfas/new", "/drawings/shop/new", made.url.path)]

        offered = [re.findall(r'accept="([^"]*)"', html_of(page)) for page in (choices, *pages)]
        assert {kinds for page in offered for kinds in page} == {".pdf,.jpg,.jpeg"}
        assert all(offered)
        assert 'id="zone-f-attachmentPublicIds" hx-swap-oob="true"' in html_of(choices)
        assert "hx-swap-oob" not in html_of(pages[0])

    async def test_lets_codes_be_found_by_their_name_in_the_other_language(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        page = html_of(await browser.get("/rfas/new"))

        assert re.search(r'value="TER" data-also="ท่าเทียบเรือ">TER – Terminal', page)

    @pytest.mark.parametrize(
        ("language", "named"), [("th", ("ส่งวัสดุ", "ท่าเรือแหลมฉบัง")), ("en", ("Materials", "Laem Chabang"))]
    )
    async def test_names_sub_types_and_the_project_in_the_readers_language(
        self, app: FastAPI, sit: Sit, language: str, named: tuple[str, str]
    ) -> None:
        changed = "UPDATE correspondence_sub_types SET sub_type_name = 'ส่งวัสดุ', sub_type_name_en = 'Materials'"
        await app.state.db.transact(lambda session: session.execute(sa.text(changed)))
        browser = await sit("dc.contractor", language)
        page = html_of(await browser.get("/transmittals/new"))

        assert f"11 · MAT – {named[0]}</option>" in page
        assert f'class="project-name" title="{named[1]}' in page

    async def test_asks_no_account_of_a_program_to_answer_a_sheet(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        page = html_of(await browser.get("/circulations/new"))

        assert "ดวงใจ เอกสารครบ" in page
        assert "บัญชีบริการ" not in page


class TestNumber:
    async def test_shows_the_number_that_would_come(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        answer = await browser.post("/rfas/new/number", data=await rfa_form(browser), headers=FRAGMENT)

        assert f">{NUMBER}<" in html_of(answer)

    async def test_says_what_is_still_missing(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        form = await rfa_form(browser, disciplineCode="", rfaTypeCode="")
        answer = await browser.post("/rfas/new/number", data=form, headers=FRAGMENT)

        assert "Still required:" in html_of(answer)
        assert "Discipline" in html_of(answer)
        assert "RFA type" in html_of(answer)

    async def test_asks_for_the_contract_where_a_code_is_in_two(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        form = await rfa_form(browser, contractPublicId="", disciplineCode="STR", rfaTypeCode="RPT")
        answer = await browser.post("/rfas/new/number", data=form, headers=FRAGMENT)

        assert (answer.status_code, "Several contracts have the code" in html_of(answer)) == (200, True)

    async def test_consumes_nothing(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        form = await rfa_form(browser)
        for _ in range(3):
            answer = await browser.post("/rfas/new/number", data=form, headers=FRAGMENT)

        assert f">{NUMBER}<" in html_of(answer)


class TestCreate:
    async def test_goes_to_the_new_document(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        answer = await browser.post("/rfas/new", data=await rfa_form(browser))
        page = await browser.get(answer.headers["location"])

        assert answer.status_code == 303
        assert NUMBER in html_of(page)
        assert "รายงานผลการตอกเสาเข็ม" in html_of(page)

    async def test_writes_once_when_the_button_is_clicked_twice(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        form = await rfa_form(browser)
        first, second = await asyncio.gather(browser.post("/rfas/new", data=form), browser.post("/rfas/new", data=form))

        assert first.headers["location"] == second.headers["location"]
        assert html_of(await browser.get("/rfas")).count('class="number row-link"') == 1

    async def test_keeps_what_was_typed_and_names_the_field(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        form = await rfa_form(browser, subject="", body="Piles A-12 to A-19", dueDate="2001-01-01")
        answer = await browser.post("/rfas/new", data=form)

        assert answer.status_code == 422
        assert 'id="e-subject"' in html_of(answer)
        assert 'aria-describedby="e-subject"' in html_of(answer)
        assert re.search(r'<a href="#f-subject">Subject</a>: \w', html_of(answer))
        assert "Piles A-12 to A-19" in html_of(answer)
        assert selected(html_of(answer), "disciplineCode") == "TER"
        assert selected(html_of(answer), "key") != form["key"]

    async def test_keeps_files_that_are_uploaded_already(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        file = {"file": ("แบบ.pdf", b"%PDF-1.4\n%%EOF\n", "application/pdf")}
        uploaded = (await browser.post("/api/v1/attachments", files=file)).json()
        form = await rfa_form(browser, subject="", attachment=uploaded["publicId"], attachmentName="แบบ.pdf")
        answer = await browser.post("/rfas/new", data=form)

        assert f'name="attachment" value="{uploaded["publicId"]}"' in html_of(answer)
        assert "แบบ.pdf" in html_of(answer)

    async def test_shows_markup_as_text(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        form = await rfa_form(browser, subject='"><script>alert(1)</script>', dueDate="2001-01-01")
        answer = await browser.post("/rfas/new", data=form)

        assert "<script>alert" not in html_of(answer)


class TestOtherKinds:
    async def test_a_letter_prints_its_parties(self, sit: Sit) -> None:
        browser = await sit("dc.consultant")
        page = html_of(await browser.get("/correspondences/new"))
        owner = re.search(r'<option value="([^"]+)">สคฉ\.3 –', page)
        assert owner
        names = ("key", "projectPublicId", "originatorOrganizationPublicId")
        form = {name: selected(page, name) for name in names} | {"to": owner[1], "correspondenceTypeCode": "LETTER"}
        answer = await browser.post("/correspondences/new", data=form | {"subject": "แจ้งผลการตรวจสอบ"})
        shown = await browser.get(answer.headers["location"])

        assert re.search(r"คคง\.-สคฉ\.3-0001-25\d\d", html_of(shown))

    async def test_a_sheet_names_the_people_who_are_asked(self, sit: Sit) -> None:
        browser = await sit("dc.consultant")
        page = html_of(await browser.get("/circulations/new"))
        person = re.search(r'name="part-([^"]+)"', page)
        assert person
        form = {name: selected(page, name) for name in ("key", "projectPublicId", "organizationPublicId")}
        form |= {"subject": "เวียนเพื่อทราบ", f"part-{person[1]}": "MAIN"}
        answer = await browser.post("/circulations/new", data=form)
        shown = await browser.get(answer.headers["location"])

        assert answer.status_code == httpx.codes.SEE_OTHER
        assert re.search(r"คคง\.-CIR-0001-25\d\d", html_of(shown))
        assert "ผู้รับผิดชอบหลัก" in html_of(shown)
