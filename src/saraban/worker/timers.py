"""What the worker does by the clock."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.domain.storage import Storage
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.kit.idempotency import delete_expired_keys
from saraban.notifications import service as notifications
from saraban.numbering import service as numbering
from saraban.webhooks import service as webhooks
from saraban.worker import dead_event_alert, partitions
from saraban.worker.metrics import DEAD_LETTERS, OLDEST_AGE, QUEUE_DEPTH


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
    """

    name: str
    run: Callable[[], Awaitable[bool]]


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

    async def announce(now: datetime) -> None:
        await dead_event_alert.send_alerts(db, url=ops_webhook_url, now=now)

    async def measure(now: datetime) -> None:
        async with db.reading() as session:
            found = {name: await events.backlog(session, lane=lane) for name, lane in lanes.items()}
        for name, backlog in found.items():
            QUEUE_DEPTH.labels(name).set(backlog.waiting)
            OLDEST_AGE.labels(name).set((now - backlog.oldest).total_seconds() if backlog.oldest else 0)
            DEAD_LETTERS.set(backlog.dead)

    async def clean_up(now: datetime) -> None:
        await attachments.clean_up(db, storage, now=now)

    async def add_years(now: datetime) -> None:
        await db.transact(lambda session: partitions.ensure_partitions(session, now=now))

    async def forget_errors(session: AsyncSession, *, now: datetime) -> int:
        return await numbering.delete_old_errors(session, now=now, keep=keep_errors)

    return [
        Timer("outbox_measure", timedelta(seconds=10), measure),
        Timer("dead_letter_announce", timedelta(seconds=5), announce),
        Timer("outbox_purge", timedelta(hours=1), _purge(db, events.purge_delivered)),
        Timer("webhook_outcome_purge", timedelta(hours=1), _purge(db, webhooks.purge_outcomes)),
        Timer("mail_purge", timedelta(hours=1), _purge(db, notifications.purge_mails)),
        Timer("idempotency_purge", timedelta(hours=1), _purge(db, delete_expired_keys)),
        Timer("session_purge", timedelta(hours=1), _purge(db, identity.delete_expired_sessions)),
        Timer("reservation_expiry", timedelta(seconds=10), _purge(db, numbering.expire_reservations)),
        Timer("number_error_purge", timedelta(hours=1), _purge(db, forget_errors)),
        Timer("attachment_clean_up", timedelta(minutes=10), clean_up),
        Timer("partition_years", timedelta(hours=12), add_years),
    ]


def _purge(db: Database, step: Callable[..., Awaitable[int]]) -> Callable[[datetime], Awaitable[object]]:
    """Return what repeats `step`, which treats a bounded number, each time in a transaction of its own."""

    async def purge(now: datetime) -> None:
        while await db.transact(lambda session: step(session, now=now)):
            pass

    return purge
