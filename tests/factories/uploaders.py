"""Somebody who uploads files into an empty database."""

from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller
from saraban.identity.models import User
from saraban.kit.db import Database

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)


async def uploader(db: Database) -> Caller:
    async def work(session: AsyncSession) -> Caller:
        user = User(username="u", password_hash="!", email="u@saraban.invalid", created_at=NOW, updated_at=NOW)
        session.add(user)
        await session.flush()
        return Caller(user.user_id, user.public_id, "u", "u", None, frozenset(), ())

    return await db.transact(work)
