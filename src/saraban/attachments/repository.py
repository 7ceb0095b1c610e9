"""Queries about files and their texts."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import AttachmentRow, TextProblem
from saraban.attachments.domain.kinds import KINDS
from saraban.attachments.models import Attachment, AttachmentText
from saraban.kit.db import table_of
from saraban.projects.models import Project


async def by_public_id(session: AsyncSession, public_id: UUID) -> Attachment | None:
    return await session.scalar(sa.select(Attachment).where(Attachment.public_id == public_id))


_PROJECT = table_of(Project).c
_KINDS_OF_PUBLIC_ID = sa.select(_PROJECT.file_kinds).where(_PROJECT.uuid == sa.bindparam("project"))
_KINDS_OF_KEY = sa.select(_PROJECT.file_kinds).where(_PROJECT.id == sa.bindparam("project"))


async def project_kinds(session: AsyncSession, project: int | UUID | None) -> str:
    """Return extensions; empty for all."""
    statement = _KINDS_OF_PUBLIC_ID if isinstance(project, UUID) else _KINDS_OF_KEY
    return await session.scalar(statement, {"project": project}) or ""


async def lock(session: AsyncSession, *, public_ids: Collection[UUID]) -> dict[UUID, Attachment]:
    """Lock in one order, which avoids deadlocks."""
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


async def of_steps(session: AsyncSession, *, history_ids: Collection[str]) -> Sequence[AttachmentRow]:
    if not history_ids:
        return []
    statement = sa.select(*ROW_COLUMNS).where(Attachment.workflow_history_id.in_(history_ids))
    rows = await session.execute(statement.order_by(Attachment.created_at, Attachment.public_id))
    return [AttachmentRow(*row) for row in rows]


async def permanent_files(session: AsyncSession, *, after: int, limit: int) -> Sequence[AttachmentRow]:
    statement = sa.select(*ROW_COLUMNS).where(Attachment.id > after, Attachment.is_temporary == sa.false())
    return [AttachmentRow(*row) for row in await session.execute(statement.order_by(Attachment.id).limit(limit))]


async def expired(session: AsyncSession, *, before: datetime, limit: int) -> Sequence[tuple[int, str]]:
    """Return (id, storage key)."""
    statement = (
        sa.select(Attachment.id, Attachment.file_path)
        .where(Attachment.is_temporary.is_(True), Attachment.expires_at < before)
        .order_by(Attachment.expires_at)
        .limit(limit)
    )
    return [(row.id, row.file_path) for row in await session.execute(statement)]


async def forget(ids: Collection[int], session: AsyncSession) -> None:
    """Delete rows that are still temporary."""
    temporary = sa.and_(Attachment.id.in_(ids), Attachment.is_temporary.is_(True))
    texts = AttachmentText.attachment_id.in_(sa.select(Attachment.id).where(temporary))
    await session.execute(sa.delete(AttachmentText).where(texts))
    await session.execute(sa.delete(Attachment).where(temporary))


async def release(session: AsyncSession, ids: Collection[int], *, now: datetime) -> None:
    """Let the clean-up delete files without references; nobody can attach them again."""
    released = sa.update(Attachment).where(Attachment.id.in_(ids), Attachment.workflow_history_id.is_(None))
    await session.execute(released.values(is_temporary=True, expires_at=now))


def as_row(row: Attachment) -> AttachmentRow:
    return AttachmentRow(*(getattr(row, column.key) for column in ROW_COLUMNS))


class WaitingFile(NamedTuple):
    """`due` fences the lease of the worker that reads the file."""

    id: int
    public_id: UUID
    key: str
    mime_type: str
    due: datetime
    tries: int


def any_text_waits(now: sa.BindParameter[datetime]) -> sa.ColumnElement[bool]:
    return sa.select(Attachment.id).where(_text_waits(now)).exists()


def _text_waits(now: datetime | sa.BindParameter[datetime]) -> sa.ColumnElement[bool]:
    # `IS FALSE` would not use the index.
    return sa.and_(Attachment.is_temporary == sa.false(), Attachment.text_due_at <= now)


async def next_waiting_text(session: AsyncSession, *, now: datetime) -> WaitingFile | None:
    """Return the newest, which should not wait for a whole archive."""
    statement = (
        sa.select(
            Attachment.id,
            Attachment.public_id,
            Attachment.file_path,
            Attachment.mime_type,
            Attachment.text_due_at,
            Attachment.text_tries,
        )
        .where(_text_waits(now))
        .order_by(Attachment.text_due_at.desc())
        .limit(1)
    )
    row = (await session.execute(statement)).one_or_none()
    return WaitingFile._make(row) if row else None


async def settle_text(file: WaitingFile, session: AsyncSession, values: Mapping[str, object]) -> bool:
    """Return False if another worker has the file by now."""
    statement = sa.update(Attachment).where(Attachment.id == file.id, Attachment.text_due_at == file.due).values(values)
    result = await session.execute(statement.execution_options(synchronize_session=False))
    return bool(result.rowcount)  # type: ignore[attr-defined]


async def texts(session: AsyncSession, attachment_ids: Collection[int]) -> dict[int, str]:
    statement = sa.select(AttachmentText.attachment_id, AttachmentText.text)
    rows = await session.execute(statement.where(AttachmentText.attachment_id.in_(attachment_ids)))
    return {row.attachment_id: row.text for row in rows}


async def count_texts(session: AsyncSession) -> tuple[int, int, dict[str, int]]:
    """Return the numbers waiting, read, and by problem."""
    waits, number = Attachment.text_due_at.is_not(None), sa.func.count()
    problems = await session.execute(
        sa.select(Attachment.text_problem, number)
        .where(
            Attachment.is_temporary == sa.false(),
            Attachment.text_due_at.is_(None),
            Attachment.text_problem.is_not(None),
        )
        .group_by(Attachment.text_problem)
        .order_by(Attachment.text_problem)
    )
    waiting = await session.scalar(
        sa.select(number).select_from(Attachment).where(Attachment.is_temporary == sa.false(), waits)
    )
    read = await session.scalar(sa.select(number).select_from(AttachmentText))
    return waiting or 0, read or 0, {str(row[0]): row[1] for row in problems}


async def retry_texts(session: AsyncSession, *, now: datetime, all_files: bool = False) -> int:
    readable = Attachment.mime_type.in_([kind.mime_type for kind in KINDS if kind.has_text])
    condition = readable if all_files else Attachment.text_problem != TextProblem.CUT
    result = await session.execute(sa.update(Attachment).where(condition).values(text_due_at=now, text_tries=0))
    return int(result.rowcount)  # type: ignore[attr-defined]


async def replace_text(session: AsyncSession, file: WaitingFile, text: str, *, now: datetime) -> None:
    await session.execute(sa.delete(AttachmentText).where(AttachmentText.attachment_id == file.id))
    session.add(AttachmentText(attachment_id=file.id, text=text, extracted_at=now))
    await session.flush()
