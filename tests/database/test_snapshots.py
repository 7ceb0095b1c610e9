"""Long reads in short snapshots, on each database."""

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.kit.db import Database, Snapshots
from tests.numbering_world import DOCUMENTS, NOW

pytestmark = pytest.mark.servers


async def organizations(session: AsyncSession) -> int:
    return await session.scalar(sa.select(sa.func.count()).select_from(Organization)) or 0


async def one_more(db: Database) -> None:
    async with db.writing() as session:
        session.add(Organization(organization_code="ใหม่", organization_name="ใหม่", created_at=NOW, updated_at=NOW))


class TestSnapshots:
    async def test_show_one_moment_until_they_are_old(self, any_db: Database) -> None:
        now = [0.0]
        async with Snapshots(any_db, seconds=2, clock=lambda: now[0]) as snapshots:
            before = await snapshots.step(organizations)
            await one_more(any_db)
            now[0] = 1.9
            young = await snapshots.step(organizations)
            now[0] = 2.0
            old = await snapshots.step(organizations)

        assert (young, old) == (before, before + 1)

    async def test_hold_no_connection_between_them(self, any_db: Database) -> None:
        async with Snapshots(any_db) as snapshots:
            await snapshots.step(organizations)
            await snapshots.end()

            assert any_db.pool_status()["in_use"] == 0

    async def test_begin_again_where_a_table_was_altered_meanwhile(self, mariadb: Database) -> None:
        """MariaDB refuses a table that is newer than the snapshot."""

        async def written(session: AsyncSession) -> int:
            return await session.scalar(sa.select(sa.func.count()).select_from(DOCUMENTS)) or 0

        async with mariadb.engine.begin() as connection:
            await connection.run_sync(DOCUMENTS.metadata.create_all)
        async with Snapshots(mariadb) as snapshots:
            await snapshots.step(organizations)
            async with mariadb.engine.begin() as connection:
                await connection.execute(
                    sa.text("ALTER TABLE written_documents ADD COLUMN more INT, ALGORITHM=INPLACE")
                )

            assert await snapshots.step(written) == 0
