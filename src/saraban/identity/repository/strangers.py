"""Wrong log-ins under names that no account has."""

import hashlib
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.lockout import Failures
from saraban.identity.models import LoginFailure


async def past(session: AsyncSession, *, name: str) -> Failures:
    return failures_of(await session.get(LoginFailure, _digest(name)))


async def for_update(session: AsyncSession, *, name: str) -> LoginFailure | None:
    statement = sa.select(LoginFailure).where(LoginFailure.name_hash == _digest(name)).with_for_update()
    return await session.scalar(statement.execution_options(populate_existing=True))


def failures_of(row: LoginFailure | None) -> Failures:
    return Failures(row.failures, row.locked_until) if row else Failures(0, None)


async def keep(
    session: AsyncSession, row: LoginFailure | None, *, name: str, failures: Failures, now: datetime
) -> None:
    if row is None:
        row = LoginFailure(name_hash=_digest(name))
        session.add(row)
    row.failures, row.locked_until, row.updated_at = failures.count, failures.locked_until, now
    await session.flush()


async def forget(session: AsyncSession, *, before: datetime, limit: int) -> int:
    old = (
        await session.scalars(sa.select(LoginFailure.name_hash).where(LoginFailure.updated_at < before).limit(limit))
    ).all()
    if old:
        await session.execute(sa.delete(LoginFailure).where(LoginFailure.name_hash.in_(old)))
    return len(old)


def _digest(name: str) -> str:
    # What is typed in the place of a name is now and then a password, so only its digest is kept.
    return hashlib.sha256(name.encode()).hexdigest()
