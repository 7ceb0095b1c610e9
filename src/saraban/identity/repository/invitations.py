"""Reads and writes invitations by account and by the digest of their token."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User, UserInvitation


async def invited(session: AsyncSession, *, token_hash: str, now: datetime, lock: bool = False) -> User | None:
    """The account that a token opens at this moment, with `lock` for its change; None for a closed account too."""
    statement = (
        sa.select(User)
        .join(UserInvitation, UserInvitation.user_id == User.user_id)
        .where(UserInvitation.token_hash == token_hash, UserInvitation.expires_at > now)
        .where(User.is_active.is_(True), User.deleted_at.is_(None))
    )
    return await session.scalar(statement.with_for_update() if lock else statement)


async def of_user(session: AsyncSession, user_id: int) -> UserInvitation | None:
    statement = sa.select(UserInvitation).where(UserInvitation.user_id == user_id).with_for_update()
    return await session.scalar(statement)


async def close(session: AsyncSession, *, user_id: int) -> None:
    await session.execute(sa.delete(UserInvitation).where(UserInvitation.user_id == user_id))
