"""
A MariaDB that is killed, made read-only, or leaves its cluster, while people go on working: nobody notices but for the wait
(REQ-LCK-08), and what cannot be answered is 503 with `Retry-After`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY

from saraban.app import create_app
from saraban.bootstrap import carriers
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering
from saraban.numbering.series.models import LedgerEntry, NumberError
from tests.conftest import client_of, settings_in
from tests.numbering_requests import BASE, GENERATE, PREVIEW, read_project
from tests.processes import sign_in
from tests.proxy import CuttingProxy, cutting_proxy
from tests.servers import HOST, MariaDb, free_port, running_mariadb

pytestmark = pytest.mark.servers

LETTERS = "/api/v1/correspondences"
AWAY_SECONDS = 2.6
PER_SECOND = 8
PLAIN_USER, PLAIN_PASSWORD = "plain", "only-for-tests-too"


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Office:
    """A server in this process, and people who send it requests of every sort."""

    def __init__(self, client: httpx.AsyncClient, db: Database, letter: dict[str, Any]) -> None:
        self.client, self.db, self.letter = client, db, letter
        self.instances: list[str] = []

    async def post(self, address: str, body: dict[str, Any]) -> httpx.Response:
        return await self.client.post(address, json=body, headers={"Idempotency-Key": str(new_id())})

    async def generate(self) -> httpx.Response:
        return await self.client.post(GENERATE, json=self.letter)  # its token needs no key

    async def reserve(self) -> httpx.Response:
        return await self.post(f"{BASE}/reserve", self.letter)

    async def preview(self) -> httpx.Response:
        return await self.client.post(PREVIEW, json=self.letter)

    async def read(self) -> httpx.Response:
        return await self.client.get(LETTERS)

    async def create(self) -> httpx.Response:
        return await self.post(LETTERS, self.letter_body())

    def letter_body(self) -> dict[str, Any]:
        recipient = {"organizationPublicId": self.letter["recipientOrganizationPublicId"], "recipientType": "TO"}
        names = ("projectPublicId", "correspondenceTypeCode", "originatorOrganizationPublicId")
        body = {name: self.letter[name] for name in names}
        return body | {"recipients": [recipient], "subject": "แจ้งกำหนดการตอกเสาเข็ม"}

    async def submit(self) -> httpx.Response:
        body = {"action": "submit", "clientVersionNo": 1}
        return await self.post(f"/api/v1/workflow/instances/{self.instances.pop()}/transitions", body)

    async def draft(self, count: int) -> None:
        for _ in range(count):
            made = (await self.create()).json()
            self.instances.append(made["workflow"]["instancePublicId"])

    async def steadily(self, *sorts: Callable[[], Awaitable[httpx.Response]], seconds: float) -> list[httpx.Response]:
        """Send eight requests in a second, each sort in turn, whatever becomes of those before."""
        sent = []
        for number in range(round(seconds * PER_SECOND)):
            sent.append(asyncio.ensure_future(sorts[number % len(sorts)]()))
            await asyncio.sleep(1 / PER_SECOND)
        return await asyncio.gather(*sent)

    async def check_books(self) -> None:
        """No number twice, none lost."""
        async with self.db.reading() as session:
            ledger = list(await session.scalars(sa.select(LedgerEntry)))
        numbers = {entry.document_number for entry in ledger}
        assert len(numbers) == len(ledger)
        faults = [fault async for fault in numbering.check_consistency(self.db, carriers=carriers())]
        assert faults == []


@contextlib.asynccontextmanager
async def office_on(folder: Path, url: str, **settings: Any) -> AsyncIterator[Office]:
    app = create_app(settings_in(folder, database_url=url, **settings))
    async with app.router.lifespan_context(app), client_of(app) as client:
        await sign_in(client, "dc.consultant")
        yield Office(client, app.state.db, (await read_project(client)).letter())


def statuses(answers: list[httpx.Response]) -> dict[int, list[str]]:
    """Return what was not answered as asked, by its status."""
    found: dict[int, list[str]] = {}
    for answer in answers:
        if answer.status_code not in {200, 201}:
            found.setdefault(answer.status_code, []).append(f"{answer.request.url.path} {answer.text[:300]}")
    return found


class TestRestart:
    async def test_costs_no_answer_and_no_number(self, tmp_path: Path, mariadb_demo_template: str) -> None:
        retried = metric("docnum_retry_total", attempt="2", reason="database_connection")
        with running_mariadb() as server:
            url = server.create("numbers", statements=mariadb_demo_template)
            async with office_on(tmp_path, url) as office:
                await office.draft(6)
                sorts = (office.generate, office.submit, office.reserve, office.read, office.create, office.preview)
                sending = asyncio.create_task(office.steadily(*sorts, seconds=4))
                await asyncio.sleep(0.5)
                server.kill()
                await asyncio.sleep(AWAY_SECONDS)
                await asyncio.to_thread(server.start)
                answers = await sending
                await office.check_books()

        assert statuses(answers) == {}
        assert len(answers) == 4 * PER_SECOND
        drawn = [answer.json()["documentNumber"] for answer in answers if answer.request.url.path == GENERATE]
        assert len(set(drawn)) == len(drawn)
        assert metric("docnum_retry_total", attempt="2", reason="database_connection") > retried


async def retried_since(before: float, *, attempt: str = "1") -> None:
    """Wait until a request has met the fault."""
    async with asyncio.timeout(20):
        while metric("docnum_retry_total", attempt=attempt, reason="database_connection") == before:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


class TestAway:
    async def test_is_answered_503_with_a_time_to_retry_and_counted(
        self, tmp_path: Path, mariadb_demo_template: str
    ) -> None:
        """The pauses are a fiftieth of those that ship: the fourth retry fails 0.14 s after the first attempt."""
        labels = {"workflow_code": "unknown", "action": "other", "outcome": "system_error"}
        failed = metric("workflow_transitions_total", **labels)
        retried = [metric("docnum_retry_total", attempt=str(n), reason="database_connection") for n in range(1, 5)]
        with running_mariadb() as server:
            url = server.create("numbers", statements=mariadb_demo_template)
            async with office_on(tmp_path, url, retry_pause=0.02) as office:
                await office.draft(1)
                server.kill()
                answers = [await office.generate(), await office.submit(), await office.read()]
                await asyncio.to_thread(server.start)
                again = await office.generate()
                async with asyncio.timeout(10):
                    while not (rows := await error_rows(office.db)):  # noqa: ASYNC110  it is written beside the answers
                        await asyncio.sleep(0.05)

        assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
            (503, "NUMBERING_DATABASE_ERROR"),
            (503, "DATABASE_ERROR"),
            (503, "DATABASE_ERROR"),
        ]
        assert all(int(answer.headers["Retry-After"]) >= 1 for answer in answers)
        assert [(row.error_type, row.trace_id) for row in rows] == [("DB_ERROR", answers[0].headers["X-Trace-Id"])]
        assert again.status_code == 201
        assert metric("workflow_transitions_total", **labels) == failed + 1
        for number, before in enumerate(retried, 1):
            assert metric("docnum_retry_total", attempt=str(number), reason="database_connection") >= before + 3


class TestAwayAfterCommit:
    """MariaDB commits a number, and the connection and all later connections fail."""

    @staticmethod
    async def lose(proxy: CuttingProxy, request: Awaitable[httpx.Response]) -> httpx.Response:
        port = proxy.port
        proxy.arm()
        sending = asyncio.ensure_future(request)
        async with asyncio.timeout(10):
            while not proxy.cut:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await proxy.stop()
        answer = await sending
        await proxy.start(port)
        return answer

    @pytest.mark.parametrize("address", [GENERATE, LETTERS])
    async def test_without_a_key_is_answered_503_without_a_time_to_retry(
        self, tmp_path: Path, mariadb_demo_url: str, address: str
    ) -> None:
        target = sa.make_url(mariadb_demo_url)
        failed = metric("docnum_generate_seconds_count", outcome="failed")
        async with cutting_proxy(target.host or "", target.port or 0) as proxy:
            url = target.set(port=proxy.port).render_as_string(hide_password=False)
            async with office_on(tmp_path, url, retry_pause=0.02) as office:
                first = await (office.generate() if address == GENERATE else office.create())
                body = office.letter if address == GENERATE else office.letter_body()
                answer = await self.lose(proxy, office.client.post(address, json=body))
                async with asyncio.timeout(10):
                    while not (rows := await error_rows(office.db)):  # noqa: ASYNC110  it is written beside the answer
                        await asyncio.sleep(0.05)
                async with office.db.reading() as session:
                    numbers = await session.scalar(sa.select(sa.func.count()).select_from(LedgerEntry))
                await office.check_books()

        assert first.status_code == 201
        assert (answer.status_code, answer.json()["code"]) == (503, "DATABASE_COMMIT_UNKNOWN")
        assert "Retry-After" not in answer.headers
        assert numbers == 2
        assert [row.error_type for row in rows] == ["DB_ERROR"]
        assert metric("docnum_generate_seconds_count", outcome="failed") == failed + 1

    async def test_with_a_key_is_answered_503_with_a_time_to_retry(self, tmp_path: Path, mariadb_demo_url: str) -> None:
        target = sa.make_url(mariadb_demo_url)
        async with cutting_proxy(target.host or "", target.port or 0) as proxy:
            url = target.set(port=proxy.port).render_as_string(hide_password=False)
            async with office_on(tmp_path, url, retry_pause=0.02) as office:
                await office.create()
                answer = await self.lose(proxy, office.create())
                key = answer.request.headers["Idempotency-Key"]
                again = await office.client.post(LETTERS, json=office.letter_body(), headers={"Idempotency-Key": key})
                await office.check_books()

        assert (answer.status_code, answer.json()["code"]) == (503, "NUMBERING_DATABASE_ERROR")
        assert int(answer.headers["Retry-After"]) >= 1
        assert (again.status_code, again.headers["Idempotent-Replay"]) == (201, "true")


async def error_rows(db: Database) -> list[NumberError]:
    async with db.reading() as session:
        return list(await session.scalars(sa.select(NumberError)))


class TestReadOnlyNode:
    async def test_that_is_writable_again_has_cost_no_answer(self, tmp_path: Path, mariadb_demo_template: str) -> None:
        """The account that the product needs may not write on a server that is read-only (1290)."""
        with running_mariadb() as server:
            url = server.create("numbers", statements=mariadb_demo_template)
            server.run(
                f"CREATE USER {PLAIN_USER}@'%' IDENTIFIED BY '{PLAIN_PASSWORD}'; GRANT ALL ON numbers.* TO {PLAIN_USER}@'%'"
            )
            plain = sa.make_url(url).set(username=PLAIN_USER, password=PLAIN_PASSWORD)
            async with office_on(tmp_path, plain.render_as_string(hide_password=False), retry_pause=0.2) as office:
                await office.draft(1)
                before = metric("docnum_retry_total", attempt="2", reason="database_connection")
                server.run("SET GLOBAL read_only = 1")
                sorts = (office.generate, office.submit, office.create, office.reserve)
                sending = asyncio.gather(*(sort() for sort in sorts))
                await retried_since(before, attempt="2")
                read = await office.read()
                server.run("SET GLOBAL read_only = 0")
                answers = [*await sending, read]
                await office.check_books()

        assert statuses(answers) == {}


class ClusterNode(MariaDb):
    """A cluster of one node, which can be told to refuse queries as a node does that has lost the others (1047)."""

    def command(self) -> list[str]:
        group = free_port()
        return [
            *(word for word in super().command() if word != "--skip-log-bin"),
            *("--wsrep-on=ON", "--wsrep-provider=/usr/lib/galera/libgalera_smm.so", "--wsrep-cluster-address=gcomm://"),
            *("--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", f"--wsrep-node-address={HOST}:{group}"),
            f"--wsrep-provider-options=base_port={group};gcache.size=1M;gcache.page_size=1M",
        ]

    def refuse(self, *, queries: bool) -> None:
        self.run(f"SET GLOBAL wsrep_reject_queries = {'ALL' if queries else 'NONE'}")


class TestNodeWithoutItsCluster:
    async def test_that_comes_back_has_cost_no_answer(self, tmp_path: Path, mariadb_demo_template: str) -> None:
        with ClusterNode() as node:
            url = node.create("numbers", statements=mariadb_demo_template)
            async with office_on(tmp_path, url, retry_pause=0.2, db_sync_wait=1) as office:
                await office.draft(1)
                before = metric("docnum_retry_total", attempt="2", reason="database_connection")
                node.refuse(queries=True)
                sorts = (office.generate, office.submit, office.create, office.reserve, office.read, office.preview)
                sending = asyncio.gather(*(sort() for sort in sorts))
                await retried_since(before, attempt="2")
                node.refuse(queries=False)
                answers = await sending
                await office.check_books()

        assert statuses(answers) == {}
