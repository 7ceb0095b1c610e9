"""The worker: deliveries and timers side by side, until it is asked to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import structlog

from saraban.events import service as events
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.ids import begin_trace
from saraban.kit.redis import WorkerNotifier
from saraban.worker.dispatch import Dispatcher, OutboundDispatcher
from saraban.worker.metrics import TIMER_RUNS
from saraban.worker.timers import Job, Timer

log = structlog.get_logger(__name__)


class Worker:
    """
    Delivers events as they come and runs timers when they are due.

    :param poll: seconds after which it looks for events that nobody woke it for
    :param lease: how long an event stays with a worker that is never heard of again
    :param notifier: by which other processes wake it
    """

    def __init__(
        self,
        *,
        db: Database,
        clock: Clock,
        handlers: events.Handlers,
        timers: Sequence[Timer] = (),
        jobs: Sequence[Job] = (),
        poll: float = 1.0,
        lease: timedelta = events.LEASE,
        notifier: WorkerNotifier | None = None,
    ) -> None:
        self._wake, self._outward, self._stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._dispatcher = Dispatcher(db=db, clock=clock, handlers=handlers, lease=lease)
        self._sending = OutboundDispatcher(
            db=db, clock=clock, handlers=handlers, lease=lease, on_free=self._outward.set
        )
        self._clock, self._timers, self._poll, self._notifier = clock, tuple(timers), poll, notifier
        self._jobs = tuple(jobs)
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Make it look at the outbox now; call it after a commit that recorded events."""
        self._wake.set()
        self._outward.set()

    async def drain(self) -> int:
        """Deliver until nothing is due and do the jobs that wait, in the caller's task, and return their number."""
        total = 0
        while taken := await self._dispatcher.round() + await self._sending.round():
            total += taken
            await self._sending.settle()
        for job in self._jobs:
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
        self._stopping.set()
        self.wake()

    async def run(self) -> None:
        """Work until `ask_to_stop`."""
        log.info("worker_started", timers=[timer.name for timer in self._timers])
        listening = asyncio.create_task(self._notifier.listen(self.wake)) if self._notifier else None
        try:
            lanes = (self._deliver(self._dispatcher.round, self._wake), self._send())
            await asyncio.gather(*lanes, self._tick(), *(self._keep_at(job) for job in self._jobs))
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])
        log.info("worker_stopped")

    async def _send(self) -> None:
        try:
            await self._deliver(self._sending.round, self._outward)
            await self._sending.settle()
        finally:
            self._sending.break_off()

    async def _deliver(self, begin: Callable[[], Awaitable[int]], wake: asyncio.Event) -> None:
        while not self._stopping.is_set():
            wake.clear()
            if not await self._round(begin):
                await _first_of(wake, self._stopping, seconds=self._poll)

    async def _round(self, begin: Callable[[], Awaitable[int]]) -> int:
        try:
            return await begin()
        except Exception as error:  # noqa: BLE001  the door: the database may be down, and comes back
            log.warning("worker_round_failed", reason=events.failure_text(error))
            return 0

    async def _tick(self) -> None:
        due = {timer.name: 0.0 for timer in self._timers}
        while not self._stopping.is_set():
            for timer in self._timers:
                if stopwatch() >= due[timer.name] and not self._stopping.is_set():
                    await self._run_timer(timer)
                    due[timer.name] = stopwatch() + timer.every.total_seconds()
            await _first_of(self._stopping, seconds=self._poll)

    async def _keep_at(self, job: Job) -> None:
        while not self._stopping.is_set():
            work = asyncio.create_task(self._run_job(job))
            stopped = asyncio.create_task(self._stopping.wait())
            try:
                await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (work, stopped):
                    task.cancel()
                await asyncio.wait((work, stopped))
            if work.cancelled() or not work.result():
                await _first_of(self._stopping, seconds=self._poll)

    async def _run_job(self, job: Job) -> bool:
        begin_trace()
        try:
            return await job.run()
        except Exception as error:  # noqa: BLE001  the door: the database may be down, and comes back
            log.warning("job_failed", job=job.name, reason=events.failure_text(error))
            return False

    async def _run_timer(self, timer: Timer) -> None:
        begin_trace()
        try:
            await timer.run(self._clock.now())
        except Exception as error:  # noqa: BLE001  the door: one timer must not stop the others
            log.warning("timer_failed", timer=timer.name, reason=events.failure_text(error))
            TIMER_RUNS.labels(timer.name, "failed").inc()
        else:
            TIMER_RUNS.labels(timer.name, "done").inc()


async def _first_of(*signals: asyncio.Event, seconds: float) -> None:
    waiting = [asyncio.create_task(signal.wait()) for signal in signals]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
