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
from tests.servers import HOST, MariaDb, running_mariadb

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
        recipient = {"organizationPublicId": self.letter["recipientOrganizationPublicId"], "recipientType": "TO"}
        names = ("projectPublicId", "correspondenceTypeCode", "originatorOrganizationPublicId")
        body = {name: self.letter[name] for name in names}
        return await self.post(LETTERS, body | {"recipients": [recipient], "subject": "แจ้งกำหนดการตอกเสาเข็ม"})

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
                await office.draft(9)
                sorts = (office.generate, office.submit, office.reserve, office.read, office.create, office.preview)
                sending = asyncio.create_task(office.steadily(*sorts, seconds=6))
                await asyncio.sleep(0.5)
                server.kill()
                await asyncio.sleep(AWAY_SECONDS)
                await asyncio.to_thread(server.start)
                answers = await sending
                await office.check_books()

        assert statuses(answers) == {}
        assert len(answers) == 6 * PER_SECOND
        drawn = [answer.json()["documentNumber"] for answer in answers if answer.request.url.path == GENERATE]
        assert len(set(drawn)) == len(drawn)
        assert metric("docnum_retry_total", attempt="2", reason="database_connection") > retried
