"""Rows of what RFAs ask approval for, and of the claims that keep a drawing revision in one open RFA at a time."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.drawing.domain import ASBUILT, SHOP, DrawingKind
from saraban.documents.drawing.models import (
    AsbuiltDrawing,
    AsbuiltDrawingRevision,
    DrawingRevision,
    RfaItemClaim,
    ShopDrawing,
    ShopDrawingRevision,
)
from saraban.documents.rfa.models import RfaItem, RfaRevision
from saraban.kit.db import table_of
from saraban.kit.statements import PreparedStatement
from saraban.projects.models import RfaApproveCode

DOCUMENT: Final = "DOCUMENT"


@dataclass(frozen=True, slots=True)
class ItemColumns:
    """Where an item names a revision of one kind of drawing, and where a claim does."""

    item_type: str
    item: InstrumentedAttribute[int | None]
    claim: InstrumentedAttribute[int | None]
    revision: type[DrawingRevision]
    head: type[ShopDrawing | AsbuiltDrawing]
    drawing: InstrumentedAttribute[int]
    number: InstrumentedAttribute[str]


DRAWINGS: Final[Mapping[DrawingKind, ItemColumns]] = {
    SHOP: ItemColumns(
        "SHOP",
        RfaItem.shop_drawing_revision_id,
        RfaItemClaim.shop_drawing_revision_id,
        ShopDrawingRevision,
        ShopDrawing,
        ShopDrawingRevision.shop_drawing_id,
        ShopDrawing.drawing_number,
    ),
    ASBUILT: ItemColumns(
        "AS_BUILT",
        RfaItem.asbuilt_drawing_revision_id,
        RfaItemClaim.asbuilt_drawing_revision_id,
        AsbuiltDrawingRevision,
        AsbuiltDrawing,
        AsbuiltDrawingRevision.asbuilt_drawing_id,
        AsbuiltDrawing.drawing_number,
    ),
}


class ItemKey(NamedTuple):
    """
    What an RFA carries.

    :param kind: None for a document
    :param key: of the revision of the drawing, or of the document
    """

    kind: DrawingKind | None
    key: int


class RfaItemRow(NamedTuple):
    """
    An item with what it is called.

    :param public_id: of the revision of the drawing, or of the document
    :param drawing: public id of the drawing, None for a document
    """

    rfa_revision_id: int
    carries: ItemKey
    approve_code: str | None
    approve_name: str | None
    approve_name_en: str | None
    comment: str | None
    public_id: UUID
    number: str
    label: str | None
    title: str
    title_en: str | None
    is_current: bool | None
    drawing: UUID | None


def _items() -> PreparedStatement:
    of_rfa = RfaItem.rfa_revision_id.in_(sa.bindparam("revisions", expanding=True))

    def named(key: Any, *columns: Any) -> Any:
        return (
            sa.select(
                RfaItem.id.label("item"),
                RfaItem.item_type,
                RfaItem.rfa_revision_id,
                key.label("carried"),
                RfaApproveCode.approve_code,
                RfaApproveCode.approve_name,
                RfaApproveCode.approve_name_en,
                RfaItem.comment,
                *columns,
            )
            .outerjoin(RfaApproveCode, RfaApproveCode.id == RfaItem.rfa_approve_code_id)
            .where(of_rfa, key.is_not(None))
        )

    listed = [
        named(
            columns.item,
            columns.revision.public_id,
            sa.func.coalesce(columns.revision.drawing_number, columns.number),
            columns.revision.revision_label,
            columns.revision.title,
            columns.revision.title_en,
            columns.revision.is_current,
            columns.head.public_id.label("drawing"),
        )
        .join(columns.revision, columns.revision.id == columns.item)
        .join(columns.head, columns.head.id == columns.drawing)
        for columns in DRAWINGS.values()
    ]
    revision = DocumentRevision
    listed.append(
        named(
            RfaItem.document_revision_id,
            Document.public_id,
            revision.correspondence_number,
            revision.revision_label,
            revision.subject,
            sa.null(),
            revision.is_current,
            sa.null(),
        )
        .join(revision, revision.id == RfaItem.document_revision_id)
        .join(Document, Document.id == revision.correspondence_id)
    )
    return PreparedStatement(sa.union_all(*listed).order_by("item"))


_ITEMS = _items()
_KINDS: Final = {columns.item_type: kind for kind, columns in DRAWINGS.items()}


async def items(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, list[RfaItemRow]]:
    """Return what revisions of RFAs carry, each in the order of its list."""
    found: dict[int, list[RfaItemRow]] = defaultdict(list)
    for _, item_type, rfa_revision_id, key, *named in await _ITEMS.rows(session, revisions=list(revision_ids)):
        found[rfa_revision_id].append(RfaItemRow(rfa_revision_id, ItemKey(_KINDS.get(item_type), key), *named))
    return found


def _carried() -> PreparedStatement:
    item, revision = RfaItem, DocumentRevision
    of_rfa = item.rfa_revision_id == sa.bindparam("revision", type_=sa.Integer)

    def named(key: Any, public_id: Any) -> Any:
        return sa.select(item.id.label("item"), item.item_type, key.label("carried"), public_id).where(of_rfa)

    listed = [
        named(columns.item, columns.revision.public_id).join(columns.revision, columns.revision.id == columns.item)
        for columns in DRAWINGS.values()
    ]
    documents = named(item.document_revision_id, Document.public_id)
    documents = documents.join(revision, revision.id == item.document_revision_id)
    listed.append(documents.join(Document, Document.id == revision.correspondence_id))
    return PreparedStatement(sa.union_all(*listed).order_by("item"))


_CARRIED = _carried()


async def carried(session: AsyncSession, revision_id: int) -> dict[UUID, ItemKey]:
    """Return what a revision of an RFA carries, by public id, in the order of its list."""
    rows = await _CARRIED.rows(session, revision=revision_id)
    return {public_id: ItemKey(_KINDS.get(item_type), key) for _, item_type, key, public_id in rows}


class ClaimedRevision(NamedTuple):
    key: int | None
    rfa_public_id: UUID
    rfa_number: str


async def claims(
    session: AsyncSession, kind: DrawingKind, keys: Collection[int], *, but: int = 0
) -> list[ClaimedRevision]:
    """
    Return which revisions an open RFA carries.

    :param but: a revision of an RFA that does not count
    """
    rows = await _CLAIMS[kind].rows(session, keys=list(keys), but=but) if keys else ()
    return [ClaimedRevision(*row) for row in rows]


def _claims(kind: DrawingKind) -> PreparedStatement:
    column, but = DRAWINGS[kind].claim, sa.bindparam("but", type_=sa.Integer)
    return PreparedStatement(
        sa.select(column, Document.public_id, Document.correspondence_number)
        .join(DocumentRevision, DocumentRevision.id == RfaItemClaim.rfa_revision_id)
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .where(column.in_(sa.bindparam("keys", expanding=True)), RfaItemClaim.rfa_revision_id != but)
    )


_CLAIMS: Final = {kind: _claims(kind) for kind in DRAWINGS}


async def add(session: AsyncSession, revision: int, keys: Sequence[ItemKey]) -> None:
    """Add what a revision of an RFA carries, and claim the drawings among it."""
    if keys:
        await session.execute(sa.insert(table_of(RfaItem)), [_item(revision, one) for one in keys])
    claims: list[dict[str, int | None]] = [
        {
            "rfa_revision_id": revision,
            **{columns.claim.key: one.key if kind is one.kind else None for kind, columns in DRAWINGS.items()},
        }
        for one in keys
        if one.kind is not None
    ]
    if claims:
        await session.execute(sa.insert(table_of(RfaItemClaim)), claims)


def _item(revision: int, one: ItemKey) -> dict[str, object]:
    return {
        "rfa_revision_id": revision,
        "item_type": DOCUMENT if one.kind is None else DRAWINGS[one.kind].item_type,
        **{columns.item.key: one.key if kind is one.kind else None for kind, columns in DRAWINGS.items()},
        "document_revision_id": one.key if one.kind is None else None,
    }


async def remove(session: AsyncSession, revision_id: int) -> None:
    """Take everything out of a revision of an RFA that nobody has been given yet."""
    await release(session, [revision_id])
    await session.execute(sa.delete(RfaItem).where(RfaItem.rfa_revision_id == revision_id))


async def release(session: AsyncSession, revision_ids: Collection[int]) -> None:
    """Let the drawings that revisions of RFAs carry be asked for anew."""
    await session.execute(sa.delete(RfaItemClaim).where(RfaItemClaim.rfa_revision_id.in_(revision_ids)))


async def approve_codes(session: AsyncSession) -> list[RfaApproveCode]:
    code = RfaApproveCode
    statement = sa.select(code).where(code.is_active).order_by(code.sort_order, code.approve_code)
    return list(await session.scalars(statement))


async def answer(
    session: AsyncSession, revision_id: int, carried: Sequence[ItemKey], *, code: int, comment: str | None
) -> None:
    values: dict[str, object] = {"rfa_approve_code_id": code, "comment": comment}
    named = {kind: columns.item.key for kind, columns in DRAWINGS.items()}
    for kind in (*DRAWINGS, None):
        keys = [one.key for one in carried if one.kind is kind]
        if keys:
            column = "document_revision_id" if kind is None else named[kind]
            table = table_of(RfaItem)
            where = (table.c.rfa_revision_id == revision_id, table.c[column].in_(keys))
            await session.execute(sa.update(table).where(*where).values(values))


def _statements() -> tuple[PreparedStatement, ...]:
    """
    The statements by which a final answer reaches the items that have none, and all of them their drawings.

    They join, and start from the items: MariaDB would look at every row of a register for an `IN` with a subquery.
    """
    item = table_of(RfaItem)
    of_rfa: Any = item.c.rfa_revision_id.in_(sa.bindparam("revisions", expanding=True))
    verdict = sa.select(RfaRevision.rfa_approve_code_id).where(RfaRevision.id == item.c.rfa_revision_id)
    found: list[Any] = [
        sa.update(item)
        .where(of_rfa, item.c.rfa_approve_code_id.is_(None))
        .values(rfa_approve_code_id=verdict.scalar_subquery())
    ]
    for columns in DRAWINGS.values():
        revision, head = table_of(columns.revision), table_of(columns.head)
        carried = (of_rfa, item.c[columns.item.key] == revision.c.id, item.c.rfa_approve_code_id.is_not(None))
        found += [
            sa.update(revision).where(*carried).values({revision.c.rfa_approve_code_id: item.c.rfa_approve_code_id}),
            sa.update(head)
            .where(*carried, revision.c[columns.drawing.key] == head.c.id)
            .values({head.c.version: head.c.version + 1}),
        ]
    return tuple(PreparedStatement(one) for one in found)


_CLOSING: Final = _statements()


async def close(session: AsyncSession, revision_ids: Collection[int]) -> None:
    """Give items without an answer that of their RFA, and the answers to the drawings."""
    for statement in _CLOSING:
        await session.execute(statement.statement, {"revisions": list(revision_ids)})


class AskedRevision(NamedTuple):
    key: int
    public_id: UUID
    approve_code: str | None


async def asked_revisions(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[AskedRevision]:
    revision = DRAWINGS[kind].revision
    statement = (
        sa.select(revision.id, revision.public_id, RfaApproveCode.approve_code)
        .outerjoin(RfaApproveCode, RfaApproveCode.id == revision.rfa_approve_code_id)
        .where(revision.id.in_(keys))
    )
    return [AskedRevision(*row) for row in await session.execute(statement)] if keys else []


class CarryingRfa(NamedTuple):
    key: int | None
    rfa_revision_id: int
    rfa_public_id: UUID
    approve_code: str | None
    approve_name: str | None
    approve_name_en: str | None


async def carriers(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[CarryingRfa]:
    """Return the revisions of RFAs that carry revisions of drawings, the newest first."""
    column = DRAWINGS[kind].item
    statement = (
        sa.select(
            column,
            DocumentRevision.id,
            Document.public_id,
            RfaApproveCode.approve_code,
            RfaApproveCode.approve_name,
            RfaApproveCode.approve_name_en,
        )
        .select_from(RfaItem)
        .join(DocumentRevision, DocumentRevision.id == RfaItem.rfa_revision_id)
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .outerjoin(RfaApproveCode, RfaApproveCode.id == RfaItem.rfa_approve_code_id)
        .where(column.in_(keys))
        .order_by(DocumentRevision.id.desc())
    )
    return [CarryingRfa(*row) for row in await session.execute(statement)]
