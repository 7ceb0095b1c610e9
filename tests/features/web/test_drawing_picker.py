"""Drawings picked for a form: found in any register by what the reader is shown, and whole categories with what was left out."""

import re
from html import unescape

import httpx
import pytest

from saraban.web.documents import drawing_picker
from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk_of
from tests.features.web.conftest import Sit
from tests.features.web.forms import selected
from tests.features.web.page_html import html_of

ALL = ["shop", "contract", "asbuilt"]


async def found(browser: httpx.AsyncClient, desk: Desk, text: str, *kinds: str) -> list[tuple[str, str]]:
    query = {"find": text, "kinds": list(kinds) or ALL, "projectPublicId": desk.project}
    page = html_of(await browser.get("/find/drawings", params=query))
    return re.findall(r'data-pick="([^"]*)" data-into="f-(\w+)Numbers"', page)


async def added(browser: httpx.AsyncClient, desk: Desk, kind: str = "shop", **given: str) -> tuple[list[str], str]:
    """Return the numbers that go into the list, and what is said beside it."""
    query = {"kinds": ALL, "kind": kind, "project": desk.project, **given}
    page = html_of(await browser.get("/find/drawings/category", params=query))
    numbers = re.search(rf'<span hidden data-add-numbers="f-{kind}Numbers">([^<]*)</span>', page)
    return unescape(numbers[1]).split() if numbers else [], page.rpartition("</span>")[2].strip()


