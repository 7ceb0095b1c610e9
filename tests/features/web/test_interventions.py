"""On the page of a document: forcing, ending and giving away, for those who may, and the marks it leaves."""

import re

import httpx
import pytest

from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden, new_rfa
from tests.features.web.page_html import html_of

OWNER, CONTRACTOR = "approver.owner", "dc.contractor"
WHY = "ผู้ตรวจลาออกแล้ว งานหน้างานรอไม่ได้"


async def submitted(contractor: httpx.AsyncClient) -> str:
    """The address of an RFA that waits for the consultant."""
    address = await new_rfa(contractor)
    form = hidden(html_of(await contractor.get(address)), "act-submit")
    await contractor.post(f"{address}/actions", data=form)
    return address


async def steer(browser: httpx.AsyncClient, address: str, deed: str, **typed: str) -> httpx.Response:
    form = hidden(html_of(await browser.get(address)), deed)
    return await browser.post(f"{address}/{deed}", data=form | {"reason": WHY} | typed)


def dialogs(page: str) -> list[str]:
    return sorted(set(re.findall(r'data-dialog="(force|reassign|terminate)"', page)))


class TestButtons:
    async def test_are_there_for_those_who_may(self, sit: Sit) -> None:
        contractor, owner, consultant = await sit(CONTRACTOR), await sit(OWNER), await sit("dc.consultant")
        address = await submitted(contractor)

        assert dialogs(html_of(await owner.get(address))) == ["force", "reassign", "terminate"]
        assert dialogs(html_of(await consultant.get(address))) == ["force", "reassign"]
        assert dialogs(html_of(await contractor.get(address))) == []

    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.sampled("[th")
    async def test_are_gone_at_the_end(self, sit: Sit, language: str) -> None:
        contractor, owner = await sit(CONTRACTOR), await sit(OWNER, language)
        address = await submitted(contractor)

        answer = await steer(owner, address, "terminate")
        page = html_of(await owner.get(address))

        assert answer.headers["location"] == address
        assert {"th": "ยุติแล้ว", "en": "Terminated"}[language] in page
        assert WHY in page
        assert dialogs(page) == []
        assert "is-current" not in page


class TestForce:
    async def test_marks_the_step_on_the_timeline(self, sit: Sit) -> None:
        contractor, owner = await sit(CONTRACTOR, "en"), await sit(OWNER)
        address = await submitted(contractor)

        await steer(owner, address, "force", way="approve:pending_approval")
        page = html_of(await contractor.get(address))

        assert "Pending approval" in page
        assert page.count("override</span>") == 2  # on the timeline and in the history
        assert WHY in page

    async def test_opens_again_where_the_reason_is_too_short(self, sit: Sit) -> None:
        contractor, owner = await sit(CONTRACTOR), await sit(OWNER)
        address = await submitted(contractor)

        for typed in ({"reason": "เร็ว", "way": "approve:pending_approval"}, {"way": ""}):
            answer = await steer(owner, address, "force", **typed)
            assert answer.status_code == 422
            assert 'data-reopen="force"' in html_of(answer)

    async def test_is_refused_to_a_form_that_was_made_up(self, sit: Sit) -> None:
        contractor = await sit(CONTRACTOR)
        address = await submitted(contractor)

        answer = await contractor.post(
            f"{address}/force", data={"reason": WHY, "way": "approve:pending_approval", "version": "2", "key": "k"}
        )

        assert answer.status_code == 403
        assert "คุณไม่มีสิทธิ์บังคับเปลี่ยนขั้นตอน" in html_of(answer)


class TestReassign:
    async def test_names_both_people(self, sit: Sit) -> None:
        contractor, owner = await sit(CONTRACTOR), await sit(OWNER)
        address = await submitted(contractor)
        page = html_of(await owner.get(address))
        dialog = page[page.index('id="reassign"') :]
        people = dict(re.findall(r'<option value="([0-9a-f-]{36})">([^<]+)</option>', dialog))
        assert sorted(people.values()) == ["ระวี ตรวจละเอียด", "เดชา รับส่งดี"]
        reviewer, control = sorted(people, key=lambda one: people[one])

        await steer(owner, address, "reassign", userPublicId=control)
        await steer(owner, address, "reassign", userPublicId=reviewer)

        assert "เดชา รับส่งดี → ระวี ตรวจละเอียด" in html_of(await owner.get(address))
