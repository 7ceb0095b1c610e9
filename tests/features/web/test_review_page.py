"""A parallel review on the page of a document: who is asked, the answer of each, what is hidden, what comes of it."""

import copy
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from tests.conftest import SignIn
from tests.definitions import RFA
from tests.factories.letterbox import office_in
from tests.factories.review import BRANCHES, seat
from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden, new_rfa
from tests.features.web.page_html import html_of
from tests.page_actions import act


def reviewed() -> dict[str, Any]:
    """An RFA that three branches review at once, without seeing each other's answers."""
    raw = copy.deepcopy(RFA)
    asked = raw["states"][1]
    asked["review"] = {
        "branches": BRANCHES,
        "completion": "majority",
        "hidden": True,
        "then": {"for": {"to": "pending_approval"}, "against": {"to": "rejected"}},
    }
    del asked["on"]["approve"], asked["on"]["reject"]
    return raw


@pytest_asyncio.fixture
async def address(app: FastAPI, sit: Sit, signed_in: SignIn) -> str:
    """The page of an RFA that is under review."""
    await seat(await office_in(app.state.db))
    admin = await signed_in("admin")
    made = await admin.post("/api/v1/workflow/definitions", json={"dsl": reviewed(), "activate": True})
    assert made.status_code == httpx.codes.CREATED, made.text
    contractor = await sit("dc.contractor")
    found = await new_rfa(contractor)
    await act(contractor, found, "submit")
    return found


async def answer(browser: httpx.AsyncClient, address: str, branch: str, code: str, comment: str = "") -> httpx.Response:
    page = html_of(await browser.get(address))
    place = page.split(f'<dialog class="sheet" id="branch-{branch}"')[1].split('action="')[1].split('"')[0]
    return await browser.post(place, data=hidden(page, f"branch-{branch}") | {"answer": code, "comment": comment})


class TestPage:
    @pytest.mark.parametrize(
        ("language", "words"), [("th", ("โครงสร้าง", "ไฟฟ้า", "รอ")), ("en", ("Structure", "Electrical", "Pending"))]
    )
    @pytest.mark.sampled("[th")
    async def test_shows_who_is_asked_and_offers_an_answer_to_them_alone(
        self, sit: Sit, address: str, language: str, words: tuple[str, ...]
    ) -> None:
        asked = html_of(await (await sit("reviewer.consultant", language)).get(address))
        writer = html_of(await (await sit("dc.contractor", language)).get(address))

        assert all(word in asked and word in writer for word in words)
        assert 'data-dialog="branch-structure"' in asked
        assert 'data-dialog="branch-electrical"' not in asked
        assert 'data-dialog="branch-' not in writer

    async def test_hides_an_answer_from_the_others_until_the_verdict(self, sit: Sit, address: str) -> None:
        one, other = await sit("reviewer.consultant", "en"), await sit("dc.consultant", "en")

        first = await answer(one, address, "structure", "approve", "ตามแบบ S-101")
        hidden_yet = html_of(await other.get(address))
        second = await answer(other, address, "electrical", "approve")
        shown = html_of(await other.get(address))

        assert (first.status_code, second.status_code) == (303, 303)
        assert "hidden until the result" in hidden_yet
        assert "S-101" not in hidden_yet
        assert "S-101" in shown
        assert "No longer needed" in shown
        assert 'data-state="pending_approval"' in shown

    async def test_opens_the_dialog_again_where_the_reason_is_missing(self, sit: Sit, address: str) -> None:
        browser = await sit("reviewer.consultant", "en")

        refused = await answer(browser, address, "structure", "reject")

        assert refused.status_code == 422
        assert 'data-reopen="branch-structure"' in html_of(refused)
        assert 'value="reject" required checked' in html_of(refused).replace(" autofocus", "")

    async def test_tells_who_comes_second(self, sit: Sit, address: str) -> None:
        browser = await sit("reviewer.consultant", "en")
        page = html_of(await browser.get(address))
        place = page.split('id="branch-structure"')[1].split('action="')[1].split('"')[0]
        form = hidden(page, "branch-structure") | {"answer": "approve"}

        first = await browser.post(place, data=form)
        again = await browser.post(place, data=form | {"key": "another"})

        assert (first.status_code, again.status_code) == (303, 409)
