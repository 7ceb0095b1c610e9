"""Events and dead letters for operators."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from pydantic import ConfigDict
from pydantic.config import JsonDict
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import repository
from saraban.events.domain import Event, EventSearch, EventState
from saraban.events.models import DeadLetter, OutboxEvent
from saraban.kit.db import notify_after_commit
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, NotFound, Text
from saraban.kit.ids import new_id
from saraban.kit.json import Json, JsonObject
from saraban.kit.pagination import Page, page_of
from saraban.kit.schema import Schema

# The queue of an event, and the queue where its dead letter is kept.
QUEUE, DEAD_QUEUE = "workflow-events", "workflow-events-failed"


class EventNotDead(DomainError):
    """Only dead letters can be retried or dropped. This event is waiting or was delivered."""

    kind, code = ErrorKind.CONFLICT, "EVENT_NOT_DEAD"
    says = Text(
        "เหตุการณ์นี้ไม่ได้อยู่ในรายการที่ส่งไม่สำเร็จ จึงนำกลับมาส่งใหม่หรือทิ้งไม่ได้",
        "This event is not among the failed ones, so it can be neither retried nor dropped.",
    )
    recovery = (REFRESH,)


@dataclass(frozen=True, slots=True)
class DeadLetterView:
    public_id: UUID
    event_public_id: UUID
    queue: str
    name: str
    data: JsonObject
    failed_at: datetime
    error: str


async def take_unreported(session: AsyncSession, *, now: datetime, per_minute: int) -> list[DeadLetterView]:
    reported = await repository.count_reported(session, since=now - timedelta(minutes=1))
    rows = await repository.lock_unreported(session, limit=max(0, per_minute - reported))
    for row in rows:
        row.notified_at = now
    await session.flush()
    return [_view(row) for row in rows]


async def add_dead_letter(
    session: AsyncSession,
    *,
    event: Event,
    queue: str,
    error: str,
    now: datetime,
) -> DeadLetterView:
    """Save an event that another queue gave up."""
    letter = DeadLetter(
        public_id=new_id(),
        event_uuid=event.public_id,
        queue=queue,
        name=event.name,
        aggregate_type=event.aggregate_type,
        aggregate_id=event.aggregate_id,
        data=dict(event.payload),
        attempts=event.attempts,
        error=error,
        recorded_at=event.created_at,
        failed_at=now,
    )
    session.add(letter)
    await session.flush()
    return _view(letter)


async def requeue_dead_letter(session: AsyncSession, *, public_id: UUID, now: datetime) -> DeadLetterView:
    """
    Put a dead letter back under its id, after newer events of its aggregate.

    :raises NotFound, EventNotDead:
    """
    row = await _lock_dead_letter(session, public_id)
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
    notify_after_commit(session)
    return _view(row)


async def delete_dead_letter(session: AsyncSession, *, public_id: UUID) -> DeadLetterView:
    """:raises NotFound, EventNotDead:"""
    row = await _lock_dead_letter(session, public_id)
    await session.delete(row)
    await session.flush()
    return _view(row)


async def move_to_dead_letters(session: AsyncSession, row: OutboxEvent, now: datetime) -> DeadLetterView:
    await session.delete(row)
    event = Event(
        row.public_id, row.name, row.aggregate_type, row.aggregate_id, row.payload, row.created_at, row.attempts
    )
    return await add_dead_letter(session, event=event, queue=QUEUE, error=row.last_error or "", now=now)


async def _lock_dead_letter(session: AsyncSession, public_id: UUID) -> DeadLetter:
    row = await repository.lock_dead_letter(session, public_id)
    if row is None and await repository.event(session, public_id) is not None:
        raise EventNotDead
    if row is None:
        raise NotFound(f"There is no dead letter {public_id}.")
    return row


def _view(row: DeadLetter) -> DeadLetterView:
    return DeadLetterView(
        public_id=row.public_id,
        event_public_id=row.event_uuid,
        queue=row.queue,
        name=row.name,
        data=row.data,
        failed_at=row.failed_at,
        error=row.error,
    )


_EXAMPLE: Final[JsonDict] = {
    "publicId": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10",
    "state": "dead",
    "name": "workflow.transitioned",
    "aggregateType": "workflow_instance",
    "aggregate": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e11",
    "payload": {"workflowCode": "RFA_APPROVAL", "action": "submit"},
    "attempts": 3,
    "error": "RuntimeError: the mailbox is full",
    "recordedAt": "2026-03-02T03:15:00Z",
    "queue": "workflow-events",
    "keptIn": "workflow-events-failed",
    "nextTryAt": None,
    "deliveredAt": None,
    "failedAt": "2026-03-02T03:15:02Z",
}


class EventView(Schema):
    """One event. Delivered events are kept for 24 hours, dead letters until they are dropped."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    public_id: UUID
    state: EventState
    name: str
    aggregate_type: str
    aggregate: str
    payload: dict[str, Json]
    attempts: int
    error: str | None
    recorded_at: datetime
    queue: str
    kept_in: str | None
    next_try_at: datetime | None
    delivered_at: datetime | None
    failed_at: datetime | None


async def list_events(
    session: AsyncSession, wanted: EventSearch, *, cursor: str | None = None, limit: int = 50
) -> Page[EventView]:
    views: list[EventView] = []
    if wanted.state is not EventState.DEAD:
        views += map(_outbox_view, await repository.events_page(session, wanted, cursor=cursor, limit=limit))
    if wanted.state in {None, EventState.DEAD}:
        views += map(_dead_letter_view, await repository.dead_letters_page(session, wanted, cursor=cursor, limit=limit))
    views.sort(key=lambda view: (view.recorded_at, view.public_id), reverse=True)
    return page_of(views[: limit + 1], limit=limit, key=lambda view: (view.recorded_at, view.public_id))


async def read_event(session: AsyncSession, *, public_id: UUID) -> EventView:
    """:raises NotFound:"""
    row = await repository.event(session, public_id)
    if row is not None:
        return _outbox_view(row)
    letter = await repository.dead_letter(session, public_id)
    if letter is not None:
        return _dead_letter_view(letter)
    raise NotFound(f"There is no event {public_id}.")


def _outbox_view(row: OutboxEvent) -> EventView:
    is_waiting = row.delivered_at is None
    return EventView(
        public_id=row.public_id,
        state=EventState.WAITING if is_waiting else EventState.DELIVERED,
        name=row.name,
        aggregate_type=row.aggregate_type,
        aggregate=row.aggregate_id,
        payload=row.payload,
        attempts=row.attempts,
        error=row.last_error,
        recorded_at=row.created_at,
        queue=QUEUE,
        kept_in=None,
        next_try_at=row.available_at if is_waiting else None,
        delivered_at=row.delivered_at,
        failed_at=None,
    )


def _dead_letter_view(row: DeadLetter) -> EventView:
    return EventView(
        public_id=row.event_uuid,
        state=EventState.DEAD,
        name=row.name,
        aggregate_type=row.aggregate_type,
        aggregate=row.aggregate_id,
        payload=row.data,
        attempts=row.attempts,
        error=row.error,
        recorded_at=row.recorded_at,
        queue=row.queue,
        kept_in=DEAD_QUEUE,
        next_try_at=None,
        delivered_at=None,
        failed_at=row.failed_at,
    )
