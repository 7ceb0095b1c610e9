"""
Fixtures of the tests that run on real servers beside those that journeys need, too: Redis, and databases with the demo.
"""

import gc
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
import pytest_asyncio

from saraban.kit.db import Database
from tests.conftest import MadeOnce, documented, run_apart, seeded, settings_in
from tests.demo_people import fill as fill_people
from tests.factories.letterbox import Office, new_office, office_in
from tests.migrating import OldDatabases
from tests.servers import DatabaseCopies, MariaDb, Redis, running_redis

Fill = Callable[[Database], Awaitable[object]]
LentFilled = Callable[[str, Fill, Path], AbstractAsyncContextManager[Database]]

# What the benchmarks compare with is installed by `make bench` and `make faults`, which run their tests.
collect_ignore = [] if find_spec("django") else ["test_benchmarks.py"]


@pytest.fixture(autouse=True, scope="module")
def nothing_left_open() -> Iterator[None]:
    """
    A connection nobody closed is told of here, not in whatever test the next collection happens to meet.

    What is left then stays to the end, as a rule: the next collection need not look at it again.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """The session's Redis. A test that kills or freezes a server starts one of its own: `servers.running_redis`."""
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The address of an empty Redis."""
    redis_server.flush()
    return redis_server.url


@pytest.fixture(scope="session")
def mariadb_demo_template(made_once: MadeOnce, mariadb_server: MariaDb, mariadb_template: str) -> str:
    """The statements that make a database with the demo project, its accounts and formats, and no documents."""

    def make(folder: Path) -> None:
        url = mariadb_server.create("demo_template", statements=mariadb_template)
        run_apart(seeded(settings_in(folder, database_url=url)))
        (folder / "statements.sql").write_text(mariadb_server.dump("demo_template"), "utf-8")

    return (made_once("mariadb-demo", make) / "statements.sql").read_text("utf-8")


@pytest.fixture(scope="session")
def mariadb_documents_template(made_once: MadeOnce, mariadb_server: MariaDb, mariadb_demo_template: str) -> str:
    """The statements that make a database with the demo project and its documents."""

    def make(folder: Path) -> None:
        url = mariadb_server.create("documents_template", statements=mariadb_demo_template)
        run_apart(documented(settings_in(folder, database_url=url)))
        (folder / "statements.sql").write_text(mariadb_server.dump("documents_template"), "utf-8")

    return (made_once("mariadb-documents", make) / "statements.sql").read_text("utf-8")


@pytest.fixture(scope="session")
def mariadb_demo_copies(mariadb_server: MariaDb, mariadb_demo_template: str) -> DatabaseCopies:
    return DatabaseCopies(mariadb_server, "demo", mariadb_demo_template)


@pytest.fixture
def mariadb_demo_url(mariadb_demo_copies: DatabaseCopies) -> Iterator[str]:
    """The address of a MariaDB database with the demo project."""
    with mariadb_demo_copies.lent() as url:
        yield url


@pytest.fixture
def sqlite_demo_url(demo_folder: Path, tmp_path: Path) -> str:
    """The address of a SQLite database with the demo project."""
    path = tmp_path / "demo.db"
    shutil.copy(demo_folder / "saraban.db", path)
    return f"sqlite:///{path}"


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """The address of an empty SQLite database at the newest revision."""
    path = tmp_path / "any.db"
    shutil.copy(migrated_file, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def mariadb_documents_copies(mariadb_server: MariaDb, mariadb_documents_template: str) -> DatabaseCopies:
    return DatabaseCopies(mariadb_server, "documents", mariadb_documents_template)


@pytest.fixture
def mariadb_documents_url(mariadb_documents_copies: DatabaseCopies) -> Iterator[str]:
    """The address of a MariaDB database with the demo project and its documents."""
    with mariadb_documents_copies.lent() as url:
        yield url


@pytest.fixture
def sqlite_documents_url(documents_folder: Path, tmp_path: Path) -> str:
    """The address of a SQLite database with the demo project and its documents."""
    path = tmp_path / "documents.db"
    shutil.copy(documents_folder / "saraban.db", path)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "mariadb"])
def any_documents_url(request: pytest.FixtureRequest) -> str:
    """The address of a database with the demo project and its documents; the test runs once on each kind."""
    return str(request.getfixturevalue(f"{request.param}_documents_url"))


@pytest.fixture(params=["sqlite", "mariadb"])
def any_url(request: pytest.FixtureRequest) -> str:
    """The test runs once on each database."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=["sqlite", "mariadb"])
