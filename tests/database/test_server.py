"""Whole server processes on real databases: two at once, and one that is killed in the middle of its work."""

import asyncio
import contextlib
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from saraban.documents.core.models import Correspondence
from saraban.kit.db import Database
from saraban.numbering.models import LedgerEntry, NumberAudit, NumberCounter
from saraban.workflow.models import WorkflowInstance
from tests.processes import RunningSaraban, sign_in

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


class TestTwoServers:
    async def test_issue_consecutive_numbers_of_one_series(self, tmp_path: Path, stack: dict[str, str]) -> None:
        folder = tmp_path / "data"
        with RunningSaraban(folder, **stack) as one, RunningSaraban(folder, **stack) as two:
            async with (
                httpx.AsyncClient(base_url=one.address, timeout=60) as first,
                httpx.AsyncClient(base_url=two.address, timeout=60) as second,
            ):
                await sign_in(first, "svc.loadtest")
                await sign_in(second, "svc.loadtest")
                project = await project_of(first)
                body = {
                    "projectPublicId": project["publicId"],
                    "correspondenceTypeCode": "LETTER",
                    "originatorOrganizationPublicId": organization(project, "คคง."),
                    "recipientOrganizationPublicId": organization(project, "ผรม.1"),
                }
                answers = await asyncio.gather(
                    *((first if n % 2 else second).post(GENERATE, json=body) for n in range(100))
                )

        assert {answer.status_code for answer in answers} == {201}, [a.text for a in answers if a.status_code != 201][
            :2
        ]
        assert sorted(answer.json()["sequence"] for answer in answers) == list(range(1, 101))


class TestKilledServer:
    async def test_leaves_books_that_agree(self, tmp_path: Path, stack: dict[str, str]) -> None:
        """`kill -9` during a stream of creations: every number has its document and its audit, and the reverse."""
        folder = tmp_path / "data"
        server = RunningSaraban(folder, **stack).start()
        told: list[str] = []
        try:
            async with httpx.AsyncClient(base_url=server.address, timeout=30) as client:
                await sign_in(client, "dc.consultant")
                project = await project_of(client)
                body = {
                    "projectPublicId": project["publicId"],
                    "correspondenceTypeCode": "LETTER",
                    "originatorOrganizationPublicId": organization(project, "คคง."),
                    "recipients": [{"organizationPublicId": organization(project, "ผรม.1"), "recipientType": "TO"}],
                    "subject": "แจ้งกำหนดการตอกเสาเข็มทดสอบ",
                }
                streams = [asyncio.create_task(create_until_it_dies(client, body, told)) for _ in range(6)]
                while len(told) < 25:
                    await asyncio.sleep(0.02)
                    assert not all(stream.done() for stream in streams), server.log[-3000:]
                server.kill()
                await asyncio.gather(*streams)
            server.start()
            async with httpx.AsyncClient(base_url=server.address, timeout=30) as client:
                await sign_in(client, "dc.consultant")
                after = await client.post("/api/v1/correspondences", json=body)
                assert after.status_code == 201, after.text
                told.append(after.json()["documentNumber"])
        finally:
            server.kill()
        await check_books(database_of(folder, stack), told)


async def create_until_it_dies(client: httpx.AsyncClient, body: dict[str, Any], told: list[str]) -> None:
    with contextlib.suppress(httpx.TransportError):
        while True:
            answer = await client.post("/api/v1/correspondences", json=body)
            assert answer.status_code == 201, answer.text
            told.append(answer.json()["documentNumber"])


async def check_books(db: Database, told: list[str]) -> None:
    """
    Ledger, counter, documents, workflow and audit tell the same story.

    :param told: the numbers that callers were given
    """
    async with db.reading() as session:
        ledger = list(await session.scalars(sa.select(LedgerEntry)))
        heads = list(await session.scalars(sa.select(Correspondence)))
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
