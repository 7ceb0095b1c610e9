"""Before anybody has an account there is one screen, whichever address is asked for; monitoring goes on."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy import event

from saraban.app import create_app
from saraban.bootstrap import System, closing, seed, wire
from saraban.identity import service as identity
from saraban.identity.service import FirstAdministrator
from tests.conftest import client_of, settings_in

ROOT = FirstAdministrator("root", "root@example.org", "Harbour-Wall-61", "กทท.", "การท่าเรือ")


@pytest_asyncio.fixture
async def empty(tmp_path: Path, migrated_file: Path) -> AsyncIterator[tuple[httpx.AsyncClient, System]]:
    """A server in production on a database with what ships and nothing else."""
    shutil.copy(migrated_file, tmp_path / "saraban.db")
    settings = settings_in(tmp_path, env="production")
    async with closing(wire(settings)) as system:
        await seed(system, demo=False)
        app = create_app(settings)
        async with app.router.lifespan_context(app), client_of(app, Accept="text/html") as browser:
            yield browser, system


async def set_up(system: System) -> None:
    await system.db.transact(lambda session: identity.set_up(session, ROOT, clock=system.clock, address=""))


class TestBeforeSetup:
    @pytest.mark.parametrize("path", ["/", "/login", "/inbox", "/rfas/new", "/nowhere", "/invitations/x"])
    async def test_every_page_says_so_in_both_languages(
        self, empty: tuple[httpx.AsyncClient, System], path: str
    ) -> None:
        page = await empty[0].get(path)

        assert page.status_code == 503
        assert "ยังไม่ได้ตั้งค่าเริ่มต้น" in page.text
        assert "Not set up yet" in page.text
        assert "<code" in page.text
        assert "saraban setup" in page.text

    async def test_the_api_answers_a_problem(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        for method, path in (("POST", "/api/v1/auth/login"), ("GET", "/api/v1/projects"), ("GET", "/openapi.json")):
            answer = await empty[0].request(method, path)

            assert answer.status_code == 503
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["code"] == "NOT_SET_UP"
            assert "saraban setup" in answer.json()["recovery"][0]

    async def test_monitoring_and_the_screens_own_files_go_on(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        for path in ("/health/live", "/health/ready", "/metrics"):
            assert (await empty[0].get(path)).status_code == 200
        style = (await empty[0].get("/login")).text.split('href="', 2)[1].split('"')[0]
        assert style.startswith("/static/")
        assert (await empty[0].get(style)).status_code == 200


class TestAfterSetup:
    async def test_the_pages_are_there_without_a_restart(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        browser, system = empty
        assert (await browser.get("/login")).status_code == 503

        await set_up(system)
        assert (await browser.get("/login")).status_code == 200
        login = {"username": "root", "password": ROOT.password}
        assert (await browser.post("/login", data=login)).headers["location"] == "/inbox"
        assert (await browser.get("/inbox")).status_code == 200

    async def test_nothing_more_is_asked_of_the_database(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        _, system = empty
        await set_up(system)
        await system.first_run.require_over()
        asked: list[str] = []
        event.listen(sa.Engine, "before_cursor_execute", listener := lambda *given: asked.append(given[2]))
        await system.first_run.require_over()
        event.remove(sa.Engine, "before_cursor_execute", listener)

        assert asked == []
