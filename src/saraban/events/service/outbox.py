"""
The outbox, from which a worker calls the handlers of events.

Delivery is at least once and in order for each aggregate (REQ-EVT-01). A handler's effects and the delivery mark
commit together, so effects in this database happen exactly once.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import repository
from saraban.events.domain import FIRST_DELAY, Event, Lane, next_attempt
from saraban.events.models import OutboxEvent
from saraban.events.service.dead_letters import DeadLetterView, move_to_dead_letters
from saraban.kit.db import database_fault, notify_after_commit, table_of
from saraban.kit.error_text import error_text
from saraban.kit.errors import DomainError
from saraban.kit.fastlane import insert_rows
from saraban.kit.ids import new_id

Handler = Callable[[AsyncSession, Event], Awaitable[None]]
BatchHandler = Callable[[AsyncSession, Sequence[Event]], Awaitable[None]]
EventSender = Callable[[Event], Awaitable[None]]


class Postponed(Exception):  # an expected outcome
    def __init__(self, seconds: float) -> None:
        super().__init__(f"postponed by {seconds:g} s")
        self.seconds = seconds


class Handlers:
    """Handlers of one event run in the order in which they were added."""

    def __init__(self, *, first_delay: timedelta = FIRST_DELAY) -> None:
        self._by_name: dict[str, list[BatchHandler]] = defaultdict(list)
        self._senders: dict[str, EventSender] = {}
        self._delays: dict[str, timedelta] = {}
        self._first_delay = first_delay

    def add(self, name: str, handler: Handler) -> None:
        """Call `handler` in the transaction that marks the event delivered."""
        self.add_all(name, _SequentialHandler(handler).react)

    def add_all(self, name: str, handler: BatchHandler) -> None:
        """
        Call `handler` with all events of the name in a transaction, each of another aggregate.

        An error rolls all of them back; the handler is then called with fewer events.
        """
        if name in self._senders:
            raise ValueError(f"{name} is sent outside")
        self._by_name[name].append(handler)

    def send(self, name: str, sender: EventSender, *, first_delay: timedelta | None = None) -> None:
        """Call `sender` without a transaction; it must tolerate repeated calls."""
        if name in self._by_name or name in self._senders:
            raise ValueError(f"{name} has a handler already")
        self._senders[name] = sender
        if first_delay is not None:
            self._delays[name] = first_delay

    def of(self, name: str) -> Sequence[BatchHandler]:
        return tuple(self._by_name.get(name, ()))

    def sender_of(self, name: str) -> EventSender | None:
        return self._senders.get(name)

    def first_delay(self, name: str) -> timedelta:
        return self._delays.get(name, self._first_delay)

    def names(self) -> frozenset[str]:
        return frozenset(self._by_name) | frozenset(self._senders)

    def lane(self, *, outside: bool) -> Lane:
        return Lane(frozenset(self._senders), outside)


@dataclass(frozen=True, slots=True)
class _SequentialHandler:
    handler: Handler

    async def react(self, session: AsyncSession, events: Sequence[Event]) -> None:
        for event in events:
            await self.handler(session, event)


LEASE = timedelta(seconds=60)
KEEP_DELIVERED = timedelta(hours=24)
AFTER_FAULT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class EventClaim:
    event: Event
    token: str
    key: int


@dataclass(frozen=True, slots=True)
class NewEvent:
    """
    :param name: `noun.past_participle`
    :param aggregate_id: public id of the object whose events are delivered in order
    :param payload: plain values and public ids only
    """

    name: str
    aggregate_type: str
    aggregate_id: str
    payload: Mapping[str, object]
    at: datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    waiting: int
    oldest: datetime | None
    dead: int


async def record(session: AsyncSession, new: NewEvent) -> UUID:
    (public_id,) = await record_all(session, [new])
    return public_id


async def record_all(session: AsyncSession, events: Sequence[NewEvent]) -> list[UUID]:
    if not events:
        return []
    ids = [new_id() for _ in events]
    rows = [_row(event, uuid) for event, uuid in zip(events, ids, strict=True)]
    await insert_rows(session, table_of(OutboxEvent), rows)
    notify_after_commit(session)
    return ids


def _row(event: NewEvent, uuid: UUID) -> dict[str, object]:
    return {
        "uuid": uuid,
        "name": event.name,
        "aggregate_type": event.aggregate_type,
        "aggregate_id": event.aggregate_id,
        "payload": dict(event.payload),
        "created_at": event.at,
        "available_at": event.at,
        "attempts": 0,
    }


async def claim(
    session: AsyncSession, *, now: datetime, limit: int, lease: timedelta = LEASE, lane: Lane | None = None
) -> list[EventClaim]:
    """Claim the oldest events of up to `limit` aggregates."""
    rows = await repository.lock_due(session, now, limit, lane=lane)
    token = new_id().hex
    await repository.lease(session, keys=[row.id for row in rows], token=token, until=now + lease)
    return [EventClaim(Event(*row[1:]), token, row.id) for row in rows]


async def deliver_all(
    session: AsyncSession, *, claims: Sequence[EventClaim], handlers: Handlers, now: datetime
) -> set[UUID]:
    """Return the delivered events; the lease of the others was lost to another worker. An error of a handler undoes all."""
    keys = await repository.lock_claimed(session, tokens={claim.key: claim.token for claim in claims})
    events: dict[str, list[Event]] = {}
    for claim in claims:
        if claim.event.public_id in keys:
            events.setdefault(claim.event.name, []).append(claim.event)
    for name, batch in events.items():
        for react in handlers.of(name):
            await react(session, batch)
    await session.flush()
    await repository.mark_delivered(session, keys=list(keys.values()), now=now)
    return set(keys)


async def mark_delivered(session: AsyncSession, *, claim: EventClaim, now: datetime) -> bool:
    """Return False if the lease was lost; the sender then repeats the event under its id."""
    keys = await repository.lock_claimed(session, tokens={claim.key: claim.token})
    await repository.mark_delivered(session, keys=list(keys.values()), now=now)
    return bool(keys)


def is_last_attempt(event: Event) -> bool:
    return next_attempt(event.attempts + 1) is None


def counts_as_attempt(error: Exception, *, outside: bool = False) -> bool:
    """Return False for a rate limit and for faults of the database."""
    if isinstance(error, Postponed):
        return False
    if outside and isinstance(error, OSError) and not isinstance(error, DBAPIError):
        return True
    return database_fault(error) is None


async def record_failure(
    session: AsyncSession, *, claim: EventClaim, error: Exception, now: datetime, handlers: Handlers | None = None
) -> DeadLetterView | None:
    row = await repository.lock_one_claimed(session, public_id=claim.event.public_id, token=claim.token)
    if row is None:
        return None
    registered = handlers or Handlers()
    row.claimed_by = row.claimed_until = None
    if isinstance(error, Postponed):
        row.available_at = now + timedelta(seconds=error.seconds)
        return None
    row.last_error = error_text(error)
    if not counts_as_attempt(error, outside=registered.sender_of(row.name) is not None):
        row.available_at = now + AFTER_FAULT
        return None
    row.attempts += 1
    delay = registered.first_delay(row.name)
    pause = next_attempt(row.attempts, expected=isinstance(error, DomainError), first_delay=delay)
    if pause is None:
        return await move_to_dead_letters(session, row, now)
    row.available_at = now + pause
    return None


async def purge_delivered(session: AsyncSession, *, now: datetime, keep: timedelta = KEEP_DELIVERED) -> int:
    return await repository.delete_delivered(session, before=now - keep)


async def backlog(session: AsyncSession, *, lane: Lane | None = None) -> Backlog:
    waiting, oldest, dead = await repository.count(session, lane)
    return Backlog(waiting, oldest, dead)
