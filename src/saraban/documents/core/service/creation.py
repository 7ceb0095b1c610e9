"""
Creating a document: once everything is checked, its number, its rows, its workflow, the event, the audit row and the receipt
are committed together. A request with the same `Idempotency-Key` makes one document (REQ-NUM-10).
"""

from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import DRAFT, KindRules, end_of_day, start_of_day
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.service.checks import DocumentDraft
from saraban.documents.core.service.document_change import DocumentAct, claim_files, record, start_workflow
from saraban.documents.core.service.kind import AnyKind, DocumentServices, UnnumberedDraft
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Schema
from saraban.numbering import service as numbering


async def create(ctx: RequestContext, services: DocumentServices, kind: AnyKind, new: Schema) -> Receipt:
    """
    Create a draft with its number, or find what an earlier request with the same key created.

    :raises Invalid: naming the field; nothing has been written
    """
    operation = Operation.of(ctx, f"POST /{kind.rules.path}", new)
    async with services.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return claim.receipt
        async with services.db.reading() as session:
            draft: UnnumberedDraft = await kind.check(ctx, session, new=new)
        holder = numbering.Holder(kind.rules.name, new_id())
        request = numbering.IssueRequest(
            ctx,
            draft.plan,
            operation.token,
            claim,
            holder=holder,
            write=partial(_write, ctx, kind, draft, holder.public_id),
            reservation=draft.reservation_token,
            fields=kind.reserved_fields,
        )
        return request.receipt(await services.allocator.issue(request))


async def _write(
    ctx: RequestContext,
    kind: AnyKind,
    draft: UnnumberedDraft,
    public_id: UUID,
    session: AsyncSession,
    issued: numbering.Issued,
) -> None:
    """Write what belongs to the number, in its transaction. It runs again after a rollback: keep nothing, call nobody outside."""
    row = await kind.insert(ctx, session, draft, issued, public_id=public_id)
    await start_workflow(ctx, session, kind, row=row)
    await record(ctx, session, kind, DocumentAct.CREATE, row)


async def insert_document(
    ctx: RequestContext,
    session: AsyncSession,
    rules: KindRules,
    draft: DocumentDraft,
    issued: numbering.Issued,
    *,
    public_id: UUID,
) -> tuple[Document, DocumentRevision]:
    """Write the rows that every document with revisions has; its files are claimed apart."""
    document = await _insert_document_row(ctx, session, draft, public_id, issued)
    return document, await _insert_revision(ctx, session, rules, draft, document, issued)


async def claim_draft_files(
    ctx: RequestContext, session: AsyncSession, draft: DocumentDraft, revision: DocumentRevision
) -> None:
    await claim_files(
        ctx,
        session,
        public_ids=draft.order.attachment_public_ids,
        revision_id=revision.id,
        pointer="/attachmentPublicIds",
        main_first=True,
    )


async def _insert_document_row(
    ctx: RequestContext, session: AsyncSession, draft: DocumentDraft, public_id: UUID, issued: numbering.Issued
) -> Document:
    plan = draft.plan
    document = Document(
        public_id=public_id,
        correspondence_type_id=plan.type.id,
        correspondence_number=issued.number,
        number_uuid=issued.public_id,
        discipline_id=plan.discipline.id if plan.discipline else None,
        sub_type_id=plan.sub_type.id if plan.sub_type else None,
        project_id=plan.project.id,
        contract_id=draft.contract_id,
        originator_id=plan.originator.id,
        created_at=ctx.now,
        created_by=ctx.caller.user_id,
    )
    await writes.add(session, document)
    await writes.add_recipients(
        session,
        document_id=document.id,
        recipients=[(organization.id, kind) for organization, kind in draft.recipients],
    )
    await writes.add_references(session, document_id=document.id, targets=draft.references)
    return document


async def _insert_revision(
    ctx: RequestContext,
    session: AsyncSession,
    rules: KindRules,
    draft: DocumentDraft,
    document: Document,
    issued: numbering.Issued,
) -> DocumentRevision:
    order = draft.order
    revision = DocumentRevision(
        correspondence_id=document.id,
        correspondence_number=issued.number,
        revision_number=0,
        revision_label=issued.revision,
        is_current=True,
        correspondence_status_id=await repository.status_id(session, code=rules.status_code(DRAFT, None)),
        subject=order.subject,
        description=order.description,
        body=order.body,
        remarks=order.remarks,
        priority=order.priority,
        document_date=order.document_date or local_date(ctx.now, ctx.zone),
        sender_number=order.sender_number,
        sender_date=order.sender_date,
        received_date=start_of_day(order.received_date, ctx.zone),
        due_date=end_of_day(order.due_date, ctx.zone),
        created_at=ctx.now,
        created_by=ctx.caller.user_id,
    )
    await writes.add(session, revision)
    return revision
