"""The worker as a whole: it wakes, keeps time, stops in peace, and tells the operators."""

import asyncio
import json
import os
import socket
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.bootstrap import System
from saraban.events import service as events
from saraban.events.models import WorkerHeartbeat
from saraban.events.service import Event, Handlers
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.idempotency import IdempotencyKey, delete_expired_keys
from saraban.kit.ids import new_id
from saraban.worker import loop, timers
from saraban.worker.loop import Job, Pace, Worker
from saraban.worker.schedule import Schedule, Timer
from saraban.worker.timers import TIMERS, Heartbeat, Purge, measure_outbox
from tests.log_capture import lines_of

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)
HOOK = "http://hook.test/dead"


async def record(db: Database, number: int = 0) -> UUID:
    return await db.transact(
        lambda session: events.record(
            session,
            events.NewEvent(
                "workflow.transitioned",
                "workflow_instance",
                str(number),
                {"workflowCode": "RFA_APPROVAL", "instancePublicId": str(number)},
                NOW,
            ),
        )
    )


async def bury(db: Database, clock: FixedClock, count: int = 1) -> None:
    async def refuse(_session: AsyncSession, _event: Event) -> None:
        raise NotFound("There is no such document.")

    handlers = Handlers()
    handlers.add("workflow.transitioned", refuse)
    for number in range(count):
        await record(db, number)
    await Worker(db=db, clock=clock, handlers=handlers).drain()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW, ZoneInfo("Asia/Bangkok"))


def system_of(db: Database, handlers: Handlers | None = None) -> Any:
    return SimpleNamespace(db=db, handlers=handlers or Handlers(), settings=SimpleNamespace(ops_webhook_url=""))


class TestJobs:
    async def test_run_beside_the_timers_and_again_while_there_is_work(self, db: Database, clock: FixedClock) -> None:
        pieces, ticked, busy = iter([True, True, False]), asyncio.Event(), asyncio.Event()
        done: list[bool] = []

        async def piece() -> bool:
            done.append(next(pieces, False))
            if len(done) == 3:
                busy.set()
            return done[-1]

        async def long() -> bool:
            await ticked.wait()
            return False

        async def tick(_system: None, _now: datetime) -> None:
            ticked.set()

        worker = Worker(
            db=db,
            clock=clock,
            handlers=Handlers(),
            schedule=Schedule(None, [Timer("tick", tick)]),
            jobs=[Job("long", long), Job("pieces", piece)],
            pace=Pace(poll=60),
        )
        worker.start()
        await asyncio.wait_for(busy.wait(), 5)
        await asyncio.wait_for(ticked.wait(), 5)
        await worker.stop()

        assert done == [True, True, False]

    async def test_are_broken_off_when_the_worker_stops(self, db: Database, clock: FixedClock) -> None:
        begun, broken_off = asyncio.Event(), asyncio.Event()

        async def endless() -> bool:
            begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                broken_off.set()
                raise
            return True

        worker = Worker(db=db, clock=clock, handlers=Handlers(), jobs=[Job("endless", endless)])
        worker.start()
        await asyncio.wait_for(begun.wait(), 5)
        await asyncio.wait_for(worker.stop(), 5)

        assert broken_off.is_set()

    async def test_that_fail_do_not_stop_the_worker(self, db: Database, clock: FixedClock) -> None:
        tries = 0
        again = asyncio.Event()

        async def failing() -> bool:
            nonlocal tries
            tries += 1
            if tries == 2:
                again.set()
            raise ConnectionError

        worker = Worker(db=db, clock=clock, handlers=Handlers(), jobs=[Job("failing", failing)], pace=Pace(poll=0.01))
        worker.start()
        await asyncio.wait_for(again.wait(), 5)
        await worker.stop()

    async def test_are_done_once_when_it_is_drained(self, db: Database, clock: FixedClock) -> None:
        pieces = iter([True, True, False])

        async def piece() -> bool:
            return next(pieces)

        worker = Worker(db=db, clock=clock, handlers=Handlers(), jobs=[Job("pieces", piece)])

        assert await worker.drain() == 2


