"""Rules for correcting revisions."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import REVISE, DrawingKind
from saraban.documents.drawing.repository import registers as repository
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.registers import DrawingRow
from saraban.documents.drawing.service import approval, registers
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, ErrorKind, Text


class RevisionSubmitted(DomainError):
    """The revision is being approved or has been answered: it cannot be corrected, and accepts files only while it has none."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_REVISION_SUBMITTED"
    says = Text(
        "ฉบับนี้อยู่ระหว่างขออนุมัติหรือมีผลอนุมัติแล้ว จึงแก้ไขไม่ได้ และเพิ่มไฟล์ได้เฉพาะเมื่อยังไม่มีไฟล์",
        "This revision is being approved or has been answered: it stays as it was submitted, and takes files only while it has none.",
    )
    recovery = (Text("ออกฉบับแก้ไขถัดไป", "Issue the next revision."),)


async def submitted_among(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, rows: Sequence[DrawingRow]
) -> set[UUID]:
    """:param rows: visible to the caller: nothing is checked here"""
    instances = await approval.states(ctx, session, kind, rows)
    in_progress = {
        key for key, instance in instances.items() if not (instance.state.editable or instance.state.terminal)
    }
    keys = [row.revision.id for row in rows]
    in_rfa = await writes.submitted_revisions(session, kind, keys) if kind in approval.KINDS else ()
    return {
        row.revision.public_id
        for row in rows
        if row.named["response"] is not None or row.revision.id in in_rfa or str(row.revision.public_id) in in_progress
    }


async def correctable(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID
) -> dict[UUID, bool]:
    """
    Return correctable revisions: True for every field, False for first files only.

    :raises NotFound:
    """
    rows = await registers.find(ctx, session, kind, public_id)
    scope = await registers.scope_of(ctx, session, rows[0].head)
    if not (rows[0].project.is_active and ctx.caller.may(REVISE, scope)):
        return {}
    submitted = await submitted_among(ctx, session, kind, rows)
    files = await repository.files(session, kind, [row.revision.id for row in rows])
    keys = {row.revision.public_id: row.revision.id for row in rows}
    return {
        revision: revision not in submitted
        for revision, key in keys.items()
        if revision not in submitted or not files[key]
    }
