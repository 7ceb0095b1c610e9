"""Sessions: on MariaDB each statement of a reader is by itself and none of them writes; work that runs again."""

import asyncio
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.db import Database, database_of

AT = datetime(2026, 11, 23, 5, tzinfo=UTC)


def user(name: str) -> User:
    return User(username=name, password_hash="!", email=f"{name}@saraban.invalid", created_at=AT, updated_at=AT)


async def names(session: AsyncSession) -> set[str]:
    return set(await session.scalars(sa.select(User.username)))


class TestReading:
    async def test_leaves_nothing_of_what_is_written(self, any_db: Database) -> None:
        async with any_db.reading() as session:
            session.add(user("nobody"))
            if any_db.is_sqlite:
                await session.flush()
            else:
                with pytest.raises(DBAPIError, match="READ ONLY"):
                    await session.flush()

        async with any_db.reading() as session:
            assert "nobody" not in await names(session)

    async def test_sees_what_was_committed_a_moment_ago(self, mariadb: Database) -> None:
        async with mariadb.reading() as session:
            before = await names(session)
            async with mariadb.writing() as writer:
                writer.add(user("newcomer"))

            assert await names(session) - before == {"newcomer"}

    async def test_sends_the_reads_alone(self, mariadb_url: str) -> None:
        db = Database(mariadb_url, pool_size=1)
        ended = sa.text("SHOW SESSION STATUS WHERE Variable_name IN ('Com_begin', 'Com_commit', 'Com_rollback')")
        async with db.reading() as session:
            before = (await session.execute(ended)).all()
        for _ in range(3):
            async with db.reading() as session:
                await names(session)
                after = (await session.execute(ended)).all()
        await db.close()

        assert after == before

    async def test_holds_up_nobody_who_changes_a_table(self, mariadb: Database) -> None:
        async with mariadb.reading() as session:
            await names(session)
            async with asyncio.timeout(10), mariadb.writing() as writer:
                await writer.execute(sa.text("ALTER TABLE users COMMENT = 'changed meanwhile'"))

            assert await names(session) == set()

    async def test_knows_its_database(self, any_db: Database) -> None:
        async with any_db.reading() as reader, any_db.snapshot() as long_reader:
            assert database_of(reader) is any_db
            assert database_of(long_reader) is any_db


class TestSnapshot:
    async def test_stays_at_the_moment_of_its_first_read(self, any_db: Database) -> None:
        async with any_db.snapshot() as session:
            before = await names(session)
            async with any_db.writing() as writer:
                writer.add(user("newcomer"))

            assert await names(session) == before


async def close_idle(url: str) -> None:
    """Have the server close every other connection to the database, as `wait_timeout` and a restart do."""
    other = Database(url, pool_size=1)
    async with other.engine.connect() as connection:
        known = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        for (key,) in (await connection.execute(sa.text(known))).all():
            await connection.exec_driver_sql(f"KILL {key}")
        for _ in range(500):
            if not (await connection.execute(sa.text(known))).all():
                break
            await asyncio.sleep(0.01)
    await other.close()


class TestConnectionsClosedByTheServer:
    async def test_cost_nobody_a_read_or_a_write(self, mariadb: Database, mariadb_url: str) -> None:
        async def write(session: AsyncSession) -> None:
            session.add(user("newcomer"))

        async with mariadb.reading() as one, mariadb.reading() as two, mariadb.snapshot() as third:
            assert await names(one) == await names(two) == await names(third) == set()
        await close_idle(mariadb_url)

        async with mariadb.reading() as one, mariadb.reading() as two:
            assert await names(one) == await names(two) == set()
        await mariadb.transact(write)
        await close_idle(mariadb_url)
        async with mariadb.writing() as session:
            await names(session)
        async with mariadb.snapshot() as session:
            assert await names(session) == {"newcomer"}


class TestConnectionLostInAStatement:
    async def test_costs_nobody_a_read_and_still_takes_no_write(self, mariadb: Database, mariadb_url: str) -> None:
        slow = sa.text("SELECT SLEEP(0.6), username FROM users UNION ALL SELECT SLEEP(0.6), 'last'")
        async with mariadb.reading() as one, mariadb.reading() as two:
            reads = [asyncio.ensure_future(reader.execute(slow)) for reader in (one, two)]
            await asyncio.sleep(0.2)
            await close_idle(mariadb_url)
            answers = await asyncio.gather(*reads)

            assert [list(answer.scalars()) for answer in answers] == [[0]] * 2
            with pytest.raises(DBAPIError, match="READ ONLY"):
                await one.execute(sa.text("DELETE FROM users"))


class TestWaitForTheCluster:
    async def test_is_set_on_connections_of_every_kind(self, mariadb_url: str) -> None:
        asked = sa.text("SELECT @@wsrep_sync_wait")
        for wait in (0, 7):
            db = Database(mariadb_url, sync_wait=wait)
            async with db.reading() as reader, db.writing() as writer, db.snapshot() as long_reader:
                found = [await session.scalar(asked) for session in (reader, writer, long_reader)]
            await db.close()

            assert found == [wait] * 3


async def test_a_row_made_before_the_work_is_inserted_by_its_second_attempt(any_db: Database) -> None:
    attempts: list[User] = []
    row = user("again")

    async def insert(row: User, session: AsyncSession) -> None:
        session.add(row)
        await session.flush()
        attempts.append(row)
        if len(attempts) == 1:
            raise OperationalError("INSERT", {}, Exception("database is locked"))

    await any_db.transact(insert, row)

    async with any_db.reading() as session:
        assert len(attempts) == 2
        assert await session.scalar(sa.select(sa.func.count()).where(User.username == row.username)) == 1
