"""Two people who delegate to each other in the same moment, on each database: one of them is refused."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.kit.db import Database
from saraban.kit.operation import Receipt
from saraban.workflow.runtime.domain.delegation import DelegateAway, DelegationChained
from saraban.workflow.runtime.models import DelegationRow
from saraban.workflow.runtime.repository import delegation_rows
from saraban.workflow.runtime.schemas import DelegationIn
from saraban.workflow.runtime.service import delegations
from saraban.workflow.runtime.service.delegations import delegated_rights_of
from tests.factories.contexts import context

pytestmark = pytest.mark.sampled("mariadb")

BANGKOK = ZoneInfo("Asia/Bangkok")
NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
TODAY = date(2026, 11, 21)
ROUNDS = 4


async def people(db: Database, *names: str) -> list[Caller]:
    async with db.reading() as session:
        found = [await identity.find_caller(session, username=name) for name in names]
    return [one for one in found if one is not None]


async def lend(db: Database, delegator: Caller, delegate: Caller, day: date) -> Receipt:
    wanted = DelegationIn(delegate_public_id=delegate.public_id, starts_on=day, ends_on=day + timedelta(days=1))
    return await db.transact(
        lambda session: delegations.delegate(
            context(caller=delegator, now=NOW, zone=BANGKOK, address=""), session, wanted=wanted
        )
    )


class TestRevoking:
    async def test_waits_for_nobody_else(self, any_people_db: Database) -> None:
        one, other = await people(any_people_db, "dc.consultant", "reviewer.consultant")
        lent = await lend(any_people_db, one, other, TODAY)

        async def revoke() -> None:
            ctx = context(one, now=NOW)
            await any_people_db.transact(
                lambda session: delegations.revoke(ctx, session, public_id=lent.public_id, if_match=None)
            )

        if any_people_db.is_sqlite:  # which has one writer at a time
            await revoke()
        else:
            async with any_people_db.writing() as session:
                await delegation_rows.hold_people(session, [other.user_id])
                await asyncio.wait_for(revoke(), timeout=3)

        async with any_people_db.reading() as session:
            assert await session.scalar(sa.select(DelegationRow.revoked_at)) == NOW


class TestCrossing:
    async def test_leaves_one_of_two_at_once(self, any_people_db: Database) -> None:
        one, other = await people(any_people_db, "dc.consultant", "reviewer.consultant")

        for turn in range(ROUNDS):
            day = TODAY + timedelta(days=2 * turn)
            outcomes = await asyncio.gather(
                lend(any_people_db, one, other, day), lend(any_people_db, other, one, day), return_exceptions=True
            )
            refused = [outcome for outcome in outcomes if not isinstance(outcome, Receipt)]
            assert [type(each) for each in refused] in ([DelegateAway], [DelegationChained]), outcomes

        async with any_people_db.reading() as session:
            assert await session.scalar(sa.select(sa.func.count()).select_from(DelegationRow)) == ROUNDS

    async def test_counts_from_the_first_moment_of_its_days_to_the_last(self, any_people_db: Database) -> None:
        one, other = await people(any_people_db, "dc.consultant", "reviewer.consultant")
        await lend(any_people_db, one, other, TODAY)
        first, over = (datetime(2026, 11, day, tzinfo=BANGKOK) for day in (21, 23))
        tick = timedelta(microseconds=1)

        async with any_people_db.reading() as session:
            found = [
                [
                    seat.user_id
                    for seat in (await delegated_rights_of(context(caller=other, now=moment), session)).of(
                        "RFA_APPROVAL", None
                    )
                ]
                for moment in (first - tick, first, over - tick, over)
            ]

        assert found == [[], [one.user_id], [one.user_id], []]
