"""Values in words on the pages of administrators: which an action takes, what a replay says of them, and what it left out."""

import copy
import html
import re
from typing import Any

import httpx
from fastapi import FastAPI

from saraban.web.workflows.editor import STARTER
from tests.factories.letterbox import office_in
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

PRICED: dict[str, Any] = copy.deepcopy(STARTER) | {"workflow": "SITE_PRICED"}
AMOUNT = {"type": "number", "label": {"th": "จำนวนเงิน", "en": "Amount"}}
PRICED["context_schema"] = {
    "type": "object",
    "properties": {"payload": {"type": "object", "properties": {"amount": AMOUNT, "note": {"type": "string"}}}},
}
PRICED["states"][0]["on"]["submit"] |= {"fields": ["amount"], "require": {}}
PRICED["states"][1]["on"]["acknowledge"] |= {"fields": [], "require": {}}


async def published(app: FastAPI) -> str:
    await (await office_in(app.state.db)).define(PRICED)
    return "/workflows/SITE_PRICED/v1"


class TestValues:
    async def test_of_an_action_stand_beside_it(self, app: FastAPI, sit: Sit) -> None:
        address = await published(app)
        form = {"what-0": "submit||", "payload-0": '{"note": "x"}', "what-1": "acknowledge||"}

        thai, english = [await sit("admin", language) for language in ("th", "en")]
        table = html_of(await thai.get(address))
        played = html_of(await english.post(f"{address}/rehearsal", data=form))

        assert "ระบุได้: จำนวนเงิน" in table
        assert "It takes: amount (Amount)" in played
        assert "It takes no values." in played
        assert "This action does not take this value." in played


class TestReplay:
    async def test_says_what_was_left_out_and_goes_on_with_it(self, app: FastAPI, sit: Sit) -> None:
        address = await published(app)
        office = await office_in(app.state.db)
        app.state.subjects.register(office.box)
        for _ in range(3):
            instance = (await office.start(office.letter(), code="SITE_PRICED")).instance_public_id
            await office.act(instance, "submit", by="dc.contractor", payload={"amount": 450})
            await office.act(instance, "acknowledge", by="reviewer.consultant")
        stricter = copy.deepcopy(PRICED)
        stricter["context_schema"]["properties"]["payload"]["properties"]["amount"]["maximum"] = 100
        await office.define(stricter, activate=False)
        browser = await sit("admin", "en")
        address = address.replace("v1", "v2")

        first = html_of(await browser.post(f"{address}/replay", data={"limit": "2"}))
        form = first.split(f'<form method="post" action="{address}/replay"')[2].split("</form>")[0]
        onward = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)}
        second = await browser.post(f"{address}/replay", data=onward)
        wrong = await browser.post(f"{address}/replay", data=onward | {"after": "yesterday"})

        assert "One document closed earlier was not tested." in first
        assert first.count("/payload/amount: This must be at most 100.") == 2
        assert "2 documents closed later were tested before." in html_of(second)
        assert html_of(second).count("/payload/amount") == 1
        assert "left out" not in html_of(second)
        assert wrong.status_code == httpx.codes.UNPROCESSABLE_ENTITY
