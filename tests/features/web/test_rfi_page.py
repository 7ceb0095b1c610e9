"""A request for information on its page: asked, answered, asked again and closed, and what of it is read there."""

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from saraban.kit.clock import FixedClock
from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk_of
from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden
from tests.features.web.page_html import html_of


@pytest_asyncio.fixture
async def desk(signed_in: SignIn) -> Desk:
    return await desk_of(signed_in)


async def act(browser: httpx.AsyncClient, address: str, action: str, comment: str = "", **more: str) -> None:
    form = hidden(html_of(await browser.get(address)), f"act-{action}")
    answer = await browser.post(f"{address}/actions", data=form | {"comment": comment} | more)
    assert answer.status_code == httpx.codes.SEE_OTHER, answer.text


async def asked(desk: Desk, **more: str) -> str:
    question = desk.letter("คคง.", correspondenceTypeCode="RFI", **more)
    written = await desk.write("dc.contractor", "correspondences", question)
    await desk.act("dc.contractor", written, "submit")
    return f"/correspondences/{written['publicId']}"


def waits(page: str) -> str:
    return page.split("data-waits>")[1].split("</p>", maxsplit=1)[0]


class TestRfi:
    async def test_is_responded_to_and_closed_and_shows_the_answer(self, sit: Sit, desk: Desk) -> None:
        address, file = await asked(desk), await desk.upload("dc.consultant")
        asker, answerer = await sit("dc.contractor", "en"), await sit("dc.consultant", "en")

        offered = html_of(await answerer.get(address))
        await act(answerer, address, "respond", "Level +2.50", attachment=file)
        answered = html_of(await asker.get(address))
        answer = answered.split("data-answer")[1].split("</section>")[0]
        await act(asker, address, "ask-again", "And at pile 12?")
        again = html_of(await answerer.get(address))
        await act(answerer, address, "respond", "+2.35 there")
        await act(asker, address, "close")
        closed = html_of(await answerer.get(address))

        assert ('data-action="respond"' in offered, 'data-action="approve"' in offered) == (True, False)
        assert all(part in answer for part in ("Level +2.50", ".pdf", "คคง."))
        assert ["คคง." in waits(offered), "ผรม.2" in waits(answered), "คคง." in waits(again)] == [True, True, True]
        ended = html_of(await asker.get(address))

        assert "by the due date where there is one" in offered
        assert 'data-dialog="revise"' not in ended
        assert 'data-state="closed"' in closed
        main = closed.split("data-answer", 1)[1]
        assert main.index("+2.35 there") < main.index("Earlier response") < main.index("Level +2.50")

    @pytest.mark.parametrize(("language", "name"), [("th", "คำขอข้อมูล (RFI)"), ("en", "Request for Information (RFI)")])
    @pytest.mark.sampled("[th")
    async def test_is_called_so_in_inbox_and_register(self, sit: Sit, desk: Desk, language: str, name: str) -> None:
        await asked(desk)
        reader = await sit("dc.consultant", language)
        rows = [html_of(await reader.get(page)).split("<tbody>")[1] for page in ("/inbox", "/correspondences")]

        assert [f'class="document-type bare">{name}</td>' in row for row in rows] == [True, True]

    async def test_is_not_overdue_once_it_has_its_answer(self, app: FastAPI, sit: Sit, desk: Desk) -> None:
        clock = app.state.clock
        due = (clock.now() + timedelta(days=1)).date().isoformat()
        late, answered = await asked(desk, dueDate=due), await asked(desk, dueDate=due)
        await act(await sit("dc.consultant"), answered, "respond", "ใช้แบบแผ่นที่ 214")
        app.state = replace(app.state, clock=FixedClock(clock.now() + timedelta(days=9), clock.zone))

        listed = await desk.listed("dc.contractor", "correspondences", overdue="true")
        every = await desk.listed("dc.contractor", "correspondences")

        assert [one["publicId"] for one in listed] == [late.rpartition("/")[2]]
        assert [one["publicId"] for one in every if one["isOverdue"]] == [late.rpartition("/")[2]]
        assert {one["status"]["code"] for one in every} == {"SUBCSC", "RESPONDED"}
