"""Signing in and out by the pages, staying signed in, and who may send a form."""

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from tests.conftest import PASSWORD, client_of
from tests.features.web.conftest import BROWSER, Sit
from tests.features.web.page_html import html_of


async def log_in(browser: httpx.AsyncClient, username: str = "dc.contractor", **changes: str) -> httpx.Response:
    return await browser.post("/login", data={"username": username, "password": PASSWORD} | changes)


class TestLogIn:
    async def test_keeps_both_tokens_where_scripts_cannot_read_them(self, visitor: httpx.AsyncClient) -> None:
        answer = await log_in(visitor)

        cookies = [value for name, value in answer.headers.multi_items() if name == "set-cookie"]
        tokens = [value for value in cookies if value.startswith("saraban_")]
        assert len(tokens) == 3  # and the one by which the browser is known the next time
        assert all("HttpOnly" in value and "SameSite=lax" in value for value in tokens)
        assert answer.headers["location"] == "/inbox"

    @pytest.mark.parametrize(
        ("language", "words"), [("th", "ชื่อผู้ใช้หรือรหัสผ่านไม่ถูกต้อง"), ("en", "The user name or password is incorrect.")]
    )
    async def test_says_in_the_readers_language_that_it_was_wrong(
        self, visitor: httpx.AsyncClient, language: str, words: str
    ) -> None:
        visitor.cookies.set("lang", language)
        answer = await log_in(visitor, password="wrong")

        assert answer.status_code == 401
        assert words in html_of(answer)
        assert 'value="dc.contractor"' in html_of(answer)
        assert "wrong-password" not in html_of(answer)

    async def test_tells_who_failed_too_often_to_wait(self, visitor: httpx.AsyncClient) -> None:
        for _ in range(5):
            await log_in(visitor, "viewer", password="wrong")
        answer = await log_in(visitor, "viewer")

        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 60
        assert "เข้าสู่ระบบไม่สำเร็จหลายครั้งเกินไป" in html_of(answer)
        assert "data-locked-for" in html_of(answer)

    async def test_knows_the_browser_again_when_others_failed_at_its_address(
        self, visitor: httpx.AsyncClient, app: FastAPI
    ) -> None:
        await log_in(visitor)
        await visitor.post("/logout")
        async with client_of(app, **BROWSER) as colleague:
            for _ in range(5):
                await log_in(colleague, password="wrong")
            assert (await log_in(colleague)).status_code == 429

        assert "saraban_access" not in visitor.cookies
        assert (await log_in(visitor)).status_code == 303
        body = {"username": "dc.contractor", "password": PASSWORD}
        assert (await visitor.post("/api/v1/auth/login", json=body)).status_code == 200

    @pytest.mark.parametrize(
        "address",
        ["//evil.example/", "//[", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "/login"],
    )
    async def test_leads_nobody_elsewhere(self, visitor: httpx.AsyncClient, address: str) -> None:
        answer = await log_in(visitor, next=address)

        assert answer.headers["location"] == "/inbox"

    async def test_goes_where_the_person_was_going(self, visitor: httpx.AsyncClient) -> None:
        sent = await visitor.get("/rfas?q=TER")
        assert sent.headers["location"] == "/login?next=/rfas%3Fq%3DTER"
        answer = await log_in(visitor, next="/rfas?q=TER")

        assert answer.headers["location"] == "/rfas?q=TER"

    async def test_shows_the_demo_accounts_outside_production_only(
        self, app: FastAPI, visitor: httpx.AsyncClient
    ) -> None:
        assert PASSWORD in html_of(await visitor.get("/login"))
        app.state = replace(app.state, allows_demo=False)

        assert PASSWORD not in html_of(await visitor.get("/login"))

    async def test_refuses_a_form_of_another_site(self, visitor: httpx.AsyncClient) -> None:
        visitor.headers["Sec-Fetch-Site"] = "cross-site"
        answer = await log_in(visitor)

        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers or "saraban_access" not in answer.headers["set-cookie"]


class TestStayingSignedIn:
    async def test_renews_an_access_token_that_ran_out_without_a_redirect(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        del browser.cookies["saraban_access"]
        answer = await browser.get("/inbox", headers={"HX-Request": "true"})

        assert answer.status_code == 200
        assert "saraban_access" in browser.cookies

    async def test_renews_it_for_a_page_that_is_not_there_too(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        before = browser.cookies["saraban_refresh"]
        browser.cookies.delete("saraban_access")
        answer = await browser.get("/rfas/01930b5e-0000-7000-8000-000000000001")

        assert answer.status_code == 404
        assert browser.cookies["saraban_refresh"] != before

    async def test_sends_htmx_to_the_log_in_when_it_is_over(self, visitor: httpx.AsyncClient) -> None:
        answer = await visitor.get("/inbox", headers={"HX-Request": "true"})

        assert answer.status_code == 401
        assert answer.headers["hx-redirect"] == "/login"

    async def test_ends_with_logging_out(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        old = dict(browser.cookies)
        await browser.post("/logout")
        browser.cookies.update({"saraban_refresh": old["saraban_refresh"]})

        assert (await browser.get("/inbox")).status_code == 303

    async def test_does_not_let_the_api_read_the_refresh_cookie(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        browser.cookies.delete("saraban_access")

        assert (await browser.get("/api/v1/auth/me")).status_code == 401


class TestForms:
    @pytest.mark.parametrize("path", ["/rfas/new", "/logout", "/language", "/notifications/read-all", "/project"])
    async def test_are_refused_when_another_site_sends_them(self, sit: Sit, path: str) -> None:
        browser = await sit("dc.contractor")
        answer = await browser.post(
            path, data={"lang": "en"}, headers={"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
        )

        assert answer.status_code == 403
        assert "คำขอมาจากเว็บไซต์อื่น" in html_of(answer)


class TestLanguage:
    @pytest.mark.parametrize(
        ("asked", "given"), [("en-US,en;q=0.9", "en"), ("th-TH,th;q=0.9,en;q=0.8", "th"), ("ja,de", "th"), ("", "th")]
    )
    async def test_is_the_browsers_until_somebody_chooses(
        self, visitor: httpx.AsyncClient, asked: str, given: str
    ) -> None:
        visitor.headers["Accept-Language"] = asked
        assert f'<html lang="{given}">' in html_of(await visitor.get("/login"))
        await log_in(visitor)

        assert f'<html lang="{given}">' in html_of(await visitor.get("/inbox"))
        assert "lang" not in visitor.cookies

    async def test_is_what_was_chosen_before_signing_in(self, visitor: httpx.AsyncClient) -> None:
        visitor.headers["Accept-Language"] = "en"
        await visitor.post("/language", data={"lang": "th"})
        await log_in(visitor)

        assert '<html lang="th">' in html_of(await visitor.get("/inbox"))

    async def test_is_remembered_with_the_account(self, sit: Sit, visitor: httpx.AsyncClient) -> None:
        browser = await sit("dc.contractor")
        await browser.post("/language", data={"lang": "en", "next": "/rfas"})
        assert '<html lang="en">' in html_of(await browser.get("/rfas"))
        visitor.headers["Cookie"] = "lang=th"
        answer = await log_in(visitor)

        assert "lang=en" in answer.headers["set-cookie"]
