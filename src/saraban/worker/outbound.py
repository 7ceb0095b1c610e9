"""
Deliveries that leave this database: sent without a transaction, a few at a time, each at its own pace.

What a receiver takes its time over holds up one place of a few, never the events that stay in here.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from saraban.events import service as events
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.trace import begin_trace
from saraban.worker.dispatch import CONCURRENCY, claim_due, record_failure, record_metrics


class OutboundDispatcher:
    """
    The lane of events that have a sender.

    :param on_free: called when a place becomes free
    """

    def __init__(
        self,
        *,
        db: Database,
        clock: Clock,
        handlers: events.Handlers,
        concurrency: int = CONCURRENCY,
        lease: timedelta = events.LEASE,
        on_free: Callable[[], None] = lambda: None,
    ) -> None:
        self._db, self._clock, self._handlers, self._lease = db, clock, handlers, lease
        self._concurrency, self._on_free = concurrency, on_free
        self._lane = handlers.lane(outside=True)
        self._under_way: set[asyncio.Task[None]] = set()

    async def round(self) -> int:
        """Begin to send as many as there are places, and return their number."""
        free = self._concurrency - len(self._under_way)
        if free <= 0 or not self._lane.names:
            return 0
        claims = await claim_due(self._db, self._clock, self._lane, limit=free, lease=self._lease)
        for claim in claims:
            task = asyncio.create_task(self._send(claim), name="saraban-sending")
            self._under_way.add(task)
            task.add_done_callback(self._ended)
        return len(claims)

    async def settle(self) -> None:
        """Wait for what is under way."""
        if self._under_way:
            await asyncio.wait(set(self._under_way))

    def break_off(self) -> None:
        """Whatever is under way is sent again, under the same id, when its lease has ended."""
        for task in self._under_way:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._on_free()

    async def _send(self, claim: events.EventClaim) -> None:
        begin_trace()
        began = stopwatch()
        send = self._handlers.sender_of(claim.event.name)
        assert send is not None  # the lane holds nothing else
        try:
            await send(claim.event)
            done = await self._db.transact(
                lambda session: events.mark_delivered(session, claim=claim, now=self._clock.now())
            )
        except Exception as error:  # noqa: BLE001  the door: whatever a sender raises decides the event's fate
            outcome = await record_failure(self._db, self._clock, self._handlers, claim, error)
        else:
            outcome = "delivered" if done else "lease_lost"
        record_metrics(self._handlers, claim, outcome, stopwatch() - began)
