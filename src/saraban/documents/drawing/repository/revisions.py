"""Lookups of drawing revisions."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import Audience, AudienceKind, DrawingKind
from saraban.documents.drawing.repository.tables import Condition, tables_of
from saraban.kit.db import AnySelect
from saraban.kit.text import Spellings


class SeenRevision(NamedTuple):
    key: int
    public_id: UUID
    label: str | None
    title: str
    title_en: str | None
    is_current: bool | None
    number: str
    drawing_public_id: UUID
    project_id: int
    originator_id: int | None
    audience_kind: int
    audience_id: int

    @property
    def audience(self) -> Audience:
        return AudienceKind(self.audience_kind), self.audience_id


async def _select_revisions(session: AsyncSession, kind: DrawingKind, *conditions: Condition) -> list[SeenRevision]:
    tables = tables_of(kind)
    head, revision = tables.head, tables.revision
    statement: AnySelect = sa.select(
        revision.id,
        revision.public_id,
        revision.revision_label,
        revision.title,
        revision.title_en,
        revision.is_current,
        sa.func.coalesce(revision.drawing_number, tables.number),
        head.public_id,
        head.project_id,
        head.originator_id,
        head.audience_kind,
        head.audience_id,
    )
    rows = await session.execute(statement.join(head, head.id == tables.drawing).where(*conditions))
    return [SeenRevision(*row) for row in rows]


async def revisions_by_public_id(
    session: AsyncSession, kind: DrawingKind, public_ids: Collection[UUID], *, project_id: int | None
) -> list[SeenRevision]:
    tables = tables_of(kind)
    in_project = tables.head.project_id == project_id if project_id is not None else sa.true()
    return await _select_revisions(session, kind, tables.revision.public_id.in_(public_ids), in_project)


async def revisions_by_key(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> dict[int, SeenRevision]:
    """Return revisions without an audience check."""
    rows = await _select_revisions(session, kind, tables_of(kind).revision.id.in_(keys)) if keys else ()
    return {row.key: row for row in rows}


async def current_by_number(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str]
) -> list[SeenRevision]:
    tables = tables_of(kind)
    is_current = tables.revision.is_current == sa.true()
    return await _select_revisions(
        session, kind, tables.head.project_id == project_id, tables.is_numbered(numbers), is_current
    )


async def numbers_now(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str]
) -> dict[str, str]:
    """Return present numbers by present or earlier printed numbers."""
    tables = tables_of(kind)
    place, printed = tables.head.project_id == project_id, tables.revision.drawing_number
    current = await session.scalars(sa.select(tables.number).where(place, tables.is_numbered(numbers)))
    present_numbers = Spellings({number: number for number in current}).of(numbers)
    if earlier := set(numbers) - present_numbers.keys():  # in a statement of its own: it uses no index
        statement = sa.select(printed, tables.number).join(tables.head, tables.head.id == tables.drawing)
        rows = await session.execute(statement.where(place, printed.in_(earlier)))
        present_numbers |= {before: number for before, number in rows if before is not None}
    return present_numbers
