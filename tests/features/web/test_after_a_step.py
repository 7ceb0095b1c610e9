"""What a page says after somebody acted: what happened, what is next, who was quicker, and what asks nobody any more."""

import httpx
import pytest
from fastapi import FastAPI

from saraban.web.documents.document_actions import FORM_PATHS
from saraban.worker.loop import Worker
from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk_of
from tests.features.notifications.conftest import worker
from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden, new_rfa
from tests.features.web.page_html import html_of
from tests.notices import titles

__all__ = ["worker"]


async def act(browser: httpx.AsyncClient, address: str, action: str, **typed: str) -> httpx.Response:
    form = hidden(html_of(await browser.get(address)), f"act-{action}")
    return await browser.post(f"{address}/actions", data=form | typed)


class TestActing:
    async def test_without_a_file_asks_first_and_keeps_what_was_typed(self, sit: Sit, signed_in: SignIn) -> None:
        contractor = await sit("dc.contractor", "en")
        address = await new_rfa(contractor)
        asked = await act(contractor, address, "submit", comment="Urgent", withoutFiles="")
        sent = await act(contractor, address, "submit", comment="Urgent")
        other = (await new_rfa(contractor)).removeprefix("/rfas/")
        client = await signed_in("dc.contractor")
        read = (await client.get(f"/api/v1/rfas/{other}")).json()
        by_program = await client.post(
            f"/api/v1/workflow/instances/{read['workflow']['instancePublicId']}/transitions", json={"action": "submit"}
        )

        assert (asked.status_code, sent.status_code, by_program.status_code) == (422, 303, 200)
        dialog = html_of(asked).split('id="act-submit"')[1].split("</dialog>")[0]
        box, rest = dialog.split("Submit without attachments</span>")
        assert 'name="withoutFiles" value="1" autofocus aria-invalid="true" aria-describedby="e-withoutFiles"' in box
        assert rest.index('class="fault" id="e-withoutFiles"') < rest.index("<textarea")
        assert ("dialog-faults" in dialog, dialog.count("autofocus")) == (False, 1)
        assert 'data-reopen="act-submit"' in html_of(asked)
        assert ">Urgent</textarea>" in html_of(asked)

    @pytest.mark.parametrize(("language", "next_task"), [("th", "งานถัดไป"), ("en", "Next task")])
    @pytest.mark.sampled("[th")
    async def test_is_told_with_the_next_task(self, sit: Sit, language: str, next_task: str) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant", language)
        first, second = [await new_rfa(contractor), await new_rfa(contractor)]
        for address in (first, second):
            await act(contractor, address, "submit")

        answer = await act(reviewer, first, "approve")
        page = html_of(await reviewer.get(answer.headers["location"]))
        told = page.split("data-done")[1].split("</div></div>")[0]
        last = html_of(await reviewer.get((await act(reviewer, second, "approve")).headers["location"]))

        assert next_task in told
        assert f'href="{second}"' in told
        assert "data-done" in last
        assert "data-next" not in last

    async def test_second_names_who_was_quicker_and_keeps_the_comment(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant", "en")
        other = await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        old = hidden(html_of(await reviewer.get(address)), "act-reject")
        await act(other, address, "approve")

        refused = await reviewer.post(f"{address}/actions", data=old | {"comment": "Piles are too short"})
        told = html_of(refused).split("data-meanwhile")[1].split("</div></div>")[0]

        assert refused.status_code == 409
        assert "This page now shows the current document. Check it before you decide." in told
        assert ("Refresh" in html_of(refused), html_of(refused).count('role="alert"')) == (False, 1)
        for part in ("ระวี ตรวจละเอียด", "คคง.", "Pending approval", "Piles are too short"):
            assert part in told

    async def test_leads_from_a_refusal_to_the_document_in_another_language(self, sit: Sit) -> None:
        contractor = await sit("dc.contractor", "en")
        address = await new_rfa(contractor)
        refused = await act(contractor, address, "submit", withoutFiles="")
        again = [
            (await contractor.get(f"{address}/{deed}")).headers["location"] for deed in (*FORM_PATHS, "branches/1")
        ]

        assert f'name="next" value="{address}"' in html_of(refused)
        assert again == [address] * len(again)

    @pytest.mark.parametrize(("language", "words"), [("th", "ส่งกลับให้แก้ไขโดย"), ("en", "Returned for revision by")])
    @pytest.mark.sampled("[th")
    async def test_that_sends_back_is_announced_as_that(self, sit: Sit, language: str, words: str) -> None:
        contractor, reviewer = await sit("dc.contractor", language), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        await act(reviewer, address, "request-revision", comment="ขาดรายการคำนวณ")

        banner = html_of(await contractor.get(address)).split("data-returned")[1].split("</div></div>")[0]

        assert all(part in banner for part in (words, "ระวี ตรวจละเอียด", "คคง.", "ขาดรายการคำนวณ"))

    async def test_takes_back_what_asked_for_it_of_everybody(self, sit: Sit, signed_in: SignIn, worker: Worker) -> None:
        desk: Desk = await desk_of(signed_in)
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await worker.drain()
        asked = await titles(desk, "reviewer.consultant")
        by_other = await desk.as_("reviewer.consultant")
        reader = await sit("reviewer.consultant", "en")
        unread = [html_of(await reader.get("/inbox"))]
        await desk.act("reviewer.consultant", rfa, "approve")
        await worker.drain()
        unread.append(html_of(await reader.get("/inbox")))
        listed = (await by_other.get("/api/v1/notifications")).json()["items"]

        assert f"{rfa['documentNumber']} awaits your action" in asked
        assert ["data-unread" in page for page in unread] == [False, False]
        assert [one["title"] for one in listed] == [f"{rfa['documentNumber']} no longer awaits your action"]


class TestFailure:
    @pytest.mark.parametrize(
        ("address", "status"), [("/rfas/new", 403), ("/rfas/01930b5e-0000-7000-8000-0000000000ff", 404), ("/gone", 404)]
    )
    async def test_keeps_the_navigation_of_who_is_signed_in(
        self, sit: Sit, visitor: httpx.AsyncClient, address: str, status: int
    ) -> None:
        reader = await sit("viewer")
        answer = await reader.get(address)
        stranger = await visitor.get("/gone")

        assert answer.status_code == status
        assert 'id="sidebar"' in html_of(answer)
        assert (stranger.status_code, 'id="sidebar"' in html_of(stranger)) == (404, False)

    async def test_of_ours_keeps_it_too(self, app: FastAPI, sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
        reader = await sit("viewer")

        def broken(*_: object, **__: object) -> None:
            raise RuntimeError

        monkeypatch.setattr("saraban.workflow.service.list_tasks", broken)
        answer = await reader.get("/inbox")

        assert answer.status_code == 500
        assert 'id="sidebar"' in html_of(answer)


async def test_the_account_menu_has_a_name_on_a_phone_too(sit: Sit) -> None:
    page = html_of(await (await sit("viewer", "en")).get("/inbox"))

    assert 'aria-label="Account: ' in page
