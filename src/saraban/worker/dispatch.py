"""One round of deliveries: claim, run the handlers, mark; or plan the next try, or bury."""

import asyncio

import structlog

from saraban.events import service as events
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database, fault_of
from saraban.kit.trace import begin_trace
from saraban.worker.metrics import DELIVERY, OUTCOMES

log = structlog.get_logger(__name__)

CONCURRENCY = 5


class Dispatcher:
    """Holds what every delivery needs; several may run against one database, in one process or in many."""

    def __init__(
        self, *, db: Database, clock: Clock, handlers: events.Handlers, concurrency: int = CONCURRENCY
    ) -> None:
        self._db, self._clock, self._handlers, self._concurrency = db, clock, handlers, concurrency

    async def round(self) -> int:
        """This will deliver at most one event of each of a few aggregates, and give the number it tried."""
        async with self._db.reading() as session:
            if not await events.any_due(session, now=self._clock.now()):
                return 0
        claims = await self._db.transact(
            lambda session: events.claim(session, now=self._clock.now(), limit=self._concurrency)
        )
        await asyncio.gather(*(self._deliver(claim) for claim in claims))
        return len(claims)

    async def _deliver(self, claim: events.Claim) -> None:
        begin_trace()
        began = stopwatch()
        label = claim.event.name if claim.event.name in self._handlers.names() else "other"
        try:
            done = await self._db.transact(
                lambda session: events.deliver(session, claim=claim, handlers=self._handlers, now=self._clock.now())
            )
        except Exception as error:  # noqa: BLE001  the door: whatever a handler raises decides the event's fate
            outcome = await self._fail(claim, error)
        else:
            outcome = "delivered" if done else "lease_lost"
        DELIVERY.labels(label).observe(stopwatch() - began)
        OUTCOMES.labels(label, outcome).inc()

    async def _fail(self, claim: events.Claim, error: Exception) -> str:
        facts = {"event_name": claim.event.name, "event_id": str(claim.event.public_id), "reason": events.told(error)}
        try:
            dead = await self._db.transact(
                lambda session: events.fail(session, claim=claim, error=error, now=self._clock.now())
            )
        except Exception as fault:  # noqa: BLE001  the lease runs out, and the event is claimed again
            log.warning("event_failure_not_recorded", fault=events.told(fault), **facts)
            return "unrecorded"
        if dead is not None:
            log.error("event_dead", dead_letter=str(dead.public_id), **facts)
            return "dead"
        log.warning("event_retry", counted=fault_of(error) is None, **facts)
        return "retry"
