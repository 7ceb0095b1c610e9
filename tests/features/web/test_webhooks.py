"""Webhooks in the browser: who sees which, how they fare, and switching them on again."""

import re
from datetime import datetime

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.events.service import Event
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications
from saraban.webhooks.models import Webhook
from saraban.webhooks.service import SWITCHED_OFF
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

OWN, PROJECT = "https://hooks.example.com/mine", "https://hooks.example.com/project"


async def _made(sit: Sit, account: str, language: str = "en") -> str:
    """A webhook of one's own."""
    browser = await sit(account, language)
    made = await browser.post("/api/v1/notifications/webhooks", json={"url": OWN})
    assert made.status_code == 201, made.text
    return str(made.json()["publicId"])


class TestPage:
    async def test_shows_ones_own_and_those_of_projects_that_one_may_edit(self, sit: Sit) -> None:
        await _made(sit, "dc.contractor")
        admin = await sit("padmin", "en")
        project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
        await admin.post(
            f"/api/v1/projects/{project}/webhooks", json={"url": PROJECT, "events": ["workflow.transitioned"]}
        )

        theirs = html_of(await admin.get("/webhooks"))
        mine = html_of(await (await sit("dc.contractor", "en")).get("/webhooks"))

        assert (PROJECT in theirs, OWN in theirs, "workflow.transitioned" in theirs) == (True, False, True)
        assert (PROJECT in mine, OWN in mine) == (False, True)
        assert "Project " not in mine.split("<h1>")[1]

    @pytest.mark.parametrize(
        ("language", "words"),
        [
            ("th", ("หยุดส่งอยู่", "ส่งไม่สำเร็จตั้งแต่", "เปิดใช้", "เปิดใช้ webhook แล้ว")),
            ("en", ("Disabled", "delivery failing since", "Enable", "Webhook enabled")),
        ],
    )
    async def test_says_why_one_is_off_and_switches_it_on_again(
        self, app: FastAPI, sit: Sit, language: str, words: tuple[str, ...]
    ) -> None:
        hook = await _made(sit, "dc.contractor", language)
        since = datetime.fromisoformat("2026-11-18T03:00:00+00:00")
        async with app.state.db.writing() as session:
            await session.execute(
                sa.update(Webhook).values(is_active=False, off_because="failing", failing_since=since, given_up=3)
            )
        browser = await sit("dc.contractor", language)

        shown = html_of(await browser.get("/webhooks"))
        switched = await browser.post(f"/webhooks/{hook}/on")
        after = html_of(await browser.get(switched.headers["location"]))

        *before, done = words
        assert all(word in shown for word in before)
        assert done in after
        assert re.search(rf'action="/webhooks/{hook}/off"', after)

    async def test_is_where_the_notice_leads(self, app: FastAPI, sit: Sit) -> None:
        hook = await _made(sit, "dc.contractor")
        browser = await sit("dc.contractor", "en")
        owner = (await browser.get("/api/v1/auth/me")).json()["publicId"]
        now = app.state.clock.now()
        payload = {
            "webhookPublicId": hook,
            "userPublicIds": [owner],
            "url": OWN,
            "because": "failing",
            "failingSince": now.isoformat(),
        }
        event = Event(new_id(), SWITCHED_OFF, "webhook", hook, payload, now)
        await app.state.db.transact(lambda session: notifications.react_all(session, [event]))

        page = html_of(await browser.get("/notifications"))
        notice = re.search(
            r'action="(/notifications/[^"]+/open)">\s*<input type="hidden" name="to" value="/webhooks"', page
        )

        assert notice
        opened = await browser.post(notice[1], data={"to": "/webhooks"})
        assert opened.headers["location"] == "/webhooks"

    async def test_is_closed_to_others(self, sit: Sit) -> None:
        hook = await _made(sit, "dc.contractor")

        assert (await (await sit("padmin")).post(f"/webhooks/{hook}/off")).status_code == 404
