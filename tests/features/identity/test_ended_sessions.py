"""An access token ends with its session, its account and its rights; people list and end their own sessions."""

from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.identity.domain.account import device_name
from saraban.identity.models import User
from tests.conftest import PASSWORD, SignIn, client_of
from tests.features.web.conftest import BROWSER
from tests.features.web.page_html import html_of

ME, SESSIONS = "/api/v1/auth/me", "/api/v1/auth/sessions"
NEW_PASSWORD = "Harbour-Crane-Lantern-62"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)


class Ground:
    """A viewer who has signed in, and the administrator of the installation."""

    def __init__(self, client: httpx.AsyncClient, admin: httpx.AsyncClient, app: FastAPI) -> None:
        self.client, self.admin, self.app = client, admin, app

    async def log_in(self, username: str = "viewer", agent: str = FIREFOX) -> dict[str, str]:
        body = {"username": username, "password": PASSWORD}
        answer = await self.client.post("/api/v1/auth/login", json=body, headers={"User-Agent": agent})
        return answer.raise_for_status().json()  # type: ignore[no-any-return]

    async def ask(self, opened: dict[str, str], path: str = ME, method: str = "GET") -> httpx.Response:
        return await self.client.request(method, path, headers={"Authorization": f"Bearer {opened['accessToken']}"})

    async def refresh(self, opened: dict[str, str]) -> httpx.Response:
        return await self.client.post("/api/v1/auth/refresh", json={"refreshToken": opened["refreshToken"]})

    async def person(self, username: str = "viewer") -> str:
        async with self.app.state.db.reading() as session:
            return str(await session.scalar(sa.select(User.public_id).where(User.username == username)))

    async def change(self, path: str, **body: Any) -> httpx.Response:
        return await self.admin.post(f"/api/v1/users/{await self.person()}/{path}", json=body)


@pytest_asyncio.fixture
async def ground(client: httpx.AsyncClient, signed_in: SignIn, app: FastAPI) -> Ground:
    return Ground(client, await signed_in("admin"), app)


class TestAccessToken:
    @pytest.mark.parametrize("way", ["log-out", "reset", "closing"])
    async def test_ends_at_once_with(self, ground: Ground, way: str) -> None:
        opened = await ground.log_in()
        assert (await ground.ask(opened)).status_code == 200
        if way == "log-out":
            await ground.client.post("/api/v1/auth/logout", json={"refreshToken": opened["refreshToken"]})
        elif way == "reset":
            assert (await ground.change("password", password=NEW_PASSWORD)).status_code == 200
        else:
            await ground.change("close")
            assert (await ground.change("reopen")).status_code == 200  # what was closed does not come back

        assert (await ground.ask(opened)).status_code == 401
        assert (await ground.refresh(opened)).json()["code"] == "SESSION_ENDED"

    async def test_ends_at_once_with_a_changed_role_and_is_refreshed(self, ground: Ground) -> None:
        opened = await ground.log_in()
        role = await ground.change("roles", role="Superadmin", level="Global")
        given = await ground.refresh(opened)
        taken = f"/api/v1/users/{await ground.person()}/roles/{role.json()['publicId']}"

        assert (await ground.ask(opened)).status_code == 401
        assert "user.create" in (await ground.ask(given.json())).json()["permissions"]
        assert (await ground.admin.delete(taken)).status_code == 204
        assert (await ground.ask(given.json())).status_code == 401
        assert (
            "user.create" not in (await ground.ask((await ground.refresh(given.json())).json())).json()["permissions"]
        )

    async def test_ends_at_once_when_the_permissions_of_a_role_change(self, ground: Ground) -> None:
        order = {"name": "Reader of numbers", "level": "Global", "permissions": ["document.view"]}
        role = (await ground.admin.post("/api/v1/roles", json=order)).json()
        assert (await ground.change("roles", role=role["name"], level="Global")).status_code == 201
        opened = await ground.log_in()
        path = f"/api/v1/roles/{role['publicId']}"
        changed = await ground.admin.patch(path, json={"permissions": ["document.view", "user.view"]})

        assert changed.status_code == 200, changed.text
        assert (await ground.ask(opened)).status_code == 401
        assert "user.view" in (await ground.ask((await ground.refresh(opened)).json())).json()["permissions"]

    async def test_tells_no_integer_key_of_its_rights(self, ground: Ground) -> None:
        one, other = await ground.log_in(), await ground.log_in()
        claims = [ground.app.state.tokens.read(opened["accessToken"]) for opened in (one, other)]

        assert claims[0].rights == claims[1].rights
        assert claims[0].session != claims[1].session


