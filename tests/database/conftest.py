"""
Fixtures of the tests that run on real servers beside those that journeys need, too: Redis, and databases with the demo.
"""

import gc
import shutil
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import pytest_asyncio

from saraban.kit.db import Database
from tests.conftest import MadeOnce, documented, run_apart, seeded, settings_in
from tests.servers import DatabaseCopies, MariaDb, Redis, running_redis

# What the benchmarks compare with is installed by `make bench` and `make faults`, which run their tests.
collect_ignore = [] if find_spec("django") else ["test_benchmarks.py"]


@pytest.fixture(autouse=True, scope="module")
def nothing_left_open() -> Iterator[None]:
    """A connection nobody closed is told of here, not in whatever test the next collection happens to meet."""
    yield
    gc.collect()


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


@pytest_asyncio.fixture
async def mariadb(mariadb_url: str) -> AsyncIterator[Database]:
    """An empty MariaDB database at the newest revision."""
    database = Database(mariadb_url)
    yield database
    await database.close()
