"""Before anybody has an account there is one screen, whichever address is asked for; monitoring goes on."""

import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.app import create_app
from saraban.bootstrap import System, closing, seed, wire
from saraban.documents.demo.service import DemoLoader
from saraban.identity import service as identity
from saraban.identity.service import FirstAdministrator
from saraban.web.projects import first_run
from tests.conftest import client_of, settings_in

ROOT = FirstAdministrator("root", "root@example.org", "Harbour-Wall-61", "กทท.", "การท่าเรือ")


@pytest_asyncio.fixture
async def empty(tmp_path: Path, migrated_file: Path) -> AsyncIterator[tuple[httpx.AsyncClient, System]]:
    """A server in production on a database with what ships and nothing else."""
    shutil.copy(migrated_file, tmp_path / "saraban.db")
    url = f"sqlite:///{tmp_path / 'saraban.db'}"
    settings = settings_in(tmp_path, env="production", public_url="https://saraban.test", database_url=url)
    async with closing(wire(settings)) as system:
        await seed(system, demo=False)
        app = create_app(settings)
        async with app.router.lifespan_context(app), client_of(app, Accept="text/html") as browser:
            browser.base_url = "https://saraban.test"  # the cookies of production are for TLS
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


FORM = {
    "username": "root",
    "firstName": "สมศรี",
    "lastName": "ใจดี",
    "email": "root@example.org",
    "password": ROOT.password,
    "organization": "กทท.",
    "organization-name": "การท่าเรือแห่งประเทศไทย",
    "start": "building",
    "projectCode": "PIER",
    "projectName": "ท่าเทียบเรือ",
    "role": "OWNER",
}
WRONG = {
    "username": "a b",
    "email": "nowhere",
    "password": "short",
    "organization": "two words",
    "organization-name": "",
    "projectCode": "",
    "projectName": "x" * 256,
}


async def new_token(system: System) -> str:
    return await system.db.transact(lambda session: identity.issue_setup_token(session, now=system.clock.now()))


async def accounts(system: System) -> list[str]:
    async with system.db.reading() as session:
        return [one.username for one in await identity.list_users(session) if not one.is_service]


class TestSetUpPage:
    async def test_makes_all_of_it_from_one_form_and_signs_in(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        browser, system = empty
        token = await new_token(system)
        shown = await browser.get("/setup", params={"token": token})
        assert shown.status_code == 200
        assert "TOWER-SD-GN-0001-A" in shown.text  # the preview of a template
        assert 'value="demo"' not in shown.text  # in production

        answer = await browser.post("/setup", data=FORM | {"token": token})

        assert (answer.status_code, answer.headers["location"]) == (303, "/inbox")
        assert (await browser.get("/inbox")).status_code == 200
        me = (await browser.get("/api/v1/auth/me")).json()
        assert (me["username"], me["displayName"]) == ("root", "สมศรี ใจดี")
        (project,) = (await browser.get("/api/v1/projects")).json()["items"]
        read = (await browser.get(f"/api/v1/projects/{project['publicId']}")).json()
        assert [one["contractCode"] for one in read["contracts"]] == ["PIER-MC"]
        assert [one["role"] for one in read["organizations"]] == ["OWNER"]

    async def test_loads_the_demo_where_it_may(
        self, tmp_path: Path, migrated_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copy(migrated_file, tmp_path / "saraban.db")
        settings = settings_in(tmp_path)
        async with closing(wire(settings)) as system:
            await seed(system, demo=False)
            token = await new_token(system)
        app = create_app(settings)
        async with app.router.lifespan_context(app), client_of(app, Accept="text/html") as browser:
            form = FORM | {"token": token, "start": "demo"}

            class Broken(DemoLoader):
                async def load_project(self, session: AsyncSession, *, update_shared: bool = False) -> None:
                    await super().load_project(session, update_shared=update_shared)
                    raise ConnectionAbortedError

            with monkeypatch.context() as broken:
                broken.setattr(first_run, "DemoLoader", Broken)
                assert (await browser.post("/setup", data=form)).status_code == 503
            # Nobody is there yet: the form is sent again.
            answer = await browser.post("/setup", data=form)
            assert answer.status_code == 303
            found = (await browser.get("/api/v1/projects")).json()["items"]
            assert [one["projectCode"] for one in found] == ["LCBP3-C2"]

    async def test_is_gone_and_its_token_void_once_somebody_has_an_account(
        self, empty: tuple[httpx.AsyncClient, System]
    ) -> None:
        browser, system = empty
        token = await new_token(system)
        await set_up(system)

        shown = await browser.get("/setup", params={"token": token})
        sent = await browser.post("/setup", data=FORM | {"token": token, "username": "other"})

        assert (shown.status_code, shown.headers["location"]) == (303, "/login")
        assert sent.status_code == 409
        assert "ตั้งค่าเริ่มต้นแล้ว" in sent.text
        assert await accounts(system) == ["root"]

    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.sampled("[th")
    async def test_names_each_fault_at_its_field_and_loses_nothing(
        self, empty: tuple[httpx.AsyncClient, System], language: str
    ) -> None:
        browser, system = empty
        browser.cookies.set("__Host-lang", language)
        token = await new_token(system)

        page = await browser.post("/setup", data=FORM | WRONG | {"token": token, "organization-name-en": "Port"})

        assert page.status_code == 422
        assert [name for name in WRONG if f'id="e-{name}"' not in page.text] == []
        assert 'value="Port"' in page.text
        assert "short" not in page.text
        assert await accounts(system) == []

    @pytest.mark.parametrize(
        ("given", "status", "says"),
        [("x" * 43, 403, "not the right one"), ("", 200, "Not set up yet"), ("late", 410, "has expired")],
    )
    async def test_opens_with_the_token_that_was_printed_last_alone(
        self, empty: tuple[httpx.AsyncClient, System], given: str, status: int, says: str
    ) -> None:
        browser, system = empty
        browser.cookies.set("__Host-lang", "en")
        first = await new_token(system)
        long_ago = system.clock.now() - timedelta(hours=2)
        if given == "late":
            given = await system.db.transact(lambda session: identity.issue_setup_token(session, now=long_ago))
        else:
            await new_token(system)

        page = await browser.get("/setup", params={"token": given})
        sent = await browser.post("/setup", data=FORM | {"token": first})

        assert page.status_code == status
        assert says in page.text
        assert 'name="password"' not in page.text
        assert sent.status_code == 403
        assert await accounts(system) == []

    async def test_takes_a_whole_link_that_was_pasted(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        browser, system = empty
        link = f"https://saraban.example.org/setup?token={await new_token(system)}"

        assert 'name="password"' in (await browser.get("/setup", params={"token": link})).text

    async def test_stops_who_guesses(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        browser, _ = empty
        codes = [(await browser.get("/setup", params={"token": f"guess-{n}"})).status_code for n in range(61)]

        assert codes[-1] == 429
        assert set(codes[:-1]) == {403}

    async def test_changes_its_language_without_losing_the_token(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        browser, system = empty
        here = f"/setup?token={await new_token(system)}"

        answer = await browser.post("/language", data={"lang": "en", "next": here})

        assert answer.headers["location"] == here
        assert "Set up Saraban" in (await browser.get(here)).text

    async def test_stores_no_token(self, empty: tuple[httpx.AsyncClient, System]) -> None:
        _, system = empty
        token = await new_token(system)
        async with system.db.reading() as session:
            (row,) = (await session.execute(sa.text("SELECT * FROM setup_tokens"))).all()

        assert token not in str(row)


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
