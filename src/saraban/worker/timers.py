"""
What the worker does by the clock: the functions, and at the end the table `TIMERS`.

A nightly job is a function and a row of the table.
"""

import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Final

import httpx
import structlog
from prometheus_client import Counter, Gauge
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.audit.domain.journals import JOURNALS
from saraban.bootstrap import System
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.kit.idempotency import delete_expired_keys
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications
from saraban.numbering import service as numbering
from saraban.ops.metrics import measure_heartbeat
from saraban.webhooks import service as webhooks
from saraban.worker.partitions import ensure_partitions
from saraban.worker.schedule import Timer

log = structlog.get_logger(__name__)

ALERTS_PER_MINUTE = 50
_PATROL_BLOCKS = 5
# What is read from the database is the same in each process that looks, so of several processes the last one is believed.
QUEUE_DEPTH = Gauge(
    "saraban_outbox_depth", "Events that wait to be delivered.", ["lane"], multiprocess_mode="mostrecent"
)
OLDEST_AGE = Gauge(
    "saraban_outbox_oldest_age_seconds", "Age of the oldest event that waits.", ["lane"], multiprocess_mode="mostrecent"
)
DEAD_LETTERS = Gauge(
    "saraban_dead_letters",
    "Events that were given up and neither dropped nor revived.",
    multiprocess_mode="mostrecent",
)
UNSEALED_AGE = Gauge(
    "saraban_audit_unsealed_age_seconds",
    "Age of the oldest audit row that no block holds.",
    ["journal"],
    multiprocess_mode="mostrecent",
)
SEALED_BLOCKS = Gauge(
    "saraban_audit_sealed_blocks", "Blocks of the audit trail.", ["journal"], multiprocess_mode="mostrecent"
)
VERIFY_FAILURES = Counter(
    "saraban_audit_verify_failures_total", "Times that a block was found not to be what was sealed.", ["journal"]
)

for _journal in JOURNALS:  # the first failure must be an increase, not the beginning of a series
    VERIFY_FAILURES.labels(_journal.name)


@dataclass(frozen=True, slots=True)
class Purge:
    """Repeats a step that deletes a bounded number of rows, each time in a transaction of its own, until nothing is left."""

    step: Callable[..., Awaitable[int]]

    async def __call__(self, system: System, now: datetime, **limits: timedelta) -> None:
        while await system.db.transact(self._delete_some, now, limits):
            pass

    async def _delete_some(self, now: datetime, session: AsyncSession, limits: Mapping[str, timedelta]) -> int:
        return await self.step(session, now=now, **limits)


async def measure_outbox(system: System, now: datetime) -> None:
    async with system.db.reading() as session:
        for name in ("inside", "outside"):
            backlog = await events.backlog(session, lane=system.handlers.lane(outside=name == "outside"))
            QUEUE_DEPTH.labels(name).set(backlog.waiting)
            OLDEST_AGE.labels(name).set((now - backlog.oldest).total_seconds() if backlog.oldest else 0)
            DEAD_LETTERS.set(backlog.dead)
    await measure_heartbeat(system.db)


async def announce_dead_letters(system: System, now: datetime) -> None:
    await send_alerts(system.db, url=system.settings.ops_webhook_url, now=now)


async def announce_role_periods(system: System, now: datetime) -> None:
    await identity.announce_periods(system.db, now=now)


async def expire_reservations(system: System, now: datetime) -> None:
    async with system.db.reading() as session:
        overdue = await numbering.any_overdue(session)
    if overdue:
        await Purge(numbering.expire_reservations)(system, now)


async def purge_number_errors(system: System, now: datetime) -> None:
    await Purge(numbering.delete_old_errors)(system, now, keep=timedelta(days=system.settings.number_error_days))


async def remove_expired_uploads(system: System, now: datetime) -> None:
    await attachments.clean_up(system.db, system.storage, now=now)


async def add_partitions(system: System, now: datetime) -> None:
    await system.db.transact(ensure_partitions, now)


async def remind(system: System, now: datetime) -> None:
    await notifications.send_reminders(system.db, system.subjects, system.clock.zone, now)


async def seal_audit_trail(system: System, now: datetime) -> None:
    await system.sealer.tick(now)


async def measure_audit_trail(system: System, now: datetime) -> None:
    for journal, count in (await audit.count_sealed_blocks(system.db)).items():
        SEALED_BLOCKS.labels(journal).set(count)
    for rest in await audit.unsealed(system.db):
        UNSEALED_AGE.labels(rest.journal).set((now - rest.since).total_seconds() if rest.since else 0)


