"""
One round of deliveries: claim, run the handlers, mark; or plan the next try, or bury.

Handlers that stay in this database share transactions: many events cost two commits. When one of them fails, the share
is halved until that one is alone, and only it is tried again. Deliveries that leave this database are sent without a
transaction, a few at a time: a slow receiver holds up one place of a few, never the events that stay in here.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar
from uuid import UUID

import structlog
from prometheus_client import Counter, Histogram
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import service as events
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.error_text import error_text
from saraban.kit.ids import begin_trace
from saraban.worker.processor_share import NO_LIMIT

log = structlog.get_logger(__name__)

CONCURRENCY = 5
SHARE = 100  # events of one transaction
OUTCOMES = Counter("saraban_events_total", "Deliveries by event and outcome.", ["name", "outcome"])
DELIVERY = Histogram("saraban_event_delivery_seconds", "Time one delivery took.", ["name"])


class DeliveryOutcome(StrEnum):
    """What became of one attempt, as the metric names it."""

    DELIVERED = "delivered"
    LEASE_LOST = "lease_lost"
    POSTPONED = "postponed"
    RETRY = "retry"
    DEAD = "dead"
    UNRECORDED = "unrecorded"  # the lease runs out, and the event is claimed again


class LaneDispatcher(ABC):
    """Claims what is due in a lane and delivers it; several may run against one database, in one process or in many."""

    outside: ClassVar[bool]
    share = NO_LIMIT  # the worker sets its own

    def __init__(self, db: Database, clock: Clock, handlers: events.Handlers, lease: timedelta = events.LEASE) -> None:
        self._db, self._clock, self._handlers, self._lease = db, clock, handlers, lease
        self._lane = handlers.lane(outside=self.outside)
        self.due = events.due_in(self._lane)

    @abstractmethod
    async def _attempt(self, claim: events.EventClaim) -> bool:
        """Deliver an event, and say whether its lease still stood."""

    async def _claim(self, limit: int) -> list[events.EventClaim]:
        """Claim what is due; a look that finds nothing costs no writing transaction."""
        now = self._clock.now()
        async with self._db.reading() as session:
            (waits,) = await events.what_waits(session, (self.due,), now=now)
        if not waits:
            return []
        return await self._db.transact(self._take_due, limit)

    async def _take_due(self, limit: int, session: AsyncSession) -> list[events.EventClaim]:
        return await events.claim(session, now=self._clock.now(), limit=limit, lease=self._lease, lane=self._lane)

    async def _deliver(self, claim: events.EventClaim) -> None:
        begin_trace()
        began = stopwatch()
        try:
            done = await self._attempt(claim)
        except Exception as error:  # noqa: BLE001  the door: whatever is raised decides the event's fate
            outcome = await self._record_failure(claim, error)
        else:
            outcome = DeliveryOutcome.DELIVERED if done else DeliveryOutcome.LEASE_LOST
        self._measure(claim, outcome, stopwatch() - began)

    async def _record_failure(self, claim: events.EventClaim, error: Exception) -> DeliveryOutcome:
        """Have the outbox decide about an event that could not be delivered."""
        facts = {
            "event_name": claim.event.name,
            "event_id": str(claim.event.public_id),
            "reason": error_text(error),
        }
        try:
            dead = await self._db.transact(self._plan_retry, claim, error)
        except Exception as fault:  # noqa: BLE001  the lease runs out, and the event is claimed again
            log.warning("event_failure_not_recorded", fault=error_text(fault), **facts)
            return DeliveryOutcome.UNRECORDED
        if dead is not None:
            log.error("event_dead", dead_letter=str(dead.public_id), **facts)
            return DeliveryOutcome.DEAD
        if isinstance(error, events.Postponed):
            return DeliveryOutcome.POSTPONED
        log.warning("event_retry", counted=events.counts_as_attempt(error, outside=self.outside), **facts)
        return DeliveryOutcome.RETRY

    async def _plan_retry(
        self, claim: events.EventClaim, session: AsyncSession, error: Exception
    ) -> events.DeadLetterView | None:
        now = self._clock.now()
        return await events.record_failure(session, claim=claim, error=error, now=now, handlers=self._handlers)

    def _measure(self, claim: events.EventClaim, outcome: DeliveryOutcome, seconds: float) -> None:
        label = claim.event.name if claim.event.name in self._handlers.names() else "other"
        DELIVERY.labels(label).observe(seconds)
        OUTCOMES.labels(label, outcome).inc()


class Dispatcher(LaneDispatcher):
    """The lane of events whose handlers stay in this database."""

    outside = False

    async def round(self) -> int:
        """Deliver at most one event of each of many aggregates, and return the number it tried."""
        claims = await self._claim(CONCURRENCY * SHARE)
        # SQLite has one writer, who is quickest with everything at once.
        share = CONCURRENCY * SHARE if self._db.is_sqlite else SHARE
        parts = [claims[at : at + share] for at in range(0, len(claims), share)]
        await asyncio.gather(*(self.share.measure(self._deliver_all(part)) for part in parts))
        return len(claims)

    async def _deliver_all(self, claims: Sequence[events.EventClaim]) -> None:
        if len(claims) == 1:
            await self._deliver(claims[0])
            return
        begin_trace()
        began = stopwatch()
        try:
            done = await self._db.transact(self._handle, claims)
        except Exception as error:  # noqa: BLE001  the door: one of them fails, and each shall be tried by itself
            log.info("events_delivered_by_halves", events=len(claims), reason=error_text(error))
            middle = len(claims) // 2
            for half in (claims[:middle], claims[middle:]):
                await self._deliver_all(half)
            return
        each = (stopwatch() - began) / len(claims)
        for claim in claims:
            delivered = claim.event.public_id in done
            self._measure(claim, DeliveryOutcome.DELIVERED if delivered else DeliveryOutcome.LEASE_LOST, each)

    async def _attempt(self, claim: events.EventClaim) -> bool:
        return bool(await self._db.transact(self._handle, [claim]))

    async def _handle(self, claims: Sequence[events.EventClaim], session: AsyncSession) -> set[UUID]:
        return await events.deliver_all(session, claims=claims, handlers=self._handlers, now=self._clock.now())


class OutboundDispatcher(LaneDispatcher):
    """
    The lane of events that have a sender.

    :param on_free: called when a place becomes free
    """

    outside = True

    def __init__(
        self, db: Database, clock: Clock, handlers: events.Handlers, lease: timedelta, *, on_free: Callable[[], None]
    ) -> None:
        super().__init__(db, clock, handlers, lease)
        self._on_free = on_free
        self._under_way: set[asyncio.Task[None]] = set()

    async def round(self) -> int:
        """Begin to send as many as there are places, and return their number."""
        free = CONCURRENCY - len(self._under_way)
        if free <= 0 or not self._lane.names:
            return 0
        claims = await self._claim(free)
        for claim in claims:
            task = asyncio.create_task(self.share.measure(self._deliver(claim)), name="saraban-sending")
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

    async def _attempt(self, claim: events.EventClaim) -> bool:
        send = self._handlers.sender_of(claim.event.name)
        assert send is not None  # the lane holds nothing else
        await send(claim.event)
        return await self._db.transact(self._mark_sent, claim)

    async def _mark_sent(self, claim: events.EventClaim, session: AsyncSession) -> bool:
        return await events.mark_delivered(session, claim=claim, now=self._clock.now())
