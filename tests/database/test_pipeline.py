"""The driver's own connection under a session: what it states, how values are quoted, and what is broken off there."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit import connections
from saraban.kit.connections import DatabaseConnectionChanged
from saraban.kit.db import Code, Database, UtcDateTime
from saraban.kit.driver import (
    DriverConnection,
    NewKey,
    SqlStatement,
    delete_statement,
    insert_statement,
    key_of_code,
    update_statement,
)
from saraban.kit.pipeline import Pipeline
from saraban.kit.statements import PreparedStatement
from tests.servers import MariaDb

pytestmark = pytest.mark.servers

SLOW = "SELECT SLEEP(5)"
SPECIAL = "ก\\'"


@pytest_asyncio.fixture
async def one_connection(mariadb_url: str) -> AsyncIterator[Database]:
    """A pool of one: whoever comes next gets what the one before left behind."""
    db = Database(mariadb_url, pool_size=1)
    yield db
    await db.close()


class TestCancelled:
    async def test_leaves_the_next_user_a_connection_that_works(self, one_connection: Database) -> None:
        async def slow(session: AsyncSession) -> None:
            await (await DriverConnection.of(session)).run([SqlStatement(SLOW)])

        task = asyncio.create_task(one_connection.transact(slow))
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.wait([task])

        async with one_connection.reading() as session:
            assert await session.scalar(sa.text("SELECT 1")) == 1
        assert task.cancelled()


@pytest_asyncio.fixture
async def probed(mariadb_url: str) -> AsyncIterator[Database]:
    db = Database(mariadb_url)
    async with db.engine.begin() as connection:
        await connection.run_sync(PROBE.metadata.create_all)
    yield db
    await db.close()


PROBE = sa.Table(
    "probe",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("words", sa.Text),
    sa.Column("code", Code(60)),
    sa.Column("who", sa.Uuid()),
    sa.Column("count", sa.BigInteger),
    sa.Column("is_so", sa.Boolean),
    sa.Column("at", UtcDateTime()),
    sa.Column("facts", sa.JSON()),
    sa.Column("day", sa.Date),
    sa.Column("rate", mysql.DOUBLE(asdecimal=False)),
    sa.Column("price", sa.Numeric(20, 6)),
    sa.Column("raw", sa.LargeBinary),
)
NAMES = [column.name for column in PROBE.columns]
TEXTS = st.text(max_size=40) | st.text(alphabet="\\'\"\0\n\r\x1a%_;-#`?:ก😀", max_size=40)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
FACTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
# Few values that come again, in the same row and the next, are what shared and twin columns are about.
KINDS: list[st.SearchStrategy[Any]] = [
    TEXTS,
    TEXTS,
    st.uuids(version=4),
    NUMBERS,
    st.booleans(),
    st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)),
    FACTS | st.dictionaries(TEXTS, st.sampled_from([0, 1, True, False]), max_size=1),
    st.dates(min_value=date(1000, 1, 1)),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda value: value + 0.0),
    st.decimals(-(10**9), 10**9, places=6),
    st.binary(max_size=20),
]


@st.composite
def tables(draw: st.DrawFn) -> list[list[Any]]:
    """Rows in which each column has values of its kind, often the same ones, and null."""
    pools = [draw(st.lists(st.none() | kind, min_size=1, max_size=3)) for kind in KINDS]
    count = draw(st.integers(1, 4))
    return [[number, *(draw(st.sampled_from(pool)) for pool in pools)] for number in range(count)]


class TestQuoting:
    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(rows=tables())
    async def test_brings_every_value_to_every_place_as_it_is(self, probed: Database, rows: list[list[Any]]) -> None:
        async with probed.writing() as session:
            driver = await DriverConnection.of(session)
            await driver.run(
                [delete_statement(driver, PROBE, where={"id": range(10)}), insert_statement(driver, PROBE, NAMES, rows)]
            )
            first = dict(zip(NAMES, rows[0], strict=True))
            changed = {name: value for name, value in first.items() if name != "id"}
            for number in range(1, len(rows)):  # the same values in an update, and asked for
                where = {"id": [number], "code": [rows[number][2]]} if rows[number][2] is not None else {"id": [number]}
                assert await driver.run([update_statement(driver, PROBE, changed, where=where)]) <= [1]
                await driver.run(
                    [
                        update_statement(
                            driver, PROBE, dict(zip(NAMES, rows[number], strict=True)), where={"id": [number]}
                        )
                    ]
                )
        async with probed.reading() as session:
            found = [list(row) for row in await session.execute(sa.select(PROBE).order_by(PROBE.c.id))]

        assert found == rows
        assert repr([row[7] for row in found]) == repr([row[7] for row in rows])  # 1 is not True in JSON

    async def test_looks_at_every_value_of_a_column_and_not_at_the_first_alone(self, probed: Database) -> None:
        rows: list[list[Any]] = [[0, 7, "1"], [1, "it's; -- \\", "1"], [2, True, "x"]]
        async with probed.writing() as session:
            driver = await DriverConnection.of(session)
            await driver.run([insert_statement(driver, PROBE, ["id", "words", "code"], rows)])

            found = list(await session.scalars(sa.select(PROBE.c.words).order_by(PROBE.c.id)))

        assert found == ["7", "it's; -- \\", "1"]


class TestConnection:
    @pytest.fixture
    def plain_url(self, mariadb_server: MariaDb, mariadb_url: str) -> str:
        """An account to which `init_connect` applies, as it does to all that are not the administrator's."""
        name = make_url(mariadb_url).database
        mariadb_server.run(f"GRANT ALL ON `{name}`.* TO plain@'%' IDENTIFIED BY 'plain'")
        return str(make_url(mariadb_url).set(username="plain", password="plain").render_as_string(hide_password=False))

    async def test_states_its_character_set_and_mode_whatever_the_server_prefers(
        self, mariadb_server: MariaDb, plain_url: str
    ) -> None:
        mariadb_server.run("SET GLOBAL init_connect=\"SET NAMES latin1, sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'\"")
        db = Database(plain_url)
        try:
            async with db.writing() as session:
                driver = await DriverConnection.of(session)
                text = driver.literal(SPECIAL)
                (found,) = await driver.read([f'SELECT {text}, "it", @@collation_connection'])
        finally:
            mariadb_server.run("SET GLOBAL init_connect=''")
            await db.close()

        assert list(found) == [(SPECIAL, "it", "utf8mb4_general_ci")]

    @pytest.mark.parametrize(
        "change",
        [
            "SET NAMES latin1",
            "SET character_set_client = latin1",
            "SET sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES'",
            "SET sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES'",
            "SET sql_mode = ''",
        ],
    )
    async def test_that_somebody_changed_is_refused(
        self, mariadb_url: str, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        monkeypatch.setattr(connections, "MARIADB_SESSION", change)  # as a proxy would that answers for the server
        db = Database(mariadb_url)

        with pytest.raises(DatabaseConnectionChanged):
            await db.ping()
        await db.close()


FAMILY = sa.MetaData()
PEOPLE = sa.Table(
    "people",
    FAMILY,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", Code(60), nullable=False),
    sa.Column("parent_id", sa.ForeignKey("people.id")),
    sa.Column("town_id", sa.Integer),
    sa.Column("seen", sa.Integer, server_default="0"),
)
TOWNS = sa.Table("towns", FAMILY, sa.Column("id", sa.Integer, primary_key=True), sa.Column("code", Code(20)))
SEE = PreparedStatement(
    sa.update(PEOPLE).where(PEOPLE.c.id.in_(sa.bindparam("people", expanding=True))).values(seen=PEOPLE.c.seen + 1)
)
NOBODY = PreparedStatement(
    sa.update(PEOPLE).where(PEOPLE.c.id == sa.bindparam("person")).values(seen=PEOPLE.c.seen + 1)
)
TOWN = 7


@pytest_asyncio.fixture
async def family(any_db: Database) -> Database:
    async with any_db.engine.begin() as connection:
        await connection.run_sync(FAMILY.create_all)
        await connection.execute(sa.insert(TOWNS).values(id=TOWN, code="BKK*"))
    return any_db


# Of each person, how many before it the parent is; none for 0. And after whom the pipeline is sent in between.
TREES = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=6)


