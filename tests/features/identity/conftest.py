"""A database with the demo people, made once and copied for each test; a clock that stands still."""

import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from saraban.identity.service import LogInThrottle, ThrottleRules, TokenIssuer
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.rate_limits import RateLimiter
from tests.conftest import run_apart
from tests.demo_people import fill

RULES = ThrottleRules(attempts=3, of_address=0, longest=0.01, least=0)
START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def people_file(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Path:
    path = tmp_path_factory.mktemp("people") / "saraban.db"
    shutil.copy(migrated_file, path)

    async def filled() -> None:
        database = Database(f"sqlite:///{path}")
        await fill(database)
        await database.close()

    run_apart(filled())
    return path


@pytest_asyncio.fixture
async def people_db(people_file: Path, tmp_path: Path) -> AsyncIterator[Database]:
    shutil.copy(people_file, tmp_path / "people.db")
    database = Database(f"sqlite:///{tmp_path / 'people.db'}")
    yield database
    await database.close()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START, ZoneInfo("Asia/Bangkok"))


@pytest.fixture
def issuer(clock: FixedClock) -> TokenIssuer:
    return TokenIssuer(
        "a-key-of-this-test-and-of-nothing-else-at-all-in-the-world", access_minutes=15, refresh_days=7, clock=clock
    )


@pytest.fixture
def throttle() -> LogInThrottle:
    return LogInThrottle(RateLimiter(), RULES, key="a key")
