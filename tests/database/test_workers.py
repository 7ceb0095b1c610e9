"""Workers in processes of their own: several at once, killed at any moment, woken through Redis; and what a commit covers."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio
import sqlalchemy as sa
from redis.asyncio import Redis as RedisClient
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import service as events
from saraban.events.models import DeadLetter, OutboxEvent
from saraban.events.service import Event, Handlers, Postponed
from saraban.identity.models import User
from saraban.kit.clock import FixedClock, SystemClock
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.redis import WorkerNotifier, redis_pool
from saraban.notifications import service as notifications
from saraban.notifications.models import Notification
from saraban.worker.dispatch import Dispatcher
from saraban.worker.loop import Pace, Worker
from saraban.workflow.service import Subjects
from tests.preloaded import PreloadedProgram
from tests.processes import environment_of
from tests.servers import Redis
from tests.statement_count import counting

pytestmark = pytest.mark.sampled("mariadb")

BANGKOK = ZoneInfo("Asia/Bangkok")
START = datetime(2026, 11, 20, 3, tzinfo=UTC)
NAME = "workflow.transitioned"


async def record(db: Database, aggregate: str, number: int, *, user: UUID | None = None, name: str = NAME) -> UUID:
    payload: dict[str, Any] = {"number": f"{aggregate}-{number}", "title": "เสาเข็ม", "documentPublicId": str(new_id())}
    payload["waiting"] = {"organizations": [], "users": [str(user)] if user else []}
    return await db.transact(
        lambda session: events.record(session, events.NewEvent(name, "thing", aggregate, payload, START))
    )


async def waiting(db: Database) -> int:
    async with db.reading() as session:
        return (await events.backlog(session)).waiting


async def until_told(db: Database, *, within: float) -> None:
    async with asyncio.timeout(within):
        while await waiting(db):  # noqa: ASYNC110  other processes tell no event of ours
            await asyncio.sleep(0.1)


class Processes:
    """`saraban worker`, several times, each of which a test may kill."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._environment = environment_of(data_dir=folder, database_url=url, event_lease=1.5, log_format="json")
        self.alive: list[PreloadedProgram] = []

    def start(self) -> None:
        log = self._folder / "workers.log"
        self.alive.append(PreloadedProgram("worker", environment=self._environment, folder=self._folder, log=log))

    def started(self) -> int:
        log = self._folder / "workers.log"
        return log.read_text(errors="replace").count('"worker_started"') if log.exists() else 0

    def kill(self) -> None:
        process = self.alive.pop(0)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def processes(tmp_path: Path, any_url: str) -> Iterator[Processes]:
    folder = tmp_path / "workers"
    folder.mkdir()
    found = Processes(folder, any_url)
    yield found
    while found.alive:
        found.kill()


class TestKilledWorkers:
    @pytest.mark.slow
    async def test_lose_nothing_tell_nothing_twice_and_keep_the_order(
        self, any_db: Database, processes: Processes
    ) -> None:
        user = User(username="reader", password_hash="!", email="r@saraban.invalid", created_at=START, updated_at=START)
        async with any_db.writing() as session:
            session.add(user)
        for _ in range(3):
            processes.start()
        async with asyncio.timeout(60):
            while processes.started() < 3:  # noqa: ASYNC110  the same
                await asyncio.sleep(0.1)

        told: dict[str, list[UUID]] = {}
        undone: set[UUID] = set()

        async def work(aggregate: str) -> None:
            for number in range(15):
                told.setdefault(aggregate, []).append(await record(any_db, aggregate, number, user=user.public_id))
                if number % 5 == 0:
                    undone.add(await self._undone(any_db, aggregate, user.public_id))
                await asyncio.sleep(0.03)

        async def havoc() -> None:
            for _ in range(2):
                await asyncio.sleep(0.6)
                processes.kill()
            processes.start()

        await asyncio.gather(havoc(), *(work(name) for name in "abcdefgh"))
        await until_told(any_db, within=30)

        async with any_db.reading() as session:
            rows = list(await session.scalars(sa.select(Notification).order_by(Notification.id)))
            assert (await events.backlog(session)).dead == 0
        heard = [row.event_uuid for row in rows]
        assert len(heard) == len(set(heard)) == 120
        assert not undone & set(heard)
        for public_ids in told.values():
            assert [one for one in heard if one in set(public_ids)] == public_ids

    async def _undone(self, db: Database, aggregate: str, user: UUID) -> UUID:
        """Record an event in a transaction that is rolled back."""
        seen: list[UUID] = []

        async def work(session: AsyncSession) -> None:
            payload = {"waiting": {"organizations": [], "users": [str(user)]}}
            seen.append(await events.record(session, events.NewEvent(NAME, "thing", aggregate, payload, START)))
            raise RuntimeError("it was not to be")

        with pytest.raises(RuntimeError):
            await db.transact(work)
        return seen[0]


