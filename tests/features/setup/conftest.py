"""A database with what ships and nothing else: no demo, no organization, no project."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from saraban.bootstrap import System, closing, seed, wire
from saraban.kit.db import Database
from tests.conftest import run_apart, settings_in


@pytest.fixture(scope="session")
def shipped_folder(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Path:
    """A data folder with the shipped master data, made once; tests get copies."""
    folder = tmp_path_factory.mktemp("shipped-template")
    shutil.copy(migrated_file, folder / "saraban.db")

    async def seeded() -> None:
        async with closing(wire(settings_in(folder))) as system:
            await seed(system, demo=False)

    run_apart(seeded())
    return folder


@pytest_asyncio.fixture
async def empty_system(shipped_folder: Path, tmp_path: Path) -> AsyncIterator[System]:
    folder = tmp_path / "empty"
    shutil.copytree(shipped_folder, folder)
    async with closing(wire(settings_in(folder))) as wired:
        yield wired


@pytest.fixture
def empty_db(empty_system: System) -> Database:
    return empty_system.db
