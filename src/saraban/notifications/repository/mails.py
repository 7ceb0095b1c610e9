"""The statements about e-mail that waits: who may send what, locked so that two workers never hold one mail."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.notifications.models import MailLine

STEP = 500
LONGEST = 100  # lines of one mail; what is more goes into the next


def _waiting() -> tuple[sa.ColumnElement[bool], ...]:
    return (MailLine.sent_at.is_(None), MailLine.given_up_at.is_(None))


def _due(now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    free = sa.or_(MailLine.claimed_until.is_(None), MailLine.claimed_until < now)
    return (*_waiting(), MailLine.due_at <= now, free)


async def already_mailed(session: AsyncSession, *, event_uuids: Collection[UUID]) -> set[tuple[UUID, int]]:
    """Return the events with the users who were told of them, or will be."""
    found = sa.select(MailLine.event_uuid, MailLine.user_id).where(MailLine.event_uuid.in_(event_uuids))
    return {(row[0], row[1]) for row in await session.execute(found)}


async def add(session: AsyncSession, *, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        await session.execute(sa.insert(MailLine), rows)


async def first_due(session: AsyncSession, now: datetime) -> int | None:
    """Return the key of the line that has waited longest, without locking anything."""
    return await session.scalar(
        sa.select(MailLine.id).where(*_due(now)).order_by(MailLine.due_at, MailLine.id).limit(1)
    )


async def lock_due(session: AsyncSession, key: int, now: datetime) -> MailLine | None:
    """Lock a line unless another worker was quicker."""
    return await session.scalar(
        sa.select(MailLine).where(MailLine.id == key, *_due(now)).with_for_update(skip_locked=True)
    )


async def lock_bundle(session: AsyncSession, first: MailLine) -> Sequence[MailLine]:
    """Lock what may share a mail with `first`, that line included, oldest first."""
    together = (MailLine.user_id == first.user_id, MailLine.bundle == first.bundle, MailLine.batch_uuid.is_(None))
    keys = (
        await session.scalars(sa.select(MailLine.id).where(*together, *_waiting()).order_by(MailLine.id).limit(LONGEST))
    ).all()
    locked = sa.select(MailLine).where(MailLine.id.in_({*keys, first.id}), MailLine.batch_uuid.is_(None), *_waiting())
    return (await session.scalars(locked.order_by(MailLine.id).with_for_update(skip_locked=True))).all()


async def lock_batch(session: AsyncSession, batch: UUID) -> Sequence[MailLine]:
    """Lock the lines of one mail that has not gone out, oldest first."""
    statement = sa.select(MailLine).where(MailLine.batch_uuid == batch, MailLine.sent_at.is_(None))
    return (await session.scalars(statement.order_by(MailLine.id).with_for_update())).all()


async def sent_since(session: AsyncSession, *, since: datetime) -> int:
    """Count mails, not lines."""
    found = sa.select(sa.func.count(sa.distinct(MailLine.batch_uuid))).where(MailLine.sent_at > since)
    return await session.scalar(found) or 0


async def delete_done(session: AsyncSession, *, before: datetime) -> int:
    done = sa.or_(MailLine.sent_at < before, MailLine.given_up_at < before)
    keys = (await session.scalars(sa.select(MailLine.id).where(done).limit(STEP))).all()
    if keys:
        await session.execute(sa.delete(MailLine).where(MailLine.id.in_(keys)))
    return len(keys)
