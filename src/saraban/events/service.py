"""
The outbox: events are recorded in the transaction of what they tell, and delivered by the worker.

At least once and in order for each aggregate (ruling W3): only an aggregate's oldest undelivered event can be
claimed. A delivery's effects and its mark commit together, so an effect in this database happens exactly once.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import repository
from saraban.events.domain.event import Event
from saraban.events.domain.retry import Dead, RetryAt, decide
from saraban.events.models import DeadLetter, OutboxEvent
from saraban.kit.db import announce, fault_of
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.ids import new_id

__all__ = ["Backlog", "Claim", "DeadEvent", "Event", "Handlers", "record"]

Handler = Callable[[AsyncSession, Event], Awaitable[None]]

DEAD_QUEUE = "workflow-events-failed"
LEASE = timedelta(seconds=60)
KEEP_DELIVERED = timedelta(hours=24)
AFTER_FAULT = timedelta(seconds=1)


class Handlers:
    """Which functions react to which event, in the order in which they were added; wired in `bootstrap`."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Handler]] = defaultdict(list)

    def add(self, name: str, handler: Handler) -> None:
        self._by_name[name].append(handler)

    def of(self, name: str) -> Sequence[Handler]:
        return tuple(self._by_name.get(name, ()))

    def names(self) -> frozenset[str]:
        return frozenset(self._by_name)


@dataclass(frozen=True, slots=True)
class Claim:
    """An event that this worker alone may deliver until the lease ends."""

    event: Event
    token: str


