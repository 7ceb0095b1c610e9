"""Statements of the outbox."""

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
    Lock the oldest due event of each of up to `limit` aggregates.

    The first statement locks nothing, because a locking range read would block inserts on MariaDB. It reads spare keys,
    because other workers lock some of them. An oldest event stays the oldest until it is delivered.
    """
    older = aliased(OutboxEvent)
    blocked = sa.exists().where(
        older.aggregate_type == OutboxEvent.aggregate_type,
        older.aggregate_id == OutboxEvent.aggregate_id,
        older.delivered_at.is_(None),
        older.id < OutboxEvent.id,
    )
    statement = (
        sa.select(OutboxEvent.id)
        .where(*_due_conditions(now, lane), ~blocked)
        .order_by(OutboxEvent.available_at, OutboxEvent.id)
        .limit(limit * SPARE)
    )
    keys = (await session.scalars(statement)).all()
    if not keys:
        return []
    locking = _by_key(
        sa.select(OutboxEvent.id, *_PARTS)
        .where(OutboxEvent.id.in_(keys), *_due_conditions(now, lane))
        .order_by(OutboxEvent.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return (await session.execute(locking)).all()


# Parameter of the conditions of `what_waits`.
NOW = sa.bindparam("now", type_=UtcDateTime())


def due_in(lane: Lane) -> sa.ColumnElement[bool]:
    """Return a condition that also finds events that wait for older ones."""
    return sa.select(OutboxEvent.id).where(*_due_conditions(NOW, lane)).exists()


@lru_cache(maxsize=16)
def _select_conditions(conditions: tuple[sa.ColumnElement[bool], ...]) -> AnySelect:
    return sa.select(*(condition.label(f"waits_{number}") for number, condition in enumerate(conditions)))


async def what_waits(
    session: AsyncSession, conditions: tuple[sa.ColumnElement[bool], ...], *, now: datetime
) -> Sequence[bool]:
    return [bool(value) for value in (await session.execute(_select_conditions(conditions), {"now": now})).one()]


def _due_conditions(
    now: datetime | sa.BindParameter[datetime], lane: Lane | None
) -> tuple[sa.ColumnElement[bool], ...]:
    conditions = (
        OutboxEvent.delivered_at.is_(None),
        OutboxEvent.available_at <= now,
        sa.or_(OutboxEvent.claimed_until.is_(None), OutboxEvent.claimed_until < now),
    )
    return (*conditions, *_lane_conditions(lane))


def _lane_conditions(lane: Lane | None) -> tuple[sa.ColumnElement[bool], ...]:
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
    Return keys of events whose tokens are still valid.

    With a further condition MariaDB can use another index and wait for other deliveries.
    """
    statement = _by_key(
        sa.select(OutboxEvent.public_id, OutboxEvent.id, OutboxEvent.claimed_by, OutboxEvent.delivered_at)
        .where(OutboxEvent.id.in_(list(tokens)))
        .order_by(OutboxEvent.id)
        .with_for_update()
    )
    rows = (await session.execute(statement)).all()
    claimed = [row for row in rows if row.delivered_at is None and row.claimed_by == tokens[row.id]]
    return {row.public_id: row.id for row in claimed}


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
    row = await session.scalar(sa.select(OutboxEvent).where(OutboxEvent.public_id == public_id).with_for_update())
    if row is None or row.delivered_at is not None or row.claimed_by != token:
        return None
    return row


async def delete_delivered(session: AsyncSession, *, before: datetime) -> int:
    statement = sa.select(OutboxEvent.id).where(OutboxEvent.delivered_at < before).limit(PURGE_STEP)
    keys = (await session.scalars(statement)).all()
    if keys:
        await session.execute(sa.delete(OutboxEvent).where(OutboxEvent.id.in_(keys)))
    return len(keys)


async def count(session: AsyncSession, lane: Lane | None) -> tuple[int, datetime | None, int]:
    """Return the waiting events, the time of the oldest, and the dead letters."""
    waiting = sa.select(sa.func.count(), sa.func.min(OutboxEvent.created_at))
    depth, oldest = (
        await session.execute(waiting.where(OutboxEvent.delivered_at.is_(None), *_lane_conditions(lane)))
    ).one()
    dead = await session.scalar(sa.select(sa.func.count()).select_from(DeadLetter))
    return depth, oldest, dead or 0


async def lock_dead_letter(session: AsyncSession, public_id: UUID) -> DeadLetter | None:
    key = await session.scalar(sa.select(DeadLetter.id).where(_has_public_id(public_id)).limit(1))
    if key is None:
        return None
    return await session.scalar(sa.select(DeadLetter).where(DeadLetter.id == key).with_for_update())


async def dead_letter(session: AsyncSession, public_id: UUID) -> DeadLetter | None:
    return await session.scalar(sa.select(DeadLetter).where(_has_public_id(public_id)).limit(1))


def _has_public_id(public_id: UUID) -> sa.ColumnElement[bool]:
    return sa.or_(DeadLetter.public_id == public_id, DeadLetter.event_uuid == public_id)


async def event(session: AsyncSession, public_id: UUID) -> OutboxEvent | None:
    return await session.scalar(sa.select(OutboxEvent).where(OutboxEvent.public_id == public_id))


async def events_page(
    session: AsyncSession, wanted: EventSearch, *, cursor: str | None, limit: int
) -> Sequence[OutboxEvent]:
    statement = sa.select(OutboxEvent)
    if wanted.state is not None:
        delivered_at = OutboxEvent.delivered_at
        statement = statement.where(
            delivered_at.is_not(None) if wanted.state is EventState.DELIVERED else delivered_at.is_(None)
        )
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


async def count_reported(session: AsyncSession, *, since: datetime) -> int:
    statement = sa.select(sa.func.count()).select_from(DeadLetter).where(DeadLetter.notified_at > since)
    return await session.scalar(statement) or 0


async def lock_unreported(session: AsyncSession, *, limit: int) -> Sequence[DeadLetter]:
    statement = sa.select(DeadLetter.id).where(DeadLetter.notified_at.is_(None)).order_by(DeadLetter.id).limit(limit)
    keys = (await session.scalars(statement)).all()
    if not keys:
        return []
    locking = (
        sa.select(DeadLetter)
        .where(DeadLetter.id.in_(keys), DeadLetter.notified_at.is_(None))
        .with_for_update(skip_locked=True)
    )
    return (await session.scalars(locking)).all()


async def record_heartbeat(session: AsyncSession, *, worker: UUID, host: str, process_id: int) -> None:
    """Use the database's clock; the first heartbeat removes rows of an hour ago."""
    now = await database_now(session)
    row = await session.scalar(sa.select(WorkerHeartbeat).where(WorkerHeartbeat.public_id == worker))
    if row is None:
        await session.execute(sa.delete(WorkerHeartbeat).where(WorkerHeartbeat.beat_at < now - timedelta(hours=1)))
        row = WorkerHeartbeat(public_id=worker, host=host, process_id=process_id, started_at=now)
        session.add(row)
    row.beat_at = now


async def heartbeat_age(db: Database) -> float:
    """Return seconds, or infinity without a worker."""
    async with db.reading() as session:
        newest = await session.scalar(sa.select(sa.func.max(WorkerHeartbeat.beat_at)))
        return (await database_now(session) - newest).total_seconds() if newest else math.inf