async def verify_audit_trail(system: System, _now: datetime) -> None:
    """Check the next few blocks of each journal."""
    sealer = system.sealer
    for name in sealer.heads.cut:
        VERIFY_FAILURES.labels(name).inc()
    for journal in JOURNALS:
        findings, sealer.verified[journal.name] = await audit.verify_next_blocks(
            system.db,
            journal=journal,
            above=sealer.verified.get(journal.name, 0),
            blocks=_PATROL_BLOCKS,
            trust=sealer.trust(),
        )
        for finding in findings:
            VERIFY_FAILURES.labels(journal.name).inc()
            log.error(
                "audit_verify_failed",
                what=finding.what,
                journal=journal.name,
                block=finding.block,
                row=finding.public_id,
            )


class Heartbeat:
    """What shows other processes that the worker of this process lives."""

    def __init__(self, db: Database) -> None:
        self._db, self._worker = db, new_id()

    async def beat(self) -> None:
        await self._db.transact(self._record)

    async def _record(self, session: AsyncSession) -> None:
        await events.record_heartbeat(session, worker=self._worker, host=socket.gethostname(), process_id=os.getpid())


async def send_alerts(
    db: Database, *, url: str, now: datetime, transport: httpx.AsyncBaseTransport | None = None
) -> int:
    """
    Tell `url` of the dead letters nobody was told of, at most 50 a minute, and return their number.

    :param url: `N8N_WEBHOOK_URL`, set by the operator, so an address in the private network is fine; may be empty
    """
    async with db.reading() as session:
        if not await events.any_unreported(session):
            return 0
    dead = await db.transact(_take_alerts, now)
    if not dead:
        return 0
    if not url:
        log.warning("N8N_WEBHOOK_URL not configured", dead_letters=[str(event.public_id) for event in dead])
        return len(dead)
    async with httpx.AsyncClient(timeout=5.0, transport=transport) as client:
        for event in dead:
            await _send_alert(client, url, event)
    return len(dead)


async def _take_alerts(now: datetime, session: AsyncSession) -> list[events.DeadLetterView]:
    return await events.take_unreported(session, now=now, per_minute=ALERTS_PER_MINUTE)


async def _send_alert(client: httpx.AsyncClient, url: str, event: events.DeadLetterView) -> None:
    try:
        answer = await client.post(url, json=_alert(event))
        answer.raise_for_status()
    except httpx.HTTPError as error:
        log.warning("ops_webhook_failed", dead_letter=str(event.public_id), reason=type(error).__name__)


def _alert(event: events.DeadLetterView) -> dict[str, object]:
    return {
        "event": "workflow_event_failed",
        "jobId": str(event.event_public_id),
        "deadLetterId": str(event.public_id),
        "queue": event.queue,
        "keptIn": events.DEAD_QUEUE,
        "name": event.name,
        "workflowCode": event.data.get("workflowCode"),
        "instanceId": event.data.get("instancePublicId"),
        "error": event.error,
        "timestamp": event.failed_at.isoformat().replace("+00:00", "Z"),
    }


SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

TIMERS: Final = (
    Timer("outbox_measure", measure_outbox, every=10 * SECOND),
    Timer("dead_letter_announce", announce_dead_letters, every=5 * SECOND),
    Timer("outbox_purge", Purge(events.purge_delivered), every=HOUR),
    Timer("webhook_outcome_purge", Purge(webhooks.purge_outcomes), every=HOUR),
    Timer("mail_purge", Purge(notifications.purge_mails), every=HOUR),
    Timer("idempotency_purge", Purge(delete_expired_keys), every=HOUR),
    Timer("session_purge", Purge(identity.delete_expired_sessions), every=HOUR),
    Timer("role_periods", announce_role_periods, every=10 * SECOND),
    Timer("reservation_expiry", expire_reservations, every=10 * SECOND),
    Timer("number_error_purge", purge_number_errors, at=time(3, 30)),
    Timer("attachment_clean_up", remove_expired_uploads, every=10 * MINUTE),
    Timer("partition_years", add_partitions, at=time(3, 0)),
    Timer("audit_seal", seal_audit_trail, every=MINUTE),
    Timer("audit_measure", measure_audit_trail, every=30 * SECOND),
    Timer("audit_patrol", verify_audit_trail, every=MINUTE),
    Timer("reminders", remind, every=10 * MINUTE),
)