class TestSearch:
    async def test_finds_by_number_and_title_in_each_register_of_the_form(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        for kind in ALL:
            await desk.register("admin", kind, "LP3-ST-001", titleEn="Pile plan")
        await desk.register("admin", "shop", "LP3-ST-002", title="ผังหลังคา")
        browser = await sit("dc.contractor", "en")

        assert await found(browser, desk, "st-001") == [("LP3-ST-001", kind) for kind in ALL]
        assert await found(browser, desk, "pile", "asbuilt") == [("LP3-ST-001", "asbuilt")]
        assert await found(browser, desk, "หลังคา") == [("LP3-ST-002", "shop")]
        assert await found(browser, desk, "nothing") == await found(browser, desk, " ") == []

    async def test_shows_nothing_of_what_the_reader_is_not_shown(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        own = {"originatorOrganizationPublicId": desk.organizations["สคฉ.3"]}
        await desk.register("admin", "shop", "LP3-ST-001", disciplineCode="TER", **own)
        browser = await sit("dc.contractor", "en")

        assert await found(browser, desk, "LP3") == []
        assert await added(browser, desk, discipline="TER") == ([], "The register has no drawing there.")
        assert await found(await sit("admin"), desk, "LP3") == [("LP3-ST-001", "shop")]

    @pytest.mark.parametrize(
        ("language", "more"),
        [
            ("en", "There are more: type more of the number or the title."),
            ("th", "ยังมีอีก โปรดพิมพ์เลขที่หรือชื่อแบบเพิ่ม"),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_says_that_there_are_more(self, sit: Sit, signed_in: SignIn, language: str, more: str) -> None:
        desk = await desk_of(signed_in)
        for place in range(drawing_picker.MOST_FOUND + 1):
            await desk.register("admin", "shop", f"S-{place:03}")
        browser = await sit("dc.contractor", language)
        query = {"find": "S-", "kinds": ALL, "projectPublicId": desk.project}
        page = html_of(await browser.get("/find/drawings", params=query))

        assert len(await found(browser, desk, "S-")) == drawing_picker.MOST_FOUND
        assert more in page
        assert more not in html_of(await browser.get("/find/drawings", params=query | {"find": "S-000"}))

    async def test_is_of_no_other_register_and_no_other_project(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        answers = [
            await browser.get("/find/drawings", params={"find": "S", "kinds": "letters"}),
            await browser.get("/find/drawings/categories"),
            await browser.get(
                "/find/drawings",
                params={"find": "S", "kinds": ALL, "projectPublicId": "00000000-0000-7000-8000-000000000000"},
            ),
        ]

        assert [one.status_code for one in answers] == [404, 404, 422]


class TestCategory:
    async def test_adds_its_current_set_and_says_how_many(
        self, sit: Sit, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk = await desk_of(signed_in)
        admin = await desk.as_("admin")
        for code, name in (("HW9", "Hazardous waste"), ("RN9", "Road")):
            body = {"code": code, "nameEn": name, "nameTh": name}
            await admin.post(f"/api/v1/projects/{desk.project}/drawing-categories/shop-main-categories", json=body)
        for number, category, discipline in (
            ("S-1", "HW9", "TER"),
            ("S-2", "HW9", None),
            ("S-3", "HW9", "TER"),
            ("S-4", "RN9", "TER"),
        ):
            more = {"disciplineCode": discipline} if discipline else {}
            await desk.register("admin", "shop", number, categoryCode=category, **more)
        browser = await sit("dc.contractor", "en")
        query = {"kinds": ALL, "kind": "shop", "project": desk.project}
        choices = html_of(await browser.get("/find/drawings/categories", params=query))
        form = html_of(await browser.get("/drawings/shop/new"))
        whole = await added(browser, desk, category="HW9")
        both = await added(browser, desk, category="HW9", discipline="TER")
        nothing = await added(browser, desk)
        other = await added(browser, desk, "asbuilt", category="HW9")
        monkeypatch.setattr(drawing_picker, "MOST_ADDED", 2)  # nobody registers 501 drawings to see this
        some = await added(browser, desk, category="HW9")

        for page in (choices, form):
            assert 'value="HW9">HW9 – Hazardous waste</option>' in page
        assert 'value="TER"' in choices
        assert whole == (["S-1", "S-2", "S-3"], "3 drawings are in the list.")
        assert both == (["S-1", "S-3"], "2 drawings are in the list.")
        assert nothing == ([], "Choose a category or a discipline.")
        assert other == ([], "The register has no drawing there.")
        assert some[0] == ["S-1", "S-2"]
        assert some[1].startswith("There are more than 2 drawings: the first 2, by number, are in the list.")


class TestForms:
    @pytest.mark.parametrize(
        ("path", "lists"),
        [("rfas", ["shop", "asbuilt"]), ("transmittals", ["shop", "contract", "asbuilt"])],
    )
    async def test_take_numbers_of_their_registers(self, sit: Sit, path: str, lists: list[str]) -> None:
        page = html_of(await (await sit("dc.contractor")).get(f"/{path}/new"))

        assert re.findall(r'<textarea[^>]*name="(\w+)Numbers"', page) == lists
        assert f'hx-get="/find/drawings?kinds={"&amp;kinds=".join(lists)}"' in page

    async def test_say_at_each_list_which_lines_name_no_drawing(self, sit: Sit, signed_in: SignIn) -> None:
        await (await desk_of(signed_in)).register("admin", "contract", "N-1")
        browser = await sit("dc.consultant", "en")
        page = html_of(await browser.get("/transmittals/new"))
        names = ("key", "projectPublicId", "originatorOrganizationPublicId")
        typed = {"shopNumbers": "N-1", "contractNumbers": "N-1\n\nN-2", "subTypeCode": "GEN", "subject": "นำส่ง"}

        refused = html_of(
            await browser.post("/transmittals/new", data={name: selected(page, name) for name in names} | typed)
        )

        assert '<div id="e-shopNumbers"><div class="fault">Line 1: There is no shop drawing “N-1”.</div>' in refused
        assert '<div id="e-contractNumbers"><div class="fault">Line 3: There is no contract drawing “N-2”.' in refused
        assert '<a href="#f-contractNumbers">Numbers of contract drawings</a>: Line 3' in refused
        assert '<details class="field field-wide" open><summary>Numbers of contract drawings' in refused