class TestRun:
    async def test_delivers_at_once_when_it_is_woken(self, db: Database, clock: FixedClock) -> None:
        delivered = asyncio.Event()

        async def note(_session: AsyncSession, _event: Event) -> None:
            delivered.set()

        handlers = Handlers()
        handlers.add("workflow.transitioned", note)
        worker = Worker(db=db, clock=clock, handlers=handlers, pace=Pace(poll=60))
        worker.start()
        await asyncio.sleep(0.05)
        await record(db)
        worker.wake()

        await asyncio.wait_for(delivered.wait(), 5)
        await worker.stop()

    async def test_finds_events_that_nobody_woke_it_for(self, db: Database, clock: FixedClock) -> None:
        delivered = asyncio.Event()

        async def note(_session: AsyncSession, _event: Event) -> None:
            delivered.set()

        handlers = Handlers()
        handlers.add("workflow.transitioned", note)
        worker = Worker(db=db, clock=clock, handlers=handlers, pace=Pace(poll=0.05))
        worker.start()
        await asyncio.sleep(0.1)
        await record(db)

        await asyncio.wait_for(delivered.wait(), 5)
        await worker.stop()

    async def test_lets_a_delivery_end_before_it_stops(self, db: Database, clock: FixedClock) -> None:
        begun = asyncio.Event()

        async def slowly(_session: AsyncSession, _event: Event) -> None:
            begun.set()
            await asyncio.sleep(0.2)

        handlers = Handlers()
        handlers.add("workflow.transitioned", slowly)
        await record(db)
        worker = Worker(db=db, clock=clock, handlers=handlers)
        worker.start()
        await asyncio.wait_for(begun.wait(), 5)
        await worker.stop()

        async with db.reading() as session:
            assert (await events.backlog(session)).waiting == 0

    async def test_outlives_a_timer_that_fails(self, db: Database, clock: FixedClock) -> None:
        ran = asyncio.Event()

        async def fail(_system: None, _now: datetime) -> None:
            raise RuntimeError("no partitions today")

        async def note(_system: None, _now: datetime) -> None:
            ran.set()

        schedule = Schedule(None, [Timer("fails", fail), Timer("runs", note)])
        worker = Worker(db=db, clock=clock, handlers=Handlers(), schedule=schedule, pace=Pace(poll=0.02))
        with lines_of(loop) as logs:
            worker.start()
            await asyncio.wait_for(ran.wait(), 5)
            await worker.stop()

        assert {"timer": "fails", "reason": "RuntimeError: no partitions today"}.items() <= logs[1].items()


