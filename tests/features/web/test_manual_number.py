"""A number stated by hand in the browser: shown first, then done once."""

import re
from datetime import timedelta
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.numbering.series.models import LedgerEntry
from tests.conftest import SignIn
from tests.features.web.conftest import Sit
from tests.features.web.forms import selected
from tests.features.web.page_html import html_of
from tests.numbering_requests import GENERATE, present, read_project

PAGE = "/numbers/by-hand"
WHY = "เลขที่เดิมจากทะเบียนกระดาษ"


async def typed(browser: httpx.AsyncClient, signed_in: SignIn, **more: str) -> dict[str, str]:
    """Open the form and fill it in for a letter, as a browser would send it."""
    page = html_of(await browser.get(PAGE))
    organizations = (await read_project(await signed_in("padmin"))).organizations
    form = {name: selected(page, name) for name in ("key", "projectPublicId")}
    form |= {"correspondenceTypeCode": "LETTER", "reason": WHY, "sequence": "42"}
    form |= {"originatorOrganizationPublicId": organizations["คคง."], "to": organizations["ผรม.1"]}
    return form | more


async def entries(app: FastAPI) -> list[LedgerEntry]:
    async with app.state.db.reading() as session:
        return list(await session.scalars(sa.select(LedgerEntry).order_by(LedgerEntry.id)))


async def next_sequence(signed_in: SignIn) -> int:
    client = await signed_in("padmin")
    return int((await client.post(GENERATE, json=(await read_project(client)).letter())).json()["sequence"])


class TestForm:
    @pytest.mark.parametrize(("language", "words"), [("th", "บันทึกเลขที่ออกนอกระบบ"), ("en", "Register an issued number")])
    @pytest.mark.sampled("[th")
    async def test_is_for_who_manages_the_numbers(self, sit: Sit, language: str, words: str) -> None:
        admin, author = await sit("padmin", language), await sit("dc.consultant", language)

        assert words in html_of(await admin.get(PAGE))
        assert [(await author.get(PAGE)).status_code, (await author.post(PAGE, data={})).status_code] == [403, 403]

    async def test_is_reached_from_the_account_of_a_series(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        await next_sequence(signed_in)
        series = (await entries(app))[0].series
        admin = await sit("padmin")
        project = selected(html_of(await admin.get(PAGE)), "projectPublicId")

        account = await admin.get("/numbers/account", params={"project": project, "series": series})

        assert f'href="{PAGE}?project={project}"' in html_of(account)

    @pytest.mark.parametrize(("language", "words"), [("th", "ชุดเลขนี้อยู่ที่ 0"), ("en", "The series is at 0.")])
    @pytest.mark.sampled("[th")
    async def test_shows_what_would_happen_before_a_reason_is_given(
        self, sit: Sit, signed_in: SignIn, app: FastAPI, language: str, words: str
    ) -> None:
        admin = await sit("padmin", language)

        shown = await admin.post(f"{PAGE}/check", data=await typed(admin, signed_in, reason="", issuedOn="2024-08-14"))

        assert "คคง.-ผรม.1-0042-2567" in html_of(shown)
        assert words in html_of(shown)
        assert 'name="confirmedJump" value="42"' in html_of(shown)
        assert await entries(app) == []

    async def test_half_filled_in_is_no_error(self, sit: Sit, signed_in: SignIn) -> None:
        admin = await sit("padmin")

        empty = await admin.post(f"{PAGE}/check", data=await typed(admin, signed_in, sequence=""))
        wrong = await admin.post(f"{PAGE}/check", data=await typed(admin, signed_in, sequence="", documentNumber="ABC"))

        assert (empty.status_code, wrong.status_code) == (200, 200)
        assert 'class="fault"' not in html_of(empty)
        assert "คคง.-ผรม.1-0001-25" in html_of(wrong)


class TestStatement:
    async def test_is_final_and_done_once_however_often_it_is_sent(
        self, sit: Sit, signed_in: SignIn, app: FastAPI
    ) -> None:
        admin = await sit("padmin")
        form = await typed(admin, signed_in)

        answers = [await admin.post(PAGE, data=form) for _ in range(2)]
        page = html_of(await admin.get(answers[0].headers["location"]))

        (entry,) = await entries(app)
        assert {answer.headers["location"] for answer in answers} == {f"/numbers/{entry.public_id}?done=stated"}
        assert (entry.document_number_status, entry.source, entry.reason) == ("CONFIRMED", "OVERRIDE", WHY)
        assert "บันทึกเลขที่ออกนอกระบบแล้ว" in page
        assert await next_sequence(signed_in) == 1

    async def test_of_an_earlier_day_shows_that_day(self, sit: Sit, signed_in: SignIn) -> None:
        admin = await sit("padmin", "en")

        answer = await admin.post(PAGE, data=await typed(admin, signed_in, issuedOn="2024-08-14"))
        page = html_of(await admin.get(answer.headers["location"]))

        assert "คคง.-ผรม.1-0042-2567" in page
        assert re.search(r"Date issued</th><td><time[^>]*>14 Aug 2024<", page)

    async def test_moves_the_series_after_the_jump_was_shown(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        admin = await sit("padmin")
        form = await typed(admin, signed_in, moveCounter="1")

        blind = await admin.post(PAGE, data=form)
        shown = {"key": selected(html_of(blind), "key"), "confirmedJump": selected(html_of(blind), "confirmedJump")}
        moved = await admin.post(PAGE, data=form | shown)

        assert (blind.status_code, shown["confirmedJump"]) == (422, "42")
        assert moved.status_code == 303, moved.text
        assert len(await entries(app)) == 1
        assert await next_sequence(signed_in) == 43

    async def test_of_a_number_that_is_taken_is_refused(self, sit: Sit, signed_in: SignIn, app: FastAPI) -> None:
        admin = await sit("padmin")
        await next_sequence(signed_in)

        answer = await admin.post(PAGE, data=await typed(admin, signed_in, sequence="1"))

        assert answer.status_code == 409
        assert "NUMBER_TAKEN" in html_of(answer)
        assert len(await entries(app)) == 1

    async def test_that_cannot_be_is_told_at_its_field_and_nothing_is_lost(
        self, sit: Sit, signed_in: SignIn, app: FastAPI
    ) -> None:
        admin = await sit("padmin")
        for wrong, field in [
            ({"reason": "abc"}, "reason"),
            ({"sequence": "x"}, "sequence"),
            ({"sequence": "9" * 40}, "sequence"),
            ({"documentNumber": "คคง.-ผรม.1-0042-2569"}, "documentNumber"),
            ({"sequence": "", "documentNumber": "ABC"}, "documentNumber"),
            ({"issuedOn": "2567-13-14"}, "issuedOn"),
            ({"issuedOn": (present() + timedelta(days=2)).date().isoformat()}, "issuedOn"),
            ({"originatorOrganizationPublicId": str(UUID(int=7))}, "originatorOrganizationPublicId"),
            ({"to": "nobody"}, "to"),
            ({"revision": "?"}, "revision"),
        ]:
            answer = await admin.post(PAGE, data=await typed(admin, signed_in, revision="B") | wrong)

            assert answer.status_code == 422, (wrong, field)
            assert f'id="e-{field}"' in html_of(answer), (wrong, field)
            assert "revision" in wrong or 'value="B"' in html_of(answer), (wrong, field)
            assert await entries(app) == [], (wrong, field)
