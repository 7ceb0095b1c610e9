"""The pages on which people choose a password: by an invitation, or in place of the present one."""

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.identity import service as identity
from saraban.identity.dependencies import LinkRules
from saraban.identity.service import Invitation
from tests.conftest import PASSWORD
from tests.factories.contexts import context
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

CHOSEN = "Chosen-By-Me-7"
OWN = "/account/password"


async def invited(app: FastAPI, **changes: str) -> Invitation:
    given = {"username": "somchai", "email": "somchai@example.org", "first_name": "สมชาย"} | changes
    async with app.state.db.writing() as session:
        by = await identity.system_caller(session)
        return await identity.invite_user(context(by, now=app.state.clock.now()), session, identity.NewAccount(**given))


def typed(password: str = CHOSEN, repeat: str | None = None, **more: str) -> dict[str, str]:
    return {"password": password, "repeat": password if repeat is None else repeat} | more


class TestInvitationPage:
    @pytest.mark.parametrize(("language", "words"), [("th", "12 ถึง 128 ตัวอักษร"), ("en", "12 to 128 characters")])
    async def test_says_whose_it_is_and_the_rules(
        self, app: FastAPI, visitor: httpx.AsyncClient, language: str, words: str
    ) -> None:
        visitor.cookies.set("lang", language)
        page = await visitor.get((await invited(app)).path)

        assert page.status_code == 200
        assert words in html_of(page)
        assert "สมชาย" in html_of(page)
        assert 'value="somchai"' in html_of(page)

    async def test_sets_the_password_and_signs_in(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        answer = await visitor.post((await invited(app)).path, data=typed())

        assert (answer.status_code, answer.headers["location"]) == (303, "/inbox")
        assert "สมชาย" in html_of(await visitor.get("/inbox"))
        signed_in = await visitor.post("/login", data={"username": "somchai", "password": CHOSEN})
        assert signed_in.headers["location"] == "/inbox"

    async def test_signs_out_whoever_used_this_browser_before(self, app: FastAPI, sit: Sit) -> None:
        browser = await sit("viewer")
        await browser.post((await invited(app)).path, data=typed())

        assert "สมชาย" in html_of(await browser.get("/inbox"))

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (typed(repeat="Another-7"), "รหัสผ่านสองช่องไม่ตรงกัน"),
            (typed("short"), "รหัสผ่านต้องมี 12 ถึง 128 ตัวอักษร"),
            (typed("somchai-2026"), "รหัสผ่านนี้มีแต่ชื่อคน องค์กร หรือโครงการ"),
        ],
    )
    async def test_names_what_is_wrong_and_stays_open(
        self, app: FastAPI, visitor: httpx.AsyncClient, data: dict[str, str], words: str
    ) -> None:
        invitation = await invited(app)
        answer = await visitor.post(invitation.path, data=data)

        assert answer.status_code == 422
        assert words in html_of(answer)
        assert data["password"] not in html_of(answer)
        assert (await visitor.post(invitation.path, data=typed())).status_code == 303

    async def test_says_whom_to_ask_when_the_link_is_no_good(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        used, expired = await invited(app), await invited(app, username="late", email="late@example.org")
        await visitor.post(used.path, data=typed())
        async with app.state.db.writing() as session:
            by = await identity.system_caller(session)
            long_ago = app.state.clock.now() - timedelta(days=8)
            expired = await identity.invite_again(context(by, now=long_ago), session, username="late")

        for path in (used.path, expired.path, "/invitations/never-was-one", f"/invitations/{'x' * 200}"):
            for page in (await visitor.get(path), await visitor.post(path, data=typed())):
                assert page.status_code == 410, path
                assert "ขอลิงก์ใหม่จากผู้ดูแลระบบ" in html_of(page)
                assert 'name="password"' not in html_of(page)

    async def test_is_slow_with_somebody_who_guesses(self, visitor: httpx.AsyncClient) -> None:
        answers = [await visitor.post(f"/invitations/guess-{number}", data=typed()) for number in range(61)]

        assert [one.status_code for one in answers] == [410] * 60 + [429]
        assert int(answers[-1].headers["retry-after"]) >= 1

    async def test_is_not_for_another_sites_forms(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        path = (await invited(app)).path
        answer = await visitor.post(path, data=typed(), headers={"Sec-Fetch-Site": "cross-site"})

        assert answer.status_code == 403


class TestOwnPassword:
    async def test_is_changed_and_ends_the_other_sessions(self, sit: Sit) -> None:
        here, elsewhere = await sit("viewer"), await sit("viewer")
        answer = await here.post(OWN, data=typed(current=PASSWORD))

        assert answer.headers["location"] == f"{OWN}?done=changed"
        assert "เปลี่ยนรหัสผ่านแล้ว" in html_of(await here.get(answer.headers["location"]))
        for browser in (here, elsewhere):
            browser.cookies.delete("saraban_access")
        assert (await here.get("/inbox")).status_code == 200
        assert (await elsewhere.get("/inbox")).status_code == 303
        assert (await here.post("/login", data={"username": "viewer", "password": PASSWORD})).status_code == 401
        assert (await here.post("/login", data={"username": "viewer", "password": CHOSEN})).status_code == 303

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (typed(current="wrong"), "รหัสผ่านปัจจุบันไม่ถูกต้อง"),
            (typed(repeat="Another-7", current=PASSWORD), "รหัสผ่านสองช่องไม่ตรงกัน"),
            (typed("viewer-20261", current=PASSWORD), "รหัสผ่านนี้มีแต่ชื่อคน องค์กร หรือโครงการ"),
            (typed(PASSWORD, current=PASSWORD), "รหัสผ่านนี้มีแต่ชื่อคน องค์กร หรือโครงการ"),
        ],
    )
    async def test_stays_when_something_is_wrong(self, sit: Sit, data: dict[str, str], words: str) -> None:
        browser = await sit("viewer")
        answer = await browser.post(OWN, data=data)

        assert answer.status_code == 422
        assert words in html_of(answer)
        assert (await browser.post("/login", data={"username": "viewer", "password": PASSWORD})).status_code == 303

    async def test_cannot_be_guessed_in_a_session_that_was_left_open(self, sit: Sit) -> None:
        browser = await sit("viewer")
        answers = [await browser.post(OWN, data=typed(current=f"guess-{number}")) for number in range(11)]

        assert [one.status_code for one in answers] == [422] * 10 + [429]

    async def test_is_found_in_the_menu(self, sit: Sit) -> None:
        browser = await sit("viewer", "en")

        assert 'href="/account/password"' in html_of(await browser.get("/inbox"))
        assert (await browser.get(OWN)).status_code == 200


