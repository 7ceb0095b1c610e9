"""The rows that only a transmittal has: its purpose and what it carries."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.documents.core.models import Correspondence, CorrespondenceRevision
from saraban.documents.transmittal.models import Transmittal, TransmittalItem
from saraban.projects.models import CorrespondenceType


@dataclass(frozen=True, slots=True)
class Carried:
    """A document in a transmittal, as it was last issued."""

    public_id: UUID
    number: str
    type_code: str
    subject: str
    quantity: int
    remarks: str | None


async def purposes(session: AsyncSession, *, document_ids: Collection[int]) -> dict[int, str | None]:
    statement = sa.select(Transmittal.correspondence_id, Transmittal.purpose).where(
        Transmittal.correspondence_id.in_(document_ids)
    )
    return {row.correspondence_id: row.purpose for row in await session.execute(statement)}


async def add(session: AsyncSession, row: Transmittal, items: Iterable[TransmittalItem]) -> None:
    session.add(row)
    await session.flush()
    session.add_all(items)
    await session.flush()


async def carried(session: AsyncSession, *, document_id: int) -> list[Carried]:
    """This will give what a transmittal carries, in the order of its list."""
    revision, other = CorrespondenceRevision, aliased(CorrespondenceRevision)
    newest = (
        sa.select(sa.func.max(other.revision_number))
        .where(other.correspondence_id == Correspondence.id, other.issued_date.is_not(None))
        .correlate(Correspondence)
        .scalar_subquery()
    )
    statement = (
        sa.select(
            Correspondence.public_id,
            revision.correspondence_number,
            CorrespondenceType.type_code,
            revision.subject,
            TransmittalItem.quantity,
            TransmittalItem.remarks,
        )
        .join(Correspondence, Correspondence.id == TransmittalItem.item_correspondence_id)
        .join(CorrespondenceType, CorrespondenceType.id == Correspondence.correspondence_type_id)
        .join(
            revision,
            sa.and_(
                revision.correspondence_id == Correspondence.id,
                # What is a draft again was issued once, or it would not be here.
                revision.revision_number == sa.func.coalesce(newest, 0),
            ),
        )
        .where(TransmittalItem.transmittal_id == document_id)
        .order_by(TransmittalItem.id)
    )
    return [Carried(*row) for row in await session.execute(statement)]
