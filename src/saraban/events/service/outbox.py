"""
The outbox: events are recorded in the transaction of what they tell, and delivered by the worker to their handlers.

At least once and in order for each aggregate (REQ-EVT-01): only an aggregate's oldest undelivered event can be
claimed. A delivery's effects and its mark commit together, so an effect in this database happens exactly once.
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
    """A limiter said: not yet. That is no attempt; `seconds` later it is asked again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"postponed by {seconds:g} s")
        self.seconds = seconds


class Handlers:
    """
    Wired in `bootstrap`; handlers of one event run in the order in which they were added.

    :param first_delay: pause after a first failure; each further one is twice as long
    """

    def __init__(self, *, first_delay: timedelta = FIRST_DELAY) -> None:
        self._by_name: dict[str, list[BatchHandler]] = defaultdict(list)
        self._senders: dict[str, EventSender] = {}
        self._delays: dict[str, timedelta] = {}
        self._first_delay = first_delay

    def add(self, name: str, handler: Handler) -> None:
        """Call `handler` in the transaction that marks the event delivered."""
        self.add_all(name, _OneByOne(handler).react)

    def add_all(self, name: str, handler: BatchHandler) -> None:
        """
        Call `handler` with all events of that name which one transaction delivers, each of another
        aggregate. What it raises undoes all of them; then it is called with fewer, in the end with the one that fails.
        """
        if name in self._senders:
            raise ValueError(f"{name} is sent outside")
        self._by_name[name].append(handler)

    def send(self, name: str, sender: EventSender, *, first_delay: timedelta | None = None) -> None:
        """
        Call `sender` without a transaction: it may wait for the network, and must bear being repeated.

        :param first_delay: pause after a first failure, where it is not everybody's
        """
        if name in self._by_name or name in self._senders:
            raise ValueError(f"{name} has a handler already")
        self._senders[name] = sender
        if first_delay is not None:
            self._delays[name] = first_delay

    def of(self, name: str) -> Sequence[BatchHandler]:
        return tuple(self._by_name.get(name, ()))

    def sender_of(self, name: str) -> EventSender | None:
        return self._senders.get(name)

    def first_delay_of(self, name: str) -> timedelta:
        return self._delays.get(name, self._first_delay)

    def names(self) -> frozenset[str]:
        return frozenset(self._by_name) | frozenset(self._senders)

    def lane(self, *, outside: bool) -> Lane:
        return Lane(frozenset(self._senders), outside)


@dataclass(frozen=True, slots=True)
class _OneByOne:
    handler: Handler

    async def react(self, session: AsyncSession, events: Sequence[Event]) -> None:
        for event in events:
            await self.handler(session, event)


LEASE = timedelta(seconds=60)
KEEP_DELIVERED = timedelta(hours=24)
AFTER_FAULT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class EventClaim:
    """
    An event that this worker alone may deliver until the lease ends.

    :param key: of its row, for the statements that lock it
    """

    event: Event
    token: str
    key: int


@dataclass(frozen=True, slots=True)
class NewEvent:
    """
    An event to be recorded.

    :param name: `noun.past_participle`
    :param aggregate_id: public id, as text, of what must be told in order: a workflow instance, a document
    :param payload: plain values and public ids only
    """

    name: str
    aggregate_type: str
    aggregate_id: str
    payload: Mapping[str, object]
    at: datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits to be delivered, since when, and how much was given up."""

    waiting: int
    oldest: datetime | None
    dead: int


async def record(session: AsyncSession, new: NewEvent) -> UUID:
    """Add an event to the outbox, in the caller's transaction, and return its public id."""
    (public_id,) = await record_all(session, [new])
    return public_id


async def record_all(session: AsyncSession, news: Sequence[NewEvent]) -> list[UUID]:
    """Do the same for several events, in their order, with one statement."""
    if not news:
        return []
    ids = [new_id() for _ in news]
    await insert_rows(session, table_of(OutboxEvent), [_row(one, uuid) for one, uuid in zip(news, ids, strict=True)])
    notify_after_commit(session)
    return ids


