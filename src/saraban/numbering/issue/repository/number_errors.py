"""The table of refused and failed calls: written, read newest first, deleted when old."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.db import AnySelect
from saraban.kit.pagination import Page, newest_first, page_of
from saraban.numbering.series.models import NumberError, NumberErrorRow

_INSERT = sa.insert(cast(sa.Table, NumberError.__table__))


async def errors_page(
    session: AsyncSession,
    *,
    kind: str | None,
    username: str | None,
    trace: str | None,
    since: datetime | None,
    cursor: str | None,
    limit: int,
) -> Page[NumberErrorRow]:
    statement: AnySelect = sa.select(NumberError, User.username).outerjoin(User, User.user_id == NumberError.user_id)
    if kind is not None:
        statement = statement.where(NumberError.error_type == kind)
    if username is not None:
        statement = statement.where(User.username == username)
    if trace is not None:
        statement = statement.where(NumberError.trace_id == trace)
    if since is not None:
        statement = statement.where(NumberError.created_at >= since)
    statement = newest_first(
        statement, at=NumberError.created_at, public_id=NumberError.public_id, cursor=cursor, limit=limit
    )
    rows = [NumberErrorRow(*row) for row in (await session.execute(statement)).all()]
    return page_of(rows, limit=limit, key=lambda row: (row.error.created_at, row.error.public_id))


async def existing_errors(session: AsyncSession, public_ids: Sequence[UUID]) -> frozenset[UUID]:
    """Return which of these rows stand there already."""
    rows = await session.scalars(sa.select(NumberError.public_id).where(NumberError.public_id.in_(public_ids)))
    return frozenset(rows)


async def insert_errors(session: AsyncSession, rows: Sequence[dict[str, object]]) -> None:
    await session.execute(_INSERT, list(rows))


async def delete_errors(session: AsyncSession, *, before: datetime, limit: int) -> int:
    """Delete the oldest rows from before a moment, at most `limit`, and return their number."""
    old = sa.select(NumberError.id).where(NumberError.created_at < before).order_by(NumberError.created_at)
    ids = (await session.scalars(old.limit(limit))).all()
    if ids:
        await session.execute(sa.delete(NumberError).where(NumberError.id.in_(ids)))
    return len(ids)
