"""What a server gives away before anybody has signed in: cookies, measurements, files, and whom it believes."""

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from pydantic import ValidationError

from saraban.app import create_app
from saraban.bootstrap import closing, wire
from saraban.config import Settings
from tests.conftest import client_of, settings_in
from tests.numbering_world import world_of

TOKEN = "a-token-of-this-test-alone"
FORM = {"username": "viewer", "password": "saraban-demo"}


@pytest_asyncio.fixture
async def browser(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that comes over TLS."""
    chosen = settings.model_copy(update={"public_url": "https://saraban.test"})
    app = create_app(chosen)
    async with app.router.lifespan_context(app), client_of(app, Accept="text/html") as client:
        client.base_url = httpx.URL("https://saraban.test")
        yield client


class TestOverTls:
    async def test_every_cookie_belongs_to_the_host(self, browser: httpx.AsyncClient) -> None:
        answers = [await browser.post("/login", data=FORM), await browser.post("/language", data={"lang": "en"})]

        cookies = [cookie for answer in answers for cookie in answer.headers.get_list("set-cookie")]
        assert {cookie.partition("=")[0] for cookie in cookies if not cookie.startswith("__Host-")} == set()
        assert {cookie.split("=")[0] for cookie in cookies} >= {
            f"__Host-saraban_{one}" for one in ("access", "refresh")
        }
        assert all("; secure" in cookie.lower() and "path=/" in cookie.lower() for cookie in cookies)
        assert (await browser.get("/inbox")).status_code == 200

    async def test_a_cookie_without_the_prefix_signs_nobody_in(self, browser: httpx.AsyncClient) -> None:
        await browser.post("/login", data=FORM)
        token = browser.cookies["__Host-saraban_access"]
        browser.cookies.clear()

        answer = await browser.get("/inbox", headers={"Cookie": f"saraban_access={token}"})

        assert answer.headers["location"].startswith("/login")

    @pytest.mark.parametrize("path", ["/login", "/inbox", "/nothing-here", "/api/v1/nothing", "/health/live"])
    async def test_every_answer_asks_for_tls(self, browser: httpx.AsyncClient, path: str) -> None:
        answer = await browser.get(path)

        assert answer.headers["strict-transport-security"] == "max-age=31536000"

    async def test_development_has_plain_names(self, client: httpx.AsyncClient) -> None:
        answer = await client.post("/login", data=FORM)

        assert "__Host-" not in str(answer.headers)
        assert "strict-transport-security" not in answer.headers


class TestSettings:
    @pytest.mark.parametrize("proxies", ["*", "10.0.0.5, *", "0.0.0.0/0", "::/0"])
    def test_refuse_to_believe_every_proxy(self, tmp_path: Path, proxies: str) -> None:
        with pytest.raises(ValidationError, match="Name the addresses"):
            settings_in(tmp_path, trusted_proxies=proxies)

    @pytest.mark.parametrize("address", ["", "http://saraban.example.org", "saraban.example.org", "https://["])
    def test_of_production_need_the_address_that_people_open(self, tmp_path: Path, address: str) -> None:
        with pytest.raises(ValidationError, match="https://"):
            settings_in(tmp_path, env="production", public_url=address, database_url="sqlite:////x/saraban.db")

    @pytest.mark.parametrize("address", ["https://saraban.example.org", "http://localhost:8000"])
    def test_of_production_take_tls_and_the_own_machine(self, tmp_path: Path, address: str) -> None:
        assert settings_in(
            tmp_path, env="production", public_url=address, database_url="sqlite:////x/saraban.db"
        ).is_over_tls


class TestMetrics:
    async def test_answer_the_own_machine_past_any_proxy(self, app: FastAPI) -> None:
        statuses = []
        for address, header in (("127.0.0.1", {}), ("127.0.0.1", {"X-Forwarded-For": "6.6.6.6"}), ("10.0.0.9", {})):
            transport = httpx.ASGITransport(app, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://saraban.test") as client:
                statuses.append((await client.get("/metrics", headers=header)).status_code)

        assert statuses == [200, 401, 401]

    async def test_need_their_token_where_one_is_set(self, settings: Settings) -> None:
        app = create_app(settings.model_validate(settings.model_dump() | {"metrics_token": TOKEN}))
        async with app.router.lifespan_context(app), client_of(app) as client:
            answers = [
                await client.get("/metrics", headers={"Authorization": f"Bearer {token}"}) for token in ("wrong", TOKEN)
            ]

        assert [answer.status_code for answer in answers] == [401, 200]
        assert answers[0].json()["code"] == "METRICS_NOT_ALLOWED"

    async def test_name_no_organization_and_no_project(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        world = await world_of(app.state.db)
        await world.take(world.allocator(), world.letter())
        async with app.state.db.reading() as session:
            from saraban.numbering import service as numbering

            (used,) = await numbering.measure_utilization(session, now=app.state.clock.now())

        text = (await client.get("/metrics")).text

        assert 'docnum_sequence_utilization_ratio{rank="1"}' in text
        assert used.project not in text
        assert not any(code in text for code in ("คคง.", "ผรม.", "กทท."))


class TestDataFolder:
    async def test_is_closed_to_other_accounts_when_the_system_starts(self, settings: Settings) -> None:
        folder = settings.data_dir
        folder.chmod(0o755)
        (folder / "saraban.db").chmod(0o644)
        (folder / "files").mkdir(mode=0o755, exist_ok=True)

        async with closing(wire(settings)):
            pass

        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}
        assert (modes[folder.name], modes["saraban.db"], modes["files"]) == (0o700, 0o600, 0o700)
