"""No value of a row reaches a log, a dead letter or a terminal when its statement fails, however it was sent."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio
import sqlalchemy as sa
import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.models import AuditBlock
from saraban.cli.output import exit_code_of
from saraban.kit.db import Database, table_of
from saraban.kit.error_text import error_text
from saraban.kit.fastlane import FastStatement, Packet
from saraban.kit.ids import new_id
from saraban.ops import logs
from tests.log_capture import kept_logging

SECRET = "o'Neill's geheim"
NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)
BLOCKS = table_of(AuditBlock)

pytestmark = pytest.mark.servers


def values() -> dict[str, object]:
    texts = dict.fromkeys(("rows_digest", "previous_head", "head"), SECRET)
    moments = dict.fromkeys(("first_at", "last_at", "sealed_at"), NOW)
    return (
        {"uuid": new_id(), "journal": SECRET, "number": 1, "kind": "SEAL", "last_id": 1, "row_count": 1}
        | texts
        | moments
    )


async def by_orm(session: AsyncSession) -> None:
    for _ in range(2):
        facts = values()
        session.add(AuditBlock(public_id=facts.pop("uuid"), **facts))
        await session.flush()


async def by_core(session: AsyncSession) -> None:
    for _ in range(2):
        await session.execute(sa.insert(BLOCKS), values())


async def by_rendered_rows(session: AsyncSession) -> None:
    packet = Packet(session)
    packet.insert(BLOCKS, tuple(values()), [list(values().values()), list(values().values())])
    await packet.send()


async def by_fast_statement(session: AsyncSession) -> None:
    wanted = sa.bindparam("wanted", type_=sa.String())
    packet = Packet(session)
    packet.execute(FastStatement(sa.select(BLOCKS.c.id).where(sa.literal_column("nothing") == wanted)), wanted=SECRET)
    await packet.send()


async def by_wrong_type(session: AsyncSession) -> None:
    await session.execute(sa.insert(BLOCKS), values() | {"kind": SECRET * 9, "number": SECRET})


WAYS = (by_orm, by_core, by_rendered_rows, by_fast_statement, by_wrong_type)


@pytest_asyncio.fixture
async def db(any_demo_url: str) -> AsyncIterator[Database]:
    database = Database(any_demo_url)
    yield database
    await database.close()


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    with kept_logging():
        yield


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.sampled("mariadb", "sqlite-by_orm", "sqlite-by_fast_statement")
class TestAFailedStatement:
    async def failure(self, db: Database, way: Callable[[AsyncSession], Awaitable[None]]) -> DBAPIError:
        with pytest.raises(DBAPIError) as caught:
            await db.transact_once(way)
        return caught.value

    @pytest.mark.parametrize("form", ["json", "console"])
    async def test_leaves_no_value_in_the_log(
        self,
        db: Database,
        capsys: pytest.CaptureFixture[str],
        way: Callable[[AsyncSession], Awaitable[None]],
        form: str,
    ) -> None:
        logs.configure(level="DEBUG", form=form)
        error = await self.failure(db, way)
        ours, theirs = structlog.get_logger("saraban.test.values"), logging.getLogger("elsewhere")
        ours.error("failed", exc_info=error)
        wrapped = RuntimeError("outer")
        wrapped.__cause__ = error
        theirs.error("failed too", exc_info=wrapped)
        task = asyncio.ensure_future(db.transact_once(way))
        await asyncio.wait([task])
        facts = {"message": "Task exception was never retrieved", "exception": task.exception(), "future": task}
        asyncio.get_running_loop().default_exception_handler(facts)

        written = capsys.readouterr().err
        assert written.count("Traceback") >= 3
        assert "Task exception was never retrieved" in written
        assert "geheim" not in written
        assert "Neill" not in written

    async def test_leaves_no_value_in_a_row_or_at_a_terminal(
        self, db: Database, capsys: pytest.CaptureFixture[str], way: Callable[[AsyncSession], Awaitable[None]]
    ) -> None:
        error = await self.failure(db, way)

        def fail() -> None:
            raise error

        text = error_text(error)
        assert exit_code_of(fail) != 0
        assert text.startswith(f"{type(error).__name__}: ")
        for words in (text, capsys.readouterr().err):
            assert "geheim" not in words
            assert "Neill" not in words


async def test_a_warning_of_the_driver_has_no_value(mariadb: Database, capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(level="DEBUG", form="json")
    quoted = SECRET.replace("'", "''")
    async with mariadb.engine.begin() as connection:
        await connection.execute(sa.text(f"SELECT CAST('{quoted}' AS INT)"))

    written = capsys.readouterr().err
    assert "Truncated incorrect INTEGER value: '…'" in written
    assert "geheim" not in written
