"""Statements about transmittals and their items."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.transmittal.models import Transmittal, TransmittalDrawing, TransmittalItem
from saraban.documents.transmittal.schemas import ItemAnswer
from saraban.identity.models import User
from saraban.kit.db import table_of
from saraban.projects.models import CorrespondenceType


@dataclass(frozen=True, slots=True)
class ItemState:
    item_id: int
    public_id: UUID
    number: str
    cancelled_at: datetime | None
    issued_revision_id: int | None
    issued_number: str | None
    issued_label: str | None
    issued_subject: str | None


_PURPOSES = sa.select(Transmittal.correspondence_id, Transmittal.purpose).where(
    Transmittal.correspondence_id.in_(sa.bindparam("documents", expanding=True))
)
_INSERT, _INSERT_ITEMS = sa.insert(table_of(Transmittal)), sa.insert(table_of(TransmittalItem))


async def purposes(session: AsyncSession, *, document_ids: Collection[int]) -> dict[int, str | None]:
    return dict((await session.execute(_PURPOSES, {"documents": list(document_ids)})).all())


async def create(session: AsyncSession, row: Mapping[str, object], items: Sequence[Mapping[str, object]]) -> None:
    await session.execute(_INSERT, row)
    if items:
        await session.execute(_INSERT_ITEMS, items)


_item, _revision = TransmittalItem, DocumentRevision
_TRANSMITTED = (
    sa.select(
        _item.transmittal_revision_id,
        Document.public_id.label("document_public_id"),
        # Old lists can contain documents without a revision.
        sa.func.coalesce(_item.document_number, _revision.correspondence_number, Document.correspondence_number).label(
            "document_number"
        ),
        sa.func.coalesce(_item.revision_label, _revision.revision_label).label("revision_label"),
        CorrespondenceType.type_code.label("document_type"),
        sa.func.coalesce(_item.subject, _revision.subject, "").label("subject"),
        _item.quantity,
        _item.remarks,
        sa.null().label("status"),
    )
    .join(Document, Document.id == _item.item_correspondence_id)
    .join(CorrespondenceType, CorrespondenceType.id == Document.correspondence_type_id)
    .outerjoin(_revision, _revision.id == _item.item_revision_id)
    .where(_item.transmittal_revision_id.in_(sa.bindparam("revisions", expanding=True)))
    .order_by(_item.id)
)


async def list_items(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, list[ItemAnswer]]:
    """Return the items by revision, in their order."""
    items: dict[int, list[ItemAnswer]] = defaultdict(list)
    for row in await session.execute(_TRANSMITTED, {"revisions": list(revision_ids)}):
        items[row.transmittal_revision_id].append(ItemAnswer.model_validate(row))
    return items


async def item_states(session: AsyncSession, *, revision_id: int) -> list[ItemState]:
    """Return the current state of the items, in their order."""
    issued, newer = DocumentRevision, aliased(DocumentRevision)
    newest = (
        sa.select(sa.func.max(newer.revision_number))
        .where(newer.correspondence_id == Document.id, newer.issued_date.is_not(None))
        .correlate(Document)
        .scalar_subquery()
    )
    statement = (
        sa.select(
            TransmittalItem.id,
            Document.public_id,
            Document.correspondence_number,
            Document.cancelled_at,
            issued.id,
            issued.correspondence_number,
            issued.revision_label,
            issued.subject,
        )
        .join(Document, Document.id == TransmittalItem.item_correspondence_id)
        .outerjoin(issued, sa.and_(issued.correspondence_id == Document.id, issued.revision_number == newest))
        .where(TransmittalItem.transmittal_revision_id == revision_id)
        .order_by(TransmittalItem.id)
    )
    return [ItemState(*row) for row in await session.execute(statement)]


async def change(session: AsyncSession, *, document_id: int, purpose: str) -> None:
    await session.execute(
        sa.update(Transmittal).where(Transmittal.correspondence_id == document_id).values(purpose=purpose)
    )


async def replace_items(session: AsyncSession, *, revision_id: int, items: Sequence[Mapping[str, object]]) -> None:
    await session.execute(sa.delete(TransmittalItem).where(TransmittalItem.transmittal_revision_id == revision_id))
    session.add_all(TransmittalItem(**item) for item in items)
    await session.flush()


async def copy_items(session: AsyncSession, *, before: int, revision_id: int) -> None:
    """Copy the list of the previous revision, with each document's newest issue."""
    newest = {state.item_id: state.issued_revision_id for state in await item_states(session, revision_id=before)}
    items = sa.select(TransmittalItem).where(TransmittalItem.id.in_(newest)).order_by(TransmittalItem.id)
    session.add_all(
        TransmittalItem(
            transmittal_id=item.transmittal_id,
            transmittal_revision_id=revision_id,
            item_correspondence_id=item.item_correspondence_id,
            item_revision_id=newest[item.id] or item.item_revision_id,
            quantity=item.quantity,
            remarks=item.remarks,
        )
        for item in (await session.scalars(items)).all()
    )
    await session.flush()


async def issuer(session: AsyncSession, *, revision_id: int) -> tuple[int, UUID]:
    """Return the originator and the author of the revision."""
    statement = (
        sa.select(Document.originator_id, User.public_id)
        .join(DocumentRevision, DocumentRevision.correspondence_id == Document.id)
        .join(User, User.user_id == DocumentRevision.created_by)
        .where(DocumentRevision.id == revision_id)
    )
    return (await session.execute(statement)).one()


async def save_issued_item(session: AsyncSession, item: ItemState) -> None:
    await session.execute(
        sa.update(TransmittalItem)
        .where(TransmittalItem.id == item.item_id)
        .values(
            item_revision_id=item.issued_revision_id,
            document_number=item.issued_number,
            revision_label=item.issued_label,
            subject=item.issued_subject,
        )
    )


async def save_issued_drawings(session: AsyncSession, rows: Sequence[Mapping[str, object]]) -> None:
    """:param rows: columns of each row, with its key as `item`"""
    if rows:
        table = table_of(TransmittalDrawing)
        await session.execute(sa.update(table).where(table.c.id == sa.bindparam("item")), rows)