@dataclass(frozen=True, slots=True)
class DeadEvent:
    """A dead letter, as operators and the ops webhook are told of it."""

    public_id: UUID
    event_public_id: UUID
    queue: str
    name: str
    data: Mapping[str, Any]
    failed_at: datetime
    error: str


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits to be delivered, since when, and how much was given up."""

    waiting: int
    oldest: datetime | None
    dead: int


async def record(
    session: AsyncSession,
    *,
    name: str,
    aggregate_type: str,
    aggregate_id: str,
    payload: Mapping[str, Any],
    now: datetime,
) -> UUID:
    """
    This will add an event to the outbox, in the caller's transaction, and give its public id.

    :param name: `noun.past_participle`
    :param aggregate_id: public id, as text, of what must be told in order: a workflow instance, a document
    :param payload: plain values and public ids only
    """
    public_id = new_id()
    session.add(
        OutboxEvent(
            public_id=public_id,
            name=name,
            aggregate_type=aggregate_type,
            aggregate_id=aggregate_id,
            payload=dict(payload),
            created_at=now,
            available_at=now,
            attempts=0,
        )
    )
    await session.flush()
    announce(session)
    return public_id


async def any_due(session: AsyncSession, *, now: datetime) -> bool:
    """This will say whether a claim is worth a writing transaction."""
    return await repository.any_due(session, now=now)


async def claim(session: AsyncSession, *, now: datetime, limit: int, lease: timedelta = LEASE) -> list[Claim]:
    """This will take up to `limit` events, each the oldest undelivered one of its aggregate, for the time of a lease."""
    rows = await repository.lock_due(session, now=now, limit=limit)
    token = new_id().hex
    for row in rows:
        row.claimed_by, row.claimed_until = token, now + lease
    await session.flush()
    return [Claim(_event(row), token) for row in rows]


async def deliver(session: AsyncSession, *, claim: Claim, handlers: Handlers, now: datetime) -> bool:
    """
    This will run the handlers and mark the event delivered, all in the caller's transaction.

    :returns: False when the lease was lost to another worker, and nothing was done
    """
    row = await repository.lock_claimed(session, public_id=claim.event.public_id, token=claim.token)
    if row is None:
        return False
    for handler in handlers.of(claim.event.name):
        await handler(session, claim.event)
    row.delivered_at, row.claimed_by, row.claimed_until = now, None, None
    await session.flush()
    return True


async def fail(session: AsyncSession, *, claim: Claim, error: Exception, now: datetime) -> DeadEvent | None:
    """
    This will plan the next try of an event whose delivery failed, or bury it.

    A fault of the database is not the handler's: it costs no attempt.

    :returns: the dead letter when the event was buried
    """
    row = await repository.lock_claimed(session, public_id=claim.event.public_id, token=claim.token)
    if row is None:
        return None
    row.claimed_by = row.claimed_until = None
    row.last_error = told(error)
    if fault_of(error) is not None:
        row.available_at = now + AFTER_FAULT
        return None
    row.attempts += 1
    match decide(row.attempts, expected=isinstance(error, DomainError)):
        case RetryAt(delay):
            row.available_at = now + delay
            return None
        case Dead():
            return await _bury(session, row=row, now=now)


async def purge_delivered(session: AsyncSession, *, now: datetime, keep: timedelta = KEEP_DELIVERED) -> int:
    """This will delete a bounded number of events delivered longer ago than `keep`, and say how many."""
    return await repository.delete_delivered(session, before=now - keep)


async def backlog(session: AsyncSession) -> Backlog:
    waiting, oldest, dead = await repository.count(session)
    return Backlog(waiting, oldest, dead)


async def dead_letters(session: AsyncSession, *, limit: int = 100) -> list[DeadEvent]:
    """This will give the newest dead letters."""
    return [_dead(row) for row in await repository.newest_dead(session, limit=limit)]


async def take_unannounced(session: AsyncSession, *, now: datetime, per_minute: int) -> list[DeadEvent]:
    """This will take dead letters that operators were not told of, so many that `per_minute` is not passed."""
    told_lately = await repository.announced_since(session, since=now - timedelta(minutes=1))
    rows = await repository.lock_unannounced(session, limit=max(0, per_minute - told_lately))
    for row in rows:
        row.notified_at = now
    await session.flush()
    return [_dead(row) for row in rows]


async def revive(session: AsyncSession, *, public_id: UUID, now: datetime) -> None:
    """
    This will put a dead letter back into the outbox, behind the newer events of its aggregate, under its first id.

    :raises NotFound: when there is no such dead letter
    """
    row = await _dead_letter(session, public_id)
    session.add(
        OutboxEvent(
            public_id=row.event_uuid,
            name=row.name,
            aggregate_type=row.aggregate_type,
            aggregate_id=row.aggregate_id,
            payload=row.data,
            created_at=row.recorded_at,
            available_at=now,
            attempts=0,
        )
    )
    await session.delete(row)
    await session.flush()


async def drop(session: AsyncSession, *, public_id: UUID) -> None:
    """
    This will delete a dead letter.

    :raises NotFound: when there is no such dead letter
    """
    await session.delete(await _dead_letter(session, public_id))
    await session.flush()


def told(error: Exception) -> str:
    """This will give the words that are kept about a failure: one line, and nothing a database says about its rows."""
    name = type(error).__name__
    if not isinstance(error, DomainError):
        from_database = type(error).__module__.startswith("sqlalchemy")
        words = "" if from_database else str(error).partition("\n")[0]
    else:
        words = error.detail
    return f"{name}: {words}"[:500] if words else name


async def bury(
    session: AsyncSession,
    *,
    event_uuid: UUID,
    queue: str,
    name: str,
    aggregate_type: str,
    aggregate_id: str,
    data: Mapping[str, Any],
    attempts: int,
    error: str,
    recorded_at: datetime,
    now: datetime,
) -> DeadEvent:
    """
    This will keep as a dead letter what another queue gave up, so that operators are told in the same way.

    :param name: of the event that `revive` puts into the outbox; its handler has to try again
    """
    letter = DeadLetter(
        public_id=new_id(),
        event_uuid=event_uuid,
        queue=queue,
        name=name,
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        data=dict(data),
        attempts=attempts,
        error=error,
        recorded_at=recorded_at,
        failed_at=now,
    )
    session.add(letter)
    await session.flush()
    return _dead(letter)


async def _dead_letter(session: AsyncSession, public_id: UUID) -> DeadLetter:
    row = await repository.lock_dead(session, public_id=public_id)
    if row is None:
        raise NotFound(f"There is no dead letter {public_id}.")
    return row


async def _bury(session: AsyncSession, *, row: OutboxEvent, now: datetime) -> DeadEvent:
    letter = DeadLetter(
        public_id=new_id(),
        event_uuid=row.public_id,
        queue=DEAD_QUEUE,
        name=row.name,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        data=row.payload,
        attempts=row.attempts,
        error=row.last_error or "",
        recorded_at=row.created_at,
        failed_at=now,
    )
    session.add(letter)
    await session.delete(row)
    await session.flush()
    return _dead(letter)


def _event(row: OutboxEvent) -> Event:
    return Event(
        public_id=row.public_id,
        name=row.name,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        payload=row.payload,
        created_at=row.created_at,
        attempts=row.attempts,
    )


def _dead(row: DeadLetter) -> DeadEvent:
    return DeadEvent(
        public_id=row.public_id,
        event_public_id=row.event_uuid,
        queue=row.queue,
        name=row.name,
        data=row.data,
        failed_at=row.failed_at,
        error=row.error,
    )