def _row(one: NewEvent, uuid: UUID) -> dict[str, object]:
    return {
        "uuid": uuid,
        "name": one.name,
        "aggregate_type": one.aggregate_type,
        "aggregate_id": one.aggregate_id,
        "payload": dict(one.payload),
        "created_at": one.at,
        "available_at": one.at,
        "attempts": 0,
    }


async def claim(
    session: AsyncSession, *, now: datetime, limit: int, lease: timedelta = LEASE, lane: Lane | None = None
) -> list[EventClaim]:
    """Take up to `limit` events, each the oldest undelivered one of its aggregate, for the time of a lease."""
    rows = await repository.lock_due(session, now, limit, lane=lane)
    token = new_id().hex
    await repository.lease(session, keys=[row.id for row in rows], token=token, until=now + lease)
    return [EventClaim(Event(*row[1:]), token, row.id) for row in rows]


async def deliver_all(
    session: AsyncSession, *, claims: Sequence[EventClaim], handlers: Handlers, now: datetime
) -> set[UUID]:
    """
    Run the handlers and mark the events delivered, all in the caller's transaction; what a handler raises undoes all.

    :returns: the events that were delivered; the lease of the others was lost to another worker, and nothing was done
    """
    keys = await repository.lock_claimed(session, tokens={one.key: one.token for one in claims})
    held: dict[str, list[Event]] = {}
    for one in claims:
        if one.event.public_id in keys:
            held.setdefault(one.event.name, []).append(one.event)
    for name, found in held.items():
        for react in handlers.of(name):
            await react(session, found)
    await session.flush()
    await repository.mark_delivered(session, keys=list(keys.values()), now=now)
    return set(keys)


async def mark_delivered(session: AsyncSession, *, claim: EventClaim, now: datetime) -> bool:
    """
    Mark an event delivered that a sender has told outside.

    :returns: False when the lease was lost: then it is told again, under the same id
    """
    keys = await repository.lock_claimed(session, tokens={claim.key: claim.token})
    await repository.mark_delivered(session, keys=list(keys.values()), now=now)
    return bool(keys)


def is_last_attempt(event: Event) -> bool:
    """Return whether an event is given up when it cannot be delivered this time either."""
    return next_attempt(event.attempts + 1) is None


def counts_as_attempt(error: Exception, *, outside: bool = False) -> bool:
    """
    Return whether a failure is the handler's own: a limiter's wait or a fault of the database is no attempt.

    :param outside: a sender's connection is its own matter, not the database's
    """
    if isinstance(error, Postponed):
        return False
    if outside and isinstance(error, OSError) and not isinstance(error, DBAPIError):
        return True
    return database_fault(error) is None


async def record_failure(
    session: AsyncSession, *, claim: EventClaim, error: Exception, now: datetime, handlers: Handlers | None = None
) -> DeadLetterView | None:
    """
    Plan the next try of an event whose delivery failed, or bury it.

    :returns: the dead letter when the event was buried
    """
    row = await repository.lock_one_claimed(session, public_id=claim.event.public_id, token=claim.token)
    if row is None:
        return None
    known = handlers or Handlers()
    row.claimed_by = row.claimed_until = None
    if isinstance(error, Postponed):
        row.available_at = now + timedelta(seconds=error.seconds)
        return None
    row.last_error = error_text(error)
    if not counts_as_attempt(error, outside=known.sender_of(row.name) is not None):
        row.available_at = now + AFTER_FAULT
        return None
    row.attempts += 1
    delay = known.first_delay_of(row.name)
    pause = next_attempt(row.attempts, expected=isinstance(error, DomainError), first_delay=delay)
    if pause is None:
        return await move_to_dead_letters(session, row, now)
    row.available_at = now + pause
    return None


async def purge_delivered(session: AsyncSession, *, now: datetime, keep: timedelta = KEEP_DELIVERED) -> int:
    """Delete a bounded number of events delivered longer ago than `keep`, and say how many."""
    return await repository.delete_delivered(session, before=now - keep)


async def backlog(session: AsyncSession, *, lane: Lane | None = None) -> Backlog:
    """Count what waits, in one lane or in both, and what was given up in all."""
    waiting, oldest, dead = await repository.count(session, lane)
    return Backlog(waiting, oldest, dead)
