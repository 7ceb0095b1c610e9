"""The statements of the outbox: who may deliver what, locked so that two workers never hold one event."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.events.models import DeadLetter, OutboxEvent

PURGE_STEP = 1000


async def lock_due(session: AsyncSession, *, now: datetime, limit: int) -> Sequence[OutboxEvent]:
    """
    This will lock the oldest undelivered event of each of up to `limit` aggregates, of those that are due.

    Two steps: the oldest ones are found by a read that locks nothing, then locked by primary key and checked again;
    a locking range read would lock the neighbours' inserts out on MariaDB. Once an event is its aggregate's oldest it
    stays so until it is delivered, which makes the first step safe.
    """
    older = aliased(OutboxEvent)
    blocked = sa.exists().where(
        older.aggregate_type == OutboxEvent.aggregate_type,
        older.aggregate_id == OutboxEvent.aggregate_id,
        older.delivered_at.is_(None),
        older.id < OutboxEvent.id,
    )
    found = sa.select(OutboxEvent.id).where(*_due(now), ~blocked).order_by(OutboxEvent.id).limit(limit)
    keys = (await session.scalars(found)).all()
    if not keys:
        return []
    locked = (
        sa.select(OutboxEvent)
        .where(OutboxEvent.id.in_(keys), *_due(now))
        .order_by(OutboxEvent.id)
        .with_for_update(skip_locked=True)
    )
    return (await session.scalars(locked)).all()


def _due(now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        OutboxEvent.delivered_at.is_(None),
        OutboxEvent.available_at <= now,
        sa.or_(OutboxEvent.claimed_until.is_(None), OutboxEvent.claimed_until < now),
    )


async def lock_claimed(session: AsyncSession, *, public_id: UUID, token: str) -> OutboxEvent | None:
    """This will lock an event if `token` still holds it."""
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


async def count(session: AsyncSession) -> tuple[int, datetime | None, int]:
    """This will give the number of waiting events, when the oldest was recorded, and the number of dead letters."""
    waiting = sa.select(sa.func.count(), sa.func.min(OutboxEvent.created_at)).where(OutboxEvent.delivered_at.is_(None))
    depth, oldest = (await session.execute(waiting)).one()
    dead = await session.scalar(sa.select(sa.func.count()).select_from(DeadLetter))
    return depth, oldest, dead or 0


async def newest_dead(session: AsyncSession, *, limit: int) -> Sequence[DeadLetter]:
    return (await session.scalars(sa.select(DeadLetter).order_by(DeadLetter.id.desc()).limit(limit))).all()


async def lock_dead(session: AsyncSession, *, public_id: UUID) -> DeadLetter | None:
    found = sa.select(DeadLetter).where(DeadLetter.public_id == public_id).with_for_update()
    return await session.scalar(found)


async def announced_since(session: AsyncSession, *, since: datetime) -> int:
    found = sa.select(sa.func.count()).select_from(DeadLetter).where(DeadLetter.notified_at > since)
    return await session.scalar(found) or 0


async def lock_unannounced(session: AsyncSession, *, limit: int) -> Sequence[DeadLetter]:
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


async def any_due(session: AsyncSession, *, now: datetime) -> bool:
    """This will say whether a claim is worth a writing transaction; it may be wrong about events that must wait."""
    return await session.scalar(sa.select(OutboxEvent.id).where(*_due(now)).limit(1)) is not None
