"""The letterbox office on SQLite, without a server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from saraban.kit.db import Database
from tests.conftest import run_apart
from tests.factories.letterbox import Office, new_office, office_in


@pytest.fixture(scope="session")
def office_file(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the demo people, made once: hashing their passwords takes a second."""
    path = tmp_path_factory.mktemp("office") / "saraban.db"
    path.write_bytes(migrated_file.read_bytes())

    async def fill() -> None:
        database = Database(f"sqlite:///{path}")
        await new_office(database)
        await database.close()

    run_apart(fill())
    return path


@pytest.fixture
def office_copy(office_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "office.db"
    path.write_bytes(office_file.read_bytes())
    return path


@pytest_asyncio.fixture
async def office(office_copy: Path) -> AsyncIterator[Office]:
    database = Database(f"sqlite:///{office_copy}")
    yield await office_in(database)
    await database.close()
