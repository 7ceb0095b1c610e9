"""What operators see of events: those that wait, those delivered within a day, those that were given up."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import repository
from saraban.events.models import DeadLetter, OutboxEvent
from saraban.events.service.dead_letters import DEAD_QUEUE, QUEUE
from saraban.kit.errors import NotFound
from saraban.kit.json import JsonObject
from saraban.kit.pagination import Page, page_of


class EventState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class EventView:
    """
    One event, whatever became of it.

    :param aggregate: public id of what its events are told of in order
    :param error: of the newest failure; None when there was none
    :param queue: where its job comes from
    :param kept_in: where it is kept once it was given up
    :param next_try_at: when it may be delivered; None for one that is done or given up
    """

    public_id: UUID
    state: EventState
    name: str
    aggregate_type: str
    aggregate: str
    payload: JsonObject
    attempts: int
    error: str | None
    recorded_at: datetime
    queue: str = QUEUE
    kept_in: str | None = None
    next_try_at: datetime | None = None
    delivered_at: datetime | None = None
    failed_at: datetime | None = None


async def list_events(
    session: AsyncSession,
    *,
    state: EventState | None = None,
    name: str | None = None,
    recorded_before: datetime | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[EventView]:
    """Return events, those recorded last first; each filter that is given narrows it."""
    chosen: dict[str, Any] = {"name": name, "recorded_before": recorded_before, "cursor": cursor, "limit": limit}
    found: list[EventView] = []
    if state is not EventState.DEAD:
        delivered = None if state is None else state is EventState.DELIVERED
        found += map(_outbox_view, await repository.events_page(session, delivered=delivered, **chosen))
    if state in {None, EventState.DEAD}:
        found += map(_dead_letter_view, await repository.dead_letters_page(session, **chosen))
    found.sort(key=lambda view: (view.recorded_at, view.public_id), reverse=True)
    return page_of(found[: limit + 1], limit=limit, key=lambda view: (view.recorded_at, view.public_id))


async def read_event(session: AsyncSession, *, public_id: UUID) -> EventView:
    """
    Return one event by its public id, or by that of its dead letter.

    :raises NotFound: when there is none, or it was delivered longer ago than such are kept
    """
    row = await repository.event(session, public_id)
    if row is not None:
        return _outbox_view(row)
    letter = await repository.dead_letter(session, public_id)
    if letter is not None:
        return _dead_letter_view(letter)
    raise NotFound(f"There is no event {public_id}.")


def _outbox_view(row: OutboxEvent) -> EventView:
    waits = row.delivered_at is None
    return EventView(
        public_id=row.public_id,
        state=EventState.WAITING if waits else EventState.DELIVERED,
        name=row.name,
        aggregate_type=row.aggregate_type,
        aggregate=row.aggregate_id,
        payload=row.payload,
        attempts=row.attempts,
        error=row.last_error,
        recorded_at=row.created_at,
        next_try_at=row.available_at if waits else None,
        delivered_at=row.delivered_at,
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
        failed_at=row.failed_at,
    )
