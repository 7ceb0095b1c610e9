"""Whole server processes on real databases: two at once, and one that is killed in the middle of its work."""

import asyncio
import contextlib
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from redis.asyncio import Redis as RedisClient

from saraban.documents.core.models import Document
from saraban.kit.db import Database
from saraban.kit.idempotency import LEASE
from saraban.kit.ids import new_id
from saraban.numbering.series.models import LedgerEntry, NumberAudit, NumberCounter
from saraban.workflow.runtime.models import WorkflowInstance
from tests.linearizability import Seen, out_of_order
from tests.numbering_world import check_accounts, world_of
from tests.processes import RunningSaraban, sign_in
from tests.servers import MariaDb

GENERATE = "/api/v1/document-numbering/generate"


@pytest.fixture(params=["sqlite", "mariadb", "mariadb-redis"])
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The settings of each kind of installation, on a database with the demo project."""
    (tmp_path / "data").mkdir()
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("demo_folder") / "saraban.db", tmp_path / "data")
        return {}
    settings = {"database_url": str(request.getfixturevalue("mariadb_demo_url"))}
    if request.param == "mariadb-redis":
        settings["redis_url"] = str(request.getfixturevalue("redis_url"))
    return settings


def database_of(folder: Path, stack: dict[str, str]) -> Database:
    return Database(stack.get("database_url") or f"sqlite:///{folder / 'saraban.db'}")


async def project_of(client: httpx.AsyncClient) -> dict[str, Any]:
    listed = (await client.get("/api/v1/projects")).json()["items"]
    public_id = next(one["publicId"] for one in listed if one["projectCode"] == "LCBP3-C2")
    project: dict[str, Any] = (await client.get(f"/api/v1/projects/{public_id}")).json()
    return project


def organization(project: dict[str, Any], code: str) -> str:
    return str(next(one["publicId"] for one in project["organizations"] if one["organizationCode"] == code))


async def correspondence_of(client: httpx.AsyncClient) -> dict[str, Any]:
    """The body of a letter from the consultant."""
    project = await project_of(client)
    return {
        "projectPublicId": project["publicId"],
        "correspondenceTypeCode": "LETTER",
        "originatorOrganizationPublicId": organization(project, "คคง."),
        "recipients": [{"organizationPublicId": organization(project, "ผรม.1"), "recipientType": "TO"}],
        "subject": "แจ้งกำหนดการตอกเสาเข็มทดสอบ",
    }


class TestTwoServers:
    @pytest.mark.sampled("redis")
    async def test_issue_consecutive_numbers_of_one_series(self, tmp_path: Path, stack: dict[str, str]) -> None:
        folder = tmp_path / "data"
        with RunningSaraban(folder, **stack) as one, RunningSaraban(folder, **stack) as two:
            async with (
                httpx.AsyncClient(base_url=one.address, timeout=60) as first,
                httpx.AsyncClient(base_url=two.address, timeout=60) as second,
            ):
                await sign_in(first, "svc.loadtest")
                await sign_in(second, "svc.loadtest")
                body = await letter_of(first)
                answers = await asyncio.gather(
                    *((first if n % 2 else second).post(GENERATE, json=body) for n in range(100))
                )

        assert {answer.status_code for answer in answers} == {201}, [a.text for a in answers if a.status_code != 201][
            :2
        ]
        assert sorted(answer.json()["sequence"] for answer in answers) == list(range(1, 101))


class TestKilledServer:
    @pytest.mark.sampled("sqlite")
    async def test_leaves_books_that_agree_and_answers_the_repetition(
        self, tmp_path: Path, stack: dict[str, str]
    ) -> None:
        """
        `kill -9` during a stream of creations: every number has its document and its audit, and the reverse.

        What was under way is sent again with its key, and answered when the lease of the dead process is over: 5 s after it
        died on a machine that has time.
        """
        folder = tmp_path / "data"
        server = RunningSaraban(folder, **stack).start()
        told: list[str] = []
        try:
            async with httpx.AsyncClient(base_url=server.address, timeout=30) as client:
                await sign_in(client, "dc.consultant")
                body = await correspondence_of(client)
                streams = [asyncio.create_task(create_until_it_dies(client, body, told)) for _ in range(6)]
                while len(told) < 25:
                    await asyncio.sleep(0.02)
                    assert not all(stream.done() for stream in streams), server.log[-3000:]
                server.kill()
                unanswered = await asyncio.gather(*streams)
                server.start()
                async with asyncio.timeout(LEASE + 5):
                    answers = await asyncio.gather(*(create_after_all(client, body, key) for key in unanswered))
            told += answers
        finally:
            server.kill()
        await check_books(database_of(folder, stack), told)


async def create_until_it_dies(client: httpx.AsyncClient, body: dict[str, Any], told: list[str]) -> str:
    """Return the key of the creation that was not answered."""
    while True:
        key = str(new_id())
        try:
            answer = await client.post("/api/v1/correspondences", json=body, headers={"Idempotency-Key": key})
        except httpx.TransportError:
            return key
        assert answer.status_code == 201, answer.text
        told.append(answer.json()["data"]["documentNumber"])


async def create_after_all(client: httpx.AsyncClient, body: dict[str, Any], key: str) -> str:
    """Send a creation again as often as it is told to wait, and return its number."""
    while True:
        answer = await client.post("/api/v1/correspondences", json=body, headers={"Idempotency-Key": key})
        if answer.status_code == 201:
            return str(answer.json()["data"]["documentNumber"])
        assert answer.status_code == 409, answer.text
        await asyncio.sleep(0.1)


async def check_books(db: Database, told: list[str]) -> None:
    """
    Ledger, counter, documents, workflow and audit tell the same story.

    :param told: the numbers that callers were given
    """
    async with db.reading() as session:
        ledger = list(await session.scalars(sa.select(LedgerEntry)))
        heads = list(await session.scalars(sa.select(Document)))
        audited = set(
            await session.scalars(sa.select(NumberAudit.reservation_uuid).where(NumberAudit.operation == "GENERATE"))
        )
        counters = {(c.project_id, c.series): c.last_number for c in await session.scalars(sa.select(NumberCounter))}
        instances = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowInstance))
    await db.close()
    correspondences = {one.holder_public_id: one for one in ledger if one.holder_kind != "circulation"}
    assert {one.public_id for one in heads} == set(correspondences)
    assert all(one.correspondence_number == correspondences[one.public_id].document_number for one in heads)
    assert {one.public_id for one in ledger} == audited
    assert set(told) <= {one.document_number for one in ledger}
    assert len(told) == len(set(told))
    assert instances is not None
    assert instances >= len(heads)
    for key, last in counters.items():
        sequences = sorted(one.sequence_number for one in ledger if (one.project_id, one.series) == key)
        assert sequences == list(range(1, last + 1)), key


class TestClientsThatLeave:
    async def test_leave_no_document_behind_but_one_that_had_begun(self, tmp_path: Path, mariadb_demo_url: str) -> None:
        """
        The counter's row is held, twenty creations wait for it, their clients give up, the row is free again.

        The first of them waits inside its transaction; the others end, and sent again each makes its document.
        """
        keys = [f"creation-{number}" for number in range(20)]
        db = Database(mariadb_demo_url)
        with RunningSaraban(tmp_path / "data", database_url=mariadb_demo_url, run_worker=False) as server:
            async with httpx.AsyncClient(base_url=server.address, timeout=30) as client:
                await sign_in(client, "dc.consultant")
                body = await correspondence_of(client)
                first = await create_after_all(client, body, "first")
                async with db.writing() as session:
                    await session.scalars(sa.select(NumberCounter).with_for_update())
                    await asyncio.gather(*(give_up(server.address, client.headers, body, key) for key in keys))
                    await asyncio.sleep(0.5)
                await asyncio.sleep(2)
                async with db.reading() as session:
                    made = await session.scalar(sa.select(sa.func.count()).select_from(Document))
                told = [first, *[await create_after_all(client, body, key) for key in keys]]

        assert made is not None
        assert made <= 2
        await check_books(db, told)


async def give_up(address: str, headers: httpx.Headers, body: dict[str, Any], key: str) -> None:
    async with httpx.AsyncClient(base_url=address, timeout=1.5, headers=headers) as impatient:
        with pytest.raises(httpx.ReadTimeout):
            await impatient.post("/api/v1/correspondences", json=body, headers={"Idempotency-Key": key})


class TestServerThatStops:
    """
    Two server processes on MariaDB and Redis; one is paused or killed while it holds the lock of a series.

    It is brought to stand there by a transaction of the test, which has the row of the counter: the server has its lock,
    has begun, and waits in the middle of its statements.
    """

    @pytest_asyncio.fixture
    async def two(self, tmp_path: Path, mariadb_demo_url: str, redis_url: str) -> AsyncIterator["Pair"]:
        # On a busy machine Redis, or a server that was paused, answers late. With the settings as they ship that is a Redis
        # that is down, and for the next 5 s numbers are drawn without a lock in it, which is what this test waits for.
        redis = {"redis_url": redis_url, "redis_timeout": 20, "redis_breaker": 0.1}
        settings = {"database_url": mariadb_demo_url, "lock_ttl": 1, "run_worker": False} | redis
        folders = [tmp_path / name for name in ("one", "two")]
        servers = [RunningSaraban(folder, secret_key="of-both-servers-" * 3, **settings) for folder in folders]
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in servers))
        db = Database(mariadb_demo_url)
        try:
            async with (
                httpx.AsyncClient(base_url=servers[0].address, timeout=30) as first,
                httpx.AsyncClient(base_url=servers[1].address, timeout=30) as second,
                RedisClient.from_url(redis_url) as asked,
            ):
                for client in (first, second):
                    await sign_in(client, "svc.loadtest")
                yield Pair(servers, [first, second], await letter_of(first), db, asked)
        finally:
            for server in servers:
                server.kill()
            await db.close()

    async def test_past_its_locks_life_or_for_good_costs_no_number_and_gives_none_twice(
        self, two: "Pair", mariadb_server: MariaDb
    ) -> None:
        seen = await two.drawn_while_the_first_is_paused(times=2, seconds=1.3)
        assert len(seen) > 20
        assert out_of_order(seen) == []
        await check_accounts(await world_of(two.db))
        last = await two.draw(0)  # both know the series now

        await two.until(locked=False)
        async with two.counter_held():
            paused = asyncio.create_task(two.draw(0))
            await two.until(locked=True)
            await waits_for_a_row(mariadb_server, two.db)
            two.servers[0].freeze()
        await two.until(locked=False)  # its life has ended, and the transaction of its holder has not
        other = asyncio.create_task(two.draw(1))
        await two.until(locked=True)
        await waits_for_a_row(mariadb_server, two.db)
        two.servers[0].thaw()
        assert (await paused, await other) == (last + 1, last + 2)

        await two.until(locked=False)
        async with two.counter_held():
            killed = asyncio.create_task(two.draw(0))
            await two.until(locked=True)
            await waits_for_a_row(mariadb_server, two.db)
            two.servers[0].kill()
        with pytest.raises(httpx.TransportError):
            await killed
        assert await two.draw(1) == last + 3
        await asyncio.to_thread(two.servers[0].start)
        assert await two.draw(0) == last + 4
        await check_accounts(await world_of(two.db))


class Pair:
    """Two servers, a client signed in at each, and what they stand on."""

    def __init__(
        self,
        servers: list[RunningSaraban],
        clients: list[httpx.AsyncClient],
        letter: dict[str, Any],
        db: Database,
        redis: RedisClient,
    ) -> None:
        self.servers, self.db = servers, db
        self._clients, self._letter, self._redis = clients, letter, redis

    async def draw(self, which: int) -> int:
        answer = await self._clients[which].post(GENERATE, json=self._letter)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["sequence"])

    async def drawn_while_the_first_is_paused(self, *, times: int, seconds: float) -> list[Seen]:
        """Draw from both without a pause meanwhile, and return who saw what when."""
        seen: list[Seen] = []
        over = asyncio.Event()

        async def client(which: int) -> None:
            while not over.is_set():
                asked = time.monotonic()
                sequence = await self.draw(which)
                seen.append(Seen(asked, time.monotonic(), sequence))

        clients = [asyncio.create_task(client(number % 2)) for number in range(12)]
        for _ in range(times):
            await asyncio.sleep(0.4)
            self.servers[0].freeze()
            await asyncio.sleep(seconds)
            self.servers[0].thaw()
        await asyncio.sleep(0.4)
        over.set()
        await asyncio.gather(*clients)
        return seen

    async def until(self, *, locked: bool) -> None:
        """Wait until a server has the lock of the series in Redis, or none has."""
        async with asyncio.timeout(
            30
        ):  # longer than the wait for a row, after which a lock that nobody saw is taken again
            while await self._locked() is not locked:  # noqa: ASYNC110  another process decides
                await asyncio.sleep(0.01)

    async def _locked(self) -> bool:
        return any(not key.endswith((b":queue", b":asked")) for key in await self._redis.keys("*docnum:*"))

    @contextlib.asynccontextmanager
    async def counter_held(self) -> AsyncIterator[None]:
        async with self.db.writing() as session:
            await session.execute(sa.select(NumberCounter).with_for_update())
            yield


async def letter_of(client: httpx.AsyncClient) -> dict[str, Any]:
    project = await project_of(client)
    return {
        "projectPublicId": project["publicId"],
        "correspondenceTypeCode": "LETTER",
        "originatorOrganizationPublicId": organization(project, "คคง."),
        "recipientOrganizationPublicId": organization(project, "ผรม.1"),
    }


async def waits_for_a_row(server: MariaDb, db: Database) -> None:
    """Wait until a transaction on this database waits for a row that another one has."""
    sql = (
        "SELECT count(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p "
        f"ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.db = '{db.url.database}'"
    )
    async with asyncio.timeout(30):
        while (await asyncio.to_thread(server.run, sql)).strip() == "0":  # noqa: ASYNC110  another process decides
            await asyncio.sleep(0.15)  # asked more often than every 0.1 s, that table does not change
