"""Rows, files and references of a new revision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.domain import AttachmentRow
from saraban.attachments.domain.kinds import DWG, PDF
from saraban.documents.drawing.domain import KINDS, CurrentPeriod, DrawingKind
from saraban.documents.drawing.models import Drawing
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import NewDrawingRevision
from saraban.documents.drawing.service import registers
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import invalid, unknown
from saraban.kit.ids import new_id

# Columns of the fields that are saved unchanged.
TEXTS: Final = {
    "date": "revision_date",
    "title": "title",
    "title_en": "title_en",
    "reason": "description",
    "status_code": "status_code",
    "legacy_number": "legacy_drawing_number",
}


@dataclass(frozen=True, slots=True)
class RevisionPlace:
    """:param printed: the drawing number, if it prints the revision"""

    number: int
    period: CurrentPeriod
    printed: str | None = None


async def add_revision(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    head: Drawing,
    new: NewDrawingRevision,
    at: RevisionPlace,
    *,
    pointer: str,
) -> UUID:
    tables = tables_of(kind)
    row = tables.revision(
        revision_number=at.number,
        revision_label=new.label,
        drawing_number=at.printed,
        is_current=True,
        current_from=at.period.since,
        current_until=at.period.until,
        created_at=ctx.now,
        created_by=ctx.caller.user_id,
        public_id=new_id(),
        **{tables.drawing.key: head.id},
        **{column: getattr(new, name) for name, column in TEXTS.items()},
    )
    session.add(row)
    await session.flush()
    await attach(ctx, session, kind, row.id, new.attachment_public_ids, pointer=pointer, project_id=head.project_id)
    await _link_sources(ctx, session, kind, head.project_id, row.id, new.derived_from_public_ids, pointer)
    return row.public_id


async def attach(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    revision_id: int,
    public_ids: Sequence[UUID],
    *,
    pointer: str,
    project_id: int,
    has_main: bool = False,
) -> list[str]:
    """:returns: the file names"""
    if not public_ids:
        return []
    at = f"{pointer}/attachmentPublicIds"
    claimed = await attachments.claim(ctx, session, public_ids=public_ids, pointer=at, project_id=project_id)
    linked = [(file.id, _file_type(file)) for file in claimed]
    await writes.link_files(session, kind, revision_id, linked, has_main=has_main)
    return [file.file_name for file in claimed]


def _file_type(file: AttachmentRow) -> str:
    """Pictures are `OTHER`; files of editors are `SOURCE`."""
    if file.mime_type == PDF.mime_type:
        return "PDF"
    if file.mime_type == DWG.mime_type:
        return "DWG"
    is_picture = file.mime_type.startswith(("image/", "video/")) and not file.mime_type.startswith("image/vnd.")
    return "OTHER" if is_picture else "SOURCE"


async def _link_sources(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    project_id: int,
    revision_id: int,
    public_ids: Sequence[UUID],
    pointer: str,
) -> None:
    """:raises Invalid: for an id that is unknown, hidden, or of another project"""
    at = f"{pointer}/derivedFromPublicIds"
    if not public_ids:
        return
    if kind.derives_from is None:
        raise invalid(at, "not_for_this", "แบบคู่สัญญาไม่อ้างถึงแบบอื่น", "A contract drawing derives from no other.")
    other = KINDS[kind.derives_from]
    reader = await registers.reader_of(ctx, session, project_id)
    targets = await writes.targets_by_public_id(session, other, public_ids, project_id=project_id)
    for place, public_id in enumerate(public_ids):
        if public_id not in targets or not reader.sees(targets[public_id].audience):
            raise unknown(f"{at}/{place}", str(public_id))
    await writes.link(session, kind, revision_id, sorted({targets[public_id].key for public_id in public_ids}))
