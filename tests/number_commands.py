"""The number commands of the terminal, and the rows that they leave."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from saraban.config import Settings
from tests.numbering_requests import GENERATE, Project
from tests.terminal import Command, commands_of


@pytest.fixture
def command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """`command("verify")` gives the exit code, stdout and stderr of `saraban number verify`, on demo data."""
    with commands_of("number", settings, monkeypatch, capfd) as command:
        yield command


@pytest.fixture
def rows(settings: Settings) -> Iterator[sqlite3.Connection]:
    """The database as somebody with the file sees it."""
    connection = sqlite3.connect(settings.data_dir / "saraban.db", isolation_level=None)
    yield connection
    connection.close()


async def drawn(client: Any, project: Project, **more: Any) -> dict[str, Any]:
    answer = await client.post(GENERATE, json=project.letter(**more))
    assert answer.status_code == 201, answer.text
    return answer.json()  # type: ignore[no-any-return]
