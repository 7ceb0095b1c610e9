"""The statements that write documents, their parties, references and links to files."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.models import (
    Document,
    DocumentRecipient,
    DocumentReference,
    DocumentRevision,
    DocumentRevisionAttachment,
)
from saraban.kit.db import table_of
from saraban.projects.models import CorrespondenceStatus


async def create_document(session: AsyncSession, row: Mapping[str, object]) -> int:
    """Insert a document's head, and return its key."""
    return await _insert(session, table_of(Document), row)


async def _insert(session: AsyncSession, table: sa.Table, row: Mapping[str, object]) -> int:
    inserted: Any = await session.execute(sa.insert(table).values(row))
    return int(inserted.inserted_primary_key[0])


async def create_relations(
    session: AsyncSession, *, document: int, recipients: Iterable[tuple[int, str]], references: Iterable[int]
) -> None:
    """Add the recipients of a new document and what it refers to."""
    sent_to = [
        {
            "correspondence_id": document,
            "recipient_organization_id": organization,
            "recipient_type": kind,
            "position": place,
        }
        for place, (organization, kind) in enumerate(recipients)
    ]
    if sent_to:
        await session.execute(sa.insert(table_of(DocumentRecipient)), sent_to)
    referred = [{"src_correspondence_id": document, "tgt_correspondence_id": target} for target in references]
    if referred:
        await session.execute(sa.insert(table_of(DocumentReference)), referred)


async def create_revision(session: AsyncSession, row: Mapping[str, object], *, status: str) -> int:
    """Insert a revision with the status of a code, and return its key."""
    key = sa.select(CorrespondenceStatus.id).where(CorrespondenceStatus.status_code == status).scalar_subquery()
    return await _insert(session, table_of(DocumentRevision), {**row, "correspondence_status_id": key})


async def add(session: AsyncSession, row: Document | DocumentRevision) -> None:
    session.add(row)
    await session.flush()


async def add_recipients(session: AsyncSession, *, document_id: int, recipients: Iterable[tuple[int, str]]) -> None:
    session.add_all(
        DocumentRecipient(
            correspondence_id=document_id, recipient_organization_id=organization, recipient_type=kind, position=place
        )
        for place, (organization, kind) in enumerate(recipients)
    )


async def add_references(session: AsyncSession, *, document_id: int, targets: Iterable[int]) -> None:
    session.add_all(
        DocumentReference(src_correspondence_id=document_id, tgt_correspondence_id=target) for target in targets
    )


async def replace_recipients(session: AsyncSession, *, document_id: int, recipients: Iterable[tuple[int, str]]) -> None:
    link = DocumentRecipient
    await session.execute(sa.delete(link).where(link.correspondence_id == document_id))
    await add_recipients(session, document_id=document_id, recipients=recipients)
    await session.flush()


async def replace_references(
    session: AsyncSession, *, document_id: int, gone: Collection[int], targets: Iterable[int]
) -> None:
    """Take some references of a document away, and add others."""
    link = DocumentReference
    await session.execute(
        sa.delete(link).where(link.src_correspondence_id == document_id, link.tgt_correspondence_id.in_(gone))
    )
    await add_references(session, document_id=document_id, targets=targets)
    await session.flush()


async def link_files(
    session: AsyncSession, *, revision_id: int, attachment_ids: Sequence[int], main_first: bool
) -> None:
    """Attach files to a revision; the first one becomes the main document when `main_first`."""
    session.add_all(
        DocumentRevisionAttachment(
            correspondence_revision_id=revision_id,
            attachment_id=attachment_id,
            is_main_document=main_first and place == 0,
        )
        for place, attachment_id in enumerate(attachment_ids)
    )
    await session.flush()


async def unlink_files(session: AsyncSession, *, revision_id: int, attachment_ids: Collection[int]) -> None:
    link = DocumentRevisionAttachment
    await session.execute(
        sa.delete(link).where(link.correspondence_revision_id == revision_id, link.attachment_id.in_(attachment_ids))
    )


async def change_revision(session: AsyncSession, *, revision_id: int, values: dict[str, Any]) -> None:
    """Change a revision, and raise its version."""
    revision = DocumentRevision
    await session.execute(
        sa.update(revision).where(revision.id == revision_id).values({**values, "version": revision.version + 1})
    )


async def change_head(session: AsyncSession, *, document_id: int, values: dict[str, Any]) -> None:
    """Change what all revisions of a document show, and raise the version of each."""
    await session.execute(sa.update(Document).where(Document.id == document_id).values(values))
    await raise_versions(session, document_id=document_id)


async def raise_versions(session: AsyncSession, *, document_id: int) -> None:
    revision = DocumentRevision
    await session.execute(
        sa.update(revision).where(revision.correspondence_id == document_id).values(version=revision.version + 1)
    )
