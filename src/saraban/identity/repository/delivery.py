"""Reads and writes how people want to be told things."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User, UserPreference


async def rows(session: AsyncSession, *, user_ids: Collection[int]) -> Sequence[Any]:
    """One (user, preference or null) for each user that exists, closed ones too."""
    statement = (
        sa.select(User, UserPreference)
        .outerjoin(UserPreference, UserPreference.user_id == User.user_id)
        .where(User.user_id.in_(user_ids))
    )
    return (await session.execute(statement)).all()


async def locked_preference(session: AsyncSession, *, user_id: int) -> UserPreference | None:
    """Hold the account's row first, so that two first choices do not meet."""
    await session.execute(sa.select(User.user_id).where(User.user_id == user_id).with_for_update())
    return await session.get(UserPreference, user_id)
