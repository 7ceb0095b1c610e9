"""A counter set back in the browser: by a Super Admin, with a reason, never over a number that was issued."""

from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.numbering.series.models import NumberAudit, NumberCounter
from tests.conftest import SignIn
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of
from tests.numbering_requests import BASE, GENERATE, REASON, read_project

PAGE = "/numbers/reset"


async def counter(app: FastAPI) -> NumberCounter:
    async with app.state.db.reading() as session:
        found: NumberCounter | None = await session.scalar(sa.select(NumberCounter))
    assert found is not None
    return found


async def moved(app: FastAPI, signed_in: SignIn) -> dict[str, str]:
    """Have a series stand at 9 with two numbers, 1 and 9, and return what names it."""
    admin = await signed_in("padmin")
    project = await read_project(admin)
    await admin.post(GENERATE, json=project.letter())
    stated = project.letter(sequence=9, reason=REASON, moveCounter=True, confirmedJump=8)
    assert (await admin.post(f"{BASE}/manual-override", json=stated)).status_code == 201
    return {"project": project.id, "series": (await counter(app)).series}


def form_of(where: dict[str, str], **typed: Any) -> dict[str, Any]:
    return {"projectPublicId": where["project"], "series": where["series"], "lastNumber": "0", "reason": REASON} | typed


async def opened(browser: httpx.AsyncClient, where: dict[str, str]) -> str:
    account = html_of(await browser.get("/numbers/account", params=where))
    assert f'href="{PAGE}?' in account
    return html_of(await browser.get(PAGE, params=where))


class TestReset:
    @pytest.mark.parametrize(("language", "words"), [("th", "ตัวนับอยู่ที่ 9"), ("en", "The counter is at 9.")])
    @pytest.mark.sampled("[th")
    async def test_is_reached_from_the_account_and_lets_free_sequences_be_used(
        self, sit: Sit, signed_in: SignIn, app: FastAPI, language: str, words: str
    ) -> None:
        where = await moved(app, signed_in)
        root = await sit("admin", language)
        page = await opened(root, where)

        done = await root.post(PAGE, data=form_of(where))

        assert words in page
        assert done.status_code == 303, done.text
        assert (await root.get(done.headers["location"])).status_code == 200
        assert (await counter(app)).last_number == 0
        client = await signed_in("padmin")
        body = (await read_project(client)).letter()
        assert [(await client.post(GENERATE, json=body)).json()["sequence"] for _ in range(2)] == [2, 3]

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"reason": "Too short, this."}, "reason"),
            ({"lastNumber": "10"}, "lastNumber"),
            ({"lastNumber": "²"}, "lastNumber"),
            ({"lastNumber": ""}, "lastNumber"),
        ],
    )
    async def test_that_cannot_be_tells_why_and_changes_nothing(
        self, sit: Sit, signed_in: SignIn, app: FastAPI, wrong: dict[str, str], field: str
    ) -> None:
        where = await moved(app, signed_in)
        root = await sit("admin")

        answer = await root.post(PAGE, data=form_of(where, **wrong))

        assert (answer.status_code, f'id="e-{field}"' in html_of(answer)) == (422, True)
        assert (await counter(app)).last_number == 9

    async def test_is_closed_to_everybody_else(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        where = await moved(app, signed_in)
        admin = await sit("padmin")

        answers = [await admin.get(PAGE, params=where), await admin.post(PAGE, data=form_of(where))]

        assert [answer.status_code for answer in answers] == [403, 403]
        assert f'href="{PAGE}?' not in html_of(await admin.get("/numbers/account", params=where))
        async with app.state.db.reading() as session:
            resets = sa.select(sa.func.count()).select_from(NumberAudit).where(NumberAudit.operation == "RESET")
            assert await session.scalar(resets) == 0
