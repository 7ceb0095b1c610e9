"""The statements about files, and what other features see of a row."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import AttachmentRow
from saraban.attachments.models import Attachment
from saraban.kit.statements import PreparedStatement


async def by_public_id(session: AsyncSession, public_id: UUID) -> Attachment | None:
    return await session.scalar(sa.select(Attachment).where(Attachment.public_id == public_id))


async def lock(session: AsyncSession, *, public_ids: Collection[UUID]) -> dict[UUID, Attachment]:
    """Lock the rows in one order, so that two requests about the same files wait instead of colliding."""
    statement = (
        sa.select(Attachment)
        .where(Attachment.public_id.in_(public_ids))
        .order_by(Attachment.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {row.public_id: row for row in await session.scalars(statement)}


ROW_COLUMNS: Sequence[Any] = (  # in the order of an `AttachmentRow`
    Attachment.id,
    Attachment.public_id,
    Attachment.original_filename,
    Attachment.mime_type,
    Attachment.file_size,
    Attachment.checksum,
    Attachment.file_path,
    Attachment.is_temporary,
    Attachment.uploaded_by_user_id,
    Attachment.created_at,
    Attachment.expires_at,
    Attachment.workflow_history_id,
)
_OF_STEPS = PreparedStatement(
    sa.select(*ROW_COLUMNS)
    .where(Attachment.workflow_history_id.in_(sa.bindparam("histories", expanding=True)))
    .order_by(Attachment.created_at, Attachment.public_id)
)


async def of_steps(session: AsyncSession, *, history_ids: Collection[str]) -> Sequence[AttachmentRow]:
    if not history_ids:
        return []
    return [AttachmentRow(*row) for row in await _OF_STEPS.rows(session, histories=list(history_ids))]


async def expired(session: AsyncSession, *, before: datetime, limit: int) -> Sequence[tuple[int, str]]:
    """Return id and storage key of temporary files that nobody can claim any more."""
    statement = (
        sa.select(Attachment.id, Attachment.file_path)
        .where(Attachment.is_temporary.is_(True), Attachment.expires_at < before)
        .order_by(Attachment.expires_at)
        .limit(limit)
    )
    return [(row.id, row.file_path) for row in await session.execute(statement)]


async def forget(session: AsyncSession, ids: Collection[int]) -> None:
    """Delete temporary rows; a row that was claimed meanwhile stays."""
    await session.execute(sa.delete(Attachment).where(Attachment.id.in_(ids), Attachment.is_temporary.is_(True)))


def as_row(row: Attachment) -> AttachmentRow:
    return AttachmentRow(
        id=row.id,
        public_id=row.public_id,
        file_name=row.original_filename,
        mime_type=row.mime_type,
        size=row.file_size,
        checksum=row.checksum,
        storage_key=row.file_path,
        is_temporary=row.is_temporary,
        uploaded_by_user_id=row.uploaded_by_user_id,
        created_at=row.created_at,
        expires_at=row.expires_at,
        workflow_history_id=row.workflow_history_id,
    )
