"""What a caller is answered over HTTP in each of the four error scenarios (REQ-LCK-05 to REQ-LCK-08): status, words, row, metric."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from prometheus_client import REGISTRY
from redis.asyncio import Redis as RedisClient

from saraban.app import create_app
from saraban.kit.db import Database
from saraban.kit.locks import RedisLocks
from saraban.numbering.series.models import NumberAudit, NumberCounter, NumberError
from saraban.ops import metrics
from tests.conftest import client_of, settings_in
from tests.numbering_requests import GENERATE, read_project
from tests.numbering_world import World, world_of
from tests.processes import sign_in
from tests.servers import MariaDb, running_mariadb, running_redis

pytestmark = pytest.mark.servers

BUSY = ("ระบบกำลังยุ่ง กรุณาลองใหม่ภายหลัง", "The system is busy. Please try again later.")
CHANGED = ("เลขที่เอกสารถูกเปลี่ยน กรุณาลองใหม่", "The document number has changed. Please try again.")
FAILED = (
    "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ",
    "Something went wrong in the system. Please contact the administrator.",
)


@asynccontextmanager
async def held(client: RedisClient, name: str) -> AsyncIterator[None]:
    """Another server holds the lock."""
    locks = RedisLocks(client, ttl=30, rest=5)
    async with locks.hold(name, within=1):
        yield
    await locks.close()


class Door:
    """A server in this process, and a caller of its API."""

    def __init__(self, app: FastAPI, client: httpx.AsyncClient, letter: dict[str, Any], world: World) -> None:
        self.app, self.client, self.letter, self.world = app, client, letter, world

    @property
    def db(self) -> Database:
        return self.app.state.db  # type: ignore[no-any-return]

    async def draw(self, *, language: str = "th", key: str | None = None) -> httpx.Response:
        headers = {"Accept-Language": language} | ({"Idempotency-Key": key} if key else {})
        return await self.client.post(GENERATE, json=self.letter, headers=headers)

    async def lock_name(self) -> str:
        return (await self.world.plan(self.world.letter(), now=self.app.state.clock.now())).lock_name

    async def until(self, waiting: int) -> None:
        async with asyncio.timeout(10):
            while self.app.state.allocator.waiting < waiting:  # noqa: ASYNC110  it runs by itself
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # what comes before the lock is done

    async def errors(self, count: int) -> list[NumberError]:
        """The rows of the log, once there are so many: it is written beside the answers."""
        async with asyncio.timeout(10):
            while True:
                async with self.db.reading() as session:
                    rows = list(await session.scalars(sa.select(NumberError).order_by(NumberError.id)))
                if len(rows) >= count:
                    return rows
                await asyncio.sleep(0.05)


@asynccontextmanager
async def served(folder: Path, url: str, **settings: Any) -> AsyncIterator[Door]:
    app = create_app(settings_in(folder, database_url=url, **settings))
    async with app.router.lifespan_context(app), client_of(app) as client:
        await sign_in(client, "dc.consultant")
        letter = (await read_project(client)).letter()
        yield Door(app, client, letter, await world_of(app.state.db))


def counted(kind: str, scenario: str) -> float:
    return REGISTRY.get_sample_value("docnum_error_total", {"type": kind, "scenario": scenario}) or 0.0


def refused(answer: httpx.Response, status: int, code: str, words: tuple[str, str]) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    body = answer.json()
    assert (body["code"], body["userMessage"]) == (code, words[answer.request.headers["Accept-Language"] == "en"])
    assert body["recovery"]


def logged(row: NumberError, kind: str, answer: httpx.Response) -> None:
    assert (row.error_type, row.trace_id) == (kind, answer.headers["X-Trace-Id"])
    assert row.context_data is not None
    assert row.context_data["code"] == answer.json()["code"]


class TestRedisAway:
    """Scenario 1: the number is drawn all the same, and the operator is told."""

    async def test_gives_the_number_and_keeps_why_it_took_the_other_path(
        self, tmp_path: Path, mariadb_demo_url: str
    ) -> None:
        before = counted("REDIS_ERROR", "1")
        with running_redis() as redis:
            async with served(tmp_path, mariadb_demo_url, redis_url=redis.url) as door:
                first = await door.draw()
                redis.stop()
                await asyncio.sleep(0.1)  # the lock of the first may be kept for a moment, and needs no Redis
                second = await door.draw()
                (row,) = await door.errors(1)
                async with door.db.reading() as session:
                    paths = list(await session.scalars(sa.select(NumberAudit.lock_path).order_by(NumberAudit.id)))

        assert [answer.json()["sequence"] for answer in (first, second)] == [1, 2]
        assert (row.error_type, [path for path in paths if path]) == ("REDIS_ERROR", ["redis", "database"])
        assert (row.user_id, row.context_data) == (None, {"numbers": 1})
        assert counted("REDIS_ERROR", "1") == before + 1
        assert REGISTRY.get_sample_value("docnum_redis_up") == 0


class TestLockHeldByAnother:
    """Scenario 2: 503 and when to come back."""

    async def test_is_answered_busy_with_a_time_to_retry(
        self, tmp_path: Path, mariadb_demo_url: str, redis_url: str
    ) -> None:
        before = counted("LOCK_TIMEOUT", "2")
        hurried = {"redis_url": redis_url, "lock_timeout": 0.1, "lock_retries": 1, "retry_pause": 0.05}
        async with (
            served(tmp_path, mariadb_demo_url, **hurried) as door,
            RedisClient.from_url(redis_url) as client,
        ):
            async with held(client, await door.lock_name()):
                answers = [await door.draw(language="th"), await door.draw(language="en", key="mine")]
            await client.flushall()  # that lock is given up a moment later by itself
            rows = await door.errors(2)
            again = await door.draw(language="en", key="mine")

        for answer, row in zip(answers, rows, strict=True):
            refused(answer, 503, "NUMBERING_BUSY", BUSY)
            assert int(answer.headers["Retry-After"]) >= 1
            logged(row, "LOCK_TIMEOUT", answer)
        assert counted("LOCK_TIMEOUT", "2") == before + 2
        assert (again.status_code, again.json()["sequence"]) == (201, 1)


class TestCounterMoved:
    """Scenario 3: 409. Who loses once locks the row and cannot lose again, so only who may not retry is ever told."""

    @pytest.mark.parametrize(("retries", "status"), [(0, 409), (2, 201)])
    async def test_between_read_and_write_is_answered_with_a_conflict_or_run_again(
        self, tmp_path: Path, mariadb_server: MariaDb, mariadb_demo_url: str, redis_url: str, retries: int, status: int
    ) -> None:
        before, lost = counted("VERSION_CONFLICT", "3"), REGISTRY.get_sample_value("docnum_conflict_version_total") or 0
        async with (
            served(tmp_path, mariadb_demo_url, redis_url=redis_url, conflict_retries=retries) as door,
            RedisClient.from_url(redis_url) as client,
        ):
            async with held(client, await door.lock_name()):
                drawing = asyncio.create_task(door.draw())
                await door.until(waiting=1)
                other = Database(mariadb_demo_url)
                session_of = other.writing()
                session = await session_of.__aenter__()
                await session.execute(sa.update(NumberCounter).values(version=NumberCounter.version + 1))
            # The draw has read the old version and waits for the row that the other transaction is about to give free.
            await until_somebody_waits_for_a_row(mariadb_server, door.db.url.database)
            await session_of.__aexit__(None, None, None)
            await other.close()
            answer = await drawing
            rows = await door.errors(1) if retries == 0 else []
            again = await door.draw()

        if retries == 0:
            refused(answer, 409, "NUMBERING_CONFLICT", CHANGED)
            logged(rows[0], "VERSION_CONFLICT", answer)
        assert answer.status_code == status
        assert again.json()["sequence"] == (1 if retries == 0 else 2)
        assert counted("VERSION_CONFLICT", "3") == before + (retries == 0)
        assert (REGISTRY.get_sample_value("docnum_conflict_version_total") or 0) == lost + 1


async def until_somebody_waits_for_a_row(server: MariaDb, database: str | None) -> None:
    sql = (
        "SELECT count(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p "
        f"ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.db = '{database}'"
    )
    async with asyncio.timeout(10):
        while (await asyncio.to_thread(server.run, sql)).strip() == "0":  # noqa: ASYNC110  another process decides
            await asyncio.sleep(0.15)  # asked more often than every 0.1 s, that table does not change


class TestDatabaseAway:
    """Scenario 4: 500, by the deadline, and nothing drawn."""

    async def test_frozen_is_answered_by_the_deadline_wherever_it_is_met(
        self, tmp_path: Path, mariadb_demo_template: str, redis_url: str
    ) -> None:
        """One request stands in the line of its series already, with a key and without; another comes to the door."""
        before = counted("DB_ERROR", "4")
        hurried = {"redis_url": redis_url, "db_read_timeout": 1.2, "retry_pause": 0.1, "lock_deadline": 3}
        with running_mariadb() as server:
            url = server.create("numbers", statements=mariadb_demo_template)
            async with served(tmp_path, url, **hurried) as door, RedisClient.from_url(redis_url) as client:
                async with held(client, await door.lock_name()):
                    inside = [asyncio.create_task(door.draw(key=key)) for key in (None, "mine")]
                    await door.until(waiting=2)
                    server.freeze()
                started = time.monotonic()
                answers = [*await asyncio.gather(door.draw(language="en"), *inside)]
                waited = time.monotonic() - started
                server.thaw()
                again = await door.draw()
                rows = await door.errors(3)

        for answer in answers:
            refused(answer, 500, "NUMBERING_DATABASE_ERROR", FAILED)
        assert waited < 7, waited  # on a quiet machine 4 with the deadline of 3, and 8.2 without one
        assert again.json()["sequence"] == 1
        assert {row.error_type for row in rows} == {"DB_ERROR"}
        assert {row.trace_id for row in rows} == {answer.headers["X-Trace-Id"] for answer in answers}
        assert counted("DB_ERROR", "4") == before + 3

    async def test_with_no_connection_free_is_answered_with_the_same_words(
        self, tmp_path: Path, mariadb_demo_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its row is written a moment later, though nobody draws any more; the patch makes that moment short."""
        monkeypatch.setattr(metrics, "EVERY", 0.2)
        before = counted("DB_ERROR", "4")
        narrow = {"db_pool_size": 1, "db_pool_timeout": 0.1, "retry_pause": 0.05}
        async with served(tmp_path, mariadb_demo_url, **narrow) as door:
            await door.draw()
            async with door.db.engine.connect(), door.db.engine.connect():
                answer = await door.draw()
            (row,) = await door.errors(1)
            again = await door.draw()

        refused(answer, 500, "NUMBERING_DATABASE_ERROR", FAILED)
        logged(row, "DB_ERROR", answer)
        assert again.json()["sequence"] == 2
        assert counted("DB_ERROR", "4") == before + 1
