"""Dead letters: events whose delivery was given up; kept until somebody drops them or puts them back."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import repository
from saraban.events.domain.event import Event
from saraban.events.models import DeadLetter, OutboxEvent
from saraban.kit.db import notify_after_commit
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, NotFound, Text
from saraban.kit.ids import new_id
from saraban.kit.json import JsonObject

# A dead letter names the queue its job came from; where it is kept is the other one.
QUEUE, DEAD_QUEUE = "workflow-events", "workflow-events-failed"


class EventNotDead(DomainError):
    """Only what was given up can be put back or dropped: everything else is still to be delivered, or was."""

    kind, code = ErrorKind.CONFLICT, "EVENT_NOT_DEAD"
    says = Text(
        "เหตุการณ์นี้ไม่ได้อยู่ในรายการที่ส่งไม่สำเร็จ จึงนำกลับมาส่งใหม่หรือทิ้งไม่ได้",
        "This event is not among the failed ones, so it can be neither retried nor dropped.",
    )
    recovery = (REFRESH,)


@dataclass(frozen=True, slots=True)
class DeadLetterView:
    """A dead letter, as operators and the ops webhook are told of it."""

    public_id: UUID
    event_public_id: UUID
    queue: str
    name: str
    data: JsonObject
    failed_at: datetime
    error: str


async def list_dead_letters(session: AsyncSession, *, limit: int = 100) -> list[DeadLetterView]:
    """Return the newest dead letters."""
    return [_dead(row) for row in await repository.newest_dead_letters(session, limit)]


async def take_unreported(session: AsyncSession, *, now: datetime, per_minute: int) -> list[DeadLetterView]:
    """Take dead letters that operators were not told of, so many that `per_minute` is not passed."""
    told_lately = await repository.count_reported_since(session, since=now - timedelta(minutes=1))
    rows = await repository.lock_unreported(session, limit=max(0, per_minute - told_lately))
    for row in rows:
        row.notified_at = now
    await session.flush()
    return [_dead(row) for row in rows]


async def add_dead_letter(
    session: AsyncSession,
    *,
    event: Event,
    queue: str,
    error: str,
    now: datetime,
) -> DeadLetterView:
    """
    Keep as a dead letter what another queue gave up, so that operators are told in the same way.

    :param queue: the one it came from
    :param event: what `requeue_dead_letter` puts into the outbox; its handler has to try again
    """
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
    return _dead(letter)


async def requeue_dead_letter(session: AsyncSession, *, public_id: UUID, now: datetime) -> DeadLetterView:
    """
    Put a dead letter back into the outbox, behind the newer events of its aggregate, under its first id.

    :param public_id: of the dead letter or of its event
    :raises NotFound: when there is no such event
    :raises EventNotDead: when the event was not given up
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
    notify_after_commit(session)
    return _dead(row)


async def delete_dead_letter(session: AsyncSession, *, public_id: UUID) -> DeadLetterView:
    """
    Delete a dead letter.

    :param public_id: of the dead letter or of its event
    :raises NotFound: when there is no such event
    :raises EventNotDead: when the event was not given up
    """
    row = await _dead_letter(session, public_id)
    await session.delete(row)
    await session.flush()
    return _dead(row)


async def move_to_dead_letters(session: AsyncSession, row: OutboxEvent, now: datetime) -> DeadLetterView:
    """Move an event from the outbox to the dead letters."""
    await session.delete(row)
    event = Event(
        row.public_id, row.name, row.aggregate_type, row.aggregate_id, row.payload, row.created_at, row.attempts
    )
    return await add_dead_letter(session, event=event, queue=QUEUE, error=row.last_error or "", now=now)


async def _dead_letter(session: AsyncSession, public_id: UUID) -> DeadLetter:
    row = await repository.lock_dead_letter(session, public_id)
    if row is None and await repository.event(session, public_id) is not None:
        raise EventNotDead
    if row is None:
        raise NotFound(f"There is no dead letter {public_id}.")
    return row


def _dead(row: DeadLetter) -> DeadLetterView:
    return DeadLetterView(
        public_id=row.public_id,
        event_public_id=row.event_uuid,
        queue=row.queue,
        name=row.name,
        data=row.data,
        failed_at=row.failed_at,
        error=row.error,
    )
