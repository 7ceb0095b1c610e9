"""Migrations of a test's own database, and what its tables contain then."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from saraban.kit import migrations
from tests.servers import MariaDb


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Migrations run an event loop of their own, which a thread with a running one would refuse."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work, *arguments).result()


def on(url: str, work: Callable[[sa.Connection], Any]) -> Any:
    return apart(migrations._on, url, work)


def rows(url: str, sql: str) -> list[Any]:
    return on(url, lambda connection: connection.execute(sa.text(sql)).all())


@contextmanager
def empty_database(request: pytest.FixtureRequest, folder: Path, name: str) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{folder / f'{name}.db'}"
        return
    server: MariaDb = request.getfixturevalue("mariadb_server")
    server.drop(name)
    yield server.create(name)
    server.drop(name)
