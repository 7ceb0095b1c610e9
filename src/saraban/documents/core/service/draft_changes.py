"""Changing a draft, and issuing the next revision of what has its final answer."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.changes import field_changes
from saraban.documents.core.domain.kind import DRAFT
from saraban.documents.core.domain.revision import revision_label
from saraban.documents.core.models import DocumentRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import links, writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.schemas import DocumentAnswer, DocumentChanges, NewRevision
from saraban.documents.core.service.checks import check_dates, check_due
from saraban.documents.core.service.facts import facts_of
from saraban.documents.core.service.kind import DocumentKind
from saraban.documents.core.service.presentation import day_of, end_of_day, envelopes, etag, full, start_of_day
from saraban.documents.core.service.queries import find
from saraban.documents.core.service.records import claim_files, record, start_workflow
from saraban.documents.core.service.relations import alias, change_relations, check_printed
from saraban.documents.core.service.rights import require_create, require_edit
from saraban.identity.domain.caller import Caller
from saraban.kit import etags
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text, invalid
from saraban.kit.idempotency import OperationResult, Remember, answer_once
from saraban.numbering import service as numbering
from saraban.workflow import service as workflow
from saraban.workflow.domain.subject import Envelope
from saraban.workflow.runtime.schemas import WorkflowEnvelope

_REQUIRED = ("subject", "priority")
_PLAIN = ("subject", "body", "description", "remarks", "document_date", "sender_number", "sender_date", "priority")


class NotADraft(DomainError):
    """Only a draft can be edited (EC-RFA-005)."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_NOT_DRAFT"
    says = Text("สามารถแก้ไขได้เฉพาะในสถานะ Draft", "Only a draft can be edited.")
    recovery = (Text("สร้าง Revision ใหม่เมื่อได้รับคำตอบแล้ว", "Issue a new revision once it has its answer."),)


class DocumentChanged(DomainError):
    """Somebody changed the document since the client read it."""

    kind, code = ErrorKind.STALE, "DOCUMENT_CHANGED"
    says = Text("มีผู้แก้ไขเอกสารนี้หลังจากที่คุณเปิดดู", "Somebody has changed this document since you opened it.")
    recovery = (REFRESH,)


