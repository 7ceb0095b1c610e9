"""The driver's own connection under a session: what is broken off there must not come back to the pool."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.bulk import Driver, Statement
from saraban.kit.db import Database

pytestmark = pytest.mark.servers

SLOW = "SELECT SLEEP(5)"


@pytest_asyncio.fixture
async def one_connection(mariadb_url: str) -> AsyncIterator[Database]:
    """A pool of one: whoever comes next gets what the one before left behind."""
    db = Database(mariadb_url, pool_size=1)
    yield db
    await db.close()


class TestCancelled:
    async def test_leaves_the_next_user_a_connection_that_works(self, one_connection: Database) -> None:
        async def slow(session: AsyncSession) -> None:
            await (await Driver.of(session)).run([Statement(SLOW)])

        task = asyncio.create_task(one_connection.transact(slow))
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.wait([task])

        async with one_connection.reading() as session:
            assert await session.scalar(sa.text("SELECT 1")) == 1
        assert task.cancelled()
