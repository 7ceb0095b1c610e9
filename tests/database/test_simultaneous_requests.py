"""Fifty people press the same button over HTTP, on two servers of one database, without Redis."""

import asyncio
import copy
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.app import create_app
from saraban.events.models import OutboxEvent
from saraban.kit import admission
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance
from tests.conftest import client_of, settings_in
from tests.factories.letterbox import Office, office_in
from tests.processes import sign_in

pytestmark = [pytest.mark.servers, pytest.mark.sampled("mariadb")]

CROWD = 50


@dataclass
class Doors:
    """A reviewer at each of two servers."""

    office: Office
    clients: list[httpx.AsyncClient]

    async def press(self, instance: UUID, **body: Any) -> list[httpx.Response]:
        url = f"/api/v1/workflow/instances/{instance}/transitions"
        return list(
            await asyncio.gather(
                *(self.clients[n % 2].post(url, json={"action": "approve", **body}) for n in range(CROWD))
            )
        )

    async def stored(self, instance: UUID) -> tuple[str, int, int, int]:
        """State, version, and how many steps and events there are."""
        of = WorkflowHistory.instance_id == instance
        about = sa.and_(OutboxEvent.name == "workflow.transitioned", OutboxEvent.aggregate_id == str(instance))
        async with self.office.db.reading() as session:
            row = await session.get_one(WorkflowInstance, instance)
            steps = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowHistory).where(of))
            told = await session.scalar(sa.select(sa.func.count()).select_from(OutboxEvent).where(about))
        return row.current_state, row.version_no, int(steps or 0), int(told or 0)


@pytest_asyncio.fixture
async def doors(any_demo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Doors]:
    monkeypatch.setattr(admission, "SLOT_WAIT_SECONDS", 60)  # on a busy machine some of fifty wait longer than a second
    async with AsyncExitStack() as stack:
        apps, clients = [], []
        for n in range(2):
            app = create_app(settings_in(tmp_path / f"data{n}", database_url=any_demo_url))
            await stack.enter_async_context(app.router.lifespan_context(app))
            client = await stack.enter_async_context(client_of(app, **{"Accept-Language": "th"}))
            await sign_in(client, "reviewer.consultant")
            apps.append(app)
            clients.append(client)
        office = await office_in(apps[0].state.db)
        for app in apps:  # both know the same letters
            app.state.subjects.register(copy.copy(office.box))
        office.subjects = apps[0].state.subjects
        yield Doors(office, clients)


class TestFiftyAtOnce:
    async def test_have_one_winner_whether_they_state_the_version_or_not(self, doors: Doors) -> None:
        one, two = await doors.office.pending(), await doors.office.pending()

        answers = await doors.press(one, clientVersionNo=2)

        assert Counter(answer.status_code for answer in answers) == {200: 1, 409: CROWD - 1}
        (won,) = [answer for answer in answers if answer.status_code == 200]
        assert (won.json()["workflow"]["versionNo"], won.headers["etag"]) == (3, '"3"')
        for lost in answers:
            if lost is won:
                continue
            assert lost.headers["content-type"] == "application/problem+json"
            problem = lost.json()
            assert (problem["code"], problem["status"]) == ("WORKFLOW_VERSION_CONFLICT", 409)
            assert problem["userMessage"] == "เอกสารถูกอนุมัติโดยผู้อื่นแล้ว กรุณารีเฟรช"
            assert problem["recovery"] == ["รีเฟรชหน้าแล้วลองใหม่"]
        assert await doors.stored(one) == ("pending_approval", 3, 2, 2)

        answers = await doors.press(two)

        told = Counter((answer.status_code, answer.json().get("code")) for answer in answers)
        assert told == {(200, None): 1, (409, "WF_INVALID_TRANSITION"): CROWD - 1}
        thai = {answer.json()["userMessage"] for answer in answers if answer.status_code == 409}
        assert thai == {"ไม่สามารถดำเนินการนี้ได้ในสถานะปัจจุบัน"}
        assert await doors.stored(two) == ("pending_approval", 3, 2, 2)
