"""The page on which people lend their steps while away, in both languages."""

import re
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from saraban.kit.clock import local_date
from tests.conftest import unwrapped
from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden
from tests.features.web.page_html import html_of


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
            ("th", "คุณยังไม่ได้มอบหมายงาน", "มีผลอยู่", "งานทั้งหมดของฉัน"),
            ("en", "You have no delegations", "Active", "All my work"),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_lends_shows_and_takes_back(
        self, sit: Sit, app: FastAPI, language: str, nothing: str, state: str, all_work: str
    ) -> None:
        browser, colleague = await sit("reviewer.consultant", language), await sit("dc.consultant", language)
        empty = html_of(await browser.get("/delegations"))
        assert nothing in empty

        done = await browser.post("/delegations", data=form(app, empty, reason="ลาพักร้อน"))
        page = html_of(await browser.get(done.headers["location"]))
        theirs = html_of(await colleague.get("/delegations"))

        assert done.status_code == 303
        for part in ("เดชา รับส่งดี", state, all_work, "ลาพักร้อน", 'role="status"'):
            assert part in page
        assert nothing not in page
        assert ("ระวี ตรวจละเอียด" in theirs, state in theirs) == (True, True)
        (address,) = re.findall(r'action="(/delegations/[0-9a-f-]{36}/revoke)"', page)
        assert re.findall(r'action="(/delegations/[0-9a-f-]{36}/revoke)"', theirs) == []
        back = await browser.post(address)
        assert state not in html_of(await browser.get(back.headers["location"]))

    async def test_puts_refusals_at_their_fields_and_keeps_what_was_typed(self, sit: Sit, app: FastAPI) -> None:
        browser = await sit("reviewer.consultant", "en")
        page = html_of(await browser.get("/delegations"))

        nothing = await browser.post("/delegations", data={})
        past = await browser.post(
            "/delegations", data=form(app, page, first=-2, reason="Leave", workflowCodes="RFA_APPROVAL")
        )

        assert (nothing.status_code, past.status_code) == (422, 422)
        for name in ("delegatePublicId", "startsOn", "endsOn"):
            assert f'id="e-{name}">Required' in html_of(nothing)
        assert re.search(r'id="e-startsOn">This date has passed\.', html_of(past))
        assert 'value="Leave"' in html_of(past)
        assert re.search(r'value="RFA_APPROVAL" checked', html_of(past))

    async def test_says_which_rule_of_the_house_stands_against_it(self, sit: Sit, app: FastAPI) -> None:
        browser = await sit("reviewer.consultant")
        page = html_of(await browser.get("/delegations"))
        await browser.post("/delegations", data=form(app, page))

        twice = await browser.post("/delegations", data=form(app, page))

        assert twice.status_code == 409
        assert "คุณมอบหมายงานนี้ไว้แล้วในวันเดียวกัน" in html_of(twice)

    async def test_finds_a_colleague_by_a_part_of_the_name(self, sit: Sit) -> None:
        browser = await sit("reviewer.consultant")

        found = await browser.get("/delegations/colleagues?q=เดชา", headers={"HX-Request": "true"})
        none = await browser.get("/delegations/colleagues?q=xyz", headers={"HX-Request": "true"})

        assert "เดชา รับส่งดี" in html_of(found)
        assert "เดชา รับส่งดี" not in html_of(none)


class TestSheet:
    async def test_is_answered_by_the_page_in_ones_own_name_or_for_who_is_away(self, sit: Sit, app: FastAPI) -> None:
        browser, absent = await sit("dc.consultant", "en"), await sit("reviewer.consultant", "en")
        page = html_of(await absent.get("/delegations"))
        await absent.post("/delegations", data=form(app, page))
        address = await self._sheet(browser, absent)

        asked = hidden(html_of(await browser.get(address)), "respond")
        choices = re.findall(
            r'<option value="([0-9a-f-]{36})"[^>]*>(In my own name|For [^<]+)</option>', await _of(browser, address)
        )
        await browser.post(f"{address}/responses", data=asked | {"status": "COMPLETED", "onBehalfOf": choices[1][0]})
        after = await _of(browser, address)

        assert [words for _, words in choices] == ["In my own name", "For ระวี ตรวจละเอียด"]
        assert "เดชา รับส่งดี for ระวี ตรวจละเอียด" in after
        assert 'data-dialog="respond"' in after  # the own answer is still to be given
        assert 'name="onBehalfOf"' not in after

    @staticmethod
    async def _sheet(*people: httpx.AsyncClient) -> str:
        client = people[0]
        project = (await client.get("/api/v1/projects")).json()["items"][0]["publicId"]
        ids = [(await one.get("/api/v1/auth/me")).json()["publicId"] for one in people]
        body = {"projectPublicId": project, "subject": "เวียน"}
        body |= {"assignees": [{"userPublicId": one, "kind": "MAIN"} for one in ids]}
        made = unwrapped(await client.post("/api/v1/circulations", json=body))
        instance = made["workflow"]["instancePublicId"]
        started = await client.post(f"/api/v1/workflow/instances/{instance}/transitions", json={"action": "start"})
        assert started.status_code == 200, started.text
        return f"/circulations/{made['publicId']}"


async def _of(browser: httpx.AsyncClient, address: str) -> str:
    return html_of(await browser.get(address))