class TestOwnSessions:
    async def test_are_listed_with_device_and_address(self, ground: Ground) -> None:
        await ground.log_in(agent=CHROME)
        opened = await ground.log_in()
        here, there = (await ground.ask(opened, SESSIONS)).json()["items"]

        assert (here["device"], here["isCurrent"]) == ("Firefox · Linux", True)
        assert (there["device"], there["isCurrent"]) == ("Chrome · Windows", False)
        assert {"publicId", "ipAddress", "signedInAt", "lastActiveAt"} <= here.keys()

    async def test_end_one_by_one(self, ground: Ground) -> None:
        elsewhere, opened = await ground.log_in(), await ground.log_in()
        items = (await ground.ask(opened, SESSIONS)).json()["items"]
        (other,) = (item["publicId"] for item in items if not item["isCurrent"])

        assert (await ground.ask(opened, f"{SESSIONS}/{other}", "DELETE")).status_code == 204
        assert (await ground.ask(elsewhere)).status_code == 401
        assert (await ground.refresh(elsewhere)).status_code == 401
        assert (await ground.ask(opened, f"{SESSIONS}/{other}", "DELETE")).status_code == 404
        assert (await ground.ask(opened)).status_code == 200

    async def test_of_another_person_cannot_be_ended(self, ground: Ground) -> None:
        theirs, opened = await ground.log_in("dc.contractor"), await ground.log_in()
        (item,) = (await ground.ask(theirs, SESSIONS)).json()["items"]

        assert (await ground.ask(opened, f"{SESSIONS}/{item['publicId']}", "DELETE")).status_code == 404
        assert (await ground.ask(theirs)).status_code == 200

    @pytest.mark.parametrize(("query", "here"), [("", 401), ("?keepCurrent=true", 200)])
    async def test_end_all_together(self, ground: Ground, query: str, here: int) -> None:
        elsewhere, opened = await ground.log_in(), await ground.log_in()

        assert (await ground.ask(opened, SESSIONS + query, "DELETE")).status_code == 204
        assert (await ground.ask(elsewhere)).status_code == 401
        assert (await ground.ask(opened)).status_code == here
        async with ground.app.state.db.reading() as session:
            assert "user.end_sessions" in set(await session.scalars(sa.select(AuditLog.action)))


class TestPage:
    async def test_ends_another_session_and_then_all(self, app: FastAPI) -> None:
        async with client_of(app, **BROWSER) as here, client_of(app, **BROWSER) as there:
            for browser, agent in ((there, CHROME), (here, FIREFOX)):
                browser.headers["User-Agent"] = agent
                await browser.post("/login", data={"username": "viewer", "password": PASSWORD})
            shown = html_of(await here.get("/account/sessions"))
            ending = shown.split('action="/account/sessions/')[1].split('"')[0]
            ended = await here.post(f"/account/sessions/{ending}")

            assert "Chrome · Windows" in shown
            assert "เซสชันนี้" in shown
            assert (await there.get("/inbox")).headers["location"].startswith("/login")
            assert "คุณเข้าสู่ระบบอยู่ที่อุปกรณ์นี้เท่านั้น" in html_of(await here.get(ended.headers["location"]))
            assert (await here.post(f"/account/sessions/{ending}")).status_code == 303  # a second click is no error
            assert (await here.post("/account/sessions/all/end")).headers["location"] == "/login"
            assert (await here.get("/inbox")).headers["location"].startswith("/login")

    async def test_keeps_the_others_away_from_a_session_that_ended(self, app: FastAPI, signed_in: SignIn) -> None:
        async with client_of(app, **BROWSER) as browser:
            await browser.post("/login", data={"username": "viewer", "password": PASSWORD})
            admin = await signed_in("admin")
            viewer = (await browser.get(ME)).json()["publicId"]
            await admin.post(f"/people/{viewer}/sign-out", headers={"Accept": "text/html"})
            answer = await browser.get("/inbox")

        assert urlsplit(answer.headers["location"]).path == "/login"

    async def test_goes_on_without_a_prompt_when_a_role_changed(self, app: FastAPI, signed_in: SignIn) -> None:
        async with client_of(app, **BROWSER) as browser:
            await browser.post("/login", data={"username": "viewer", "password": PASSWORD})
            viewer = (await browser.get(ME)).json()["publicId"]
            wanted = {"role": "Superadmin", "level": "Global"}
            admin = await signed_in("admin")
            assert (await admin.post(f"/api/v1/users/{viewer}/roles", json=wanted)).status_code == 201

            assert (await browser.get(ME)).status_code == 401
            assert (await browser.get("/people")).status_code == 200
            assert (await browser.get(ME)).status_code == 200

    async def test_names_the_person_to_whom_drafts_belong(self, app: FastAPI) -> None:
        async with client_of(app, **BROWSER) as browser:
            await browser.post("/login", data={"username": "dc.contractor", "password": PASSWORD})
            person = (await browser.get(ME)).json()["publicId"]

            assert f'data-person="{person}"' in html_of(await browser.get("/rfas/new"))
            assert "data-person" not in html_of(await browser.get("/docs/errors"))


class TestDeviceName:
    @pytest.mark.parametrize(
        ("agent", "name"),
        [
            (FIREFOX, "Firefox · Linux"),
            (CHROME, "Chrome · Windows"),
            (f"{CHROME} Edg/142.0", "Edge · Windows"),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) CriOS/142 Mobile Safari/604.1", "Chrome · iPhone"),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15_1) Version/18 Safari/605.1", "Safari · Mac"),
            ("curl/8.14.1", "curl"),
            ("", ""),
        ],
    )
    def test_says_browser_and_system(self, agent: str, name: str) -> None:
        assert device_name(agent) == name
