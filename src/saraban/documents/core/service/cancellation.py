"""Cancels documents."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import DRAFT
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.rows import DocumentRow
from saraban.documents.core.service.document_change import DocumentAct, hold_current, receipt_of, record
from saraban.documents.core.service.kind import AnyKind, DocumentHeader, DocumentServices, Follower
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text
from saraban.kit.operation import Operation, Receipt
from saraban.numbering import service as numbering
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Envelope


class CancelOnlyDraft(DomainError):
    """This kind of document can be cancelled only before it is submitted (EC-RFA-006)."""

    kind, code = ErrorKind.CONFLICT, "CANCEL_ONLY_DRAFT"
    says = Text("สามารถยกเลิกได้เฉพาะในสถานะ Draft", "Only a draft can be cancelled.")
    recovery = (Text("ดำเนินการต่อใน Workflow", "Continue in the workflow."),)


class WithdrawRevisionFirst(DomainError):
    """The next revision is still a draft. Withdraw that revision before you cancel the whole document."""

    kind, code = ErrorKind.CONFLICT, "WITHDRAW_REVISION_FIRST"
    says = Text(
        "ฉบับแก้ไขยังเป็นฉบับร่างอยู่ กรุณาถอนฉบับแก้ไขก่อน",
        "The next revision is still a draft. Withdraw that revision first.",
    )
    recovery = (Text("ถอนฉบับแก้ไขที่ยังเป็นฉบับร่าง", "Withdraw the draft revision."), REFRESH)


async def cancel(
    ctx: RequestContext, services: DocumentServices, kind: AnyKind, public_id: UUID, reason: str
) -> Receipt:
    """:raises DomainError: as `kind.check_cancel`"""
    operation = Operation.of(ctx, f"POST /{kind.rules.path}/{public_id}/cancel", {"reason": reason})
    return await services.idempotency.run(operation, _cancel, ctx, kind, services.followers, public_id, reason)


async def _cancel(
    ctx: RequestContext,
    session: AsyncSession,
    kind: AnyKind,
    followers: Sequence[Follower],
    public_id: UUID,
    reason: str,
) -> Receipt:
    row, envelope = await hold_current(ctx, session, kind, public_id)
    await kind.check_cancel(ctx, session, row, envelope)
    await cancel_held(ctx, session, kind, row, followers, reason=reason)
    return receipt_of(kind, row)


async def cancel_held(
    ctx: RequestContext,
    session: AsyncSession,
    kind: AnyKind,
    row: DocumentHeader,
    followers: Sequence[Follower] = (),
    *,
    reason: str,
) -> None:
    """Cancel a locked document, without checks."""
    notify = await kind.mark_cancelled(ctx, session, row, reason=reason)
    await workflow.cancel(ctx, session, entity_type=kind.rules.entity_type, entity_id=row.entity_id, reason=reason)
    holder = numbering.Holder(kind.rules.name, row.public_id)
    await numbering.cancel_number(ctx, session, holder=holder, reason=reason)
    for follower in followers:
        await follower.document_cancelled(ctx, session, document=row.public_id, reason=reason)
    details: dict[str, object] = {"reason": reason}
    await record(ctx, session, kind, DocumentAct.CANCEL, row, details=details, notify=notify)


async def is_draft_revision(session: AsyncSession, *, row: DocumentRow, envelope: Envelope | None) -> bool:
    """Return whether the document is at a draft after an issued revision."""
    in_draft = envelope is not None and envelope.current_state == DRAFT and row.revision.issued_date is None
    return in_draft and await repository.ever_issued(session, document_id=row.document.id)
