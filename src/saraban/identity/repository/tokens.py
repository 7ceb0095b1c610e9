"""Reads and writes refresh tokens by their digest."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import RefreshToken


async def for_update(session: AsyncSession, *, token_hash: str) -> RefreshToken | None:
    """The row, locked: of two requests with the same token one rotates it and the other finds it rotated."""
    statement = sa.select(RefreshToken).where(RefreshToken.token_hash == token_hash).with_for_update()
    return await session.scalar(statement)


async def revoke_family(session: AsyncSession, *, family: UUID, now: datetime) -> None:
    await session.execute(_revocation(now).where(RefreshToken.family == family))


async def revoke_all(session: AsyncSession, *, user_id: int, but: str | None = None, now: datetime) -> None:
    """:param but: the digest of a token whose chain goes on"""
    others = _revocation(now).where(RefreshToken.user_id == user_id)
    if but is not None:
        found = sa.select(RefreshToken.family).where(RefreshToken.token_hash == but, RefreshToken.user_id == user_id)
        family = await session.scalar(found)
        others = others.where(RefreshToken.family != family) if family is not None else others
    await session.execute(others)


async def family_lives(session: AsyncSession, *, family: UUID, now: datetime) -> bool:
    living = sa.exists().where(
        RefreshToken.family == family, RefreshToken.is_revoked.is_(False), RefreshToken.expires_at > now
    )
    return bool(await session.scalar(sa.select(living)))


async def forget_expired(session: AsyncSession, *, before: datetime, limit: int) -> int:
    """Found by a plain read and deleted by primary key, so that no range is locked while people log in."""
    old = sa.select(RefreshToken.token_id).where(RefreshToken.expires_at < before).limit(limit)
    keys = (await session.scalars(old)).all()
    if keys:
        await session.execute(sa.delete(RefreshToken).where(RefreshToken.token_id.in_(keys)))
    return len(keys)


def _revocation(now: datetime) -> sa.Update:
    return (
        sa.update(RefreshToken)
        .where(RefreshToken.is_revoked.is_(False))
        .values(is_revoked=True, revoked_at=now, updated_at=now)
        .execution_options(synchronize_session=False)
    )
