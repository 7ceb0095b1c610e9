"""Which revisions can be put right: those that nobody has been asked to approve, and of the others those without a file."""

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
    """A revision that is being approved, or has been answered, stays as it was submitted; files are added only while it has none."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_REVISION_SUBMITTED"
    says = Text(
        "ฉบับนี้อยู่ระหว่างขออนุมัติหรือมีผลอนุมัติแล้ว จึงแก้ไขไม่ได้ และเพิ่มไฟล์ได้เฉพาะเมื่อยังไม่มีไฟล์",
        "This revision is being approved or has been answered: it stays as it was submitted, and takes files only while it has none.",
    )
    recovery = (Text("ออกฉบับแก้ไขถัดไป", "Issue the next revision."),)


async def submitted_among(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, rows: Sequence[DrawingRow]
) -> set[UUID]:
    """Return which revisions are being approved or have been answered; `rows` are shown to the caller."""
    states = await approval.states(ctx, session, kind, rows)
    under_way = {key for key, one in states.items() if not (one.state.editable or one.state.terminal)}
    carried = await writes.submitted(session, kind, [row.revision.id for row in rows]) if kind in approval.KINDS else ()
    return {
        row.revision.public_id
        for row in rows
        if row.named["response"] is not None or row.revision.id in carried or str(row.revision.public_id) in under_way
    }


async def correctable(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID
) -> dict[UUID, bool]:
    """
    Return which revisions of a drawing the caller can put right, and whether that is more than adding a file.

    :raises NotFound: also when the caller may not know of the drawing
    """
    rows = await registers.find(ctx, session, kind, public_id)
    scope = await registers.scope_of(ctx, session, rows[0].head)
    if not (rows[0].project.is_active and ctx.caller.may(REVISE, scope)):
        return {}
    fixed = await submitted_among(ctx, session, kind, rows)
    files = await repository.files(session, kind, [row.revision.id for row in rows])
    shown = {row.revision.public_id: row.revision.id for row in rows}
    return {one: one not in fixed for one, key in shown.items() if one not in fixed or not files[key]}
