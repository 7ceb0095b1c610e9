"""The queue of changes and its nodes."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import cache
from typing import Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.clock import SystemClock
from saraban.kit.db import table_of
from saraban.search_index.domain.kinds import NameOf
from saraban.search_index.models import SearchChange, SearchNode

ABSENT: Final = timedelta(days=1)  # absence after which a node keeps no rows, and must rebuild its index
_CLOCK: Final = SystemClock(ZoneInfo("UTC"))
_changes, _nodes = table_of(SearchChange), table_of(SearchNode)


async def note_changes(session: AsyncSession, kind: int, public_ids: Iterable[UUID]) -> None:
    """:param kind: a value of `SearchKind` or `NameOf`"""
    if rows := [{"kind": int(kind), "head_uuid": public_id} for public_id in public_ids]:
        await session.execute(sa.insert(_changes), rows)


@cache
def _queue_statement(kind: int, heads: sa.Table) -> sa.Insert:
    keys: sa.BindParameter[list[int]] = sa.bindparam("keys", expanding=True)
    rows = sa.select(sa.literal(kind), heads.c.uuid).where(heads.c.id.in_(keys)).order_by(heads.c.id)
    return sa.insert(_changes).from_select(["kind", "head_uuid"], rows)


async def note_keys(session: AsyncSession, kind: int, heads: sa.Table, keys: Collection[int]) -> None:
    await session.execute(_queue_statement(kind, heads), {"keys": list(keys)})


async def queue_renamed(
    session: AsyncSession, *, organizations: Collection[UUID] = (), people: Collection[UUID] = ()
) -> None:
    """Call it in the transaction that changes the names."""
    await note_changes(session, NameOf.ORGANIZATION, organizations)
    await note_changes(session, NameOf.PERSON, people)


class Change(NamedTuple):
    id: int
    kind: int
    head_uuid: UUID


async def changes_after(session: AsyncSession, position: int, *, limit: int | None = None) -> list[Change]:
    statement = sa.select(_changes).where(_changes.c.id > position).order_by(_changes.c.id).limit(limit)
    return [Change(*row) for row in await session.execute(statement)]


async def read_position(session: AsyncSession, node: UUID) -> int | None:
    """None for a node that is unknown or was absent for too long."""
    return await session.scalar(sa.select(_nodes.c.position).where(_nodes.c.id == node))


async def add_node(node: UUID, session: AsyncSession) -> int:
    """Return its position, which no open transaction's `id` precedes."""
    position = await session.scalar(sa.select(sa.func.max(_nodes.c.position))) or 0
    await session.execute(sa.insert(_nodes).values(id=node, position=position, seen_at=_CLOCK.now()))
    return position


async def remove_node(node: UUID, session: AsyncSession) -> None:
    await session.execute(sa.delete(_nodes).where(_nodes.c.id == node))


async def record_position(node: UUID, session: AsyncSession, position: int) -> bool:
    """Also delete changes that every node has read; False for an unknown node."""
    now = _CLOCK.now()
    saved = await session.execute(sa.update(_nodes).where(_nodes.c.id == node).values(position=position, seen_at=now))
    if saved.rowcount == 0:  # type: ignore[attr-defined]
        return False
    await session.execute(sa.delete(_nodes).where(_nodes.c.seen_at < now - ABSENT))
    slowest = await session.scalar(sa.select(sa.func.min(_nodes.c.position)))
    await session.execute(sa.delete(_changes).where(_changes.c.id <= slowest))
    return True
