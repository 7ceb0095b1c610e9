"""Files and references of documents."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.models import Attachment
from saraban.documents.core.domain.visibility import Reach
from saraban.documents.core.models import Document, DocumentReference, DocumentRevision, DocumentRevisionAttachment
from saraban.documents.core.repository.documents import may_see_revision

_link = DocumentRevisionAttachment


@dataclass(frozen=True, slots=True)
class LinkedFile:
    attachment: Attachment
    is_main: bool


async def files(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, list[LinkedFile]]:
    """Return the files of each revision, the main document first."""
    statement = (
        sa.select(_link.correspondence_revision_id, Attachment, _link.is_main_document)
        .join(Attachment, Attachment.id == _link.attachment_id)
        .where(_link.correspondence_revision_id.in_(revision_ids))
        .order_by(_link.is_main_document.desc(), Attachment.created_at, Attachment.public_id)
    )
    found: dict[int, list[LinkedFile]] = {revision_id: [] for revision_id in revision_ids}
    for revision_id, attachment, is_main in await session.execute(statement):
        found[revision_id].append(LinkedFile(attachment, is_main))
    return found


async def reaches_file(session: AsyncSession, *, reach: Reach, attachment_id: int) -> bool:
    """Return whether a file hangs on a revision that the caller may see."""
    statement = (
        sa.select(_link.attachment_id)
        .join(DocumentRevision, DocumentRevision.id == _link.correspondence_revision_id)
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .where(_link.attachment_id == attachment_id, may_see_revision(reach))
        .limit(1)
    )
    return await session.scalar(statement) is not None


async def referenced(session: AsyncSession, *, document_id: int) -> tuple[list[UUID], list[UUID]]:
    """Return the public ids of what a document refers to, and of what refers to it."""
    reference = DocumentReference
    outgoing = sa.select(Document.public_id).join(reference, reference.tgt_correspondence_id == Document.id)
    incoming = sa.select(Document.public_id).join(reference, reference.src_correspondence_id == Document.id)
    return (
        list(await session.scalars(outgoing.where(reference.src_correspondence_id == document_id))),
        list(await session.scalars(incoming.where(reference.tgt_correspondence_id == document_id))),
    )
