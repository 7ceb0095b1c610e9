"""Fifty people press the same button at the same moment, on SQLite and on MariaDB, without Redis."""

import asyncio
from collections import Counter
from datetime import date
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.events.models import OutboxEvent
from saraban.kit.errors import DomainError
from saraban.kit.problem import to_problem
from saraban.workflow import service as workflow
from saraban.workflow.administration.service import interventions, migration
from saraban.workflow.runtime.domain.interventions import FORCE
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from saraban.workflow.service import Command, TransitionNotPossible, VersionConflict
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office
from tests.site_memo import with_filing

pytestmark = pytest.mark.sampled("mariadb", "hear_of_the_newer_version")

CROWD = 50


@pytest.fixture
def office(any_office: Office) -> Office:
    return any_office


async def crowd(office: Office, instance: UUID, *, by: str, **command: Any) -> Counter[str]:
    """Approve an instance fifty times at once and count the outcomes."""

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


class TestForcedStep:
    async def test_and_an_approval_at_once_are_one_step(self, office: Office) -> None:
        instances = [await office.pending() for _ in range(8)]
        owner = await office.person("approver.owner")

        async def approve(instance: UUID) -> str:
            await office.act(instance, "approve", by="reviewer.consultant", client_version_no=2)
            return "approve"

        async def force(instance: UUID) -> str:
            command = Command(FORCE, "The reviewer has left the company.", client_version_no=2)
            ctx = context(owner, now=NOW)
            await interventions.force(
                ctx, office.transitions, public_id=instance, command=command, action=None, to="rejected"
            )
            return "force"

        both = [deed(instance) for instance in instances for deed in (approve, force)]
        outcomes = await asyncio.gather(*both, return_exceptions=True)

        won = [each for each in outcomes if isinstance(each, str)]
        assert len(won) == len(instances)
        assert {type(each) for each in outcomes if not isinstance(each, str)} == {VersionConflict}
        async with office.db.reading() as session:
            rows = (await session.scalars(sa.select(WorkflowInstance))).all()
            histories = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowHistory))
        ends = {"approve": "pending_approval", "force": "rejected"}
        assert Counter(row.current_state for row in rows) == Counter(ends[each] for each in won)
        assert ({row.version_no for row in rows}, histories) == ({3}, 2 * len(instances))


class TestMigration:
    async def test_loses_no_step_that_is_taken_meanwhile(self, office: Office) -> None:
        instances = [await office.pending() for _ in range(12)]
        async with office.db.reading() as session:
            raw = (await workflow.find_definition(session, code="RFA_APPROVAL", version=1)).dsl
        assert raw is not None
        await office.define({key: value for key, value in raw.items() if key != "version"}, activate=False)
        admin = await office.person("admin")

        async def migrate() -> int:
            plan = migration.MigrationPlan("RFA_APPROVAL", 2, {}, dry_run=False)
            batches = migration.migrate(
                context(caller=admin, now=NOW, address=""), office.db, subjects=office.subjects, plan=plan, size=3
            )
            return sum([len(batch.lines) async for batch in batches])

        steps = [office.act(instance, "approve", by="reviewer.consultant") for instance in instances]
        first, second, *outcomes = await asyncio.gather(migrate(), migrate(), *steps, return_exceptions=True)

        assert first + second == len(instances)
        taken = [each for each in outcomes if isinstance(each, dict)]
        # Without a version from the client a step that meets the migration halfway is a lost race, and changes nothing.
        assert all(isinstance(each, TransitionNotPossible) for each in outcomes if not isinstance(each, dict))
        async with office.db.reading() as session:
            rows = (await session.scalars(sa.select(WorkflowInstance))).all()
            histories = (await session.scalars(sa.select(WorkflowHistory.action))).all()
        assert Counter(histories) == {"submit": 12, "migrate": 12, **({"approve": len(taken)} if taken else {})}
        assert sum(row.version_no for row in rows) == 12 * 3 + len(taken)
        assert len({row.definition_id for row in rows}) == 1


class TestManyInstances:
    async def test_move_at_once_without_disturbing_each_other(self, office: Office) -> None:
        instances = [await office.pending() for _ in range(20)]

        await asyncio.gather(*(office.act(each, "approve", by="reviewer.consultant") for each in instances))

        async with office.db.reading() as session:
            states = (await session.scalars(sa.select(WorkflowInstance.current_state))).all()
            waiting = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowWorkItem))
        assert set(states) == {"pending_approval"}
        assert waiting == 2 * len(instances)


@pytest.mark.sampled("mariadb-1", "sqlite-3")
@pytest.mark.parametrize("limit", [1, 3])
async def test_an_inbox_pages_the_same_on_both_databases(office: Office, limit: int) -> None:
    wanted = [await office.pending() for _ in range(5)]
    caller = await office.person("reviewer.consultant")
    seen: list[UUID] = []
    cursor = None
    while True:
        async with office.db.reading() as session:
            page = await workflow.list_tasks(
                context(caller=caller), session, subjects=office.subjects, cursor=cursor, limit=limit
            )
        seen += [item.envelope.instance_public_id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert seen == sorted(wanted, reverse=True)


class TestWhatAStateIsGiven:
    async def test_is_written_with_the_step_and_gone_with_the_next_and_the_engine_goes_on(self, office: Office) -> None:
        reviewer = await office.person("reviewer.consultant")
        raw = with_filing(True)
        raw["states"][0]["on"]["send"]["events"] = [{"type": "assign", "target": str(reviewer.public_id)}]
        await office.define(raw)
        instance = (await office.start(office.letter(), code="SITE_MEMO")).instance_public_id

        await office.act(instance, "send", by="dc.contractor")
        row, histories, events = await stored(office)
        assert (row.due_on, row.assigned_user_id) == (date(2026, 11, 27), reviewer.user_id)
        assert (row.version_no, histories, events) == (2, 1, 1)

        await office.act(instance, "answer", by="reviewer.consultant")
        row, histories, events = await stored(office)
        assert (row.current_state, row.due_on, row.assigned_user_id) == ("done", None, None)
        assert (row.version_no, histories, events) == (4, 3, 4)
