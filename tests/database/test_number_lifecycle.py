"""The life of a number on each database: who comes at once, whose clock counts, which year stays."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering
from saraban.numbering.issue.domain import NumberNotInState, ReservationExpired
from saraban.numbering.ranges.service import RangeOverlaps
from saraban.numbering.series.models import LedgerEntry
from tests.factories.contexts import context
from tests.numbering_world import NOW, World, world_of

pytestmark = pytest.mark.sampled("mariadb")

FIVE_MINUTES = timedelta(minutes=5)
REASON = "A reason that is long enough."


@pytest_asyncio.fixture
async def world(any_demo_url: str) -> AsyncIterator[World]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield await world_of(db)
    await db.close()


async def reserve(world: World, lasts: timedelta = FIVE_MINUTES) -> numbering.Issued:
    return await world.take(world.allocator(), world.letter(), lasts=lasts)


async def confirm(world: World, issued: numbering.Issued) -> numbering.Issued:
    return await world.db.transact(
        lambda session: numbering.confirm_reservation(
            context(caller=world.caller, now=NOW, address=""), session, token=issued.public_id
        )
    )


async def expire(world: World) -> int:
    return await world.db.transact(lambda session: numbering.expire_reservations(session, now=NOW))


async def void(world: World, issued: numbering.Issued) -> numbering.Issued:
    return await world.db.transact(
        lambda session: numbering.void_number(
            context(caller=world.caller, now=NOW, address=""), session, public_id=issued.public_id, reason=REASON
        )
    )


async def close(world: World, first: int, last: int) -> numbering.RangeRow:
    plan = await world.plan(world.letter())
    return await world.db.transact(
        lambda session: numbering.create_range(
            context(caller=world.caller, address=""),
            session,
            plan,
            numbering.RangeDraft(numbering.RangeKind.BARRED, first, last, reason=REASON),
        )
    )


class TestConfirm:
    async def test_by_two_at_once_is_done_once_and_answers_both(self, world: World) -> None:
        issued = await reserve(world)

        answers = await asyncio.gather(confirm(world, issued), confirm(world, issued))

        assert [one.status for one in answers] == ["CONFIRMED", "CONFIRMED"]
        assert len(await world.audit("CONFIRM")) == 1

    async def test_against_the_timer_has_one_winner(self, world: World) -> None:
        """The reservation runs out while both are at it: it ends up confirmed or expired, and audit says which."""
        for _ in range(10):
            issued = await reserve(world, timedelta(milliseconds=30))
            await asyncio.sleep(0.025)
            confirmed, _ = await asyncio.gather(confirm(world, issued), expire(world), return_exceptions=True)
            await asyncio.sleep(0.03)
            await expire(world)
            (entry,) = [one for one in await world.ledger() if one.public_id == issued.public_id]
            if isinstance(confirmed, BaseException):
                assert isinstance(confirmed, ReservationExpired)
                assert entry.document_number_status == "EXPIRED"
            else:
                assert entry.document_number_status == "CONFIRMED"
        ended = [row.reservation_uuid for name in ("CONFIRM", "EXPIRE") for row in await world.audit(name)]
        assert sorted(ended) == sorted(one.public_id for one in await world.ledger())

    async def test_goes_by_the_databases_clock(self, world: World) -> None:
        """A server whose own clock is years ahead or behind neither loses nor prolongs a reservation."""
        issued = await reserve(world)
        over = await reserve(world, timedelta(microseconds=1))
        later, before = datetime(2099, 1, 1, tzinfo=UTC), datetime(2001, 1, 1, tzinfo=UTC)

        assert await world.db.transact(lambda session: numbering.expire_reservations(session, now=later)) == 1
        kept = await world.db.transact(
            lambda session: numbering.confirm_reservation(
                context(caller=world.caller, now=later, address=""), session, token=issued.public_id
            )
        )
        try:
            await world.db.transact(
                lambda session: numbering.confirm_reservation(
                    context(caller=world.caller, now=before, address=""), session, token=over.public_id
                )
            )
        except ReservationExpired:
            refused = True
        else:
            refused = False

        assert kept.status == "CONFIRMED"
        assert refused


class TestTimer:
    async def test_of_two_workers_expires_each_reservation_once(self, world: World) -> None:
        allocator = world.allocator()
        await asyncio.gather(
            *(world.take(allocator, world.letter(), lasts=timedelta(microseconds=1)) for _ in range(60))
        )

        counts = await asyncio.gather(expire(world), expire(world))

        assert sum(counts) == 60
        assert len(await world.audit("EXPIRE")) == 60
        assert {one.document_number_status for one in await world.ledger()} == {"EXPIRED"}


class TestVoid:
    async def test_twice_at_once_is_done_once(self, world: World) -> None:
        issued = await world.take(world.allocator(), world.letter())

        answers = await asyncio.gather(void(world, issued), void(world, issued), return_exceptions=True)

        assert sorted(type(one).__name__ for one in answers) == ["Issued", NumberNotInState.__name__]
        assert len(await world.audit("VOID")) == 1

    async def test_and_replace_that_fails_leaves_the_old_number_and_consumes_none(self, world: World) -> None:
        allocator = world.allocator()
        issued = await world.take(allocator, world.letter())
        await void(world, issued)
        plan = await world.plan(world.letter())

        number = numbering.NumberToVoid(issued.public_id, REASON)
        ctx = context(caller=world.caller, now=NOW, address="")
        write = partial(numbering.void_for, ctx, number, plan.project.id)

        try:
            await allocator.issue(numbering.IssueRequest(ctx, plan, write=write))
        except DomainError as refusal:
            code = refusal.code
        following = await world.take(allocator, world.letter())

        assert code == NumberNotInState.code
        assert following.sequence == 2


class TestReservation:
    async def test_wanted_by_two_documents_at_once_goes_to_one(self, world: World) -> None:
        issued = await reserve(world)
        plan = await world.plan(world.letter())

        async def bind() -> numbering.Issued:
            holder = numbering.Holder("letter", new_id())
            return await world.db.transact(
                lambda session: numbering.bind_reservation(
                    context(caller=world.caller, now=NOW, address=""),
                    session,
                    token=issued.public_id,
                    plan=plan,
                    holder=holder,
                    fields={},
                )
            )

        answers = await asyncio.gather(bind(), bind(), return_exceptions=True)

        assert sorted(type(one).__name__ for one in answers) == ["Issued", NumberNotInState.__name__]
        assert len(await world.audit("CONFIRM")) == 1

    async def test_over_midnight_of_the_year_keeps_its_year(self, world: World) -> None:
        allocator = world.allocator()
        last = datetime(2026, 12, 31, 16, 59, 59, 999000, tzinfo=UTC)
        old = await allocator.issue(
            numbering.IssueRequest(
                context(caller=world.caller, address=""),
                await world.plan(world.letter(), now=last),
                lasts=FIVE_MINUTES,
            )
        )
        new_year = last + timedelta(minutes=1)
        plan = await world.plan(world.letter(), now=new_year)
        holder = numbering.Holder("letter", new_id())

        bound = await world.db.transact(
            lambda session: numbering.bind_reservation(
                context(caller=world.caller, now=new_year, address=""),
                session,
                token=old.public_id,
                plan=plan,
                holder=holder,
                fields={},
            )
        )
        following = await world.take(allocator, world.letter())

        assert (bound.number, bound.year, plan.year) == (old.number, 2026, 2027)
        assert bound.number.endswith("2569")
        assert following.sequence == 2
        async with world.db.reading() as session:
            held = await session.scalar(
                sa.select(LedgerEntry.holder_public_id).where(LedgerEntry.public_id == old.public_id)
            )
        assert held == holder.public_id


class TestRange:
    async def test_made_while_others_draw_is_stepped_over_from_then_on(self, world: World) -> None:
        allocators = [world.allocator(), world.allocator()]
        for allocator in allocators:
            await world.take(allocator, world.letter())
        await close(world, 3, 12)

        drawn = [(await world.take(allocator, world.letter())).sequence for allocator in allocators]

        assert drawn == [13, 14]

    async def test_of_two_that_overlap_made_at_once_stands_one(self, world: World) -> None:
        answers = await asyncio.gather(close(world, 10, 20), close(world, 15, 25), return_exceptions=True)

        refused = [one for one in answers if isinstance(one, BaseException)]
        assert [type(one) for one in refused] == [RangeOverlaps]
