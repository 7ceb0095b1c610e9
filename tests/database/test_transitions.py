"""Fifty people press the same button at the same moment, on SQLite and on MariaDB, without Redis."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.events.models import OutboxEvent
from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.kit.problem import to_problem
from saraban.workflow.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from tests.factories.letterbox import Office, new_office

CROWD = 50


@pytest_asyncio.fixture
async def office(any_db: Database) -> Office:
    return await new_office(any_db)


async def crowd(office: Office, instance: UUID, *, by: str, **command: Any) -> Counter[str]:
    """This will approve an instance fifty times at once and count the outcomes."""

    async def one() -> str:
        try:
            await office.act(instance, "approve", by=by, **command)
        except DomainError as error:
            problem = to_problem(error, language="th", trace_id="")
            return f"{problem['status']} {problem['code']}"
        return "200"

    return Counter(await asyncio.gather(*(one() for _ in range(CROWD))))


async def stored(office: Office) -> tuple[WorkflowInstance, int, int]:
    async with office.db.reading() as session:
        (row,) = (await session.scalars(sa.select(WorkflowInstance))).all()
        histories = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowHistory))
        events = await session.scalar(sa.select(sa.func.count()).select_from(OutboxEvent))
    return row, int(histories or 0), int(events or 0)


class TestFiftyAtOnce:
    async def test_one_succeeds_and_the_others_hear_of_the_newer_version(self, office: Office) -> None:
        instance = await office.pending()

        outcomes = await crowd(office, instance, by="reviewer.consultant", client_version_no=2)

        assert outcomes == {"200": 1, "409 WORKFLOW_VERSION_CONFLICT": CROWD - 1}
        row, histories, events = await stored(office)
        assert (row.current_state, row.version_no, histories, events) == ("pending_approval", 3, 2, 2)

    async def test_without_a_version_the_losers_hear_of_the_state(self, office: Office) -> None:
        instance = await office.pending()

        outcomes = await crowd(office, instance, by="reviewer.consultant")

        assert outcomes == {"200": 1, "409 WF_INVALID_TRANSITION": CROWD - 1}
        row, histories, events = await stored(office)
        assert (row.current_state, row.version_no, histories, events) == ("pending_approval", 3, 2, 2)

    async def test_none_approves_the_next_step_by_accident(self, office: Office) -> None:
        # The admin may act in both steps, so only the version keeps a loser from deciding for the owner.
        instance = await office.pending()

        outcomes = await crowd(office, instance, by="admin", client_version_no=2)

        assert outcomes == {"200": 1, "409 WORKFLOW_VERSION_CONFLICT": CROWD - 1}
        assert (await stored(office))[0].current_state == "pending_approval"

    async def test_one_key_has_one_effect(self, office: Office) -> None:
        instance = await office.pending()

        outcomes = await crowd(office, instance, by="reviewer.consultant", key="same", client_version_no=2)

        assert outcomes["200"] >= 1
        assert set(outcomes) <= {"200", "409 IDEMPOTENCY_KEY_IN_USE"}
        assert (await stored(office))[1:] == (2, 2)


class TestManyInstances:
    async def test_move_at_once_without_disturbing_each_other(self, office: Office) -> None:
        instances = [await office.pending() for _ in range(20)]

        await asyncio.gather(*(office.act(each, "approve", by="reviewer.consultant") for each in instances))

        async with office.db.reading() as session:
            states = (await session.scalars(sa.select(WorkflowInstance.current_state))).all()
            waiting = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowWorkItem))
        assert set(states) == {"pending_approval"}
        assert waiting == 2 * len(instances)


@pytest.mark.parametrize("limit", [1, 3])
async def test_an_inbox_pages_the_same_on_both_databases(office: Office, limit: int) -> None:
    from saraban.workflow import service as workflow

    wanted = [await office.pending() for _ in range(5)]
    caller = await office.person("reviewer.consultant")
    seen: list[UUID] = []
    cursor = None
    while True:
        async with office.db.reading() as session:
            page = await workflow.inbox(session, caller=caller, subjects=office.subjects, cursor=cursor, limit=limit)
        seen += [item.envelope.instance_public_id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert seen == sorted(wanted, reverse=True)
