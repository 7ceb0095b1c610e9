"""Statements that are written once: the same rows as SQLAlchemy gives, whatever stands in the values, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Code, Database, UtcDateTime
from saraban.kit.driver import DriverConnection, delete_statement, insert_mappings_statement, update_statement
from saraban.kit.pipeline import Pipeline
from saraban.kit.statements import PreparedStatement, Query, fetch_each, together
from saraban.workflow.runtime.models import UuidText

ODD = ["plain", 'it\'s "quoted"', "100 % {of} it", "ไทย\\n", "", "a;b -- c", "\x1a\u2028", "\\'; --", "'", "\\", "'\\"]
ONE, TWO = UUID(int=1), UUID(int=2)
THINGS = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("id", sa.Integer(), primary_key=True),
    sa.Column("uuid", sa.Uuid()),
    sa.Column("twin", UuidText()),
    sa.Column("name", Code(50), nullable=False),
    sa.Column("at", UtcDateTime()),
    sa.Column("day", sa.Date()),
    sa.Column("more", sa.JSON()),
    sa.Column("open", sa.Boolean(), server_default=sa.true()),
)
AT = datetime(2026, 11, 20, 5, 0, 1, 250_000, tzinfo=UTC)
ALL = sa.select(*THINGS.columns).order_by(THINGS.c.id)
NAMED = PreparedStatement(
    ALL.where(THINGS.c.name.in_(sa.bindparam("names", expanding=True)), THINGS.c.open, THINGS.c.id < 100)
)
OF = PreparedStatement(
    sa.select(THINGS.c.id).where(THINGS.c.uuid == sa.bindparam("uuid"), THINGS.c.at >= sa.bindparam("since"))
)
CLOSE = PreparedStatement(
    sa.update(THINGS)
    .where(THINGS.c.id.in_(sa.bindparam("keys", expanding=True)))
    .values(open=False, at=sa.bindparam("at", type_=UtcDateTime()))
)


def thing(key: int, **more: Any) -> dict[str, Any]:
    return {
        "id": key,
        "uuid": ONE,
        "twin": str(TWO),
        "name": "plain",
        "at": AT,
        "day": date(2026, 11, 20),
        "more": {"ก": [1, None, "it's"]},
    } | more


@pytest_asyncio.fixture
async def session(any_db: Database) -> AsyncIterator[AsyncSession]:
    async with any_db.engine.begin() as connection:
        await connection.run_sync(THINGS.metadata.create_all)
    async with any_db.writing() as session:
        driver = await DriverConnection.of(session)
        rows = [thing(key, name=name) for key, name in enumerate(ODD, start=1)]
        await driver.run([insert_mappings_statement(driver, THINGS, rows)])
        yield session


class TestRows:
    async def test_are_those_that_were_written_in_the_types_of_their_columns(self, session: AsyncSession) -> None:
        rows = await NAMED.rows(session, names=ODD)

        assert [tuple(row) for row in rows] == [tuple(row) for row in (await session.execute(ALL)).all()]
        assert [row[3] for row in rows] == ODD
        assert tuple(rows[0]) == (1, ONE, TWO, "plain", AT, date(2026, 11, 20), {"ก": [1, None, "it's"]}, True)

    async def test_are_found_by_whatever_stands_in_them(self, session: AsyncSession) -> None:
        for name in ODD:
            assert [row[3] for row in await NAMED.rows(session, names=[name])] == [name]

    async def test_are_none_where_nothing_is_asked_for(self, session: AsyncSession) -> None:
        assert list(await NAMED.rows(session, names=[])) == []

    async def test_are_found_by_converted_values(self, session: AsyncSession) -> None:
        assert len(await OF.rows(session, uuid=ONE, since=AT)) == len(ODD)
        assert list(await OF.rows(session, uuid=TWO, since=AT)) == []
        assert list(await OF.rows(session, uuid=ONE, since=AT.replace(year=2027))) == []

    async def test_fail_as_those_of_sqlalchemy_do(self, session: AsyncSession) -> None:
        nowhere = sa.table("nowhere", sa.column("id", sa.Integer()))

        with pytest.raises(DBAPIError):
            await PreparedStatement(sa.select(nowhere.c.id)).rows(session)


class TestAnswers:
    async def test_come_to_each_question_in_its_own_words(self, session: AsyncSession) -> None:
        none, some, first = await fetch_each(
            session,
            Query(OF, {"uuid": TWO, "since": AT}, list),
            Query(NAMED, {"names": ODD[2:4]}, lambda rows: [(row[0], row[4]) for row in rows]),
            Query(OF, {"uuid": ONE, "since": AT}, lambda rows: rows[0][0]),
        )

        assert (none, some, first) == ([], [(3, AT), (4, AT)], 1)

    async def test_are_one_answer_where_the_same_is_asked_twice(self, session: AsyncSession, any_db: Database) -> None:
        chance = sa.func.random() if any_db.is_sqlite else sa.func.rand()
        asked = Query(PreparedStatement(sa.select(chance)), {}, list)

        one, other = await fetch_each(session, asked, asked)

        assert one == other

    async def test_fail_when_one_of_them_does_and_leave_the_connection_usable(self, session: AsyncSession) -> None:
        nowhere = PreparedStatement(sa.select(sa.table("nowhere", sa.column("id", sa.Integer())).c.id))
        fine = Query(NAMED, {"names": ODD}, len)

        with pytest.raises(DBAPIError):
            await fetch_each(session, fine, Query(nowhere, {}, len), fine)

        assert await fetch_each(session, fine) == [len(ODD)]


class TestTogether:
    async def test_gives_each_reading_what_it_asked_for_however_deep(self, session: AsyncSession) -> None:
        async def key_of(name: str) -> int:
            return int((await NAMED.rows(session, names=[name]))[0][0])

        async def both() -> list[int]:
            keys: list[int] = await together(session, key_of(ODD[1]), key_of(ODD[2]))
            return [*keys, await key_of(ODD[sum(keys) - 1])]

        async def otherwise() -> int:
            first = await key_of(ODD[0])
            await asyncio.sleep(0)
            return first + int(await session.scalar(sa.select(sa.func.count()).select_from(THINGS)) or 0)

        async def nothing() -> None:
            return None

        assert await together(session, both(), otherwise(), nothing()) == [[2, 3, 5], 1 + len(ODD), None]

    async def test_asks_for_many_in_one_round_trip(self, session: AsyncSession, monkeypatch: Any) -> None:
        reads: list[int] = []
        read = DriverConnection.read

        async def counted(driver: DriverConnection, texts: Any) -> Any:
            reads.append(len(texts))
            return await read(driver, texts)

        monkeypatch.setattr(DriverConnection, "read", counted)

        async def two(name: str) -> None:
            await NAMED.rows(session, names=[name])
            await NAMED.rows(session, names=[name])

        await together(session, two("a"), two("b"), NAMED.rows(session, names=["c"]))

        if not (await DriverConnection.of(session)).on_sqlite:
            assert reads == [3, 2]

    async def test_tells_a_reading_of_the_fault_of_what_it_waits_for(self, session: AsyncSession) -> None:
        async def breaks() -> None:
            raise OSError("gone")

        async def reads() -> str:
            task = asyncio.create_task(breaks())
            try:
                await task
            except OSError as fault:
                return str(fault)
            return "nothing"

        assert await together(session, reads(), NAMED.rows(session, names=[])) == ["gone", []]

    async def test_ends_all_of_them_when_one_fails(self, session: AsyncSession) -> None:
        ended: list[str] = []

        async def fails() -> None:
            await NAMED.rows(session, names=[])
            raise LookupError("nothing there")

        async def waits() -> None:
            try:
                await NAMED.rows(session, names=[])
                await NAMED.rows(session, names=[])
            finally:
                ended.append("waits")

        with pytest.raises(LookupError):
            await together(session, waits(), fails())

        assert ended == ["waits"]
        assert len(await NAMED.rows(session, names=ODD)) == len(ODD)


class TestChanges:
    async def test_that_are_due_are_made_when_they_are_sent(self, session: AsyncSession) -> None:
        pipeline = Pipeline(session)
        pipeline.execute(CLOSE, keys=[1, 3], at=AT.replace(day=21))
        await pipeline.send()

        open_ones = [row[0] for row in await NAMED.rows(session, names=ODD)]
        assert open_ones == [2, *range(4, len(ODD) + 1)]
        assert [row.at.day for row in (await session.execute(ALL)).all()] == [21, 20, 21, *[20] * (len(ODD) - 3)]

    async def test_count_the_rows_that_each_statement_changed(self, session: AsyncSession) -> None:
        driver = await DriverConnection.of(session)

        changed = await driver.run(
            [
                update_statement(
                    driver, THINGS, {"name": ODD[1], "more": None}, where={"id": [1, 2, 99], "uuid": [ONE]}
                ),
                update_statement(
                    driver, THINGS, {"at": AT.replace(day=22)}, where={"twin": [TWO], "day": [date(2026, 11, 21)]}
                ),
                delete_statement(driver, THINGS, where={"name": [ODD[1], ODD[2]]}),
            ]
        )

        assert changed == [2, 0, 3]
        assert [row.id for row in (await session.execute(ALL)).all()] == list(range(4, len(ODD) + 1))

    async def test_fail_as_those_of_sqlalchemy_do(self, session: AsyncSession) -> None:
        driver = await DriverConnection.of(session)

        with pytest.raises(IntegrityError):
            await driver.run([update_statement(driver, THINGS, {"id": 2}, where={"id": [1]})])


class TestDriver:
    async def test_is_asked_for_once_in_a_transaction(self, any_db: Database) -> None:
        async with any_db.writing() as session:
            first = await DriverConnection.of(session)
            assert await DriverConnection.of(session) is first

        async with any_db.reading() as session:
            before = await DriverConnection.of(session)
            await session.rollback()
            assert await DriverConnection.of(session) is not before
