"""The registers of drawings in the browser: what is current, what was on a day, one drawing with its history and its links."""

import httpx
import pytest

from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk_of
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

FRAGMENT = {"HX-Request": "true"}


async def registered(desk: Desk, kind: str, number: str, account: str = "admin", **more: object) -> str:
    body = {
        "projectPublicId": desk.project,
        "drawingNumber": number,
        "title": "แปลนฐานราก",
        "titleEn": "Foundation plan",
    }
    answer = await (await desk.as_(account)).post(f"/api/v1/drawings/{kind}", json=body | more)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["publicId"])


class TestRegister:
    @pytest.mark.parametrize(("language", "title"), [("th", "แปลนฐานราก"), ("en", "Foundation plan")])
    async def test_shows_each_drawing_in_the_readers_language(
        self, sit: Sit, signed_in: SignIn, language: str, title: str
    ) -> None:
        desk = await desk_of(signed_in)
        drawing = await registered(desk, "shop", "S-1")
        page = html_of(await (await sit("viewer", language)).get("/drawings/shop"))

        assert f'href="/drawings/shop/{drawing}">S-1</a>' in page
        assert title in page

    async def test_goes_back_to_a_day_and_says_what_it_cannot_use(self, sit: Sit, signed_in: SignIn) -> None:
        await registered(await desk_of(signed_in), "shop", "S-1")
        browser = await sit("viewer", "en")
        past = html_of(await browser.get("/drawings/shop", params={"asOf": "1 Jan 2020"}))
        wrong = html_of(await browser.get("/drawings/shop", params={"asOf": "some day"}))
        rows = html_of(await browser.get("/drawings/shop", params={"q": "s-"}, headers=FRAGMENT))

        assert "No results" in past
        assert "is-invalid" in wrong
        assert "S-1" in wrong
        assert "<html" not in rows

    async def test_has_three_tabs_and_no_fourth(self, sit: Sit) -> None:
        browser = await sit("viewer", "en")
        pages = [await browser.get(f"/drawings/{name}") for name in ("contract", "shop", "asbuilt", "other")]

        assert [one.status_code for one in pages] == [200, 200, 200, 404]
        assert "This register is still empty" in html_of(pages[0])


class TestDrawing:
    async def test_shows_its_history_and_its_links(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        signed = await registered(desk, "contract", "C-1")
        shop = await registered(desk, "shop", "S-1", scale="1:100", revision={"derivedFromPublicIds": [signed]})
        await (await desk.as_("admin")).post(f"/api/v1/drawings/shop/{shop}/revisions", json={"reason": "Piles moved"})
        browser = await sit("viewer", "en")
        page = html_of(await browser.get(f"/drawings/shop/{shop}"))

        assert "Piles moved" in page
        assert (page.count("Superseded"), page.count(">Current<")) == (1, 1)
        assert f'href="/drawings/contract/{signed}">C-1</a>' in page
        assert "1:100" in page

    async def test_of_another_contractor_is_not_there(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        drawing = await registered(desk, "shop", "S-1", "dc.contractor", **own)
        browser = await sit("dc.consultant", "en")

        assert (await browser.get(f"/drawings/shop/{drawing}")).status_code == httpx.codes.NOT_FOUND
        assert "S-1" not in html_of(await browser.get("/drawings/shop"))
