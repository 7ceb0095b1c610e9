"""A migration on MariaDB that is killed (`kill -9`) before any of its statements goes on when it is run again (REQ-IDN-06)."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from saraban.kit import migrations
from tests.database import first_schema_rows
from tests.killed_migrations import FirstUnseen, Nth, is_killed
from tests.migrating import OldDatabases, apart, on
from tests.servers import MariaDb, database_name

pytestmark = pytest.mark.servers


class Movement(NamedTuple):
    direction: str
    start: str
    end: str


UP_FROM_NOTHING = Movement("upgrade", "base", "0004")
UP_WITH_ROWS = Movement("upgrade", "0004", "head")
DOWN_WITH_ROWS = Movement("downgrade", "head", "base")
MOVEMENTS = (UP_FROM_NOTHING, UP_WITH_ROWS, DOWN_WITH_ROWS)


class Contents(NamedTuple):
    """The statements that make the tables, and how many rows each has."""

    schema: str
    rows: dict[str, int]


class Databases:
    """Databases on MariaDB with the rows of the first schema, at the beginning and at the end of a movement."""

    def __init__(self, server: MariaDb, old: OldDatabases) -> None:
        self.server = server
        self.starts = {"base": ""} | {revision: old.statements(revision) for revision in ("0004", "head")}
        self.ends: dict[Movement, Contents] = {}

    def end_of(self, movement: Movement) -> Contents:
        """Return what the movement makes when nothing interrupts it."""
        if movement not in self.ends:
            url = self.begin(movement)
            apart(getattr(migrations, movement.direction), url, movement.end)
            self.ends[movement] = self.contents(url)
        return self.ends[movement]

    def begin(self, movement: Movement) -> str:
        self.server.drop("killed")
        return self.server.create("killed", statements=self.starts[movement.start])

    def contents(self, url: str) -> Contents:
        lines = self.server.dump(database_name(url)).splitlines()
        schema = "\n".join(line for line in lines if not line.startswith(("INSERT", "(")))
        rows = {table: len(rows) for table, rows in on(url, first_schema_rows.contents).items()}
        return Contents(re.sub(r" AUTO_INCREMENT=\d+", "", schema), rows)


@pytest.fixture(scope="module")
def databases(mariadb_server: MariaDb, old_databases: Callable[[str], OldDatabases]) -> Databases:
    return Databases(mariadb_server, old_databases("mariadb"))


def kill_and_go_on(databases: Databases, movement: Movement, at: int) -> bool:
    """Return whether there was such a statement."""
    url = databases.begin(movement)
    killed = is_killed(Nth(at), movement.direction, url, movement.end)

    apart(getattr(migrations, movement.direction), url, movement.end)

    assert databases.contents(url) == databases.end_of(movement), at
    return killed


@pytest.mark.parametrize(
    ("movement", "at"),
    [(UP_FROM_NOTHING, 99), (UP_WITH_ROWS, 30), (UP_WITH_ROWS, 99), (UP_WITH_ROWS, 222), (DOWN_WITH_ROWS, 150)],
)
@pytest.mark.sampled("movement3")
def test_goes_on_after_a_kill(databases: Databases, movement: Movement, at: int) -> None:
    assert kill_and_go_on(databases, movement, at)


def test_finishes_a_downgrade_that_was_killed_before_it_goes_up(databases: Databases) -> None:
    url = databases.begin(DOWN_WITH_ROWS)
    assert is_killed(Nth(40), "downgrade", url, "0004")

    apart(migrations.upgrade, url, "head")

    assert databases.contents(url).schema == databases.end_of(UP_WITH_ROWS).schema


@pytest.mark.faults
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("movement", MOVEMENTS)
def test_goes_on_when_it_is_killed_before_every_statement(
    databases: Databases, movement: Movement, tmp_path: Path
) -> None:
    """Each run comes one statement further than the run before, and is killed there."""
    url, seen = databases.begin(movement), tmp_path / "seen"
    while is_killed(FirstUnseen(seen), movement.direction, url, movement.end):
        pass

    assert databases.contents(url) == databases.end_of(movement)
    assert len(seen.read_text("utf-8").splitlines()) > 100
