"""
Creating a document: once everything is checked, its number, its rows, its workflow, the event, the audit row and the stored
answer are committed together. A request with the same `Idempotency-Key` makes one document (REQ-NUM-10).
"""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import DRAFT, KindRules
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.service.checks import DocumentDraft
from saraban.documents.core.service.document_change import claim_files, record, start_workflow
from saraban.documents.core.service.kind import AnyKind, UnnumberedDraft
from saraban.documents.core.service.presentation import end_of_day, result, start_of_day
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult, Remember, answer_once, request_token
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering


async def create(
    ctx: RequestContext, db: Database, allocator: numbering.Allocator, kind: AnyKind, *, order: Any
) -> OperationResult:
    """
    Create a draft with its number, or give the answer of the request that created it already.

    :raises Invalid: naming the field; nothing has been written
    """
    payload = order.model_dump(mode="json", by_alias=True)
    operation = f"POST /{kind.rules.path}"

    async def run(remember: Remember) -> OperationResult:
        async with db.reading() as session:
            draft: UnnumberedDraft = await kind.check(ctx, session, new=order)
        holder = numbering.Holder(kind.rules.name, new_id())

        async def write(session: AsyncSession, issued: numbering.Issued, remember: Remember) -> OperationResult:
            row = await kind.insert(ctx, session, draft, issued, public_id=holder.public_id)
            await start_workflow(ctx, session, kind, row=row)
            await record(ctx, session, kind, "created", "create", row=row)
            answer = await result(ctx, session, kind, row, status=201, located=True)
            await remember(session, answer)
            return answer

        async def recall(session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            row = await kind.find_by_number(session, project_id=draft.plan.project.id, number=issued.number)
            return await result(ctx, session, kind, row, status=201, located=True)

        if draft.reservation_token is not None:
            return await _use_reservation(
                ctx, db, kind, draft, draft.reservation_token, write, holder=holder, remember=remember
            )
        return await allocator.issue_and_write(
            ctx,
            draft.plan,
            holder=holder,
            token=request_token(key=ctx.key, user=ctx.caller.public_id, operation=operation, payload=payload),
            then=lambda session, issued: write(session, issued, remember),
            recall=recall,
        )

    return await answer_once(
        db, key=ctx.key, user=ctx.caller.public_id, operation=operation, payload=payload, now=ctx.now, run=run
    )


async def _use_reservation(
    ctx: RequestContext,
    db: Database,
    kind: AnyKind,
    draft: UnnumberedDraft,
    reservation: UUID,
    write: Callable[[AsyncSession, numbering.Issued, Remember], Awaitable[OperationResult]],
    *,
    holder: numbering.Holder,
    remember: Remember,
) -> OperationResult:
    """Write the document with the number that was reserved for it, in one transaction."""

    async def work(session: AsyncSession) -> OperationResult:
        issued = await numbering.bind_reservation(
            ctx, session, token=reservation, plan=draft.plan, holder=holder, fields=kind.reserved_fields
        )
        return await write(session, issued, remember)

    return await db.transact(work)


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
