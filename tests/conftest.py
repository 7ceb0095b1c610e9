"""Fixtures of every test: fresh migrated databases copied from a template, the wired system, clients that are signed in."""

import asyncio
import fcntl
import gc
import os
import shutil
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from pydantic_settings import BaseSettings

from saraban.config import Settings
from saraban.kit import migrations
from saraban.kit.db import Database
from tests.preloaded import TEMPLATES, share_compiled_templates
from tests.servers import DatabaseCopies, MariaDb, running_mariadb

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

gc.disable()  # while thousands of tests are collected; `pytest_collection_finish` enables it
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # httpx looks for it at every request, and it is not installed

SignIn = Callable[[str], Awaitable[httpx.AsyncClient]]
MadeOnce = Callable[[str, Callable[[Path], object]], Path]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: it would look like a proof and be none."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("CI") == "true" and skipped:
        reporter.write_line(f"{len(skipped)} skipped in CI, where nothing may be.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


LONG = (
    "tests/journeys/",
    *(
        f"tests/database/test_{subject}.py"
        for subject in [
            "import_jobs",
            "migrations",
            "number_batches",
            "number_register",
            "numbering_machine",
            "server_processes",
            "workers",
        ]
    ),
    "tests/features/api/test_access_matrix.py",
    "tests/features/api/test_bad_input.py",
    "tests/features/api/test_contract.py",
    "tests/features/cli/test_serving.py",
    "tests/features/documents/test_access.py",
)

# A machine that is busy says nothing of an example: none is timed.
settings.register_profile("untimed", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """In the quick runs Hypothesis does not read the whole source for constants to draw from."""
    if "not faults" in config.option.markexpr:
        providers._get_local_constants = providers.Constants


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """
    Leave the parameters that the marker `sampled` does not name to `make faults`.

    A process that met a file of minutes at the end would work alone (`--no-loadscope-reorder` keeps the order of files).
    """
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled and hasattr(item, "callspec") and not any(word in item.name for word in sampled.args):
            item.add_marker(pytest.mark.faults)
    yield
    places = _places_of_files(items)
    items.sort(key=lambda item: places[item.nodeid.partition("::")[0]])


def _places_of_files(items: list[pytest.Item]) -> dict[str, tuple[int, bool]]:
    """Return where each file runs: those that take minutes, and mostly wait, between the first two thirds of the others."""
    files = [*dict.fromkeys(item.nodeid.partition("::")[0] for item in items)]
    long = [file for file in files if file.startswith(LONG)]
    short = [file for file in files if not file.startswith(LONG)]
    step = 2 * len(short) // 3 // max(len(long), 1)
    places = {file: (number * step, False) for number, file in enumerate(long)}
    return places | {file: (number, True) for number, file in enumerate(short)}


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of tests and everything imported stay to the end: the collector need not look at them again and again."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)  # as a server has it


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


class GivenSettings(Settings):
    """Settings that nothing but their arguments decide: looking through the environment takes longer than many a test."""

    def __init__(self, **given: Any) -> None:
        super(BaseSettings, self).__init__(**given)


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Return the settings of one test: its own folder, no `.env`, no worker unless the test wants one."""
    chosen: dict[str, Any] = {"env": "test", "data_dir": folder, "run_worker": False, "secret_key": SIGNING_KEY}
    return GivenSettings(**(chosen | UNLIMITED | changes))


async def seeded(settings: Settings) -> None:
    """Load the demo project, its accounts and formats into a migrated database; no documents."""
    from saraban.bootstrap import closing, seed, wire

    async with closing(wire(settings)) as system:
        await seed(system, demo=True)


async def documented(settings: Settings) -> None:
    """Write the demo documents into the demo project."""
    from saraban.bootstrap import closing, wire

    async with closing(wire(settings)) as system:
        await system.demo.load_documents()


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
def shared_work(made_once: MadeOnce) -> Iterator[None]:
    """
    The table of routes, the API's description and compiled statements: the same in every test, made once.

    A password's hash made here costs a millisecond to check, here and in the servers that tests start. Statements on SQLite run,
    and spreadsheets are read, where the test runs.
    """
    from tests import computed_once
    from tests.demo_people import cheap_passwords
    from tests.inline_sheets import inline_sheets
    from tests.inline_sqlite import inline_sqlite

    with ExitStack() as stack:
        for work in (
            computed_once.one_table_of_routes(),
            computed_once.one_description(made_once),
            computed_once.one_store_of_statements(),
            computed_once.one_metric_at_a_time(),
            cheap_passwords(),
            inline_sqlite(),
            inline_sheets(),
        ):
            stack.enter_context(work)
        yield


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Folders that one process of the run makes and the others copy from."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder_of(name: str, make: Callable[[Path], object]) -> Path:
        folder = shared / f"made-once-{name}"
        with (shared / f"{folder.name}.lock").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            if not folder.exists():
                part = shared / f"{folder.name}.part"
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir()
                make(part)
                part.rename(folder)
        return folder

    return folder_of


@pytest.fixture(autouse=True, scope="session")
def compiled_templates(made_once: MadeOnce) -> Iterator[None]:
    """What Jinja makes of a template, made by the first process that shows it."""
    folder = str(made_once("templates", lambda _: None))
    share_compiled_templates(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TEMPLATES, folder)
        yield


@pytest.fixture(scope="session")
def migrated_file(made_once: MadeOnce) -> Path:
    """A SQLite file at the newest revision, made once; tests get copies."""
    folder = made_once("migrated", lambda path: migrations.upgrade(f"sqlite:///{path}/saraban.db"))
    return folder / "saraban.db"


@pytest.fixture(scope="session")
def demo_folder(made_once: MadeOnce, migrated_file: Path) -> Path:
    """A data folder with master data, the demo project and its accounts, made once; tests get copies."""

    def make(folder: Path) -> None:
        shutil.copy(migrated_file, folder / "saraban.db")
        run_apart(seeded(settings_in(folder)))

    return made_once("demo", make)


@pytest.fixture(scope="session")
def documents_folder(made_once: MadeOnce, demo_folder: Path) -> Path:
    """A data folder with the demo project and its documents, made once; tests get copies."""

    def make(folder: Path) -> None:
        shutil.copytree(demo_folder, folder, dirs_exist_ok=True)
        run_apart(documented(settings_in(folder)))

    return made_once("documents", make)


@pytest.fixture(autouse=True, scope="session")
def one_installation(made_once: MadeOnce) -> Iterator[None]:
    """The data folder of a new MariaDB, which takes longer to make than the server to start: made once, and copied."""

    def copy(server: MariaDb) -> None:
        made = made_once("mariadb-data", lambda folder: MariaDb.write_installation(folder / "data", folder))
        shutil.copytree(made / "data", server._data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MariaDb, "_install", copy)
        yield


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDb]:
    """The session's MariaDB. A test that kills or freezes a server starts one of its own: `servers.running_mariadb`."""
    with running_mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_template(made_once: MadeOnce, mariadb_server: MariaDb) -> str:
    """The statements that make a migrated database; running them takes a tenth of migrating."""

    def make(folder: Path) -> None:
        url = mariadb_server.create("template")
        with ThreadPoolExecutor(1) as thread:  # outside the test's own event loop
            thread.submit(migrations.upgrade, url).result()
        (folder / "statements.sql").write_text(mariadb_server.dump("template"), "utf-8")

    return (made_once("mariadb", make) / "statements.sql").read_text("utf-8")


@pytest.fixture(scope="session")
def mariadb_copies(mariadb_server: MariaDb, mariadb_template: str) -> DatabaseCopies:
    return DatabaseCopies(mariadb_server, "test", mariadb_template)


@pytest.fixture
def mariadb_url(mariadb_copies: DatabaseCopies) -> Iterator[str]:
    """The address of an empty MariaDB database at the newest revision."""
    with mariadb_copies.lent() as url:
        yield url


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


@pytest.fixture
def settings_with_documents(documents_folder: Path, tmp_path: Path) -> Settings:
    """Settings of a data folder that has the demo project and its documents."""
    shutil.copytree(documents_folder, tmp_path / "data")
    return settings_in(tmp_path / "data")


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

        sign_in.app = app  # type: ignore[attr-defined]
        yield sign_in