class TestHeartbeat:
    async def test_has_one_row_for_each_worker_and_forgets_the_old_ones(self, db: Database) -> None:
        ended, living = (Heartbeat(db) for _ in range(2))
        long_ago = sa.update(WorkerHeartbeat).values(beat_at=NOW)
        await ended.beat()
        await db.transact(lambda session: session.execute(long_ago))
        await living.beat()
        await db.transact(lambda session: session.execute(long_ago))
        await living.beat()

        async with db.reading() as session:
            (row,) = await session.scalars(sa.select(WorkerHeartbeat))
        assert row.host == socket.gethostname()
        assert row.process_id == os.getpid()
        assert row.beat_at >= row.started_at
        assert await events.heartbeat_age(db) < 60

    async def test_stops_while_a_timer_hangs(
        self, db: Database, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hangs, released, moment = asyncio.Event(), asyncio.Event(), 0.0

        async def hang(_system: None, _now: datetime) -> None:
            hangs.set()
            await released.wait()

        class Counted:
            beats = 0

            async def beat(self) -> None:
                self.beats += 1

        heartbeat = Counted()

        async def count_beats() -> int:
            before = heartbeat.beats
            for _ in range(100):
                await asyncio.sleep(0)
            return heartbeat.beats - before

        monkeypatch.setattr(loop, "stopwatch", lambda: moment)
        monkeypatch.setattr(loop, "_HEARTBEAT_SECONDS", 0)
        worker = Worker(
            db=db,
            clock=clock,
            handlers=Handlers(),
            schedule=Schedule(None, [Timer("hang", hang)]),
            heartbeat=heartbeat,
        )
        worker.start()
        await asyncio.wait_for(hangs.wait(), 5)
        beats_before = await count_beats()
        moment = 301.0
        beats_after = await count_beats()
        released.set()  # a worker that is broken off may be in the middle of a statement
        await worker.stop()

        assert beats_before > 1
        assert beats_after <= 1


class TestGathering:
    async def test_has_events_wait_for_those_who_are_being_answered(self, db: Database, clock: FixedClock) -> None:
        delivered: list[str] = []
        heard = asyncio.Event()

        async def note(_session: AsyncSession, event: Event) -> None:
            delivered.append(event.aggregate_id)
            heard.set()

        handlers = Handlers()
        handlers.add("workflow.transitioned", note)
        answering = True
        worker = Worker(db=db, clock=clock, handlers=handlers, pace=Pace(poll=60, busy=lambda: answering))
        worker.start()
        await record(db)
        worker.wake()
        await asyncio.sleep(0.2)
        waited = list(delivered)
        answering = False
        await asyncio.wait_for(heard.wait(), 5)
        await worker.stop()

        assert waited == []

    async def test_ends_after_a_moment_however_busy_it_is(
        self, db: Database, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "_GATHER", 0.1)
        delivered = asyncio.Event()

        async def note(_session: AsyncSession, _event: Event) -> None:
            delivered.set()

        handlers = Handlers()
        handlers.add("workflow.transitioned", note)
        worker = Worker(db=db, clock=clock, handlers=handlers, pace=Pace(poll=60, busy=lambda: True))
        worker.start()
        await record(db)
        worker.wake()

        await asyncio.wait_for(delivered.wait(), 5)
        await worker.stop()


class TestIdleness:
    async def test_costs_one_statement_for_each_look(self, db: Database, clock: FixedClock) -> None:
        ran: list[str] = []

        async def piece() -> bool:
            ran.append("ran")
            return False

        seen: list[str] = []

        def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            seen.append(statement)

        engines = {db.engine.sync_engine, db.reading_engine.sync_engine}
        for engine in engines:
            sa.event.listen(engine, "before_cursor_execute", note)
        jobs = [Job("idle", piece, due=sa.false())]
        worker = Worker(db=db, clock=clock, handlers=Handlers(), jobs=jobs, pace=Pace(poll=0.02))
        worker.start()
        await asyncio.sleep(0.5)
        await worker.stop()

        assert ran == []
        assert len(seen) > 3
        assert len(set(seen) - {"BEGIN"}) == 1

    async def test_of_what_runs_by_the_clock_writes_nothing(self, db: Database) -> None:
        began: list[bool] = []
        sa.event.listen(db._writing_engine.sync_engine, "begin", lambda _connection: began.append(True))
        wanted = {"dead_letter_announce", "reservation_expiry"}
        for timer in TIMERS:
            if timer.name in wanted:
                await timer.run(system_of(db), NOW)
                wanted.discard(timer.name)

        assert began == []
        assert wanted == set()


class TestWake:
    async def test_comes_with_the_commit_of_an_event(self, db: Database, clock: FixedClock) -> None:
        delivered = asyncio.Event()

        async def note(_session: AsyncSession, _event: Event) -> None:
            delivered.set()

        handlers = Handlers()
        handlers.add("workflow.transitioned", note)
        worker = Worker(db=db, clock=clock, handlers=handlers, pace=Pace(poll=60))
        db.commit_listener = worker.wake
        worker.start()
        await asyncio.sleep(0.05)  # it has found nothing and waits
        await record(db)

        await asyncio.wait_for(delivered.wait(), 5)
        await worker.stop()

    async def test_comes_with_no_other_commit_and_no_rollback(self, db: Database) -> None:
        calls: list[str] = []
        db.commit_listener = lambda: calls.append("woken")

        async def record_and_fail(session: AsyncSession) -> None:
            await events.record(session, events.NewEvent("document.created", "document", "1", {}, NOW))
            raise NotFound("It was not to be.")

        await db.transact(lambda session: session.execute(sa.text("SELECT 1")))
        with pytest.raises(NotFound):
            await db.transact(record_and_fail)

        assert calls == []


class TestTimers:
    async def test_all_run_on_the_demo_project(self, system: System) -> None:
        for timer in TIMERS:
            assert await Schedule(system, TIMERS).run(timer, NOW)

    async def test_forget_what_has_run_out(self, db: Database) -> None:
        for key, expires in (("old", NOW - timedelta(seconds=1)), ("new", NOW + timedelta(hours=1))):
            values = {
                "user_uuid": new_id(),
                "idempotency_key": key,
                "operation": "POST /rfas",
                "payload_hash": "",
                "claim": new_id(),
                "locked_until": expires,
                "expires_at": expires,
            }
            await db.transact(lambda session, row=values: session.execute(sa.insert(IdempotencyKey).values(row)))

        await Purge(delete_expired_keys)(system_of(db), NOW)

        async with db.reading() as session:
            assert list(await session.scalars(sa.select(IdempotencyKey.idempotency_key))) == ["new"]

    async def test_measure_what_waits_in_each_lane(self, db: Database) -> None:
        async def send(_event: Event) -> None: ...

        await record(db)
        wired = Handlers()
        wired.send("mail.due", send)

        await measure_outbox(system_of(db, wired), NOW + timedelta(minutes=3))

        assert REGISTRY.get_sample_value("saraban_outbox_depth", {"lane": "inside"}) == 1
        assert REGISTRY.get_sample_value("saraban_outbox_oldest_age_seconds", {"lane": "inside"}) == 180
        assert REGISTRY.get_sample_value("saraban_outbox_depth", {"lane": "outside"}) == 0


class TestWebhook:
    async def test_tells_of_each_dead_event_once(self, db: Database, clock: FixedClock) -> None:
        await bury(db, clock)
        told: list[dict[str, object]] = []

        def take(request: httpx.Request) -> httpx.Response:
            told.append(json.loads(request.content))
            return httpx.Response(200)

        transport = httpx.MockTransport(take)
        first = await timers.send_alerts(db, url=HOOK, now=NOW, transport=transport)
        again = await timers.send_alerts(db, url=HOOK, now=NOW, transport=transport)

        assert (first, again) == (1, 0)
        (said,) = told
        assert said["event"] == "workflow_event_failed"
        assert (said["workflowCode"], said["instanceId"]) == ("RFA_APPROVAL", "0")
        assert said["error"] == "NotFound: There is no such document."

    async def test_failing_is_a_warning(self, db: Database, clock: FixedClock) -> None:
        await bury(db, clock)

        def refuse(_request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("nobody there")

        with lines_of(timers) as logs:
            await timers.send_alerts(db, url=HOOK, now=NOW, transport=httpx.MockTransport(refuse))

        assert [(line["event"], line["log_level"]) for line in logs] == [("ops_webhook_failed", "warning")]

    async def test_missing_is_logged(self, db: Database, clock: FixedClock) -> None:
        await bury(db, clock)

        with lines_of(timers) as logs:
            await timers.send_alerts(db, url="", now=NOW)

        assert [line["event"] for line in logs] == ["N8N_WEBHOOK_URL not configured"]

    async def test_is_told_of_fifty_a_minute_at_most(self, db: Database, clock: FixedClock) -> None:
        await bury(db, clock, count=53)
        transport = httpx.MockTransport(lambda _request: httpx.Response(200))

        counts = [
            await timers.send_alerts(db, url=HOOK, now=NOW + timedelta(seconds=pause), transport=transport)
            for pause in (0, 30, 61)
        ]

        assert counts == [50, 0, 3]