class TestForgottenPassword:
    @pytest.fixture
    def mailing(self, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            app, "state", replace(app.state, links=LinkRules("https://dms.example.org", are_mailed=True))
        )

    @pytest.mark.usefixtures("mailing")
    @pytest.mark.parametrize(("language", "words"), [("th", "หากมีบัญชีนี้"), ("en", "If there is such an account")])
    async def test_is_answered_alike_whether_there_is_an_account(
        self, visitor: httpx.AsyncClient, language: str, words: str
    ) -> None:
        visitor.cookies.set("lang", language)
        pages = [
            await visitor.post("/forgot-password", data={"identifier": name})
            for name in ("viewer", "nobody", "viewer@saraban.invalid", "nobody@example.org", "")
        ]

        assert [one.status_code for one in pages] == [200] * 5
        assert len({html_of(one) for one in pages}) == 1
        assert words in html_of(pages[0])

    @pytest.mark.usefixtures("mailing")
    async def test_has_a_form_on_the_page_to_sign_in(self, visitor: httpx.AsyncClient) -> None:
        assert 'action="/forgot-password"' in html_of(await visitor.get("/login"))

    async def test_asks_the_administrator_where_nothing_is_mailed(self, visitor: httpx.AsyncClient) -> None:
        visitor.cookies.set("lang", "en")
        for page in (
            await visitor.get("/login"),
            await visitor.post("/forgot-password", data={"identifier": "viewer"}),
        ):
            assert 'action="/forgot-password"' not in html_of(page)
            assert "Ask your administrator for a link" in html_of(page)
            assert "on its way" not in html_of(page)

    async def test_is_not_for_another_sites_forms(self, visitor: httpx.AsyncClient) -> None:
        answer = await visitor.post(
            "/forgot-password", data={"identifier": "viewer"}, headers={"Sec-Fetch-Site": "cross-site"}
        )

        assert answer.status_code == 403


