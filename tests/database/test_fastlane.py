"""The fast lane: what its connection states, how values are quoted, what is guarded and what is broken off there."""

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
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.models import OutboxEvent
from saraban.kit import connections
from saraban.kit.connections import DatabaseConnectionChanged
from saraban.kit.db import Code, Database, UtcDateTime, table_of
from saraban.kit.fastlane import FastStatement, Packet, run_alone
from tests.servers import MariaDb

pytestmark = pytest.mark.servers

SLOW = FastStatement(sa.select(sa.func.sleep(5)))
AT = datetime(2026, 11, 23, 5, tzinfo=UTC)
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
            packet = Packet(session)
            packet.execute(SLOW)
            await packet.send()

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
NAMES = tuple(column.name for column in PROBE.columns)
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


def all_parameters() -> dict[str, Any]:
    return {name: sa.bindparam(f"new_{name}", type_=PROBE.c[name].type) for name in NAMES}


DELETE = FastStatement(sa.delete(PROBE))
CHANGE = FastStatement(
    sa.update(PROBE)
    .where(
        PROBE.c.id == sa.bindparam("new_id"),
        PROBE.c.code.is_not_distinct_from(sa.bindparam("old_code", type_=Code(60))),
    )
    .values(all_parameters())
)
READ = FastStatement(sa.select(PROBE).order_by(PROBE.c.id))


class Missed(Exception):
    pass


class TestQuoting:
    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(rows=tables())
    async def test_brings_every_value_to_every_place_as_it_is(self, probed: Database, rows: list[list[Any]]) -> None:
        async with probed.writing() as session:
            packet = Packet(session)
            packet.execute(DELETE)
            packet.insert(PROBE, NAMES, rows)
            await packet.send()
            first = dict(zip(NAMES, rows[0], strict=True))
            for number in range(1, len(rows)):  # the same values in an update, and asked for
                row = dict(zip(NAMES, rows[number], strict=True))
                for values, code in ((first | {"id": number}, row["code"]), (row, first["code"])):
                    packet.execute(CHANGE, old_code=code, **{f"new_{name}": value for name, value in values.items()})
            await packet.send()
        async with probed.reading() as session:
            found = [list(row) for row in await session.execute(sa.select(PROBE).order_by(PROBE.c.id))]

        assert found == rows
        assert repr([row[7] for row in found]) == repr([row[7] for row in rows])  # 1 is not True in JSON
        assert [list(row) for row in await run_alone(probed, READ)] == rows

    async def test_looks_at_every_value_of_a_column_and_not_at_the_first_alone(self, probed: Database) -> None:
        rows: list[list[Any]] = [[0, 7, "1"], [1, "it's; -- \\", "1"], [2, True, "x"]]
        async with probed.writing() as session:
            packet = Packet(session)
            packet.insert(PROBE, ("id", "words", "code"), rows)
            await packet.send()

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
            said = sa.select(
                sa.bindparam("special", type_=sa.String()),
                sa.literal_column('"it"'),
                sa.literal_column("@@collation_connection"),
            )
            found = await run_alone(db, FastStatement(said), special=SPECIAL)
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


PEOPLE = sa.Table(
    "people",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", Code(60), nullable=False, unique=True),
    sa.Column("seen", sa.Integer, server_default="0"),
)
SEE = FastStatement(sa.update(PEOPLE).where(PEOPLE.c.name == sa.bindparam("person")).values(seen=PEOPLE.c.seen + 1))


@pytest_asyncio.fixture
async def people(any_db: Database) -> Database:
    async with any_db.engine.begin() as connection:
        await connection.run_sync(PEOPLE.metadata.create_all)
        await connection.execute(sa.insert(PEOPLE).values(name="before"))
    return any_db


class TestPacket:
    async def test_ends_at_a_guard_that_changed_nothing(self, people: Database) -> None:
        async with people.writing() as session:
            packet = Packet(session)
            packet.execute(SEE, Missed(), guards=True, person="nobody")
            packet.insert(PEOPLE, ("name",), [["behind"]])
            with pytest.raises(Missed):
                await packet.send()

            assert list(await session.scalars(sa.select(PEOPLE.c.name))) == ["before"]

    async def test_goes_on_behind_a_guard_that_changed_its_row(self, people: Database) -> None:
        async with people.writing() as session:
            packet = Packet(session)
            packet.execute(SEE, Missed(), guards=True, person="before")
            packet.insert(PEOPLE, ("name",), [["behind"], ["further behind"]])
            await packet.send()

            assert list(await session.scalars(sa.select(PEOPLE.c.seen).order_by(PEOPLE.c.id))) == [1, 0, 0]

    async def test_refuses_a_statement_that_changed_nothing(self, people: Database) -> None:
        async with people.writing() as session:
            packet = Packet(session)
            packet.execute(SEE, person="nobody")
            packet.execute(SEE, Missed(), person="nobody")

            with pytest.raises(Missed):
                await packet.send()

    async def test_fails_as_sqlalchemy_does(self, people: Database) -> None:
        async with people.writing() as session:
            packet = Packet(session)
            packet.insert(PEOPLE, ("name",), [["before"]])

            with pytest.raises(IntegrityError):
                await packet.send()

    async def test_goes_behind_what_the_session_holds(self, people: Database) -> None:
        event = OutboxEvent(name="a", aggregate_type="b", aggregate_id="c", payload={}, created_at=AT, available_at=AT)
        read = FastStatement(sa.update(table_of(OutboxEvent)).values(attempts=7))
        async with people.writing() as session:
            session.add(event)
            packet = Packet(session)
            packet.execute(read, Missed())

            await packet.send()

    async def test_is_refused_where_nothing_is_written(self, mariadb: Database) -> None:
        async with mariadb.reading() as session:
            packet = Packet(session)
            packet.execute(FastStatement(sa.delete(table_of(OutboxEvent))))
            with pytest.raises(DBAPIError, match="READ ONLY"):
                await packet.send()
