"""The page on which people lend their steps while away, in both languages."""

import re
from datetime import timedelta

import pytest
from fastapi import FastAPI

from saraban.kit.clock import local_date
from tests.features.web.conftest import Sit


def form(app: FastAPI, page: str, *, first: int = 0, last: int = 6, **typed: str) -> dict[str, str]:
    """The form as somebody fills it in, with the only colleague there is."""
    today = local_date(app.state.clock.now(), app.state.clock.zone)
    (colleague,) = re.findall(r'<option value="([0-9a-f-]{36})">เดชา รับส่งดี</option>', page)
    days = {"startsOn": (today + timedelta(days=first)), "endsOn": (today + timedelta(days=last))}
    return {"delegatePublicId": colleague} | {name: one.isoformat() for name, one in days.items()} | typed


class TestPage:
    @pytest.mark.parametrize(
        ("language", "nothing", "state", "all_work"),
        [
            ("th", "คุณยังไม่ได้มอบหมายงาน", "มีผลอยู่", "งานทั้งหมด"),
            ("en", "You have delegated nothing", "In force", "All my work"),
        ],
    )
    async def test_lends_shows_and_takes_back(
        self, sit: Sit, app: FastAPI, language: str, nothing: str, state: str, all_work: str
    ) -> None:
        browser, colleague = await sit("reviewer.consultant", language), await sit("dc.consultant", language)
        empty = (await browser.get("/delegations")).text
        assert nothing in empty

        done = await browser.post("/delegations", data=form(app, empty, reason="ลาพักร้อน"))
        page = (await browser.get(done.headers["location"])).text
        theirs = (await colleague.get("/delegations")).text

        assert done.status_code == 303
        for part in ("เดชา รับส่งดี", state, all_work, "ลาพักร้อน", 'role="status"'):
            assert part in page
        assert nothing not in page
        assert ("ระวี ตรวจละเอียด" in theirs, state in theirs) == (True, True)
        (address,) = re.findall(r'action="(/delegations/[0-9a-f-]{36}/revoke)"', page)
        assert re.findall(r'action="(/delegations/[0-9a-f-]{36}/revoke)"', theirs) == []
        back = await browser.post(address)
        assert state not in (await browser.get(back.headers["location"])).text

    async def test_puts_refusals_at_their_fields_and_keeps_what_was_typed(self, sit: Sit, app: FastAPI) -> None:
        browser = await sit("reviewer.consultant", "en")
        page = (await browser.get("/delegations")).text

        nothing = await browser.post("/delegations", data={})
        past = await browser.post(
            "/delegations", data=form(app, page, first=-2, reason="Leave", workflowCodes="RFA_APPROVAL")
        )

        assert (nothing.status_code, past.status_code) == (422, 422)
        for name in ("delegatePublicId", "startsOn", "endsOn"):
            assert f'id="e-{name}">This is required.' in nothing.text
        assert re.search(r'id="e-startsOn">This day has passed\.', past.text)
        assert 'value="Leave"' in past.text
        assert re.search(r'value="RFA_APPROVAL" checked', past.text)

    async def test_says_which_rule_of_the_house_stands_against_it(self, sit: Sit, app: FastAPI) -> None:
        browser = await sit("reviewer.consultant")
        page = (await browser.get("/delegations")).text
        await browser.post("/delegations", data=form(app, page))

        twice = await browser.post("/delegations", data=form(app, page))

        assert twice.status_code == 409
        assert "คุณมอบหมายงานนี้ไว้แล้วในวันเดียวกัน" in twice.text

    async def test_finds_a_colleague_by_a_part_of_the_name(self, sit: Sit) -> None:
        browser = await sit("reviewer.consultant")

        found = await browser.get("/delegations/colleagues?q=เดชา", headers={"HX-Request": "true"})
        none = await browser.get("/delegations/colleagues?q=xyz", headers={"HX-Request": "true"})

        assert "เดชา รับส่งดี" in found.text
        assert "เดชา รับส่งดี" not in none.text
