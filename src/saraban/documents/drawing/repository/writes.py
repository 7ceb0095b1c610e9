"""Statements that lock and change drawings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from pydantic.alias_generators import to_camel
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.documents.core.models import DocumentRevision
from saraban.documents.drawing.domain import ASBUILT, SHOP, Audience, AudienceKind, DrawingKind
from saraban.documents.drawing.models import Drawing, RfaItemClaim
from saraban.documents.drawing.repository.tables import REFERENCES, tables_of
from saraban.kit.db import table_of
from saraban.kit.errors import invalid, unknown
from saraban.kit.keys import spelled
from saraban.projects.models import (
    ContractDrawingCategory,
    ContractDrawingCategoryPair,
    ContractDrawingSubCategory,
    ContractDrawingVolume,
    RfaApproveCode,
    ShopDrawingMainCategory,
    ShopDrawingSubCategory,
)


async def lock(session: AsyncSession, kind: DrawingKind, drawing_id: int) -> Drawing:
    """Lock a drawing, and return it with fresh values."""
    head = tables_of(kind).head
    statement = sa.select(head).where(head.id == drawing_id).with_for_update()
    return (await session.scalars(statement.execution_options(populate_existing=True))).one()


async def lock_revisions(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[int]:
    """Lock revisions in the order of ids, and return the current ones."""
    revision = tables_of(kind).revision
    statement = sa.select(revision.id, revision.is_current).where(revision.id.in_(keys)).order_by(revision.id)
    return [key for key, is_current in await session.execute(statement.with_for_update()) if is_current]


_CLAIM_COLUMNS: Final = {SHOP: RfaItemClaim.shop_drawing_revision_id, ASBUILT: RfaItemClaim.asbuilt_drawing_revision_id}


async def is_claimed(session: AsyncSession, kind: DrawingKind, key: int) -> bool:
    """Return whether an open RFA carries the revision. Lock it first."""
    return (
        await session.scalar(sa.select(RfaItemClaim.id).where(_CLAIM_COLUMNS[kind] == key).with_for_update())
        is not None
    )


async def submitted_revisions(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> set[int]:
    column = _CLAIM_COLUMNS[kind]
    statement = (
        sa.select(column)
        .join(DocumentRevision, DocumentRevision.id == RfaItemClaim.rfa_revision_id)
        .where(column.in_(keys), DocumentRevision.issued_date.is_not(None))
    )
    return {key for key in await session.scalars(statement) if key is not None}


async def current_by_revision(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> dict[int, int]:
    tables = tables_of(kind)
    current = aliased(tables.revision)
    drawing = tables.drawing.key
    statement = (
        sa.select(tables.revision.id, current.id)
        .join(current, sa.and_(getattr(current, drawing) == tables.drawing, current.is_current == sa.true()))
        .where(tables.revision.id.in_(keys))
    )
    return {key: latest for key, latest in await session.execute(statement)}  # noqa: C416  the rows are no pairs


async def link_files(
    session: AsyncSession,
    kind: DrawingKind,
    revision_id: int,
    attached: Sequence[tuple[int, str]],
    *,
    has_main: bool = False,
) -> None:
    """:param attached: keys and types; the first becomes the main file unless `has_main`"""
    tables = tables_of(kind)
    session.add_all(
        tables.file(
            attachment_id=key,
            file_type=file_type,
            is_main_document=place == 0 and not has_main,
            **{tables.of_file.key: revision_id},
        )
        for place, (key, file_type) in enumerate(attached)
    )
    await session.flush()


async def contract_columns(session: AsyncSession, project_id: int, given: Mapping[str, object]) -> dict[str, object]:
    """
    :param given: by field name; an absent field gives no column
    :raises Invalid: for an unknown or closed code, or codes that are no pair
    """
    columns = {"volume_page": given["volume_page"]} if "volume_page" in given else {}
    if "volume_code" in given:
        columns["volume_id"] = await _find_key(
            session, ContractDrawingVolume.volume_code, project_id, given, "volume_code"
        )
    if not given.keys() & {"category_code", "sub_category_code"}:
        return columns
    category = await _find_key(session, ContractDrawingCategory.cat_code, project_id, given, "category_code")
    sub = await _find_key(session, ContractDrawingSubCategory.sub_cat_code, project_id, given, "sub_category_code")
    if category is None and sub is None:
        return {**columns, "map_cat_id": None}
    pair = ContractDrawingCategoryPair
    of_both = sa.select(pair.id).where(pair.project_id == project_id, pair.cat_id == category, pair.sub_cat_id == sub)
    pair_id = await session.scalar(of_both) if category is not None and sub is not None else None
    if pair_id is None:
        raise invalid(
            "/subCategoryCode" if category is not None else "/categoryCode",
            "not_paired",
            "หมวดและหมวดย่อยต้องเป็นคู่ที่โครงการกำหนดไว้",
            "Category and sub category must be a pair that the project allows.",
        )
    return {**columns, "map_cat_id": pair_id}


async def shop_columns(session: AsyncSession, project_id: int, given: Mapping[str, object]) -> dict[str, object]:
    """:raises Invalid: for an unknown or closed code"""
    columns = {
        "main_category_id": (ShopDrawingMainCategory.main_category_code, "category_code"),
        "sub_category_id": (ShopDrawingSubCategory.sub_category_code, "sub_category_code"),
    }
    return {
        name: await _find_key(session, code, project_id, given, field)
        for name, (code, field) in columns.items()
        if field in given
    }


async def _find_key(
    session: AsyncSession, column: Any, project_id: int, given: Mapping[str, object], field: str
) -> int | None:
    code = given.get(field)
    if not isinstance(code, str):
        return None
    model = column.class_
    statement = sa.select(model.id).where(model.project_id == project_id, model.is_active)
    if (key := await session.scalar(spelled(statement, column, code))) is None:
        raise unknown(f"/{to_camel(field)}", code)
    return int(key)


async def save_response_code(session: AsyncSession, kind: DrawingKind, revision_id: int, *, code: str) -> None:
    tables = tables_of(kind)
    revision, head = table_of(tables.revision), table_of(tables.head)
    key = sa.select(RfaApproveCode.id).where(RfaApproveCode.approve_code == code).scalar_subquery()
    await session.execute(sa.update(revision).where(revision.c.id == revision_id).values(rfa_approve_code_id=key))
    drawing = sa.select(tables.drawing).where(tables.revision.id == revision_id).scalar_subquery()
    await session.execute(sa.update(head).where(head.c.id == drawing).values(version=head.c.version + 1))


async def replace_tags(session: AsyncSession, kind: DrawingKind, drawing_id: int, tag_ids: Collection[int]) -> None:
    table = tables_of(kind).tagged
    await session.execute(sa.delete(table).where(table.c.drawing_id == drawing_id))
    if tag_ids:
        await session.execute(sa.insert(table), [{"drawing_id": drawing_id, "tag_id": key} for key in tag_ids])


async def link(session: AsyncSession, kind: DrawingKind, revision_id: int, targets: Sequence[int]) -> None:
    tables = REFERENCES[kind]
    session.add_all(tables.link(**{tables.source.key: revision_id, tables.target.key: target}) for target in targets)
    await session.flush()


@dataclass(frozen=True, slots=True)
class ReferenceTarget:
    key: int
    audience: Audience


async def targets_by_public_id(
    session: AsyncSession, kind: DrawingKind, public_ids: Collection[UUID], *, project_id: int
) -> dict[UUID, ReferenceTarget]:
    """Return drawings for a kind that is referred to as a whole, else revisions."""
    tables = tables_of(kind)
    head, target = tables.head, tables.head if kind.whole else tables.revision
    statement = (
        sa.select(target.public_id, target.id, head.audience_kind, head.audience_id)
        .join(tables.revision, tables.drawing == head.id)
        .where(target.public_id.in_(public_ids), head.project_id == project_id)
    )
    return {
        public_id: ReferenceTarget(key, (AudienceKind(audience_kind), audience_id))
        for public_id, key, audience_kind, audience_id in await session.execute(statement)
    }
