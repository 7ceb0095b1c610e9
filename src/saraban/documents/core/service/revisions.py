"""Issues and withdraws revisions."""

from dataclasses import replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import DRAFT, end_of_day
from saraban.documents.core.models import DocumentRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.rows import DocumentRow, RevisionRow
from saraban.documents.core.schemas import NewRevision
from saraban.documents.core.service.cancellation import is_draft_revision
from saraban.documents.core.service.document_change import (
    DocumentAct,
    begin,
    claim_files,
    hold_current,
    receipt_of,
    record,
)
from saraban.documents.core.service.drafts import check_due, require_create, require_edit
from saraban.documents.core.service.kind import DocumentServices
from saraban.documents.core.service.revisioned_kind import RevisionedKind
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.operation import Operation, Receipt
from saraban.numbering import service as numbering
from saraban.projects.domain.revision_scheme import revision_label
from saraban.workflow import service as workflow


class RevisionPending(DomainError):
    """The current revision has no final response yet (EC-RFA-002)."""

    kind, code = ErrorKind.CONFLICT, "REVISION_PENDING"
    says = Text("ต้องรอคำตอบของ Revision ก่อนหน้าก่อน", "The previous revision must have its answer first.")
    recovery = (Text("ติดตามผลการพิจารณาของฉบับปัจจุบัน", "Follow the current revision to its answer."),)


class NoDraftRevision(DomainError):
    """The document has no draft revision to withdraw: only a revision after the first, not yet submitted, can be withdrawn."""

    kind, code = ErrorKind.CONFLICT, "NO_DRAFT_REVISION"
    says = Text("ไม่มีฉบับแก้ไขที่ยังเป็นฉบับร่างให้ถอน", "There is no draft revision to withdraw.")
    recovery = (Text("หากเป็นเอกสารที่ยังไม่เคยส่ง ให้ยกเลิกทั้งฉบับ", "Cancel the document if it has never been issued."),)


async def revise(
    ctx: RequestContext, services: DocumentServices, kind: RevisionedKind, public_id: UUID, order: NewRevision
) -> Receipt:
    """
    Issue a draft whose number prints the next label (REQ-NUM-06).

    :raises RevisionPending:
    """
    payload = order.model_dump(mode="json", by_alias=True, exclude_unset=True)
    operation = Operation.of(ctx, f"POST /{kind.rules.path}/{public_id}/revisions", payload)
    return await services.idempotency.run(operation, _revise, ctx, kind, public_id, order)


async def _revise(
    ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, public_id: UUID, order: NewRevision
) -> Receipt:
    row, envelope = await hold_current(ctx, session, kind, public_id)
    require_create(ctx, kind.rules, row.document)
    if envelope is None or not envelope.terminal or not row.revision.is_current:
        raise RevisionPending
    check_due(order.due_date, None, today=local_date(ctx.now, ctx.zone))
    highest, withdrawn = await repository.revision_numbers(session, document_id=row.document.id)
    # A withdrawn draft keeps its revision number, not its label.
    next_label = revision_label(highest + 1 - withdrawn)
    number = await numbering.revise_number(
        ctx, session, holder=numbering.Holder(kind.rules.name, public_id), revision_label=next_label
    )
    place = highest + 1, next_label
    revision = await _next_revision(ctx, session, kind, row, order, place, number)
    await kind.insert_own_revision(session, revision, before=row.revision.id)
    await kind.renew_reach(session, document_id=row.document.id)
    await claim_files(ctx, session, revision.id, order.attachment_public_ids, project_id=row.document.project_id)
    written = await kind.revised(ctx, session, replace(row, revision=RevisionRow.of(revision)))
    await begin(ctx, session, kind, DocumentAct.REVISE, written)
    return receipt_of(kind, written)


async def _next_revision(
    ctx: RequestContext,
    session: AsyncSession,
    kind: RevisionedKind,
    row: DocumentRow,
    order: NewRevision,
    place: tuple[int, str],
    number: str,
) -> DocumentRevision:
    old = await repository.newest_standing(session, document_id=row.document.id)
    # The unique constraint allows one current revision: clear the old one first.
    await repository.change_revision(session, revision_id=old.id, values={"is_current": False})
    await repository.change_head(session, document_id=row.document.id, values={"correspondence_number": number})
    revision = DocumentRevision(
        correspondence_id=row.document.id,
        correspondence_number=number,
        revision_number=place[0],
        revision_label=place[1],
        is_current=True,
        correspondence_status_id=repository.status_key(kind.rules.status_code(DRAFT, None)),
        subject=order.subject or old.subject,
        description=old.description,
        body=order.body if "body" in order.model_fields_set else old.body,
        remarks=old.remarks,
        priority=old.priority,
        document_date=local_date(ctx.now, ctx.zone),
        due_date=end_of_day(order.due_date, ctx.zone),
        created_at=ctx.now,
        created_by=ctx.caller.user_id,
        details=old.details,
    )
    await repository.add(session, revision)
    return revision


async def withdraw_revision(
    ctx: RequestContext, services: DocumentServices, kind: RevisionedKind, public_id: UUID, reason: str
) -> Receipt:
    """:raises NoDraftRevision:"""
    operation = Operation.of(ctx, f"POST /{kind.rules.path}/{public_id}/withdraw-revision", {"reason": reason})
    return await services.idempotency.run(operation, _withdraw, ctx, kind, public_id, reason)


async def _withdraw(
    ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, public_id: UUID, reason: str
) -> Receipt:
    row, envelope = await hold_current(ctx, session, kind, public_id)
    require_edit(ctx, kind.rules, row.document)
    if not await is_draft_revision(session, row=row, envelope=envelope):
        raise NoDraftRevision
    await kind.show_cancelled(ctx, session, row)
    await workflow.cancel(
        ctx, session, entity_type=kind.rules.entity_type, entity_id=str(row.revision.public_id), reason=reason
    )
    details: dict[str, object] = {"reason": reason}
    await record(ctx, session, kind, DocumentAct.WITHDRAW_REVISION, row, details=details)
    return Receipt(kind.rules.name, public_id, {"number": await _restore_previous(ctx, session, kind, row)})


async def _restore_previous(ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, row: DocumentRow) -> str:
    """Make the newest revision that is not withdrawn current; return its number."""
    withdrawn = {"is_current": False, "withdrawn_at": ctx.now}
    await repository.change_revision(session, revision_id=row.revision.id, values=withdrawn)
    previous = await repository.newest_standing(session, document_id=row.document.id)
    number = await numbering.revise_number(
        ctx,
        session,
        holder=numbering.Holder(kind.rules.name, row.document.public_id),
        revision_label=previous.revision_label,
    )
    await repository.change_revision(session, revision_id=previous.id, values={"is_current": True})
    await repository.change_head(session, document_id=row.document.id, values={"correspondence_number": number})
    await kind.renew_reach(session, document_id=row.document.id)
    return number
