"""One number in the browser: its life, and the steps that its reader may take."""

import re
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.numbering.series.models import LedgerEntry
from tests.conftest import SignIn
from tests.features.web.conftest import Sit
from tests.features.web.forms import new_rfa, selected
from tests.features.web.page_html import html_of
from tests.numbering_requests import GENERATE, let_run_out, read_project

WHY = "ออกผิดผู้รับ"
RESERVE = "/api/v1/document-numbering/reserve"


async def drawn(signed_in: SignIn, username: str = "padmin", address: str = GENERATE) -> dict[str, Any]:
    client = await signed_in(username)
    project = await read_project(client)
    answer = await client.post(address, json=project.letter())
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body | {"page": f"/numbers/{body.get('publicId') or body['reservationToken']}"}


async def state_of(app: FastAPI, address: str) -> LedgerEntry:
    async with app.state.db.reading() as session:
        public_id = UUID(address.rpartition("/")[2].partition("?")[0])
        found: LedgerEntry | None = await session.scalar(
            sa.select(LedgerEntry).where(LedgerEntry.public_id == public_id)
        )
    assert found is not None
    return found


class TestPage:
    @pytest.mark.parametrize(("language", "words"), [("th", "ออกเลขที่"), ("en", "Issued")])
    @pytest.mark.sampled("[th")
    async def test_is_reached_from_the_account_and_tells_the_life(self, sit: Sit, language: str, words: str) -> None:
        contractor, admin = await sit("dc.contractor"), await sit("padmin", language)
        document = await new_rfa(contractor)
        listed = await admin.get("/numbers", headers={"HX-Request": "true"})
        (series,) = re.findall(r'class="number row-link" href="([^"]+)"', html_of(listed))
        account = html_of(await admin.get(series.replace("&amp;", "&")))
        (address,) = re.findall(r'class="number" href="(/numbers/[^"]+)"', account)

        page = await admin.get(address)

        assert page.status_code == 200
        assert words in html_of(page)
        assert f'href="/documents/rfa/{document.rpartition("/")[2]}"' in html_of(page)
        assert "/void" not in html_of(page)  # a document carries it

    async def test_is_not_there_for_another_organization(self, sit: Sit, signed_in: SignIn) -> None:
        number = await drawn(signed_in, "dc.consultant")
        stranger, own = await sit("dc.contractor"), await sit("dc.consultant")

        answers = [await browser.get(number["page"]) for browser in (stranger, own)]

        assert [answer.status_code for answer in answers] == [404, 200]
        assert "/void" not in html_of(answers[1])