class TestNewKey:
    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(tree=TREES)
    async def test_of_a_row_stands_in_the_rows_behind_it(self, family: Database, tree: list[tuple[int, bool]]) -> None:
        keys: list[NewKey] = []
        parents: list[int | None] = []
        async with family.writing() as session:
            await session.execute(sa.update(PEOPLE).values(parent_id=None))
            await session.execute(sa.delete(PEOPLE))
            pipeline = Pipeline(session)
            for place, (before, sends) in enumerate(tree):
                parents.append(place - before if 0 < before <= place else None)
                parent = parents[-1]
                row = {"name": f"it's {place}", "parent_id": None if parent is None else keys[parent]}
                keys.append(pipeline.insert_one(PEOPLE, {**row, "town_id": key_of_code(TOWNS, "code", "BKK*")}))
                pipeline.insert(PEOPLE, [{"name": f"twin {which}", "parent_id": keys[-1]} for which in range(2)])
                pipeline.execute(SEE, people=list(keys))
                if sends:
                    await pipeline.send()
            await pipeline.send()
        async with family.reading() as session:
            found = {row.id: row for row in await session.execute(sa.select(PEOPLE))}

        count = len(tree)
        assert len(found) == 3 * count
        for place, key in enumerate(keys):
            parent = parents[place]
            row = found[key.value]
            assert (row.name, row.town_id, row.seen) == (f"it's {place}", TOWN, count - place)
            assert row.parent_id == (None if parent is None else keys[parent].value)
            twins = [one for one in found.values() if one.parent_id == key.value and one.name.startswith("twin")]
            assert len(twins) == 2

    async def test_is_not_known_before_its_row_is_sent(self, family: Database) -> None:
        async with family.writing() as session:
            key = Pipeline(session).insert_one(PEOPLE, {"name": "a"})

            with pytest.raises(AssertionError):
                _ = key.value

    def test_by_a_code_takes_no_more_than_a_code(self) -> None:
        with pytest.raises(ValueError, match="no code"):
            key_of_code(TOWNS, "code", "' OR 1=1 -- ")


