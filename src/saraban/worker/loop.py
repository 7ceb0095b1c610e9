"""The worker: deliveries and timers side by side, until it is asked to stop."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeVar

import sqlalchemy as sa
import structlog
from prometheus_client import Counter

from saraban.events import service as events
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.error_text import error_text
from saraban.kit.ids import begin_trace
from saraban.kit.redis import WorkerNotifier
from saraban.worker.dispatch import Dispatcher, OutboundDispatcher
from saraban.worker.processor_share import ProcessorShare
from saraban.worker.schedule import Schedule

log = structlog.get_logger(__name__)
T = TypeVar("T")
_GATHER = 1.0  # seconds that events wait at most for those who are being answered
_AGAIN = 0.05  # seconds
_HEARTBEAT_SECONDS = 10.0
_HANGS_AFTER = 300.0  # seconds of one timer, which keeps the others waiting
TIMER_RUNS = Counter("saraban_timer_runs_total", "Runs of the worker's timers.", ["timer", "outcome"])


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Job:
    """
    Long work beside the timers: `run` does one piece and says whether there was one. It is cancelled when the worker stops.

    :param due: whether a piece waits, as a condition with `events.NOW` in it; without one it is run at every look
    """

    name: str
    run: Callable[[], Awaitable[bool]]
    due: sa.ColumnElement[bool] = field(default_factory=sa.true)


class Beats(Protocol):
    async def beat(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Pace:
    """
    :param poll: seconds after which it looks for events that nobody woke it for
    :param lease: how long an event stays with a worker that is never heard of again
    :param busy: whether requests are being answered in this process
    """

    poll: float = 1.0
    lease: timedelta = events.LEASE
    busy: Callable[[], bool] = _never


class Worker:
    """
    Delivers events as they come and runs timers when they are due.

    One statement looks for everything that may wait: what nothing waits for costs nothing. While requests are answered in the
    same process events gather for up to a second: a round takes as long for a hundred of them as for one.

    :param heartbeat: shows other processes that it lives; it stops while a timer hangs
    :param notifier: by which other processes wake it
    """

    def __init__(
        self,
        *,
        db: Database,
        clock: Clock,
        handlers: events.Handlers,
        schedule: Schedule | None = None,
        jobs: Sequence[Job] = (),
        heartbeat: Beats | None = None,
        notifier: WorkerNotifier | None = None,
        pace: Pace = Pace(),
    ) -> None:
        self._wake, self._outward, self._stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._dispatcher = Dispatcher(db, clock, handlers, pace.lease)
        self._sending = OutboundDispatcher(db, clock, handlers, pace.lease, on_free=self._outward.set)
        self._share = self._dispatcher.share = self._sending.share = ProcessorShare(pace.busy)
        self._db, self._clock, self._schedule, self._pace, self._notifier = db, clock, schedule, pace, notifier
        self._jobs = [(job, asyncio.Event()) for job in jobs]
        self._heartbeat, self._last_tick = heartbeat, stopwatch()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """
        Make it look at the outbox now; call it after a commit that recorded events.

        Those that leave the house are recorded by the handlers of others: their lane looks after these.
        """
        self._wake.set()

    async def drain(self) -> int:
        """Deliver until nothing is due and do the jobs that wait, in the caller's task, and return their number."""
        total = 0
        while taken := await self._dispatcher.round() + await self._sending.round():
            total += taken
            await self._sending.settle()
        for job, _ in self._jobs:
            while await self._run_job(job):
                total += 1
        return total

    def start(self) -> None:
        """Run it in the background of the current event loop."""
        self._task = asyncio.create_task(self.run(), name="saraban-worker")

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def stop(self, *, patience: float = 10.0) -> None:
        """Let the deliveries under way end, wait `patience` seconds for them, then break off."""
        self.ask_to_stop()
        if self._task is None:
            return
        try:
            await asyncio.wait_for(self._task, patience)
        except TimeoutError:
            log.warning("worker_broken_off")
        self._task = None

    def ask_to_stop(self) -> None:
        """Safe to call from a signal handler of the loop."""
        for signal in (self._stopping, self._wake, self._outward, *(waits for _, waits in self._jobs)):
            signal.set()

    async def run(self) -> None:
        """Work until `ask_to_stop`."""
        log.info("worker_started", timers=[timer.name for timer in self._schedule.timers] if self._schedule else [])
        listening = asyncio.create_task(self._notifier.listen(self.wake)) if self._notifier else None
        try:
            jobs = (self._keep_at(job, waits) for job, waits in self._jobs)
            await asyncio.gather(self._deliver(), self._send(), self._look(), self._tick(), self._keep_beating(), *jobs)
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])
        log.info("worker_stopped")

    async def _look(self) -> None:
        """Wake whoever has something to do; without it they wait for ever."""
        waits = {self._wake: self._dispatcher.due, self._outward: self._sending.due}
        waits |= {waiting: job.due for job, waiting in self._jobs}
        while not self._stopping.is_set():
            for signal, due in zip(waits, await self._what_waits(tuple(waits.values())), strict=True):
                if due:
                    signal.set()
            await _pause(self._stopping, self._pace.poll)

    async def _what_waits(self, conditions: tuple[sa.ColumnElement[bool], ...]) -> Sequence[bool]:
        now = self._clock.now()
        try:
            async with self._db.reading() as session:
                return await events.what_waits(session, conditions, now=now)
        except Exception as error:  # noqa: BLE001  the door: the database may be down, and comes back
            log.warning("worker_look_failed", reason=error_text(error))
            return [False] * len(conditions)

    async def _deliver(self) -> None:
        while not self._stopping.is_set():
            await self._wake.wait()
            await self._gather()
            if self._stopping.is_set():
                return
            self._wake.clear()
            taken = await self._round(self._dispatcher.round)
            if taken:
                self._outward.set()
                self._wake.set()  # of an aggregate the next

    async def _gather(self) -> None:
        until = stopwatch() + _GATHER
        while self._pace.busy() and stopwatch() < until and not self._stopping.is_set():
            await _pause(self._stopping, _AGAIN)

    async def _send(self) -> None:
        try:
            while not self._stopping.is_set():
                await self._outward.wait()
                self._outward.clear()
                if not self._stopping.is_set() and await self._round(self._sending.round):
                    self._outward.set()
            await self._sending.settle()
        finally:
            self._sending.break_off()

    async def _round(self, begin: Callable[[], Awaitable[int]]) -> int:
        try:
            return await self._run_unit(begin())
        except Exception as error:  # noqa: BLE001  the door: the database may be down, and comes back
            log.warning("worker_round_failed", reason=error_text(error))
            return 0

    async def _tick(self) -> None:
        schedule, due = self._schedule, defaultdict[str, float](float)
        while schedule is not None and not self._stopping.is_set():
            for timer in schedule.timers:
                self._last_tick = stopwatch()
                if stopwatch() >= due[timer.name] and not self._stopping.is_set():
                    await self._attempt(timer.name, schedule.run(timer, self._clock.now()))
                    due[timer.name] = stopwatch() + timer.every.total_seconds()
            await _pause(self._stopping, self._pace.poll)

    async def beat(self) -> None:
        if self._heartbeat is not None:
            await self._attempt("heartbeat", self._heartbeat.beat())

    async def _keep_beating(self) -> None:
        while self._heartbeat is not None and not self._stopping.is_set():
            if stopwatch() - self._last_tick < _HANGS_AFTER:
                await self.beat()
            await _pause(self._stopping, _HEARTBEAT_SECONDS)

    async def _keep_at(self, job: Job, waits: asyncio.Event) -> None:
        while not self._stopping.is_set():
            await waits.wait()
            if self._stopping.is_set():
                return
            waits.clear()
            work = asyncio.create_task(self._run_job(job))
            stopped = asyncio.create_task(self._stopping.wait())
            try:
                await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (work, stopped):
                    task.cancel()
                await asyncio.wait((work, stopped))
            if not work.cancelled() and work.result():
                waits.set()

    async def _run_unit(self, work: Awaitable[T]) -> T:
        """Run a unit of work when the worker has its share of the processor left."""
        while self._share.must_rest and not self._stopping.is_set():
            await _pause(self._stopping, _AGAIN)
        return await self._share.measure(work)

    async def _run_job(self, job: Job) -> bool:
        begin_trace()
        try:
            return await self._run_unit(job.run())
        except Exception as error:  # noqa: BLE001  the door: the database may be down, and comes back
            log.warning("job_failed", job=job.name, reason=error_text(error))
            return False

    async def _attempt(self, name: str, run: Awaitable[object]) -> None:
        begin_trace()
        try:
            has_run = await self._run_unit(run)
        except Exception as error:  # noqa: BLE001  the door: one timer must not stop the others
            log.warning("timer_failed", timer=name, reason=error_text(error))
            TIMER_RUNS.labels(name, "failed").inc()
        else:
            if has_run is not False:  # a time of day that has not come, or that another process takes
                TIMER_RUNS.labels(name, "done").inc()


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
