"""
What issues a number for a document. To create one: once everything is checked, its number, its rows, its workflow, the event,
the audit row and the receipt are committed together; a request with the same `Idempotency-Key` makes one document (REQ-NUM-10).
To give one another number: the next of its series, by the format in force now; the old one is void and remains its alias for
ever (REQ-NUM-32).
"""

from functools import partial
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.repository import search
from saraban.documents.core.service.document_change import DocumentAct, DocumentIsCancelled, begin_found, hold_current
from saraban.documents.core.service.kind import AnyKind, DocumentHeader, DocumentServices, UnnumberedDraft
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Schema
from saraban.numbering import service as numbering
from saraban.workflow import service as workflow

RENUMBERS = "numbering.override"


async def create(ctx: RequestContext, services: DocumentServices, kind: AnyKind, new: Schema) -> Receipt:
    """
    Create a draft with its number, or find what an earlier request with the same key created.

    :raises Invalid: naming the field; nothing has been written
    """
    operation = Operation.of(ctx, f"POST /{kind.rules.path}", new)
    async with services.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return claim.receipt
        while True:
            async with services.db.reading() as session:
                draft: UnnumberedDraft = await kind.check(ctx, session, new=new)
            request = numbering.IssueRequest(
                ctx,
                draft.plan,
                operation.token,
                claim,
                holder=numbering.Holder(kind.rules.name, draft.public_id),
                write=partial(_write, ctx, kind, draft),
                reservation=draft.reservation_token,
                fields=kind.reserved_fields,
            )
            try:
                return request.receipt(await services.allocator.issue(request))
            except workflow.StartingWorkflowChanged:
                continue  # another version was activated since the check
            except IntegrityError as error:
                raise (kind.conflict(error) or error) from error


async def _write(
    ctx: RequestContext, kind: AnyKind, draft: UnnumberedDraft, session: AsyncSession, issued: numbering.Issued
) -> None:
    """Write what belongs to the number. It runs again after a rollback: keep nothing, call nobody outside."""
    written = await kind.insert(ctx, session, draft, issued)
    await begin_found(ctx, session, kind, DocumentAct.CREATE, written, draft.starting)


async def renumber(
    ctx: RequestContext, services: DocumentServices, kind: AnyKind, public_id: UUID, reason: str
) -> Receipt:
    """
    Issue a number for a document that has one, make the old one void and link the two, in one transaction.

    :raises NotFound: also when the caller may not know of it
    :raises Forbidden: for everybody but the project's administrators
    :raises DocumentIsCancelled: when the document carries no number any more
    """
    operation = Operation.of(ctx, f"POST /{kind.rules.path}/{public_id}/renumber", {"reason": reason})
    async with services.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return claim.receipt
        async with services.db.reading() as session:
            before: DocumentHeader = await kind.find(ctx, session, public_id)
            plan = await _plan(ctx, session, kind, before)
        request = numbering.IssueRequest(
            ctx,
            plan,
            operation.token,
            claim,
            holder=numbering.Holder(kind.rules.name, public_id),
            write=partial(_change_number, ctx, kind, before, reason),
        )
        return request.receipt(await services.allocator.issue(request))


async def _plan(ctx: RequestContext, session: AsyncSession, kind: AnyKind, row: DocumentHeader) -> numbering.Plan:
    ctx.caller.require(RENUMBERS, Scope(project=row.project.id))
    if row.cancelled_at is not None or row.number_uuid is None:
        raise DocumentIsCancelled
    request = await kind.number_request(session, row)
    return await numbering.plan(ctx, session, request)


async def _change_number(
    ctx: RequestContext,
    kind: AnyKind,
    before: DocumentHeader,
    reason: str,
    session: AsyncSession,
    issued: numbering.Issued,
) -> None:
    """
    :param before: the document as it was when the new number was planned
    """
    row, _ = await hold_current(ctx, session, kind, public_id=before.public_id)
    assert before.number_uuid is not None  # the plan says so
    old_number = row.number
    await numbering.replace_held_number(
        ctx,
        session,
        holder=numbering.Holder(kind.rules.name, row.public_id),
        number=before.number_uuid,
        replacement=issued,
        reason=reason,
    )
    await audit.record(
        ctx,
        session,
        audit.AuditEntry(
            f"{kind.rules.name}.renumber",
            kind.rules.name,
            str(row.public_id),
            {"documentNumber": issued.number, "oldNumber": old_number, "reason": reason},
        ),
    )
    await kind.change_number(session, row, issued, now=ctx.now)
    await search.note_changes(session, int(kind.rules.register), [row.public_id])
    session.expire_all()
