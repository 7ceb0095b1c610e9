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

from saraban.kit import db as kit_db
from saraban.kit.connections import DatabaseConnectionChanged
from saraban.kit.db import Code, Database, UtcDateTime
from saraban.kit.pipeline import DriverConnection, SqlStatement, delete_statement, insert_statement, update_statement
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
    @settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        monkeypatch.setattr(kit_db, "MARIADB_SESSION", change)  # as a proxy would that answers for the server
        db = Database(mariadb_url)

        with pytest.raises(DatabaseConnectionChanged):
            await db.ping()
        await db.close()
