"""The queue by which search learns what was written."""

from collections.abc import Collection, Iterable
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import table_of
from saraban.search_index.models import SearchPending

_table = table_of(SearchPending)


async def note_changes(session: AsyncSession, kind: int, public_ids: Iterable[UUID]) -> None:
    """
    Have search read these anew once the transaction has ended.

    :param kind: as `SearchPending` has it
    """
    await session.execute(sa.insert(_table), [{"kind": kind, "head_uuid": one} for one in public_ids])


async def queue_keys(session: AsyncSession, kind: int, heads: sa.Table, keys: Collection[int]) -> None:
    """Do the same with many by their keys."""
    found = sa.select(sa.literal(kind), heads.c.uuid).where(heads.c.id.in_(keys)).order_by(heads.c.id)
    await session.execute(sa.insert(_table).from_select(["kind", "head_uuid"], found))