@contextmanager
def commits(db: Database) -> Iterator[list[int]]:
    """The list grows with each transaction that is committed."""
    seen: list[int] = []

    def on_commit(_connection: Any) -> None:
        seen.append(1)

    sa.event.listen(db.engine.sync_engine, "commit", on_commit)
    yield seen
    sa.event.remove(db.engine.sync_engine, "commit", on_commit)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START, BANGKOK)


class TestOneCommit:
    async def test_covers_many_deliveries(self, any_db: Database, clock: FixedClock) -> None:
        for number in range(60):
            await record(any_db, str(number), 0)
        heard: list[UUID] = []

        async def hear(_session: AsyncSession, event: Event) -> None:
            heard.append(event.public_id)

        wired = Handlers()
        wired.add(NAME, hear)
        with commits(any_db) as seen:
            assert await Dispatcher(any_db, clock, wired).round() == 60

        assert len(heard) == len(set(heard)) == 60
        assert await waiting(any_db) == 0
        assert len(seen) <= 2  # the claim, and what it covers

    async def test_gives_a_reaction_all_events_of_its_name_at_once(self, any_db: Database, clock: FixedClock) -> None:
        told = [await record(any_db, aggregate, number) for number in range(2) for aggregate in "abc"]
        other = await record(any_db, "d", 0, name="document.revised")
        heard: list[list[UUID]] = []

        async def react(_session: AsyncSession, found: Sequence[Event]) -> None:
            heard.append([event.public_id for event in found])

        wired = Handlers()
        wired.add_all(NAME, react)
        wired.add_all("document.revised", react)
        assert await Worker(db=any_db, clock=clock, handlers=wired).drain() == 7

        # Of each aggregate the oldest: the second ones come in a transaction of their own.
        assert heard == [told[:3], [other], told[3:]]

    async def test_costs_a_hundred_recipients_no_more_statements_than_one(
        self, any_db: Database, clock: FixedClock
    ) -> None:
        user = User(username="reader", password_hash="!", email="r@saraban.invalid", created_at=START, updated_at=START)
        async with any_db.writing() as session:
            session.add(user)
        wired = Handlers()
        notifications.subscribe(wired, subjects=Subjects())
        spent: list[int] = []
        for many in (1, 100):
            for number in range(many):
                await record(any_db, f"{many}-{number}", 0, user=user.public_id)
            with counting(any_db) as seen:
                assert await Dispatcher(any_db, clock, wired).round() == many
            spent.append(len(seen))

        async with any_db.reading() as session:
            assert await session.scalar(sa.select(sa.func.count()).select_from(Notification)) == 101
        assert spent[1] == spent[0]

    async def test_does_not_wait_for_the_deliveries_of_another(self, mariadb: Database) -> None:
        for number in range(40):
            await record(mariadb, str(number), 0)
        claims = await mariadb.transact(lambda session: events.claim(session, now=START, limit=40))
        reached, go = asyncio.Event(), asyncio.Event()

        async def hold(_session: AsyncSession, _event: Event) -> None:
            reached.set()
            await go.wait()

        slow = Handlers()
        slow.add(NAME, hold)

        async def deliver(share: list[events.EventClaim], wired: Handlers) -> int:
            return len(
                await mariadb.transact(
                    lambda session: events.deliver_all(session, claims=share, handlers=wired, now=START)
                )
            )

        held = asyncio.create_task(deliver(claims[::2], slow))
        await reached.wait()

        assert await asyncio.wait_for(deliver(claims[1::2], Handlers()), 5) == 20
        go.set()
        assert await held == 20

    async def test_is_not_shared_with_one_that_fails(self, any_db: Database, clock: FixedClock) -> None:
        ids = [await record(any_db, str(number), 0) for number in range(10)]
        done: list[UUID] = []

        async def hear(session: AsyncSession, event: Event) -> None:
            if event.public_id == ids[4]:
                raise RuntimeError("not this one")
            session.info.setdefault("heard", []).append(event.public_id)
            done.append(event.public_id)

        wired = Handlers()
        wired.add(NAME, hear)
        await Worker(db=any_db, clock=clock, handlers=wired).drain()

        async with any_db.reading() as session:
            left = list(await session.scalars(sa.select(OutboxEvent).where(OutboxEvent.delivered_at.is_(None))))
        assert [(row.public_id, row.attempts) for row in left] == [(ids[4], 1)]
        assert set(done) == set(ids) - {ids[4]}