def any_demo_url(request: pytest.FixtureRequest) -> str:
    """The address of a database with the demo project; the test runs once on each kind."""
    return str(request.getfixturevalue(f"{request.param}_demo_url"))


@pytest.fixture(params=["mariadb", pytest.param("sqlite", marks=pytest.mark.faults)])
def started_demo_url(request: pytest.FixtureRequest) -> str:
    """The same for programs that the test starts: on SQLite, where `TestKilledServer` kills one too, in `make faults`."""
    return str(request.getfixturevalue(f"{request.param}_demo_url"))


@pytest_asyncio.fixture
async def any_db(any_url: str) -> AsyncIterator[Database]:
    """An empty database at the newest revision; the test runs once on each kind."""
    database = Database(any_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
def lent_filled(request: pytest.FixtureRequest, made_once: MadeOnce, migrated_file: Path) -> LentFilled:
    """Lends a database of a kind that has been filled in a way; each way is gone once for all tests."""
    known: dict[str, DatabaseCopies] = {}

    async def filled(url: str, fill: Fill) -> None:
        database = Database(url)
        await fill(database)
        await database.close()

    def sqlite(fill: Fill, folder: Path) -> str:
        def make(template: Path) -> None:
            shutil.copy(migrated_file, template / "saraban.db")
            run_apart(filled(f"sqlite:///{template / 'saraban.db'}", fill))

        shutil.copy(made_once(f"sqlite-{fill.__name__}", make) / "saraban.db", folder / "filled.db")
        return f"sqlite:///{folder / 'filled.db'}"

    def mariadb(fill: Fill) -> DatabaseCopies:
        server, empty = (request.getfixturevalue(name) for name in ("mariadb_server", "mariadb_template"))

        def make(template: Path) -> None:
            name = f"{fill.__name__}_template"
            run_apart(filled(server.create(name, statements=empty), fill))
            (template / "statements.sql").write_text(server.dump(name), "utf-8")

        statements = (made_once(f"mariadb-{fill.__name__}", make) / "statements.sql").read_text("utf-8")
        return DatabaseCopies(server, fill.__name__, statements)

    @asynccontextmanager
    async def lent(kind: str, fill: Fill, folder: Path) -> AsyncIterator[Database]:
        with ExitStack() as stack:
            if kind == "mariadb" and fill.__name__ not in known:
                known[fill.__name__] = mariadb(fill)
            url = sqlite(fill, folder) if kind == "sqlite" else stack.enter_context(known[fill.__name__].lent())
            database = Database(url)
            yield database
            await database.close()

    return lent


@pytest.fixture(params=["sqlite", "mariadb"])
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest_asyncio.fixture
async def any_people_db(database_kind: str, lent_filled: LentFilled, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with the demo people and nothing of the workflows; the test runs once on each kind."""
    async with lent_filled(database_kind, fill_people, tmp_path) as database:
        yield database


@pytest_asyncio.fixture
async def any_office(database_kind: str, lent_filled: LentFilled, tmp_path: Path) -> AsyncIterator[Office]:
    """The office of a letterbox; the test runs once on each kind of database."""
    async with lent_filled(database_kind, new_office, tmp_path) as database:
        yield await office_in(database)


@pytest_asyncio.fixture
async def mariadb(mariadb_url: str) -> AsyncIterator[Database]:
    """An empty MariaDB database at the newest revision."""
    database = Database(mariadb_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
def old_databases(request: pytest.FixtureRequest, made_once: MadeOnce) -> Callable[[str], OldDatabases]:
    """Gives the old databases of a kind, which are migrated once for all tests."""

    def of(kind: str) -> OldDatabases:
        server: MariaDb | None = request.getfixturevalue("mariadb_server") if kind == "mariadb" else None
        return OldDatabases(made_once(f"old-{kind}", partial(OldDatabases.make, server=server)), server)

    return of
