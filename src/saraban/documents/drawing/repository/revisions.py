"""Revisions of drawings as documents carry them and as people name them."""

from collections.abc import Collection
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import KINDS, Audience, AudienceKind, DrawingKind
from saraban.documents.drawing.repository.tables import tables_of
from saraban.kit.db import AnySelect
from saraban.kit.statements import PreparedStatement
from saraban.projects.models import Project


class CarriedRevision(NamedTuple):
    """A revision with as much of its drawing as a document needs that carries it."""

    key: int
    public_id: UUID
    label: str | None
    title: str
    title_en: str | None
    is_current: bool | None
    number: str
    drawing_public_id: UUID
    project_id: int
    project_public_id: UUID
    originator_id: int | None
    audience_kind: int
    audience_id: int

    @property
    def audience(self) -> Audience:
        return AudienceKind(self.audience_kind), self.audience_id


def _carried(kind: DrawingKind) -> AnySelect:
    tables = tables_of(kind)
    head, revision = tables.head, tables.revision
    return (
        sa.select(
            revision.id,
            revision.public_id,
            revision.revision_label,
            revision.title,
            revision.title_en,
            revision.is_current,
            sa.func.coalesce(revision.drawing_number, tables.number).label("number"),
            head.public_id.label("drawing"),
            head.project_id,
            Project.public_id.label("project"),
            head.originator_id,
            head.audience_kind,
            head.audience_id,
        )
        .join(head, head.id == tables.drawing)
        .join(Project, Project.id == head.project_id)
    )


def _sought(kind: DrawingKind, column: Any) -> PreparedStatement:
    return PreparedStatement(_carried(kind).where(column.in_(sa.bindparam("sought", expanding=True))))


_BY_PUBLIC_ID: Final = {kind: _sought(kind, tables_of(kind).revision.public_id) for kind in KINDS.values()}
_BY_KEY: Final = {kind: _sought(kind, tables_of(kind).revision.id) for kind in KINDS.values()}


async def revisions_by_public_id(
    session: AsyncSession, kind: DrawingKind, public_ids: Collection[UUID]
) -> list[CarriedRevision]:
    rows = await _BY_PUBLIC_ID[kind].rows(session, sought=list(public_ids))
    return [CarriedRevision(*row) for row in rows]


async def revisions_by_key(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[CarriedRevision]:
    return [CarriedRevision(*row) for row in await _BY_KEY[kind].rows(session, sought=list(keys))]


async def current_by_number(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str]
) -> list[CarriedRevision]:
    """Return what is current of the drawings with these numbers."""
    tables = tables_of(kind)
    current = sa.and_(tables.revision.is_current == sa.true())
    statement = _carried(kind).where(tables.head.project_id == project_id, tables.number.in_(numbers), current)
    return [CarriedRevision(*row) for row in await session.execute(statement)]


async def numbers_now(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str]
) -> dict[str, str]:
    """Return the number that a drawing goes by, for each of those that it goes by or an earlier revision was printed with."""
    tables = tables_of(kind)
    place, printed = tables.head.project_id == project_id, tables.revision.drawing_number
    current = await session.scalars(sa.select(tables.number).where(place, tables.number.in_(numbers)))
    found = {number: number for number in current}
    if earlier := set(numbers) - found.keys():  # sought apart: along no index
        statement = sa.select(printed, tables.number).join(tables.head, tables.head.id == tables.drawing)
        rows = await session.execute(statement.where(place, printed.in_(earlier)))
        found |= {before: number for before, number in rows if before is not None}
    return found
