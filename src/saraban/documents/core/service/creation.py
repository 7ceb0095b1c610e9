"""
Writing a new document: once everything is checked, the number, the rows, the workflow, the event, the audit row and the
stored answer are committed together (ruling N9).
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import DRAFT
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.checks import DocumentDraft
from saraban.documents.core.service.kind import DocumentKind
from saraban.documents.core.service.numbered import Order, issue
from saraban.documents.core.service.presentation import end_of_day, etag, full, start_of_day
from saraban.documents.core.service.records import claim_files, record, start_workflow
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult
from saraban.numbering import service as numbering

Complete = Callable[[AsyncSession, Document, DocumentRevision], Awaitable[None]]
Prepare = Callable[[AsyncSession], Awaitable[tuple[DocumentDraft, Complete]]]


async def create(
    db: Database,
    allocator: numbering.Allocator,
    register: DocumentKind,
    *,
    caller: Caller,
    payload: object,
    prepare: Prepare,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None,
) -> OperationResult:
    """
    Write a document with its number, or give the answer of the request that wrote it already.

    :param prepare: checks the order and gives the sheet, with what the subtype writes beside it
    """

    async def ordered(session: AsyncSession) -> Order:
        sheet, complete = await prepare(session)

        async def write(session: AsyncSession, issued: numbering.Issued, public_id: UUID) -> OperationResult:
            row = await _write(session, sheet, complete, caller, public_id, issued, now, zone, address)
            return await _answer(session, register, caller, row, now, zone)

        async def recall(session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            row = await _written(session, sheet, issued)
            return await _answer(session, register, caller, row, now, zone)

        return Order(sheet.plan, write, recall, sheet.order.reservation_token)

    return await issue(
        db,
        allocator,
        kind=register.kind.name,
        path=f"/{register.kind.path}",
        caller=caller,
        payload=payload,
        prepare=ordered,
        now=now,
        address=address,
        key=key,
    )


async def _written(session: AsyncSession, sheet: DocumentDraft, issued: numbering.Issued) -> DocumentRow:
    public_id = await repository.by_number(session, project_id=sheet.plan.project.id, number=issued.number)
    rows = await repository.first_issue(session, public_id=public_id)
    return rows[0]


async def _answer(
    session: AsyncSession, register: DocumentKind, caller: Caller, row: DocumentRow, now: datetime, zone: ZoneInfo
) -> OperationResult:
    answer = await full(session, register, caller=caller, row=row, now=now, zone=zone)
    location = f"/api/v1/{register.kind.path}/{row.head.public_id}"
    return OperationResult(
        201, answer.model_dump(mode="json", by_alias=True), {"Location": location, "ETag": etag(answer)}
    )


async def _write(
    session: AsyncSession,
    sheet: DocumentDraft,
    complete: Complete,
    caller: Caller,
    public_id: UUID,
    issued: numbering.Issued,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> DocumentRow:
    register = sheet.register
    head = await _write_head(session, sheet, caller, public_id, issued, now)
    revision = await _write_revision(session, sheet, caller, head, issued, now, zone)
    await complete(session, head, revision)
    await claim_files(
        session,
        caller=caller,
        public_ids=sheet.order.attachment_public_ids,
        revision_id=revision.id,
        pointer="/attachmentPublicIds",
        main_first=True,
        now=now,
    )
    await session.flush()
    row = (
        await repository.by_revision(
            session, reach=None, revision_ids=[revision.public_id], type_codes=register.kind.type_codes
        )
    )[0]
    await start_workflow(session, register, caller=caller, row=row, now=now, zone=zone)
    await record(session, register.kind, "created", "create", caller=caller, row=row, address=address, now=now)
    return row


async def _write_head(
    session: AsyncSession,
    sheet: DocumentDraft,
    caller: Caller,
    public_id: UUID,
    issued: numbering.Issued,
    now: datetime,
) -> Document:
    plan = sheet.plan
    head = Document(
        public_id=public_id,
        correspondence_type_id=plan.type.id,
        correspondence_number=issued.number,
        number_uuid=issued.public_id,
        discipline_id=plan.discipline.id if plan.discipline else None,
        sub_type_id=plan.sub_type.id if plan.sub_type else None,
        project_id=plan.project.id,
        contract_id=sheet.contract_id,
        originator_id=plan.originator.id,
        created_at=now,
        created_by=caller.user_id,
    )
    await writes.add(session, head)
    await writes.add_recipients(
        session, document_id=head.id, recipients=[(organization.id, kind) for organization, kind in sheet.recipients]
    )
    await writes.add_references(session, document_id=head.id, targets=sheet.references)
    return head


async def _write_revision(
    session: AsyncSession,
    sheet: DocumentDraft,
    caller: Caller,
    head: Document,
    issued: numbering.Issued,
    now: datetime,
    zone: ZoneInfo,
) -> DocumentRevision:
    order, kind = sheet.order, sheet.register.kind
    revision = DocumentRevision(
        correspondence_id=head.id,
        correspondence_number=issued.number,
        revision_number=0,
        revision_label=issued.revision,
        is_current=True,
        correspondence_status_id=await repository.status_id(session, code=kind.status_code(DRAFT, None)),
        subject=order.subject,
        description=order.description,
        body=order.body,
        remarks=order.remarks,
        priority=order.priority,
        document_date=order.document_date or local_date(now, zone),
        sender_number=order.sender_number,
        sender_date=order.sender_date,
        received_date=start_of_day(order.received_date, zone),
        due_date=end_of_day(order.due_date, zone),
        created_at=now,
        created_by=caller.user_id,
    )
    await writes.add(session, revision)
    return revision
