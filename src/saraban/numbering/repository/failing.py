"""Refusals that are kept: which of them are."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.models import NumberError


async def kept(session: AsyncSession, public_ids: Sequence[UUID]) -> frozenset[UUID]:
    """This will say which of these rows stand there already."""
    rows = await session.scalars(sa.select(NumberError.public_id).where(NumberError.public_id.in_(public_ids)))
    return frozenset(rows)
