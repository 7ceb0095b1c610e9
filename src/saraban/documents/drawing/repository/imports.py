"""Bulk statements for imports."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.models import ContractDrawing, Drawing, DrawingRevision
from saraban.documents.drawing.repository.registers import DrawingRow, history
from saraban.documents.drawing.repository.tables import REFERENCES, tables_of
from saraban.kit.db import table_of
from saraban.kit.text import Spellings, sort_key
from saraban.projects.models import (
    ContractDrawingCategory,
    ContractDrawingCategoryPair,
    ContractDrawingSubCategory,
)


async def by_number(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str], lock: bool
) -> dict[str, list[DrawingRow]]:
    """Return the revisions of each drawing, newest last, locked in the order of ids if `lock`."""
    tables = tables_of(kind)
    head = tables.head
    is_named = sa.and_(head.project_id == project_id, tables.is_numbered(numbers))
    if lock:
        await session.execute(sa.select(head.id).where(is_named).order_by(head.id).with_for_update())
    drawings: dict[str, list[DrawingRow]] = {}
    for row in reversed(await history(session, kind, is_named)):
        drawings.setdefault(row.named["number"], []).append(row)
    return Spellings(drawings).of(numbers)


async def current_revisions(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str]
) -> Sequence[UUID]:
    tables = tables_of(kind)
    statement = (
        sa.select(tables.revision.public_id)
        .join(tables.head, tables.head.id == tables.drawing)
        .where(tables.head.project_id == project_id, tables.is_numbered(numbers))
        .where(tables.revision.is_current == sa.true())
    )
    return (await session.scalars(statement)).all()


async def insert_rows(
    session: AsyncSession, model: type[Drawing | DrawingRevision], rows: Sequence[Mapping[str, object]]
) -> None:
    """:param rows: each with the same columns"""
    if rows:
        await session.execute(sa.insert(table_of(model)), rows)


async def link_revisions(session: AsyncSession, kind: DrawingKind, pairs: Sequence[tuple[UUID, UUID]]) -> None:
    """:param pairs: public ids of a revision and its target"""
    if not pairs:
        return
    tables, other = REFERENCES[kind], tables_of(KINDS[kind.derives_from or ""])
    sources = await keys_of(session, tables_of(kind).revision, {source for source, _ in pairs})
    target_model = other.head if KINDS[kind.derives_from or ""].whole else other.revision
    targets = await keys_of(session, target_model, {target for _, target in pairs})
    rows = [{tables.source.key: sources[source], tables.target.key: targets[target]} for source, target in pairs]
    await session.execute(sa.insert(table_of(tables.link)), rows)


async def keys_of(
    session: AsyncSession, model: type[Drawing | DrawingRevision], public_ids: Collection[UUID]
) -> dict[UUID, int]:
    statement = sa.select(model.public_id, model.id).where(model.public_id.in_(public_ids))
    return {public_id: key for public_id, key in await session.execute(statement)}  # noqa: C416  the rows are no pairs


async def count_drawings(session: AsyncSession, *, project_id: int) -> int:
    heads = [tables_of(kind).head for kind in KINDS.values()]
    counts = [sa.select(sa.func.count()).where(head.project_id == project_id).scalar_subquery() for head in heads]
    return sum((await session.execute(sa.select(*counts))).one())


class EndedRevision(NamedTuple):
    """:param by: label of the superseding revision, like `title`"""

    drawing: int
    key: int
    public_id: UUID
    until: datetime
    by: str
    title: str


async def end_current(
    session: AsyncSession, kind: DrawingKind, ended: Sequence[EndedRevision], *, user: int, now: datetime
) -> None:
    """End current revisions. Call it before you add the next ones."""
    if not ended:
        return
    tables = tables_of(kind)
    revision, head = table_of(tables.revision), table_of(tables.head)
    by_key = sa.update(revision).where(revision.c.id == sa.bindparam("of"))
    values = by_key.values(is_current=None, current_until=sa.bindparam("until"))
    await session.execute(values, [{"of": revision.key, "until": revision.until} for revision in ended])
    titled: dict[str, object] = {"title": sa.bindparam("named")} if tables.head is ContractDrawing else {}
    touched = (
        sa.update(head)
        .where(head.c.id == sa.bindparam("of"))
        .values(version=head.c.version + 1, updated_at=now, updated_by=user, **titled)
    )
    await session.execute(touched, [{"of": end.drawing, **({"named": end.title} if titled else {})} for end in ended])


async def renumber(session: AsyncSession, kind: DrawingKind, numbers: Mapping[int, str]) -> None:
    tables = tables_of(kind)
    for key, number in numbers.items():
        values = {tables.number: number, tables.head.number_sort: sort_key(number)}
        await session.execute(sa.update(tables.head).where(tables.head.id == key).values(values))


class CategoryPair(NamedTuple):
    category: str
    sub_category: str


async def pairs(session: AsyncSession, *, project_id: int) -> set[CategoryPair]:
    pair = ContractDrawingCategoryPair
    statement = (
        sa.select(ContractDrawingCategory.cat_code, ContractDrawingSubCategory.sub_cat_code)
        .join(pair, pair.cat_id == ContractDrawingCategory.id)
        .join(ContractDrawingSubCategory, ContractDrawingSubCategory.id == pair.sub_cat_id)
        .where(pair.project_id == project_id)
    )
    return {CategoryPair(*row) for row in await session.execute(statement)}
