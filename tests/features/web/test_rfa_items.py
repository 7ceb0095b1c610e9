"""Drawings in an RFA, in the browser: asked for by their numbers, answered one by one, and found again from the drawing."""

import re
from html import unescape

import httpx

from tests.conftest import SignIn
from tests.features.documents.conftest import desk_of
from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden, new_rfa, rfa_form
from tests.features.web.page_html import html_of


class TestForm:
    async def test_names_the_numbers_that_no_register_has_and_keeps_them(self, sit: Sit, signed_in: SignIn) -> None:
        await (await desk_of(signed_in)).register("admin", "shop", "S-1")
        browser = await sit("dc.contractor", "en")
        typed = "S-1\n NO-1 \nNO-2\n"

        answer = await browser.post("/rfas/new", data=await rfa_form(browser, shopNumbers=typed, asbuiltNumbers="S-1"))

        page = html_of(answer)
        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert "There is no shop drawing “NO-1”." in page
        assert "There is no shop drawing “NO-2”." in page
        assert "There is no as-built drawing “S-1”." in page
        assert typed.strip() in answer.text

    async def test_changes_what_a_draft_carries(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        for number in ("S-1", "S-2"):
            await desk.register("admin", "shop", number)
        browser = await sit("dc.contractor", "en")
        address = await new_rfa(browser, shopNumbers="S-1\nS-2")
        page = (await browser.get(f"{address}/edit")).text
        form = {
            name: unescape(re.findall(rf'name="{name}"\s+value="([^"]*)"', page)[0])
            for name in ("version", "project", "to")
        }

        answer = await browser.post(f"{address}/edit", data={**form, "subject": "แบบฐานราก", "shopNumbers": "S-2"})

        assert ">S-1\nS-2</textarea>" in page
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        shown = html_of(await browser.get(address))
        assert ">S-2</a>" in shown
        assert ">S-1</a>" not in shown


class TestAnswers:
    async def test_are_given_one_by_one_and_stand_with_the_drawing(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        ids = [(await desk.register("admin", "shop", number))["publicId"] for number in ("S-1", "S-2")]
        writer = await sit("dc.contractor", "en")
        address = await new_rfa(writer, shopNumbers="S-1\nS-2")
        await writer.post(f"{address}/actions", data=hidden(html_of(await writer.get(address)), "act-submit"))
        reviewer = await sit("reviewer.consultant", "en")
        page = html_of(await reviewer.get(address))
        items = list(dict.fromkeys(re.findall(r'name="item-([^"]+)"', page)))
        said = {f"item-{items[0]}": "3R", f"itemNote-{items[0]}": "แก้ระดับ", f"item-{items[1]}": ""}
        wrong = await reviewer.post(
            f"{address}/actions", data=hidden(page, "act-approve") | said | {f"item-{items[1]}": "9Z"}
        )
        answer = await reviewer.post(f"{address}/actions", data=hidden(page, "act-approve") | said)
        approver = await sit("approver.owner", "en")
        page = html_of(await approver.get(address))
        await approver.post(f"{address}/actions", data=hidden(page, "act-approve") | {"responseCode": "1A"})

        drawing = html_of(await writer.get(f"/drawings/shop/{ids[0]}"))

        assert wrong.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        assert "3R – Revise and Resubmit" in page
        assert "แก้ระดับ" in page
        assert f'href="{address}"' in drawing
        assert "3R – Revise and Resubmit" in drawing
        assert "1A – Approved by Authority" in html_of(await writer.get(f"/drawings/shop/{ids[1]}"))

    async def test_warn_of_a_newer_revision_while_the_rfa_is_open(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        drawing = (await desk.register("admin", "shop", "S-1"))["publicId"]
        writer = await sit("dc.contractor", "en")
        address = await new_rfa(writer, shopNumbers="S-1")
        before = html_of(await writer.get(address))

        await (await desk.as_("admin")).post(f"/api/v1/drawings/shop/{drawing}/revisions", json={})

        assert "1 item has a newer revision by now." not in before
        assert "1 item has a newer revision by now." in html_of(await writer.get(address))
