"""After an upgrade running documents ask whom their state asks today, on each database, in batches under their row locks."""

from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.db import Database
from saraban.workflow.runtime.models import WorkflowWorkItem
from saraban.workflow.runtime.service import assignment
from tests.factories.letterbox import NOW, new_office
from tests.reviews import CONTROLS, asking

LETTERS = 5


@pytest.mark.sampled("mariadb")
async def test_those_who_were_missing_are_asked_and_the_others_keep_their_place(
    any_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = await new_office(any_db)
    await office.define(asking(CONTROLS))
    for _ in range(LETTERS):
        instance = (await office.start(office.letter(), code="ASKING")).instance_public_id
        await office.act(instance, "submit", by="dc.contractor")
    missing = (await office.person("dc.consultant")).user_id

    async def items(session: AsyncSession) -> dict[tuple[UUID, str], WorkflowWorkItem]:
        item = WorkflowWorkItem
        rows = await session.execute(sa.select(item, User.username).join(User, User.user_id == item.user_id))
        return {(row.WorkflowWorkItem.instance_id, row.username): row.WorkflowWorkItem for row in rows}

    async with any_db.reading() as session:
        before = await items(session)
    await any_db.transact(
        lambda session: session.execute(sa.delete(WorkflowWorkItem).where(WorkflowWorkItem.user_id == missing))
    )
    monkeypatch.setattr(assignment, "BATCH_SIZE", 2)

    await assignment.refill(any_db, subjects=office.subjects)

    async with any_db.reading() as session:
        after = await items(session)
    assert set(after) == set(before)
    assert len(after) == 2 * LETTERS
    assert {key for key, one in after.items() if one.id == before[key].id} == {
        key for key in before if key[1] == "dc.contractor"
    }
    assert {one.created_at for one in after.values()} == {NOW}
