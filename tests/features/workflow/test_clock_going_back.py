"""Clocks that go back: what is written later stands later in a history, through every door."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.workflow import service as workflow
from saraban.workflow.administration.service import interventions, migration
from saraban.workflow.language.review import ANSWER
from saraban.workflow.runtime.models import WorkflowHistory
from saraban.workflow.runtime.service import review
from saraban.workflow.service import Command
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office
from tests.factories.review import answer, branches, seat, under_review

EARLIER = NOW - timedelta(minutes=5)
REASON = "The reviewer has left the company."


async def actions(office: Office, instance: UUID) -> list[str]:
    async with office.db.reading() as session:
        rows = await session.scalars(
            sa.select(WorkflowHistory.action)
            .where(WorkflowHistory.instance_id == instance)
            .order_by(WorkflowHistory.created_at, WorkflowHistory.id)
        )
        return list(rows.all())


async def asking(office: Office, instance: UUID, word: str) -> dict[str, Any]:
    admin = await office.person("admin")
    ctx, command = context(admin, now=EARLIER), Command(word, REASON)
    return {"ctx": ctx, "transitions": office.transitions, "public_id": instance, "command": command}


class TestStep:
    async def test_stands_behind_the_one_before_it_and_the_next_behind_both(self, office: Office) -> None:
        instance = await office.pending()

        taken = await office.act(instance, "approve", by="reviewer.consultant", now=EARLIER)
        await office.act(instance, "approve", by="approver.owner", now=EARLIER - timedelta(hours=1))

        assert await actions(office, instance) == ["submit", "approve", "approve"]
        assert taken["lastTransitionAt"] > NOW.isoformat()[:19]

    @pytest.mark.parametrize("door", ["force", "terminate", "reassign"])
    async def test_of_an_administrator_does_too(self, office: Office, door: str) -> None:
        instance = await office.pending()
        asked = await asking(office, instance, door)

        if door == "force":
            await interventions.force(**asked, action=None, to="rejected")
        elif door == "terminate":
            await interventions.terminate(**asked)
        else:
            person = await office.person("reviewer.consultant")
            await interventions.reassign(**asked, reassignment=interventions.Reassignment(person.public_id))

        assert (await actions(office, instance))[0] == "submit"

    async def test_that_cancels_does_too(self, office: Office) -> None:
        instance = await office.pending()
        caller, (entity_id,) = await office.person("admin"), office.box.letters
        ended: dict[str, Any] = {
            "entity_type": office.box.entity_type,
            "entity_id": entity_id,
            "reason": REASON,
        }

        await office.db.transact(lambda session: workflow.cancel(context(caller, now=EARLIER), session, **ended))

        assert await actions(office, instance) == ["submit", "cancel"]


class TestMigration:
    async def test_stands_behind_the_steps_before_it(self, office: Office) -> None:
        instance = await office.pending()
        async with office.db.reading() as session:
            raw: Any = (await workflow.find_definition(session, code="RFA_APPROVAL", version=1)).dsl
        await office.define({key: value for key, value in raw.items() if key != "version"}, activate=False)
        plan = migration.MigrationPlan("RFA_APPROVAL", 2, {}, dry_run=False)
        admin = await office.person("admin")

        async for _ in migration.migrate(
            context(caller=admin, now=EARLIER), office.db, subjects=office.subjects, plan=plan
        ):
            pass

        assert await actions(office, instance) == ["submit", "migrate"]


class TestAnswer:
    async def test_stands_behind_the_one_before_it_and_before_the_verdict(self, office: Office) -> None:
        await seat(office)
        instance = await under_review(office)
        of = {name: one.public_id for name, one in (await branches(office, instance)).items()}
        await answer(office, instance, of["structure"], by="reviewer.consultant")

        await review.answer(
            context(caller=await office.person("dc.consultant"), now=EARLIER),
            office.transitions,
            public_id=instance,
            branch_public_id=of["electrical"],
            command=Command(ANSWER, response_code="approve"),
        )

        async with office.db.reading() as session:
            rows = (await session.scalars(sa.select(WorkflowHistory).order_by(WorkflowHistory.created_at))).all()
        structure, electrical = str(of["structure"]), str(of["electrical"])
        answered = [row.details["branchPublicId"] for row in rows if row.details and "branchPublicId" in row.details]
        assert answered == [structure, electrical]
        assert rows[-1].created_at > NOW