class TestVoid:
    async def test_takes_a_reason_and_shows_the_number_void(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        number = await drawn(signed_in)
        admin = await sit("padmin")

        answer = await admin.post(f"{number['page']}/void", data={"reason": WHY})
        page = await admin.get(answer.headers["location"])

        assert "ยกเลิกเลขที่แล้ว" in html_of(page)
        assert WHY in html_of(page)
        assert (await state_of(app, number["page"])).document_number_status == "VOID"

    @pytest.mark.parametrize("reason", ["", "abc", "x" * 501])
    async def test_without_a_good_reason_changes_nothing(
        self, sit: Sit, signed_in: SignIn, app: FastAPI, reason: str
    ) -> None:
        number = await drawn(signed_in)
        admin = await sit("padmin")

        answer = await admin.post(f"{number['page']}/void", data={"reason": reason})

        assert answer.status_code == 422
        assert 'id="e-reason"' in html_of(answer)
        assert (await state_of(app, number["page"])).document_number_status == "CONFIRMED"

    async def test_twice_tells_the_second_that_the_state_has_changed(self, sit: Sit, signed_in: SignIn) -> None:
        number = await drawn(signed_in)
        admin = await sit("padmin", "en")

        answers = [await admin.post(f"{number['page']}/void", data={"reason": WHY}) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 409]
        assert "NUMBER_STATE_CONFLICT" in html_of(answers[1])

    async def test_is_closed_to_who_does_not_administer_the_project(
        self, sit: Sit, signed_in: SignIn, app: FastAPI
    ) -> None:
        number = await drawn(signed_in, "dc.consultant")
        browser = await sit("dc.consultant")

        answer = await browser.post(f"{number['page']}/void", data={"reason": WHY})

        assert answer.status_code == 403
        assert (await state_of(app, number["page"])).document_number_status == "CONFIRMED"


class TestReplace:
    async def test_draws_one_number_for_the_same_parties_however_often_it_is_sent(
        self, sit: Sit, signed_in: SignIn, app: FastAPI
    ) -> None:
        number = await drawn(signed_in)
        admin = await sit("padmin")
        key = selected(html_of(await admin.get(number["page"])), "key")
        form = {"reason": WHY, "replace": "1", "key": key}

        answers = [await admin.post(f"{number['page']}/void", data=form) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303], html_of(answers[0])
        assert answers[0].headers["location"] == answers[1].headers["location"]
        new = await state_of(app, answers[0].headers["location"])
        old = await state_of(app, number["page"])
        assert (old.document_number_status, old.replaced_by_uuid) == ("VOID", new.public_id)
        assert (new.series, new.sequence_number) == (old.series, old.sequence_number + 1)
        assert number["documentNumber"] in html_of(await admin.get(answers[0].headers["location"]))


class TestConfirm:
    @pytest.mark.parametrize(
        ("language", "offered", "told"),
        [
            ("th", "ยืนยันเลขที่", "ยืนยันเลขที่แล้ว"),
            ("en", "Confirm number", "Number confirmed."),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_makes_ones_own_reservation_final(
        self, sit: Sit, signed_in: SignIn, app: FastAPI, language: str, offered: str, told: str
    ) -> None:
        number = await drawn(signed_in, "dc.consultant", RESERVE)
        browser = await sit("dc.consultant", language)
        page = html_of(await browser.get(number["page"]))

        answers = [await browser.post(f"{number['page']}/confirm") for _ in range(2)]
        after = html_of(await browser.get(answers[0].headers["location"]))

        assert f'action="{number["page"]}/confirm"' in page
        assert offered in page
        assert [answer.status_code for answer in answers] == [303, 303]
        assert told in after
        assert "/confirm" not in after
        assert (await state_of(app, number["page"])).document_number_status == "CONFIRMED"

    async def test_is_closed_to_somebody_else(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        number = await drawn(signed_in, "dc.consultant", RESERVE)
        admin = await sit("padmin")
        page = await admin.get(number["page"])

        answer = await admin.post(f"{number['page']}/confirm")

        assert "/confirm" not in html_of(page)
        assert answer.status_code == 404
        assert (await state_of(app, number["page"])).document_number_status == "RESERVED"

    async def test_after_the_expiry_tells_that_it_is_over(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        number = await drawn(signed_in, "dc.consultant", RESERVE)
        await let_run_out(app.state.db, number["reservationToken"])
        browser = await sit("dc.consultant")

        answer = await browser.post(f"{number['page']}/confirm")

        assert answer.status_code == 410
        assert "การจองเลขที่นี้หมดอายุแล้ว" in html_of(answer)
        assert f'action="{number["page"]}/confirm"' not in html_of(answer)


class TestCancel:
    async def test_gives_ones_own_reservation_up(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        number = await drawn(signed_in, "dc.consultant", RESERVE)
        browser = await sit("dc.consultant")
        offered = html_of(await browser.get(number["page"]))

        answer = await browser.post(f"{number['page']}/cancel", data={"reason": ""})

        assert f'action="{number["page"]}/cancel"' in offered
        assert "ยกเลิกการจองแล้ว" in html_of(await browser.get(answer.headers["location"]))
        assert (await state_of(app, number["page"])).document_number_status == "CANCELLED"

    async def test_is_not_offered_for_somebody_elses(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        number = await drawn(signed_in, "dc.consultant", RESERVE)
        admin = await sit("padmin")
        page = await admin.get(number["page"])

        answer = await admin.post(f"{number['page']}/cancel", data={"reason": WHY})

        assert "/cancel" not in html_of(page)
        assert answer.status_code == 404
        assert (await state_of(app, number["page"])).document_number_status == "RESERVED"


async def range_form(browser: httpx.AsyncClient, series: str, **typed: str) -> dict[str, str]:
    page = html_of(await browser.get("/numbers/ranges", params={"series": series}))
    form = {"projectPublicId": selected(page, "projectPublicId"), "series": series, "kind": "KEPT", "reason": WHY}
    return form | {"firstNumber": "10", "lastNumber": "19"} | typed


class TestRanges:
    @pytest.mark.parametrize(("language", "words"), [("th", "ไม่มีช่วงเลขที่จอง"), ("en", "No reserved or blocked ranges")])
    async def test_are_friendly_before_the_first(self, sit: Sit, language: str, words: str) -> None:
        admin = await sit("padmin", language)

        assert words in html_of(await admin.get("/numbers/ranges"))

    async def test_are_closed_listed_and_released(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        number = await drawn(signed_in)
        series = (await state_of(app, number["page"])).series
        admin = await sit("padmin", "en")

        closed = await admin.post("/numbers/ranges", data=await range_form(admin, series))
        listed = html_of(await admin.get(closed.headers["location"]))
        (address,) = re.findall(r'action="(/numbers/ranges/[^"]+/release)"', listed)
        released = await admin.post(
            address, data={"reason": WHY, "projectPublicId": selected(listed, "projectPublicId")}
        )
        after = html_of(await admin.get(released.headers["location"]))

        assert "10–19" in listed
        assert "Released" in after
        assert "/release" not in after

    async def test_that_are_barred_are_stepped_over_by_the_next_draw(
        self, sit: Sit, signed_in: SignIn, app: FastAPI
    ) -> None:
        number = await drawn(signed_in)
        series = (await state_of(app, number["page"])).series
        admin = await sit("padmin")
        form = await range_form(admin, series, kind="BARRED", firstNumber="2", lastNumber="5")

        answer = await admin.post("/numbers/ranges", data=form)

        assert answer.status_code == 303, answer.text
        assert (await drawn(signed_in))["sequence"] == 6

    @pytest.mark.parametrize(
        ("wrong", "status", "told"),
        [
            ({"firstNumber": "20", "lastNumber": "10"}, 422, 'id="e-lastNumber"'),
            ({"firstNumber": "x"}, 422, 'id="e-firstNumber"'),
            ({"series": "NO-SUCH-{SEQ}"}, 422, 'id="e-series"'),
            ({"reason": ""}, 422, 'id="e-reason"'),
            ({"firstNumber": "1"}, 409, "NUMBER_RANGE_PASSED"),
        ],
    )
    async def test_that_cannot_be_closed_keep_what_was_typed(
        self, sit: Sit, signed_in: SignIn, app: FastAPI, wrong: dict[str, str], status: int, told: str
    ) -> None:
        number = await drawn(signed_in)
        admin = await sit("padmin")
        form = await range_form(admin, (await state_of(app, number["page"])).series)

        answer = await admin.post("/numbers/ranges", data=form | wrong)

        assert answer.status_code == status
        assert told in html_of(answer)
        assert 'value="19"' in html_of(answer) or wrong.get("lastNumber") == "10"

    async def test_are_closed_to_who_may_not_see_counters(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")

        assert (await browser.get("/numbers/ranges")).status_code == 403

    async def test_that_may_be_a_slip_are_asked_about_first(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        number = await drawn(signed_in)
        series = (await state_of(app, number["page"])).series
        admin = await sit("padmin", "en")
        form = await range_form(admin, series, kind="BARRED", firstNumber="10", lastNumber="99999")

        asked = await admin.post("/numbers/ranges", data=form)
        (size,) = re.findall(r'name="confirmedSize" value="(\d+)"', html_of(asked))
        done = await admin.post("/numbers/ranges", data=form | {"confirmedSize": size})

        assert (asked.status_code, size) == (422, "99990")
        assert "continues at 100000" in html_of(asked)
        assert done.status_code == 303, done.text
