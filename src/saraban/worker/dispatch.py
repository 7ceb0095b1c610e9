"""
One round of deliveries: claim, run the handlers, mark; or plan the next try, or bury.

Handlers that stay in this database share transactions: many events cost two commits. When one of them fails, the share
is halved until that one is alone, and only it is tried again. Deliveries that leave this database are sent without a
transaction, a few at a time: a slow receiver holds up one place of a few, never the events that stay in here.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

import structlog

from saraban.events import service as events
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.trace import begin_trace
from saraban.worker.metrics import DELIVERY, OUTCOMES

log = structlog.get_logger(__name__)

CONCURRENCY = 5
SHARE = 100  # events of one transaction


class Dispatcher:
    """Holds what every delivery needs; several may run against one database, in one process or in many."""

    def __init__(
        self,
        *,
        db: Database,
        clock: Clock,
        handlers: events.Handlers,
        concurrency: int = CONCURRENCY,
        lease: timedelta = events.LEASE,
    ) -> None:
        self._db, self._clock, self._handlers, self._lease = db, clock, handlers, lease
        self._limit = concurrency * SHARE
        # SQLite has one writer, who is quickest with everything at once.
        self._share = self._limit if db.is_sqlite else SHARE
        self._lane = handlers.lane(outside=False)

    async def round(self) -> int:
        """Deliver at most one event of each of many aggregates, and return the number it tried."""
        claims = await claim_due(self._db, self._clock, self._lane, limit=self._limit, lease=self._lease)
        parts = [claims[at : at + self._share] for at in range(0, len(claims), self._share)]
        await asyncio.gather(*(self._deliver_all(part) for part in parts))
        return len(claims)

    async def _deliver_all(self, claims: Sequence[events.EventClaim]) -> None:
        if len(claims) == 1:
            await self._deliver(claims[0])
            return
        begin_trace()
        began = stopwatch()
        try:
            done = await self._db.transact(
                lambda session: events.deliver_all(
                    session, claims=claims, handlers=self._handlers, now=self._clock.now()
                )
            )
        except Exception as error:  # noqa: BLE001  the door: one of them fails, and each shall be tried by itself
            log.info("events_delivered_by_halves", events=len(claims), reason=events.failure_text(error))
            middle = len(claims) // 2
            for half in (claims[:middle], claims[middle:]):
                await self._deliver_all(half)
            return
        each = (stopwatch() - began) / len(claims)
        for claim in claims:
            record_metrics(self._handlers, claim, "delivered" if claim.event.public_id in done else "lease_lost", each)

    async def _deliver(self, claim: events.EventClaim) -> None:
        begin_trace()
        began = stopwatch()
        try:
            done = await self._db.transact(
                lambda session: events.deliver(session, claim=claim, handlers=self._handlers, now=self._clock.now())
            )
        except Exception as error:  # noqa: BLE001  the door: whatever a handler raises decides the event's fate
            outcome = await record_failure(self._db, self._clock, self._handlers, claim, error)
        else:
            outcome = "delivered" if done else "lease_lost"
        record_metrics(self._handlers, claim, outcome, stopwatch() - began)


async def claim_due(
    db: Database, clock: Clock, lane: events.Lane, *, limit: int, lease: timedelta
) -> list[events.EventClaim]:
    """Claim what is due in a lane; a look that finds nothing costs no writing transaction."""
    async with db.reading() as session:
        if not await events.any_due(session, now=clock.now(), lane=lane):
            return []
    return await db.transact(
        lambda session: events.claim(session, now=clock.now(), limit=limit, lease=lease, lane=lane)
    )


async def record_failure(
    db: Database, clock: Clock, handlers: events.Handlers, claim: events.EventClaim, error: Exception
) -> str:
    """Have the outbox decide about an event that could not be delivered, and return the outcome's name."""
    facts = {
        "event_name": claim.event.name,
        "event_id": str(claim.event.public_id),
        "reason": events.failure_text(error),
    }
    try:
        dead = await db.transact(
            lambda session: events.record_failure(session, claim=claim, error=error, now=clock.now(), handlers=handlers)
        )
    except Exception as fault:  # noqa: BLE001  the lease runs out, and the event is claimed again
        log.warning("event_failure_not_recorded", fault=events.failure_text(fault), **facts)
        return "unrecorded"
    if dead is not None:
        log.error("event_dead", dead_letter=str(dead.public_id), **facts)
        return "dead"
    if isinstance(error, events.Postponed):
        return "postponed"
    outside = handlers.sender_of(claim.event.name) is not None
    log.warning("event_retry", counted=events.counts_as_attempt(error, outside=outside), **facts)
    return "retry"


def record_metrics(handlers: events.Handlers, claim: events.EventClaim, outcome: str, seconds: float) -> None:
    label = claim.event.name if claim.event.name in handlers.names() else "other"
    DELIVERY.labels(label).observe(seconds)
    OUTCOMES.labels(label, outcome).inc()


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
