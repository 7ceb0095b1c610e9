"""The grants that docs/operations.md states are enough for the servers, and for `saraban migrate`."""

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from saraban.bootstrap import closing, seed, wire
from saraban.kit import migrations, revisions
from saraban.kit.db import Database
from saraban.worker.loop import Worker
from saraban.worker.partitions import ensure_partitions
from tests.conftest import settings_in
from tests.numbering_world import world_of
from tests.servers import MariaDb, database_name

pytestmark = pytest.mark.servers

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture
def urls(mariadb_server: MariaDb, mariadb_demo_url: str) -> Iterator[tuple[str, str]]:
    """The addresses of the demo database for the two accounts of the page: that of the servers, that of `migrate`."""
    blocks = re.findall(r"```sql\n((?:CREATE USER|GRANT) .*?)```", OPERATIONS.read_text(), re.DOTALL)
    name = database_name(mariadb_demo_url)
    statements = (
        "".join(blocks).replace("saraban.", f"{name}.").replace("'…'", "'secret'").replace("localhost", "'127.0.0.1'")
    )
    mariadb_server.run(statements.replace("saraban@", "few@").replace("saraban_migrate@", "few_migrate@"))
    place = f"127.0.0.1:{mariadb_server.port}/{name}"
    yield f"mysql://few:secret@{place}", f"mysql://few_migrate:secret@{place}"
    mariadb_server.run("DROP USER few@'127.0.0.1', few_migrate@'127.0.0.1'")


async def test_servers_draw_numbers_and_add_partitions(urls: tuple[str, str], tmp_path: Path) -> None:
    async with closing(wire(settings_in(tmp_path, database_url=urls[0]))) as system:
        await seed(system, demo=False)
        world = await world_of(system.db, own_documents=False)
        number = await world.take(world.allocator(), world.letter())
        await Worker(db=system.db, clock=system.clock, handlers=system.handlers).drain()
        later = datetime(2031, 1, 1, tzinfo=UTC)
        added = await system.db.transact(ensure_partitions, later)

    assert number.sequence == 1
    assert added == [f"{table} {year}" for table in ("notifications", "audit_logs") for year in (2031, 2032)]


async def test_servers_cannot_drop_a_table(urls: tuple[str, str]) -> None:
    db = Database(urls[0])
    with pytest.raises(sa.exc.OperationalError, match="denied"):
        await db.transact(lambda session: session.execute(sa.text("DROP TABLE document_number_counters")))
    await db.close()


@pytest.mark.faults
async def test_migrate_takes_an_empty_database_to_the_newest_revision(
    mariadb_server: MariaDb, urls: tuple[str, str]
) -> None:
    name = database_name(urls[1])
    mariadb_server.run(f"DROP DATABASE `{name}`; CREATE DATABASE `{name}` CHARACTER SET utf8mb4")

    await asyncio.to_thread(migrations.upgrade, urls[1])

    assert await asyncio.to_thread(migrations.current, urls[1]) == revisions.newest()