class DocumentIsCancelled(DomainError):
    """A cancelled document stays as it is."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_CANCELLED"
    says = Text("เอกสารนี้ถูกยกเลิกแล้ว", "This document has been cancelled.")
    recovery = (Text("สร้างเอกสารฉบับใหม่", "Create a new document."),)


class RevisionPending(DomainError):
    """The current revision still waits for its final answer (EC-RFA-002)."""

    kind, code = ErrorKind.CONFLICT, "REVISION_PENDING"
    says = Text("ต้องรอคำตอบของ Revision ก่อนหน้าก่อน", "The previous revision must have its answer first.")
    recovery = (Text("ติดตามผลการพิจารณาของฉบับปัจจุบัน", "Follow the current revision to its answer."),)


async def hold_current(
    session: AsyncSession, register: DocumentKind, *, caller: Caller, public_id: UUID, zone: ZoneInfo
) -> tuple[DocumentRow, Envelope | None]:
    """
    Hold a document for a change and give it as it stands now; no step is taken until the change is done.

    Locks are taken in one order, wherever: the document, its instance, and then what a step changes too.

    :raises NotFound: also when the caller may not know of it
    :raises DocumentIsCancelled: when there is nothing left to change
    """
    row = await find(session, register.kind, caller=caller, public_id=public_id)
    standing = await repository.lock(session, document_id=row.head.id)
    await workflow.lock(session, entity_type=register.kind.entity_type, entity_ids=[str(standing)])
    row = await find(session, register.kind, caller=caller, public_id=public_id)
    if row.head.cancelled_at is not None:
        raise DocumentIsCancelled
    found = await envelopes(session, register, caller=caller, rows=[row], zone=zone)
    return row, found.get(str(row.revision.public_id))


async def edit(
    session: AsyncSession,
    register: DocumentKind,
    *,
    caller: Caller,
    public_id: UUID,
    changes: DocumentChanges,
    if_match: str | None,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> WorkflowEnvelope[DocumentAnswer]:
    """
    Change a draft.

    :raises DocumentChanged: when `if_match` is not its version
    :raises NumberAlreadyDrawn: when a change touches what the number prints
    :raises AlreadyIssued: when it touches what others have been given for good
    :raises NotADraft: once it has been submitted
    """
    row, envelope = await hold_current(session, register, caller=caller, public_id=public_id, zone=zone)
    require_edit(caller, register.kind, row.head)
    await _check_version(session, register, caller, row, if_match, now, zone)
    check_printed(changes)
    if envelope is None or not envelope.can_edit or not row.revision.is_current:
        raise NotADraft
    values = _values(changes, row, now, zone)
    related = await change_relations(session, caller=caller, row=row, changes=changes)
    related = {**related, **await register.edited(session, caller, row, changes)}
    noted = _changed(changes, values, row, zone) | field_changes(
        {name: before for name, (before, _) in related.items()}, {name: after for name, (_, after) in related.items()}
    )
    await _change_files(session, caller, row, changes, now)
    await writes.change_revision(session, revision_id=row.revision.id, values={**values, "updated_by": caller.user_id})
    row = await find(session, register.kind, caller=caller, public_id=public_id)
    if related:
        facts = (await facts_of(session, register.kind, rows=[row], zone=zone))[str(row.revision.public_id)]
        await workflow.renew_pending(session, entity_type=register.kind.entity_type, facts=facts, now=now)
    details: dict[str, object] = {"fields": sorted(changes.model_dump(by_alias=True, exclude_unset=True))}
    await record(
        session,
        register.kind,
        "edited",
        "edit",
        caller=caller,
        row=row,
        address=address,
        now=now,
        details=details,
        audited={"changes": noted},
    )
    return await full(session, register, caller=caller, row=row, now=now, zone=zone)


async def _check_version(
    session: AsyncSession,
    register: DocumentKind,
    caller: Caller,
    row: DocumentRow,
    if_match: str | None,
    now: datetime,
    zone: ZoneInfo,
) -> None:
    if if_match is not None:
        check_version(if_match, etag(await full(session, register, caller=caller, row=row, now=now, zone=zone)))


def check_version(if_match: str, present: str) -> None:
    """
    :raises DocumentChanged: when `If-Match` names neither the present version nor any
    """
    if not etags.matches(if_match, present):
        raise DocumentChanged


def _values(changes: DocumentChanges, row: DocumentRow, now: datetime, zone: ZoneInfo) -> dict[str, Any]:
    given = changes.model_fields_set
    for name in _REQUIRED:
        if name in given and getattr(changes, name) is None:
            raise invalid(f"/{alias(name)}", "required", "จำเป็นต้องระบุ", "Required")
    values = {name: getattr(changes, name) for name in _PLAIN if name in given}
    if "due_date" in given:
        values["due_date"] = end_of_day(changes.due_date, zone)
    if "received_date" in given:
        values["received_date"] = start_of_day(changes.received_date, zone)
    _check_dates(changes, values, row, today=local_date(now, zone), zone=zone)
    if {"due_date", "document_date"} & given:
        due = changes.due_date if "due_date" in given else day_of(row.revision.due_date, zone)
        written = changes.document_date if "document_date" in given else row.revision.document_date
        check_due(due, written, today=local_date(now, zone))
    return values


def _check_dates(
    changes: DocumentChanges, values: Mapping[str, Any], row: DocumentRow, *, today: date, zone: ZoneInfo
) -> None:
    """Look at the dates together as soon as one of them changes."""
    if {"document_date", "sender_date", "received_date"} & values.keys():
        received = changes.received_date if "received_date" in values else day_of(row.revision.received_date, zone)
        check_dates(
            document=changes.document_date,
            sent=values.get("sender_date", row.revision.sender_date),
            received=received,
            today=today,
        )


def _changed(
    changes: DocumentChanges, values: Mapping[str, Any], row: DocumentRow, zone: ZoneInfo
) -> dict[str, dict[str, Any]]:
    """What the audit trail keeps of an edit; taken before anything is written."""
    after = {alias(name): value for name, value in values.items() if name in _PLAIN}
    before = {alias(name): getattr(row.revision, name) for name in values if name in _PLAIN}
    if "due_date" in values:
        before["dueDate"], after["dueDate"] = day_of(row.revision.due_date, zone), changes.due_date
    if "received_date" in values:
        before["receivedDate"] = day_of(row.revision.received_date, zone)
        after["receivedDate"] = changes.received_date
    gone = [str(one) for one in changes.remove_attachment_public_ids] or None
    came = [str(one) for one in changes.add_attachment_public_ids] or None
    files = {"attachmentPublicIds": {"old": gone, "new": came}} if gone or came else {}
    return field_changes(before, after) | files


async def _change_files(
    session: AsyncSession, caller: Caller, row: DocumentRow, changes: DocumentChanges, now: datetime
) -> None:
    linked = (await links.files(session, revision_ids=[row.revision.id]))[row.revision.id]
    known = {file.attachment.public_id: file for file in linked}
    for place, public_id in enumerate(changes.remove_attachment_public_ids):
        if public_id not in known:
            pointer = f"/removeAttachmentPublicIds/{place}"
            raise invalid(pointer, "unknown", "ไม่พบไฟล์นี้ในเอกสาร", "This file is not attached to the document.")
    gone = [known[public_id] for public_id in set(changes.remove_attachment_public_ids)]
    await writes.unlink_files(
        session, revision_id=row.revision.id, attachment_ids=[file.attachment.id for file in gone]
    )
    await claim_files(
        session,
        caller=caller,
        public_ids=changes.add_attachment_public_ids,
        revision_id=row.revision.id,
        pointer="/addAttachmentPublicIds",
        main_first=all(file in gone for file in linked if file.is_main),
        now=now,
    )


async def revise(
    db: Database,
    register: DocumentKind,
    *,
    caller: Caller,
    public_id: UUID,
    order: NewRevision,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None,
) -> OperationResult:
    """
    Issue the next revision as a draft, with the number printed again for it (ruling N8).

    :raises RevisionPending: while the current revision has no final answer
    """
    path = f"/{register.kind.path}/{public_id}/revisions"

    async def run(remember: Remember) -> OperationResult:
        async def work(session: AsyncSession) -> OperationResult:
            row = await _revise(session, register, caller, public_id, order, now, zone, address)
            answer = await full(session, register, caller=caller, row=row, now=now, zone=zone)
            location = f"/api/v1/{register.kind.path}/{public_id}"
            headers = {"Location": location, "ETag": etag(answer)}
            given = OperationResult(201, answer.model_dump(mode="json", by_alias=True), headers)
            await remember(session, given)
            return given

        return await db.transact(work)

    payload = order.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return await answer_once(
        db, key=key, user=caller.public_id, operation=f"POST {path}", payload=payload, now=now, run=run
    )


async def _revise(
    session: AsyncSession,
    register: DocumentKind,
    caller: Caller,
    public_id: UUID,
    order: NewRevision,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> DocumentRow:
    row, envelope = await hold_current(session, register, caller=caller, public_id=public_id, zone=zone)
    require_create(caller, register.kind, row.head)
    if envelope is None or not envelope.terminal or not row.revision.is_current:
        raise RevisionPending
    check_due(order.due_date, None, today=local_date(now, zone))
    highest, withdrawn = await repository.revision_numbers(session, document_id=row.head.id)
    # A draft that was withdrawn keeps its place in the count of revisions, not its label.
    next_label = revision_label(highest + 1 - withdrawn)
    number = await numbering.revise_number(
        session,
        caller=caller,
        holder=numbering.Holder(register.kind.name, public_id),
        revision_label=next_label,
        now=now,
        address=address,
    )
    place = highest + 1, next_label
    revision = await _next_revision(session, register, caller, row, order, place, number, now, zone)
    await register.revised(session, revision)
    await claim_files(
        session,
        caller=caller,
        public_ids=order.attachment_public_ids,
        revision_id=revision.id,
        pointer="/attachmentPublicIds",
        main_first=True,
        now=now,
    )
    fresh = await _reload(session, register, [revision.public_id])
    await start_workflow(session, register, caller=caller, row=fresh, now=now, zone=zone)
    await record(session, register.kind, "revised", "revise", caller=caller, row=fresh, address=address, now=now)
    return fresh


async def _reload(session: AsyncSession, register: DocumentKind, revision_ids: Sequence[UUID]) -> DocumentRow:
    await session.flush()
    rows = await repository.by_revision(
        session, reach=None, revision_ids=revision_ids, type_codes=register.kind.type_codes
    )
    return rows[0]


async def _next_revision(
    session: AsyncSession,
    register: DocumentKind,
    caller: Caller,
    row: DocumentRow,
    order: NewRevision,
    place: tuple[int, str],
    number: str,
    now: datetime,
    zone: ZoneInfo,
) -> DocumentRevision:
    old = row.revision
    # One revision is current at a time, and the constraint is checked at once.
    await writes.change_revision(session, revision_id=old.id, values={"is_current": False})
    await writes.change_head(session, document_id=row.head.id, values={"correspondence_number": number})
    revision = DocumentRevision(
        correspondence_id=row.head.id,
        correspondence_number=number,
        revision_number=place[0],
        revision_label=place[1],
        is_current=True,
        correspondence_status_id=await repository.status_id(session, code=register.kind.status_code(DRAFT, None)),
        subject=order.subject or old.subject,
        description=old.description,
        body=order.body if "body" in order.model_fields_set else old.body,
        remarks=old.remarks,
        priority=old.priority,
        document_date=local_date(now, zone),
        due_date=end_of_day(order.due_date, zone),
        created_at=now,
        created_by=caller.user_id,
        details=old.details,
    )
    await writes.add(session, revision)
    return revision
