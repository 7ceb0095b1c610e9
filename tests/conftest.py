"""Fixtures of every test: fresh migrated databases copied from a template, the wired system, clients that are signed in."""

import asyncio
import gc
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from saraban.config import Settings
from saraban.kit import migrations
from saraban.kit.db import Database
from tests.servers import MariaDb, running_mariadb

if TYPE_CHECKING:
    from fastapi import FastAPI

    from saraban.bootstrap import System
    from saraban.identity.service import OpenedSession

PASSWORD = "saraban-demo"  # the demo accounts' password, told to everybody
SIGNING_KEY = "a-key-that-signs-nothing-but-the-tokens-of-tests"

# Tests are quicker than people; those of the limits set them.
UNLIMITED = dict.fromkeys(
    [
        *("draw_limit_user", "draw_limit_address", "draw_limit_all", "preview_limit_user"),
        *("search_limit_user", "export_limit_user", "upload_limit_user", "refresh_limit_user"),
    ],
    0,
)

_numbers = count(1)

SignIn = Callable[[str], Awaitable[httpx.AsyncClient]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: it would look like a proof and be none."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("CI") == "true" and skipped:
        reporter.write_line(f"{len(skipped)} skipped in CI, where nothing may be.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


# Tracing doubles the time of a test. Numbering is what is measured, by the tests that are about it and run in this process,
# but for the slow ones: they do a thousand times what others did once.
MEASURED = (
    "tests/domain/numbering/",
    "tests/features/numbering/",
    *(
        f"tests/database/test_{subject}.py"
        for subject in [
            "number_errors",
            "faults",
            "formats",
            "import_jobs",
            "legacy_import",
            "number_batches",
            "number_lifecycle",
            "number_register",
            "numbering",
            "pipeline",
            "rate_limits",
            "error_scenarios",
            "utilization",
        ]
    ),
)


LONG = (
    "tests/journeys/",
    *(
        f"tests/database/test_{subject}.py"
        for subject in [
            "import_jobs",
            "random_kills",
            "migrations",
            "number_batches",
            "number_register",
            "numbering_machine",
            "server_processes",
            "workers",
        ]
    ),
    "tests/features/api/test_bad_input.py",
    "tests/features/api/test_contract.py",
)

# A machine that is busy says nothing of an example: none is timed.
settings.register_profile("untimed", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """
    In a worker of xdist, pytest-cov begins to measure while it reads its options and again here; nobody reads the first.

    Left alone it goes on whenever the other pauses, and every test takes twice its time.
    """
    plugin = session.config.pluginmanager.get_plugin("_cov")
    begun = getattr(plugin, "cov_controller", None)
    if begun is not None and hasattr(session.config, "workerinput"):
        begun.cov.stop()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes begin: whoever met one at the end would work alone (with `--no-loadscope-reorder`)."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of tests and everything imported stay to the end: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    plugin = item.config.pluginmanager.get_plugin("_cov")
    measuring = getattr(plugin, "cov_controller", None)
    wanted = item.nodeid.startswith(MEASURED) and item.get_closest_marker("slow") is None
    if measuring is not None and measuring.started != wanted:
        measuring.resume() if wanted else measuring.pause()
    return (yield)


def unwrapped(answer: httpx.Response) -> dict[str, Any]:
    """Give what an answer's envelope is about with its `workflow` and its `stepAttachments` beside the fields."""
    envelope = answer.json()
    return envelope["data"] | {name: envelope[name] for name in ("workflow", "stepAttachments") if name in envelope}


def unwrapped_items(answer: httpx.Response) -> list[dict[str, Any]]:
    """Give the items of a list, each with its `workflow` beside its fields."""
    return [one["data"] | {"workflow": one["workflow"]} for one in answer.json()["items"]]


def run_apart(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on an event loop of its own thread: the test's loop must not notice."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Return the settings of one test: its own folder, no `.env`, no worker unless the test wants one."""
    chosen: dict[str, Any] = {"env": "test", "data_dir": folder, "run_worker": False, "secret_key": SIGNING_KEY}
    return Settings(_env_file=None, **(chosen | UNLIMITED | changes))


async def seeded(settings: Settings) -> None:
    """Load the demo project, its accounts and formats into a migrated database; no documents."""
    from saraban.bootstrap import closing, seed, wire

    async with closing(wire(settings)) as system:
        await seed(system, demo=True)


@pytest.fixture(autouse=True, scope="session")
def no_outside_settings() -> Iterator[None]:
    """Variables of the developer's shell must not decide the outcome of a test."""
    patch = pytest.MonkeyPatch()
    for name in Settings.model_fields:
        patch.delenv(f"SARABAN_{name.upper()}", raising=False)
    patch.delenv("N8N_WEBHOOK_URL", raising=False)
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def quick_passwords() -> Iterator[None]:
    """Everybody's log-ins: a hash made here costs a millisecond to check, here and in the servers that tests start."""
    from tests.demo_people import cheap_passwords

    with cheap_passwords():
        yield


@pytest.fixture(autouse=True, scope="session")
def shared_work() -> Iterator[None]:
    """The table of routes, the API's description and compiled statements: the same in every test, made once."""
    from tests import computed_once

    with computed_once.one_table_of_routes(), computed_once.one_description(), computed_once.one_store_of_statements():
        yield


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file at the newest revision, made once; tests get copies."""
    path = tmp_path_factory.mktemp("template") / "saraban.db"
    migrations.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Path:
    """A data folder with master data, the demo project and its accounts, made once; tests get copies."""
    folder = tmp_path_factory.mktemp("demo-template")
    shutil.copy(migrated_file, folder / "saraban.db")
    run_apart(seeded(settings_in(folder)))
    return folder


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDb]:
    """The session's MariaDB. A test that kills or freezes a server starts one of its own: `servers.running_mariadb`."""
    with running_mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_template(mariadb_server: MariaDb) -> str:
    """The statements that make a migrated database; running them takes a tenth of migrating."""
    url = mariadb_server.create("template")
    with ThreadPoolExecutor(1) as thread:  # outside the test's own event loop
        thread.submit(migrations.upgrade, url).result()
    return mariadb_server.dump("template")


@pytest.fixture
def mariadb_url(mariadb_server: MariaDb, mariadb_template: str) -> Iterator[str]:
    """The address of an empty MariaDB database at the newest revision, dropped after the test."""
    name = f"test_{next(_numbers)}"
    yield mariadb_server.create(name, statements=mariadb_template)
    mariadb_server.drop(name)


@pytest_asyncio.fixture
async def db(migrated_file: Path, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database at the newest revision."""
    shutil.copy(migrated_file, tmp_path / "saraban.db")
    database = Database(f"sqlite:///{tmp_path / 'saraban.db'}")
    yield database
    await database.close()


@pytest.fixture
def settings(demo_folder: Path, tmp_path: Path) -> Settings:
    """Settings of a data folder that has the demo project."""
    folder = tmp_path / "data"
    shutil.copytree(demo_folder, folder)
    return settings_in(folder)


@pytest_asyncio.fixture
async def system(settings: Settings) -> "AsyncIterator[System]":
    """Everything wired on the demo project, without a server; whatever a test wrote, its rows of reach must agree."""
    from saraban.bootstrap import closing, wire
    from tests.reach import differences

    async with closing(wire(settings)) as wired:
        yield wired
        assert await differences(wired.db) == []


@pytest.fixture
def demo_db(system: "System") -> Database:
    """The database with master data, the demo project and its accounts."""
    return system.db


@pytest_asyncio.fixture
async def app(settings: Settings) -> "AsyncIterator[FastAPI]":
    """The application with its lifespan running; whatever a test wrote, its rows of reach must agree."""
    from saraban.app import create_app
    from tests.reach import differences

    application = create_app(settings)
    async with application.router.lifespan_context(application):
        yield application
        assert await differences(application.state.db) == []


def client_of(app: "FastAPI", **headers: str) -> httpx.AsyncClient:
    """Return a client that speaks to `app` in this process; unhandled errors become answers, as on a server."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://saraban.test", headers=headers)


@pytest_asyncio.fixture
async def client(app: "FastAPI") -> AsyncIterator[httpx.AsyncClient]:
    """A client that nobody has signed in, asking for English."""
    async with client_of(app, **{"Accept-Language": "en"}) as anonymous:
        yield anonymous


async def open_session(app: "FastAPI", username: str) -> "OpenedSession":
    from tests import accounts

    return await accounts.open_session(app.state.db, app.state.tokens, username)


async def access_token(app: "FastAPI", username: str) -> str:
    return (await open_session(app, username)).access_token


class Renewing(httpx.Auth):
    """Refreshes the access token where it is refused, as clients do: it ends when the rights of its account change."""

    def __init__(self, app: "FastAPI", client: httpx.AsyncClient, opened: "OpenedSession") -> None:
        self.state, self.client = app.state, client
        self.keep(opened)

    def keep(self, opened: "OpenedSession") -> None:
        self.opened = opened
        self.client.headers["Authorization"] = f"Bearer {opened.access_token}"

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        from saraban.identity.service import Device, SessionEnded, refresh

        sent = request.headers.get("Authorization")
        is_current = sent is not None and sent == self.client.headers.get("Authorization")
        answer = yield request
        is_refused = answer.status_code == 401 or answer.headers.get("Location", "").startswith("/login")
        if not (is_current and is_refused):
            return
        if sent == self.client.headers.get("Authorization"):
            issuer, token = self.state.tokens, self.opened.refresh_token
            try:
                self.keep(await refresh(self.state.db, issuer=issuer, refresh_token=token, device=Device()))
            except SessionEnded:
                return
        request.headers["Authorization"] = self.client.headers["Authorization"]
        yield request


@pytest_asyncio.fixture
async def signed_in(app: "FastAPI") -> AsyncIterator[SignIn]:
    """`await signed_in("dc.contractor")` gives that account's client; asked twice, the same one."""
    async with AsyncExitStack() as stack:
        known: dict[str, httpx.AsyncClient] = {}

        async def sign_in(username: str) -> httpx.AsyncClient:
            if username not in known:
                client = await stack.enter_async_context(client_of(app, **{"Accept-Language": "en"}))
                client.auth = Renewing(app, client, await open_session(app, username))
                known[username] = client
            return known[username]

        yield sign_in
