"""Documents that are under way moved to another version in the browser: looked at first, then moved."""

import copy
import json
import re

import httpx
import pytest

from tests.definitions import RFA
from tests.features.web.conftest import Sit
from tests.features.web.forms import new_rfa
from tests.features.web.page_html import html_of
from tests.page_actions import act

PAGE = "/workflows/RFA_APPROVAL/v2/migration"


async def second_version(sit: Sit, *, renamed: bool = False) -> httpx.AsyncClient:
    """An administrator with a second version, in which the first state after the draft may have another name."""
    text = json.dumps(copy.deepcopy(RFA) | {"description": "The second."})
    text = text.replace("pending_review", "with_consultant") if renamed else text
    admin = await sit("admin", "en")
    made = await admin.post("/workflows/new", data={"text": text})
    assert made.status_code == httpx.codes.SEE_OTHER, made.text
    return admin


async def submitted(sit: Sit) -> str:
    contractor = await sit("dc.contractor")
    address = await new_rfa(contractor)
    await act(contractor, address, "submit")
    return address


class TestPage:
    @pytest.mark.parametrize(("language", "words"), [("th", "ไม่มีเอกสารให้ย้าย"), ("en", "Nothing to migrate")])
    async def test_says_when_nothing_runs_elsewhere(self, sit: Sit, language: str, words: str) -> None:
        browser = await sit("admin", language)

        assert words in html_of(await browser.get("/workflows/RFA_APPROVAL/v1/migration"))

    async def test_looks_first_and_then_moves(self, sit: Sit) -> None:
        await submitted(sit)
        admin = await second_version(sit)

        shown = html_of(await admin.get(PAGE))
        looked = html_of(await admin.post(PAGE, data={"do": "look"}))
        moved = html_of(await admin.post(PAGE, data={"do": "move"}))

        assert 'value="move"' not in shown
        assert "One document can be migrated." in looked
        assert "Migrate one document" in looked
        assert "One document was migrated." in moved
        assert "Nothing to migrate" in moved

    async def test_asks_where_to_when_the_state_is_gone(self, sit: Sit) -> None:
        address = await submitted(sit)
        admin = await second_version(sit, renamed=True)

        lost = html_of(await admin.post(PAGE, data={"do": "look"}))
        chosen = {"to-pending_review": "with_consultant"}
        found = html_of(await admin.post(PAGE, data=chosen | {"do": "look"}))
        moved = html_of(await admin.post(PAGE, data=chosen | {"do": "move"}))

        assert "0 documents can be migrated." in lost
        assert "map it to another one" in lost
        assert 'value="move"' not in lost
        assert '<option value="with_consultant" selected>' in found
        assert "One document was migrated." in moved
        assert 'data-state="with_consultant"' in html_of(await admin.get(address))

    async def test_refuses_a_state_that_is_an_end(self, sit: Sit) -> None:
        await submitted(sit)
        admin = await second_version(sit)

        refused = await admin.post(PAGE, data={"to-pending_review": "approved", "do": "move"})

        assert refused.status_code == 422
        assert re.search(r'class="fault"', html_of(refused))

    async def test_is_for_those_who_manage_definitions(self, sit: Sit) -> None:
        browser = await sit("padmin")

        answers = [await browser.get("/workflows/RFA_APPROVAL/v1/migration"), await browser.post(PAGE, data={})]

        assert [answer.status_code for answer in answers] == [403, 403]
