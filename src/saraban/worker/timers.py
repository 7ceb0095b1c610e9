"""What the worker does by the clock."""

import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import httpx
import sqlalchemy as sa
import structlog
from prometheus_client import Counter, Gauge
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.domain import Storage
from saraban.audit import service as audit
from saraban.audit.domain.journals import JOURNALS
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.kit.idempotency import delete_expired_keys
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications
from saraban.numbering import service as numbering
from saraban.ops.metrics import measure_heartbeat
from saraban.webhooks import service as webhooks

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
class Timer:
    """`run` is called with the present moment, at start and then `every` so often; several processes may call it."""

    name: str
    every: timedelta
    run: Callable[[datetime], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Job:
    """
    Long work beside the timers: `run` does one piece and says whether there was one. It is cancelled when the worker stops.

    :param due: whether a piece waits, as a condition with `events.NOW` in it; without one it is run at every look
    """

    name: str
    run: Callable[[], Awaitable[bool]]
    due: sa.ColumnElement[bool] = field(default_factory=sa.true)


def standard_timers(
    *,
    db: Database,
    storage: Storage,
    ops_webhook_url: str,
    keep_errors: timedelta = numbering.ERROR_RETENTION,
    handlers: events.Handlers | None = None,
) -> list[Timer]:
    """
    Return the timers that every installation needs; `bootstrap` adds those of other features.

    :param handlers: which of the events leave the house, to measure those apart
    """
    lanes = {name: (handlers or events.Handlers()).lane(outside=name == "outside") for name in ("inside", "outside")}

    async def measure(now: datetime) -> None:
        async with db.reading() as session:
            found = {name: await events.backlog(session, lane=lane) for name, lane in lanes.items()}
        await measure_heartbeat(db)
        for name, backlog in found.items():
            QUEUE_DEPTH.labels(name).set(backlog.waiting)
            OLDEST_AGE.labels(name).set((now - backlog.oldest).total_seconds() if backlog.oldest else 0)
            DEAD_LETTERS.set(backlog.dead)

    async def expire(now: datetime) -> None:
        async with db.reading() as session:
            overdue = await numbering.any_overdue(session)
        if overdue:
            await expire_all(now)

    expire_all = _purge(db, numbering.expire_reservations)
    return [
        Timer("outbox_measure", timedelta(seconds=10), measure),
        Timer("dead_letter_announce", timedelta(seconds=5), lambda now: send_alerts(db, url=ops_webhook_url, now=now)),
        Timer("outbox_purge", timedelta(hours=1), _purge(db, events.purge_delivered)),
        Timer("webhook_outcome_purge", timedelta(hours=1), _purge(db, webhooks.purge_outcomes)),
        Timer("mail_purge", timedelta(hours=1), _purge(db, notifications.purge_mails)),
        Timer("idempotency_purge", timedelta(hours=1), _purge(db, delete_expired_keys)),
        Timer("session_purge", timedelta(hours=1), _purge(db, identity.delete_expired_sessions)),
        Timer("role_periods", timedelta(seconds=10), lambda now: identity.announce_periods(db, now=now)),
        Timer("reservation_expiry", timedelta(seconds=10), expire),
        Timer(
            "number_error_purge", timedelta(hours=1), _purge(db, partial(numbering.delete_old_errors, keep=keep_errors))
        ),
        Timer("attachment_clean_up", timedelta(minutes=10), lambda now: attachments.clean_up(db, storage, now=now)),
        Timer("partition_years", timedelta(hours=12), lambda now: db.transact(partial(ensure_partitions, now=now))),
    ]


def heartbeat_timer(db: Database) -> Timer:
    """Return what records that the worker of this process lives."""
    beat = partial(events.record_heartbeat, worker=new_id(), host=socket.gethostname(), process_id=os.getpid())
    return Timer("heartbeat", timedelta(seconds=10), lambda _now: db.transact(beat))


def _purge(db: Database, step: Callable[..., Awaitable[int]]) -> Callable[[datetime], Awaitable[object]]:
    """Return what repeats `step`, which treats a bounded number, each time in a transaction of its own."""

    async def purge(now: datetime) -> None:
        while await db.transact(lambda session: step(session, now=now)):
            pass

    return purge


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
    dead = await db.transact(lambda session: events.take_unreported(session, now=now, per_minute=ALERTS_PER_MINUTE))
    if not dead:
        return 0
    if not url:
        log.warning("N8N_WEBHOOK_URL not configured", dead_letters=[str(event.public_id) for event in dead])
        return len(dead)
    async with httpx.AsyncClient(timeout=5.0, transport=transport) as client:
        for event in dead:
            await _send_alert(client, url, event)
    return len(dead)


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


def seal_timers(*, db: Database, sealer: audit.Sealer) -> list[Timer]:
    """Return what seals the audit trail, measures it and keeps an eye on it."""
    places = {journal.name: 0 for journal in JOURNALS}

    async def measure(now: datetime) -> None:
        for journal, count in (await audit.count_sealed_blocks(db)).items():
            SEALED_BLOCKS.labels(journal).set(count)
        for rest in await audit.unsealed(db):
            UNSEALED_AGE.labels(rest.journal).set((now - rest.since).total_seconds() if rest.since else 0)

    async def look(_now: datetime) -> None:
        for name in sealer.heads.cut:
            VERIFY_FAILURES.labels(name).inc()
        for journal in JOURNALS:
            findings, places[journal.name] = await audit.verify_next_blocks(
                db, journal=journal, above=places[journal.name], blocks=_PATROL_BLOCKS, trust=sealer.trust()
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

    return [
        Timer("audit_seal", timedelta(minutes=1), sealer.tick),
        Timer("audit_measure", timedelta(seconds=30), measure),
        Timer("audit_patrol", timedelta(minutes=1), look),
    ]


# Tables that grow for ever, which MariaDB keeps in a partition for each year (REQ-IDN-08).
PARTITIONED_TABLES = ("notifications", "audit_logs")
MAXVALUE = "MAXVALUE"


@dataclass(frozen=True, slots=True)
class Partition:
    name: str
    method: str
    expression: str
    bound: str


async def ensure_partitions(session: AsyncSession, *, now: datetime) -> list[str]:
    """
    Add the partitions of this year and the next where they are missing, and say which it added.

    They are cut off the partition without an end while it is still empty, which is quick; later, rows would have to move.
    """
    if session.get_bind().dialect.name == "sqlite":
        return []
    added = []
    for table in PARTITIONED_TABLES:
        present = await _present(session, table)
        years = missing_years(present, year=now.year)
        if years:
            await session.execute(sa.text(reorganize_statement(table, present, years=years)))
        added += [f"{table} {year}" for year in years]
    return added


async def _present(session: AsyncSession, table: str) -> list[Partition]:
    rows = await session.execute(
        sa.text(
            "SELECT partition_name, partition_method, partition_expression, partition_description"
            " FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = :table"
            " AND partition_name IS NOT NULL ORDER BY partition_ordinal_position"
        ),
        {"table": table},
    )
    return [Partition(*(str(part) for part in row)) for row in rows]


def missing_years(partitions: Sequence[Partition], *, year: int) -> list[int]:
    """Return those of this year and the next that would fall into the partition without an end."""
    bounds = {_bound(partitions[0], wanted + 1): wanted for wanted in (year, year + 1)} if partitions else {}
    present = [partition.bound for partition in partitions if partition.bound != MAXVALUE]
    newest = max(present, key=_order, default="")
    return [wanted for bound, wanted in bounds.items() if _order(bound) > _order(newest)]


def reorganize_statement(table: str, partitions: Sequence[Partition], *, years: Sequence[int]) -> str:
    """Return the statement that cuts `years` off the partition without an end, which stays the last one."""
    rest = next(partition for partition in partitions if partition.bound == MAXVALUE)
    columns = "COLUMNS" in rest.method
    open_end = "(MAXVALUE)" if columns else "MAXVALUE"
    parts = [f"PARTITION p{year} VALUES LESS THAN ({_literal(rest, year + 1)})" for year in years]
    parts.append(f"PARTITION {rest.name} VALUES LESS THAN {open_end}")
    return f"ALTER TABLE {table} REORGANIZE PARTITION {rest.name} INTO ({', '.join(parts)})"


def _literal(partition: Partition, year: int) -> str:
    expression = partition.expression.lower().replace("`", "")
    if "COLUMNS" in partition.method:
        return f"'{year}-01-01'"
    if expression.startswith("year("):
        return str(year)
    if expression.startswith("to_days("):
        return f"TO_DAYS('{year}-01-01')"
    raise ValueError(f"a table is partitioned by {partition.expression}, which nobody taught this to extend")


def _bound(partition: Partition, year: int) -> str:
    """The bound as `information_schema` would tell it."""
    literal = _literal(partition, year)
    if literal.startswith("TO_DAYS"):
        return str((year - 1) * 365 + (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400 + 366)
    return literal


def _order(bound: str) -> tuple[int, str]:
    text = bound.strip("'")
    return (int(text), "") if text.isdigit() else (0, text)