class TestForcedChange:
    SET = "Handed-Over-By-Admin"

    async def hand(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        async with app.state.db.writing() as session:
            by = context(await identity.system_caller(session), now=app.state.clock.now())
            await identity.set_password(by, session, username="viewer", password=self.SET)
        await visitor.post("/login", data={"username": "viewer", "password": self.SET})

    @pytest.mark.parametrize(
        ("language", "words"), [("th", "ผู้ดูแลระบบตั้งรหัสผ่านให้คุณไว้"), ("en", "An administrator set your password")]
    )
    async def test_leads_every_page_to_the_change(
        self, app: FastAPI, visitor: httpx.AsyncClient, language: str, words: str
    ) -> None:
        await self.hand(app, visitor)
        visitor.cookies.set("lang", language)
        for path in ("/", "/inbox", "/rfas", "/people"):
            answer = await visitor.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, OWN), path
        assert (await visitor.post("/people", data={})).status_code == 303

        assert words in html_of(await visitor.get(OWN))

    async def test_ends_with_the_change(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        await self.hand(app, visitor)
        refused = await visitor.post(OWN, data=typed(self.SET, current=self.SET))
        changed = await visitor.post(OWN, data=typed(current=self.SET))

        assert (refused.status_code, changed.headers["location"]) == (422, f"{OWN}?done=changed")
        assert (await visitor.get("/inbox")).status_code == 200

    async def test_lets_the_person_sign_out(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        await self.hand(app, visitor)
        answer = await visitor.post("/logout")

        assert (answer.status_code, answer.headers["location"]) == (303, "/login")

    async def test_shows_a_fragment_why_it_is_refused(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        await self.hand(app, visitor)
        answer = await visitor.get("/inbox", headers={"HX-Request": "true"})

        assert (answer.status_code, answer.headers["hx-retarget"]) == (403, "#notices")


class TestApi:
    async def test_changes_the_password_and_keeps_the_session_that_is_named(
        self, app: FastAPI, visitor: httpx.AsyncClient
    ) -> None:
        login = {"username": "viewer", "password": PASSWORD}
        mine, other = [(await visitor.post("/api/v1/auth/login", json=login)).json() for _ in range(2)]
        body = {"currentPassword": PASSWORD, "newPassword": CHOSEN, "refreshToken": mine["refreshToken"]}
        bearer = {"Authorization": f"Bearer {mine['accessToken']}"}
        answer = await visitor.post("/api/v1/auth/password", json=body, headers=bearer)

        assert answer.status_code == 204
        for pair, status in ((other, 401), (mine, 200)):
            renewed = await visitor.post("/api/v1/auth/refresh", json={"refreshToken": pair["refreshToken"]})
            assert renewed.status_code == status

    async def test_names_the_field_that_is_wrong(self, visitor: httpx.AsyncClient) -> None:
        login = {"username": "viewer", "password": PASSWORD}
        token = (await visitor.post("/api/v1/auth/login", json=login)).json()["accessToken"]
        body = {"currentPassword": "wrong", "newPassword": CHOSEN}
        answer = await visitor.post("/api/v1/auth/password", json=body, headers={"Authorization": f"Bearer {token}"})

        assert answer.status_code == 422
        assert [one["pointer"] for one in answer.json()["errors"]] == ["/currentPassword"]

    async def test_counts_and_audits_tries_that_were_wrong(self, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        login = {"username": "viewer", "password": PASSWORD}
        token = (await visitor.post("/api/v1/auth/login", json=login)).json()["accessToken"]
        body, bearer = {"currentPassword": "wrong", "newPassword": CHOSEN}, {"Authorization": f"Bearer {token}"}
        tries = [await visitor.post("/api/v1/auth/password", json=body, headers=bearer) for _ in range(11)]

        assert [one.status_code for one in tries] == [422] * 10 + [429]
        assert 800 < int(tries[-1].headers["retry-after"]) <= 900
        failures = sa.select(AuditLog.entity_type, AuditLog.entity_id, AuditLog.ip_address).where(
            AuditLog.action == "user.change_password_failed"
        )
        async with app.state.db.reading() as session:
            rows = (await session.execute(failures)).all()
            viewer = await identity.find_caller(session, username="viewer")
        assert viewer is not None
        assert [tuple(row) for row in rows] == [("user", str(viewer.public_id), "127.0.0.1")] * 10
