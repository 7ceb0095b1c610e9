"""The outbox on each database: nothing lost, nothing twice, in order for each aggregate."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.models import AuditLog
from saraban.events import service as events
from saraban.events.models import DeadLetter, OutboxEvent
from saraban.events.service import Event, Handlers
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.worker.dispatch import Dispatcher
from saraban.worker.loop import Worker

pytestmark = pytest.mark.sampled("mariadb", "to_two_workers")

START = datetime(2026, 11, 20, 3, tzinfo=UTC)
BANGKOK = ZoneInfo("Asia/Bangkok")

Handle = Callable[[AsyncSession, Event], Awaitable[None]]


async def record(db: Database, *aggregates: str, name: str = "thing.done") -> list[UUID]:
    """Record one event for each aggregate named, each in a transaction of its own."""
    return [
        await db.transact(
            lambda session, number=number, aggregate=aggregate: events.record(
                session, events.NewEvent(name, "thing", aggregate, {"number": number, "ชื่อ": "กทท."}, START)
            )
        )
        for number, aggregate in enumerate(aggregates)
    ]


async def leave_trace(session: AsyncSession, event: Event) -> None:
    """An effect in the database, by which a test counts deliveries; a row each time, so that twice would show."""
    session.add(
        AuditLog(
            action="test.effect",
            entity_type=event.aggregate_id,
            entity_id=str(event.public_id),
            details_json=dict(event.payload),
            created_at=START,
        )
    )


async def traces(db: Database) -> list[AuditLog]:
    async with db.reading() as session:
        return list(await session.scalars(sa.select(AuditLog).order_by(AuditLog.audit_id)))


async def waiting(db: Database) -> list[OutboxEvent]:
    async with db.reading() as session:
        found = sa.select(OutboxEvent).where(OutboxEvent.delivered_at.is_(None)).order_by(OutboxEvent.id)
        return list(await session.scalars(found))


def handlers(*functions: Handle, name: str = "thing.done") -> Handlers:
    wired = Handlers()
    for function in functions:
        wired.add(name, function)
    return wired


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START, BANGKOK)


class TestClaim:
    async def test_gives_only_the_oldest_event_of_an_aggregate(self, any_db: Database) -> None:
        first, _, other = await record(any_db, "a", "a", "b")

        claims = await any_db.transact(lambda session: events.claim(session, now=START, limit=10))

        assert [claim.event.public_id for claim in claims] == [first, other]
        assert claims[0].event.payload == {"number": 0, "ชื่อ": "กทท."}

    async def test_gives_no_event_to_two_workers(self, any_db: Database) -> None:
        await record(any_db, *(str(number) for number in range(30)))

        async def take() -> list[UUID]:
            claims = await any_db.transact(lambda session: events.claim(session, now=START, limit=5))
            return [claim.event.public_id for claim in claims]

        taken = [public_id for batch in await asyncio.gather(*(take() for _ in range(12))) for public_id in batch]

        assert len(taken) == len(set(taken))

    async def test_gives_an_event_again_when_its_lease_has_ended(self, any_db: Database) -> None:
        (public_id,) = await record(any_db, "a")
        await any_db.transact(lambda session: events.claim(session, now=START, limit=1))

        soon = await any_db.transact(lambda session: events.claim(session, now=START + timedelta(seconds=59), limit=1))
        later = await any_db.transact(lambda session: events.claim(session, now=START + timedelta(seconds=61), limit=1))

        assert soon == []
        assert [claim.event.public_id for claim in later] == [public_id]


class TestDeliver:
    async def test_does_nothing_for_a_worker_that_lost_its_lease(self, any_db: Database, clock: FixedClock) -> None:
        await record(any_db, "a")
        (old,) = await any_db.transact(lambda session: events.claim(session, now=START, limit=1))
        clock.at += timedelta(minutes=2)
        (new,) = await any_db.transact(lambda session: events.claim(session, now=clock.at, limit=1))
        wired = handlers(leave_trace)

        done = [
            await any_db.transact(
                lambda session, claim=claim: events.deliver_all(session, claims=[claim], handlers=wired, now=clock.at)
            )
            for claim in (old, new, new)
        ]

        assert done == [set(), {new.event.public_id}, set()]
        assert len(await traces(any_db)) == 1

    async def test_takes_effect_once_when_a_worker_dies_between_claim_and_delivery(
        self, any_db: Database, clock: FixedClock
    ) -> None:
        (public_id,) = await record(any_db, "a")
        await any_db.transact(
            lambda session: events.claim(session, now=START, limit=1)
        )  # and it is never heard of again

        worker = Worker(db=any_db, clock=clock, handlers=handlers(leave_trace))
        assert await worker.drain() == 0
        clock.at += timedelta(minutes=2)
        await worker.drain()
        await worker.drain()

        assert [trace.entity_id for trace in await traces(any_db)] == [str(public_id)]

    async def test_takes_effect_once_when_a_worker_dies_in_the_middle_of_a_delivery(
        self, any_db: Database, clock: FixedClock
    ) -> None:
        await record(any_db, "a")
        (claim,) = await any_db.transact(lambda session: events.claim(session, now=START, limit=1))

        async def die(_session: AsyncSession, _event: Event) -> None:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await any_db.transact(
                lambda session: events.deliver_all(
                    session, claims=[claim], handlers=handlers(leave_trace, die), now=clock.at
                )
            )
        assert await traces(any_db) == []

        clock.at += timedelta(minutes=2)
        await Worker(db=any_db, clock=clock, handlers=handlers(leave_trace)).drain()
        assert len(await traces(any_db)) == 1


class TestOrder:
    async def test_holds_for_each_aggregate_with_several_workers(self, any_db: Database, clock: FixedClock) -> None:
        aggregates = [name for _ in range(6) for name in ("a", "b", "c")]
        await record(any_db, *aggregates)
        failed: set[UUID] = set()

        async def stumble(_session: AsyncSession, event: Event) -> None:
            if event.public_id not in failed and event.payload["number"] % 4 == 0:
                failed.add(event.public_id)
                raise RuntimeError("not this time")

        wired = handlers(stumble, leave_trace)
        workers = [Dispatcher(any_db, clock, wired) for _ in range(3)]
        for _ in range(60):
            if not await waiting(any_db):
                break
            await asyncio.gather(*(worker.round() for worker in workers))
            clock.at += timedelta(seconds=1)

        seen = await traces(any_db)
        for aggregate in ("a", "b", "c"):
            numbers = [(trace.details_json or {})["number"] for trace in seen if trace.entity_type == aggregate]
            assert numbers == [number for number, name in enumerate(aggregates) if name == aggregate]

    async def test_makes_later_events_wait_for_one_that_is_tried_again(
        self, any_db: Database, clock: FixedClock
    ) -> None:
        first, second = await record(any_db, "a", "a")

        async def fail_the_first(_session: AsyncSession, event: Event) -> None:
            if event.public_id == first:
                raise RuntimeError("broken")

        worker = Worker(db=any_db, clock=clock, handlers=handlers(fail_the_first, leave_trace))
        await worker.drain()

        assert [event.public_id for event in await waiting(any_db)] == [first, second]


class TestFailure:
    async def test_ends_with_the_dead_letters_and_lets_the_next_go_on(
        self, any_db: Database, clock: FixedClock
    ) -> None:
        first, second = await record(any_db, "a", "a")

        async def fail_the_first(_session: AsyncSession, event: Event) -> None:
            if event.public_id == first:
                raise RuntimeError("กล่องจดหมายเต็ม\nand a trace that nobody needs")

        worker = Worker(db=any_db, clock=clock, handlers=handlers(leave_trace, fail_the_first))
        tries = []
        for pause in (0.0, 0.5, 1.0):
            clock.at += timedelta(seconds=pause)
            tries.append(await worker.drain())

        async with any_db.reading() as session:
            (dead,) = await session.scalars(sa.select(DeadLetter))
        assert tries == [1, 1, 2]
        assert (dead.event_uuid, dead.queue) == (first, "workflow-events")
        assert dead.error == "RuntimeError: กล่องจดหมายเต็ม"
        assert [trace.entity_id for trace in await traces(any_db)] == [str(second)]

    async def test_of_a_broken_rule_is_not_tried_again(self, any_db: Database, clock: FixedClock) -> None:
        await record(any_db, "a")

        async def refuse(_session: AsyncSession, _event: Event) -> None:
            raise NotFound("There is no such document.")

        await Worker(db=any_db, clock=clock, handlers=handlers(refuse)).drain()

        async with any_db.reading() as session:
            assert len((await session.scalars(sa.select(DeadLetter))).all()) == 1
        assert await waiting(any_db) == []

    async def test_of_the_database_costs_no_attempt(self, any_db: Database, clock: FixedClock) -> None:
        await record(any_db, "a")

        async def lose_the_connection(_session: AsyncSession, _event: Event) -> None:
            raise ConnectionResetError("the database went away")

        worker = Worker(db=any_db, clock=clock, handlers=handlers(lose_the_connection))
        for _ in range(5):
            await worker.drain()
            clock.at += timedelta(seconds=2)

        (event,) = await waiting(any_db)
        assert event.attempts == 0

    async def test_keeps_a_database_message_without_its_values(self, any_db: Database, clock: FixedClock) -> None:
        await record(any_db, "a")

        async def collide(session: AsyncSession, event: Event) -> None:
            for _ in range(2):
                texts = {"queue": "q", "name": "n", "aggregate_type": "t", "aggregate_id": "x", "error": "e"}
                moments = {"recorded_at": event.created_at, "failed_at": event.created_at}
                row = {"uuid": event.public_id, "event_uuid": event.public_id, "data": {}, "attempts": 1}
                await session.execute(sa.insert(DeadLetter).values(**row, **texts, **moments))

        await Worker(db=any_db, clock=clock, handlers=handlers(collide)).drain()

        (event,) = await waiting(any_db)
        assert event.last_error in {
            "IntegrityError: UNIQUE constraint failed: dead_letters.uuid",
            "IntegrityError: 1062 Duplicate entry '…' for key 'idx_dead_letters_uuid'",
        }


class TestDeadLetters:
    async def bury(self, db: Database, clock: FixedClock) -> events.DeadLetterView:
        await record(db, "a")

        async def refuse(_session: AsyncSession, _event: Event) -> None:
            raise NotFound

        await Worker(db=db, clock=clock, handlers=handlers(refuse)).drain()
        async with db.reading() as session:
            (dead,) = await session.scalars(sa.select(DeadLetter))
        return dead

    async def test_can_be_revived_under_their_first_id(self, any_db: Database, clock: FixedClock) -> None:
        dead = await self.bury(any_db, clock)

        await any_db.transact(
            lambda session: events.requeue_dead_letter(session, public_id=dead.public_id, now=clock.at)
        )
        await Worker(db=any_db, clock=clock, handlers=handlers(leave_trace)).drain()

        assert [trace.entity_id for trace in await traces(any_db)] == [str(dead.event_uuid)]

    async def test_can_be_dropped(self, any_db: Database, clock: FixedClock) -> None:
        dead = await self.bury(any_db, clock)

        await any_db.transact(lambda session: events.delete_dead_letter(session, public_id=dead.public_id))

        async with any_db.reading() as session:
            assert (await session.scalars(sa.select(DeadLetter))).all() == []
            assert (await events.backlog(session)).dead == 0
        with pytest.raises(NotFound):
            await any_db.transact(lambda session: events.delete_dead_letter(session, public_id=dead.public_id))


class TestPurge:
    async def test_keeps_delivered_events_for_a_day(self, any_db: Database, clock: FixedClock) -> None:
        await record(any_db, "a", "b")
        await Worker(db=any_db, clock=clock, handlers=handlers()).drain()
        (late,) = await record(any_db, "c")

        within = await any_db.transact(lambda session: events.purge_delivered(session, now=START + timedelta(hours=23)))
        after = await any_db.transact(lambda session: events.purge_delivered(session, now=START + timedelta(hours=25)))

        assert (within, after) == (0, 2)
        assert [event.public_id for event in await waiting(any_db)] == [late]


class TestRecord:
    async def test_goes_down_with_the_deed_it_tells(self, any_db: Database) -> None:
        async def fail(session: AsyncSession) -> None:
            await events.record(session, events.NewEvent("thing.done", "thing", "a", {}, START))
            raise RuntimeError("the deed failed")

        with pytest.raises(RuntimeError):
            await any_db.transact(fail)

        assert await waiting(any_db) == []
