"""The statements of the outbox: who may deliver what, locked so that two workers never hold one event."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.events.domain import EventSearch, EventState, Lane
from saraban.events.models import DeadLetter, OutboxEvent, WorkerHeartbeat
from saraban.kit.db import AnyRow, AnySelect, Database, UtcDateTime, database_now
from saraban.kit.pagination import newest_first

PURGE_STEP = 1000
SPARE = 4
_PARTS = (
    *(OutboxEvent.public_id, OutboxEvent.name, OutboxEvent.aggregate_type, OutboxEvent.aggregate_id),
    *(OutboxEvent.payload, OutboxEvent.created_at, OutboxEvent.attempts),
)


async def lock_due(session: AsyncSession, now: datetime, limit: int, *, lane: Lane | None = None) -> Sequence[AnyRow]:
    """
    Lock the oldest undelivered event of each of up to `limit` aggregates, of those that are due, and give
    the key of each, with the parts of an `Event` after it.

    Two steps: the oldest ones are found by a read that locks nothing, then locked by primary key and checked again;
    a locking range read would lock the neighbours' inserts out on MariaDB. Once an event is its aggregate's oldest it
    stays so until it is delivered, which makes the first step safe. More are found than are locked, because several
    workers find the same ones and each steps over what another holds.
    """
    older = aliased(OutboxEvent)
    blocked = sa.exists().where(
        older.aggregate_type == OutboxEvent.aggregate_type,
        older.aggregate_id == OutboxEvent.aggregate_id,
        older.delivered_at.is_(None),
        older.id < OutboxEvent.id,
    )
    found = (
        sa.select(OutboxEvent.id)
        .where(*_due(now, lane), ~blocked)
        .order_by(OutboxEvent.available_at, OutboxEvent.id)
        .limit(limit * SPARE)
    )
    keys = (await session.scalars(found)).all()
    if not keys:
        return []
    locked = _by_key(
        sa.select(OutboxEvent.id, *_PARTS)
        .where(OutboxEvent.id.in_(keys), *_due(now, lane))
        .order_by(OutboxEvent.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return (await session.execute(locked)).all()


# What a look at the database for several kinds of work has in common: each is a condition with this moment in it.
NOW = sa.bindparam("now", type_=UtcDateTime())


def due_in(lane: Lane) -> sa.ColumnElement[bool]:
    """Say, with `NOW` given, whether a claim is worth a writing transaction; it may be wrong about events that must wait."""
    return sa.select(OutboxEvent.id).where(*_due(NOW, lane)).exists()


@lru_cache(maxsize=16)
def _what_waits(conditions: tuple[sa.ColumnElement[bool], ...]) -> AnySelect:
    return sa.select(*(one.label(f"waits_{number}") for number, one in enumerate(conditions)))


async def what_waits(
    session: AsyncSession, conditions: tuple[sa.ColumnElement[bool], ...], *, now: datetime
) -> Sequence[bool]:
    """Return which of the conditions hold, with one statement."""
    return [bool(one) for one in (await session.execute(_what_waits(conditions), {"now": now})).one()]


def _due(now: datetime | sa.BindParameter[datetime], lane: Lane | None) -> tuple[sa.ColumnElement[bool], ...]:
    due = (
        OutboxEvent.delivered_at.is_(None),
        OutboxEvent.available_at <= now,
        sa.or_(OutboxEvent.claimed_until.is_(None), OutboxEvent.claimed_until < now),
    )
    return (*due, *_of(lane))


def _of(lane: Lane | None) -> tuple[sa.ColumnElement[bool], ...]:
    if lane is None or not lane.names:
        return () if lane is None or not lane.outside else (sa.false(),)
    names = sorted(lane.names)
    return (OutboxEvent.name.in_(names) if lane.outside else OutboxEvent.name.not_in(names),)


async def lease(session: AsyncSession, *, keys: Sequence[int], token: str, until: datetime) -> None:
    if keys:
        await session.execute(
            sa.update(OutboxEvent)
            .where(OutboxEvent.id.in_(keys))
            .values(claimed_by=token, claimed_until=until)
            .execution_options(synchronize_session=False)
        )


async def lock_claimed(session: AsyncSession, *, tokens: Mapping[int, str]) -> dict[UUID, int]:
    """
    Lock those of the events, by key, that their tokens still hold, and return their keys by public id.

    By primary key alone: a condition more, and MariaDB may walk another index and wait for what others deliver.
    """
    found = _by_key(
        sa.select(OutboxEvent.public_id, OutboxEvent.id, OutboxEvent.claimed_by, OutboxEvent.delivered_at)
        .where(OutboxEvent.id.in_(list(tokens)))
        .order_by(OutboxEvent.id)
        .with_for_update()
    )
    rows = (await session.execute(found)).all()
    held = [row for row in rows if row.delivered_at is None and row.claimed_by == tokens[row.id]]
    return {row.public_id: row.id for row in held}


def _by_key(statement: Any) -> Any:
    for dialect in ("mysql", "mariadb"):
        statement = statement.with_hint(OutboxEvent, "FORCE INDEX (PRIMARY)", dialect)
    return statement


async def mark_delivered(session: AsyncSession, *, keys: Sequence[int], now: datetime) -> None:
    if keys:
        await session.execute(
            sa.update(OutboxEvent)
            .where(OutboxEvent.id.in_(keys))
            .values(attempts=OutboxEvent.attempts + 1, delivered_at=now, claimed_by=None, claimed_until=None)
            .execution_options(synchronize_session=False)
        )


async def lock_one_claimed(session: AsyncSession, *, public_id: UUID, token: str) -> OutboxEvent | None:
    """Lock an event if `token` still holds it."""
    row = await session.scalar(sa.select(OutboxEvent).where(OutboxEvent.public_id == public_id).with_for_update())
    if row is None or row.delivered_at is not None or row.claimed_by != token:
        return None
    return row


async def delete_delivered(session: AsyncSession, *, before: datetime) -> int:
    old = sa.select(OutboxEvent.id).where(OutboxEvent.delivered_at < before).limit(PURGE_STEP)
    keys = (await session.scalars(old)).all()
    if keys:
        await session.execute(sa.delete(OutboxEvent).where(OutboxEvent.id.in_(keys)))
    return len(keys)


async def count(session: AsyncSession, lane: Lane | None) -> tuple[int, datetime | None, int]:
    """Return the number of waiting events, when the oldest was recorded, and the number of dead letters."""
    waiting = sa.select(sa.func.count(), sa.func.min(OutboxEvent.created_at))
    depth, oldest = (await session.execute(waiting.where(OutboxEvent.delivered_at.is_(None), *_of(lane)))).one()
    dead = await session.scalar(sa.select(sa.func.count()).select_from(DeadLetter))
    return depth, oldest, dead or 0


async def lock_dead_letter(session: AsyncSession, public_id: UUID) -> DeadLetter | None:
    """Lock a dead letter, named by its own public id or by that of its event."""
    key = await session.scalar(sa.select(DeadLetter.id).where(_named(public_id)).limit(1))
    if key is None:
        return None
    return await session.scalar(sa.select(DeadLetter).where(DeadLetter.id == key).with_for_update())


async def dead_letter(session: AsyncSession, public_id: UUID) -> DeadLetter | None:
    return await session.scalar(sa.select(DeadLetter).where(_named(public_id)).limit(1))


def _named(public_id: UUID) -> sa.ColumnElement[bool]:
    return sa.or_(DeadLetter.public_id == public_id, DeadLetter.event_uuid == public_id)


async def event(session: AsyncSession, public_id: UUID) -> OutboxEvent | None:
    return await session.scalar(sa.select(OutboxEvent).where(OutboxEvent.public_id == public_id))


async def events_page(
    session: AsyncSession, wanted: EventSearch, *, cursor: str | None, limit: int
) -> Sequence[OutboxEvent]:
    statement = sa.select(OutboxEvent)
    if wanted.state is not None:
        done = OutboxEvent.delivered_at
        statement = statement.where(done.is_not(None) if wanted.state is EventState.DELIVERED else done.is_(None))
    if wanted.name is not None:
        statement = statement.where(OutboxEvent.name == wanted.name)
    at, key = OutboxEvent.created_at, OutboxEvent.public_id
    if wanted.recorded_before is not None:
        statement = statement.where(at < wanted.recorded_before)
    return (await session.scalars(newest_first(statement, at=at, public_id=key, cursor=cursor, limit=limit))).all()


async def dead_letters_page(
    session: AsyncSession, wanted: EventSearch, *, cursor: str | None, limit: int
) -> Sequence[DeadLetter]:
    statement = sa.select(DeadLetter)
    if wanted.name is not None:
        statement = statement.where(DeadLetter.name == wanted.name)
    at, key = DeadLetter.recorded_at, DeadLetter.event_uuid
    if wanted.recorded_before is not None:
        statement = statement.where(at < wanted.recorded_before)
    return (await session.scalars(newest_first(statement, at=at, public_id=key, cursor=cursor, limit=limit))).all()


async def any_unreported(session: AsyncSession) -> bool:
    return await session.scalar(sa.select(DeadLetter.id).where(DeadLetter.notified_at.is_(None)).limit(1)) is not None


async def count_reported_since(session: AsyncSession, *, since: datetime) -> int:
    found = sa.select(sa.func.count()).select_from(DeadLetter).where(DeadLetter.notified_at > since)
    return await session.scalar(found) or 0


async def lock_unreported(session: AsyncSession, *, limit: int) -> Sequence[DeadLetter]:
    found = sa.select(DeadLetter.id).where(DeadLetter.notified_at.is_(None)).order_by(DeadLetter.id).limit(limit)
    keys = (await session.scalars(found)).all()
    if not keys:
        return []
    locked = (
        sa.select(DeadLetter)
        .where(DeadLetter.id.in_(keys), DeadLetter.notified_at.is_(None))
        .with_for_update(skip_locked=True)
    )
    return (await session.scalars(locked)).all()


async def record_heartbeat(session: AsyncSession, *, worker: UUID, host: str, process_id: int) -> None:
    """Record, by the database's clock, that a worker lives; its first beat removes the rows of an hour ago."""
    now = await database_now(session)
    row = await session.scalar(sa.select(WorkerHeartbeat).where(WorkerHeartbeat.public_id == worker))
    if row is None:
        await session.execute(sa.delete(WorkerHeartbeat).where(WorkerHeartbeat.beat_at < now - timedelta(hours=1)))
        row = WorkerHeartbeat(public_id=worker, host=host, process_id=process_id, started_at=now)
        session.add(row)
    row.beat_at = now


async def heartbeat_age(db: Database) -> float:
    """Return the seconds since the newest heartbeat of any worker; infinity where there is none."""
    async with db.reading() as session:
        newest = await session.scalar(sa.select(sa.func.max(WorkerHeartbeat.beat_at)))
        return (await database_now(session) - newest).total_seconds() if newest else math.inf