class TestSending:
    async def test_waits_outside_without_holding_up_what_stays_in_here(
        self, any_db: Database, clock: FixedClock
    ) -> None:
        slow, heard = asyncio.Event(), asyncio.Event()
        under_way, most = 0, 0

        async def send(_event: Event) -> None:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await slow.wait()
            under_way -= 1

        async def hear(_session: AsyncSession, _event: Event) -> None:
            heard.set()

        wired = Handlers()
        wired.send("mail.due", send)
        wired.add(NAME, hear)
        for number in range(8):
            await record(any_db, f"mail-{number}", 0, name="mail.due")
        worker = Worker(db=any_db, clock=clock, handlers=wired, pace=Pace(poll=0.05))
        worker.start()
        await asyncio.sleep(0.3)
        await record(any_db, "a", 0)
        worker.wake()

        await asyncio.wait_for(heard.wait(), 5)
        assert await waiting(any_db) >= 8
        slow.set()
        await until_told(any_db, within=10)
        await worker.stop()
        assert most == 5

    async def test_counts_a_broken_connection_and_no_waiting_for_a_limiter(
        self, any_db: Database, clock: FixedClock
    ) -> None:
        await record(any_db, "a", 0, name="mail.due")
        answers: list[Exception] = [Postponed(20), *(ConnectionRefusedError("nobody there") for _ in range(3))]
        tried: list[UUID] = []

        async def send(event: Event) -> None:
            tried.append(event.public_id)
            raise answers[len(tried) - 1]

        wired = Handlers()
        wired.send("mail.due", send, first_delay=timedelta(seconds=5))
        worker = Worker(db=any_db, clock=clock, handlers=wired)
        counts = []
        for pause in (0, 19, 1, 4, 1, 9, 1):
            clock.at += timedelta(seconds=pause)
            counts.append(await worker.drain())

        assert counts == [1, 0, 1, 0, 1, 0, 1]
        assert len(set(tried)) == 1
        async with any_db.reading() as session:
            (dead,) = await session.scalars(sa.select(DeadLetter))
        assert dead.error == "ConnectionRefusedError: nobody there"


@pytest_asyncio.fixture
async def clients(redis_url: str) -> AsyncIterator[list[RedisClient]]:
    made = [RedisClient.from_pool(redis_pool(redis_url, timeout=0.5, connections=10)) for _ in range(2)]
    yield made
    for client in made:
        await client.aclose()


class TestWorkerNotifier:
    async def test_wakes_a_worker_of_another_process_at_once(
        self, any_db: Database, any_url: str, clients: list[RedisClient]
    ) -> None:
        """Two pools, two notifiers, two databases: what two processes have, without the second interpreter."""
        heard = asyncio.Event()

        async def hear(_session: AsyncSession, _event: Event) -> None:
            heard.set()

        wired = Handlers()
        wired.add(NAME, hear)
        there = Database(any_url)
        ours, theirs = WorkerNotifier(clients[0]), WorkerNotifier(clients[1])
        any_db.commit_listener = ours.notify
        worker = Worker(db=there, clock=SystemClock(BANGKOK), handlers=wired, pace=Pace(poll=60), notifier=theirs)
        worker.start()
        await asyncio.sleep(1.0)  # it has subscribed, found nothing, and would look again in a minute

        await record(any_db, "a", 0)

        await asyncio.wait_for(heard.wait(), 5)
        await ours.close()
        await worker.stop()
        await there.close()

    async def test_of_a_dead_redis_is_silent_and_heard_again_when_it_is_back(self, redis_server: Redis) -> None:
        with Redis() as server:
            client = RedisClient.from_pool(redis_pool(server.url, timeout=0.3, connections=10))
            other = RedisClient.from_pool(redis_pool(server.url, timeout=0.3, connections=10))
            ours, theirs = WorkerNotifier(client, rest=0.1), WorkerNotifier(other, rest=0.1)
            woken = asyncio.Event()
            listening = asyncio.create_task(theirs.listen(woken.set))
            server.kill()
            for _ in range(3):
                ours.notify()
                await ours.close()
            await asyncio.sleep(0.3)
            woken.clear()
            server.start()

            async with asyncio.timeout(10):
                while not woken.is_set():
                    ours.notify()
                    await asyncio.sleep(0.1)
            listening.cancel()
            await asyncio.wait([listening])
            await ours.close()
            await client.aclose()
            await other.aclose()

    async def test_tells_no_other_process_what_this_one_hears(self, clients: list[RedisClient]) -> None:
        ours, theirs = WorkerNotifier(clients[0]), WorkerNotifier(clients[1])
        own: list[str] = []
        ours.on_notify(lambda: own.append("woken"))
        woken = asyncio.Event()
        listening = asyncio.create_task(theirs.listen(woken.set))
        await asyncio.wait_for(woken.wait(), 5)  # once when it begins to listen
        woken.clear()

        ours.notify()
        await ours.close()
        await asyncio.sleep(0.2)
        listening.cancel()
        await asyncio.wait([listening])

        assert own == ["woken"]
        assert not woken.is_set()

    async def test_rings_in_this_process_without_any_redis(self) -> None:
        calls: list[str] = []
        notifier = WorkerNotifier(None)
        notifier.on_notify(lambda: calls.append("woken"))

        notifier.notify()
        await notifier.close()
        await notifier.listen(lambda: None)

        assert calls == ["woken"]