class Missed(Exception):
    pass


class TestGuard:
    async def test_that_is_missed_keeps_all_behind_it_from_being_done(self, family: Database) -> None:
        async with family.writing() as session:
            pipeline = Pipeline(session)
            key = pipeline.insert_one(PEOPLE, {"name": "before"})
            await pipeline.send()
            where = {"id": [key.value + 1]}
            pipeline.add(
                lambda driver: update_statement(driver, PEOPLE, {"seen": 1}, where=where),
                expect=1,
                refusal=Missed(),
                guards=True,
            )
            pipeline.insert(PEOPLE, [{"name": "behind"}])
            with pytest.raises(Missed):
                await pipeline.send()

            assert list(await session.scalars(sa.select(PEOPLE.c.name))) == ["before"]

    async def test_that_holds_lets_all_behind_it_be_done(self, family: Database) -> None:
        async with family.writing() as session:
            pipeline = Pipeline(session)
            key = pipeline.insert_one(PEOPLE, {"name": "before"})
            await pipeline.send()
            where = {"id": [key.value]}
            pipeline.add(
                lambda driver: update_statement(driver, PEOPLE, {"seen": 1}, where=where),
                expect=1,
                refusal=Missed(),
                guards=True,
            )
            pipeline.insert(PEOPLE, [{"name": "behind"}])
            await pipeline.send()

            assert list(await session.scalars(sa.select(PEOPLE.c.seen).order_by(PEOPLE.c.id))) == [1, 0]

    async def test_of_a_single_row_refuses_when_there_is_none(self, family: Database) -> None:
        async with family.writing() as session:
            pipeline = Pipeline(session)
            pipeline.execute_for_one(NOBODY, {"person": 99}, refusal=Missed())

            with pytest.raises(Missed):
                await pipeline.send()
