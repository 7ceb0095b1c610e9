"""Changes drafts."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit.domain.changes import field_changes
from saraban.documents.core.domain import day_of, end_of_day, reach, sender_number_key, start_of_day
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.rows import DocumentRow
from saraban.documents.core.schemas import DocumentChanges
from saraban.documents.core.schemas import Recipient as StatedRecipient
from saraban.documents.core.service.document_change import (
    DocumentAct,
    DocumentChanged,
    claim_files,
    hold_current,
    record,
    version_tag,
)
from saraban.documents.core.service.drafts import (
    check_dates,
    check_due,
    main_recipient,
    recipients_among,
    references_of,
)
from saraban.documents.core.service.kind import AnyKind, DocumentServices
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text, invalid, required
from saraban.kit.etags import require_match
from saraban.kit.schema import Schema
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef

_REQUIRED = ("subject", "priority")
_PLAIN = ("subject", "body", "description", "remarks", "document_date", "sender_number", "sender_date", "priority")
_PRINTED = (
    "project_public_id",
    "originator_organization_public_id",
    "correspondence_type_code",
    "discipline_code",
    "contract_public_id",
    "sub_type_code",
    "rfa_type_code",
)
_FIXED = Text("ส่วนนี้อยู่ในเลขที่เอกสารซึ่งออกไปแล้ว จึงแก้ไขไม่ได้", "This is part of the issued number and cannot be changed.")
_MAIN = Text(
    "ผู้รับหลักอยู่ในเลขที่เอกสารซึ่งออกไปแล้ว ต้องคงเป็นผู้รับ (TO) รายแรก",
    "The main recipient is part of the issued number and must stay the first TO recipient.",
)


class NotADraft(DomainError):
    """Only a draft can be edited (EC-RFA-005)."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_NOT_DRAFT"
    says = Text("สามารถแก้ไขได้เฉพาะในสถานะ Draft", "Only a draft can be edited.")
    recovery = (Text("สร้าง Revision ใหม่เมื่อได้รับคำตอบแล้ว", "Issue a new revision once it has its answer."),)


class NumberAlreadyIssued(DomainError):
    """The fields printed in an issued number cannot be changed."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_ALREADY_DRAWN"
    says = Text(
        "ออกเลขที่เอกสารแล้ว จึงเปลี่ยนคู่สัญญา ประเภท หรือสาขางานไม่ได้",
        "The number has been issued; parties, type and discipline can no longer be changed.",
    )
    recovery = (Text("ยกเลิกเอกสารนี้แล้วสร้างฉบับใหม่", "Cancel this document and create a new one."),)


class DocumentAlreadyIssued(DomainError):
    """A revision has been issued: recipients cannot be removed, and the documents sent with it cannot be changed."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_ALREADY_ISSUED"
    says = Text(
        "เอกสารนี้ออกไปแล้ว จึงตัดผู้รับออกหรือเปลี่ยนรายการเอกสารที่นำส่งไม่ได้",
        "This document has been issued: recipients cannot be removed, and the transmitted documents cannot be changed.",
    )
    recovery = (Text("สร้างเอกสารฉบับใหม่", "Create a new document."),)


async def edit(
    ctx: RequestContext,
    services: DocumentServices,
    kind: AnyKind,
    public_id: UUID,
    changes: Schema,
    if_match: str | None = None,
) -> None:
    """:raises DocumentChanged, NotADraft:"""
    await services.db.transact(_edit, ctx, kind, public_id, changes, if_match)


async def _edit(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, public_id: UUID, changes: Schema, if_match: str | None
) -> None:
    row, envelope = await hold_current(ctx, session, kind, public_id)
    kind.require_edit(ctx, row)
    require_match(if_match, version_tag(row.version, envelope), DocumentChanged)
    value_changes = await kind.change(ctx, session, row, envelope, changes=changes)
    row = await kind.find(ctx, session, public_id)
    details: dict[str, object] = {"fields": sorted(changes.model_dump(by_alias=True, exclude_unset=True))}
    await record(ctx, session, kind, DocumentAct.EDIT, row, details=details, audited={"changes": value_changes})


def draft_values(changes: DocumentChanges, row: DocumentRow, now: datetime, zone: ZoneInfo) -> dict[str, Any]:
    given = changes.model_fields_set
    for name in _REQUIRED:
        if name in given and getattr(changes, name) is None:
            raise required(f"/{alias(name)}")
    values = {name: getattr(changes, name) for name in _PLAIN if name in given}
    if "due_date" in given:
        values["due_date"] = end_of_day(changes.due_date, zone)
    if "received_date" in given:
        values["received_date"] = start_of_day(changes.received_date, zone)
    if "sender_number" in given:
        values["sender_number_key"] = sender_number_key(changes.sender_number)
    _check_dates(changes, values, row, today=local_date(now, zone), zone=zone)
    return values


def _check_dates(
    changes: DocumentChanges, values: Mapping[str, Any], row: DocumentRow, *, today: date, zone: ZoneInfo
) -> None:
    """Check the due date also if the document is no longer incoming."""
    merged = row.texts._asdict() | row.revision._asdict() | dict(values)
    if {"document_date", "sender_date", "received_date"} & values.keys():
        received = day_of(merged["received_date"], zone)
        check_dates(document=changes.document_date, sent=merged["sender_date"], received=received, today=today)
    was_incoming = bool(row.texts.sender_number and row.texts.received_date)
    incoming = bool(merged["sender_number"] and merged["received_date"])
    if {"due_date", "document_date"} & values.keys() or (was_incoming and not incoming):
        due, sent = day_of(merged["due_date"], zone), merged["sender_date"]
        check_due(due, merged["document_date"], today=today, incoming=incoming, sent=sent)


def audited_changes(
    changes: DocumentChanges, values: Mapping[str, Any], row: DocumentRow, zone: ZoneInfo
) -> dict[str, dict[str, Any]]:
    """Call it before the changes are written."""
    after = {alias(name): value for name, value in values.items() if name in _PLAIN}
    old_values = row.texts._asdict() | row.revision._asdict()
    before = {alias(name): old_values[name] for name in values if name in _PLAIN}
    if "due_date" in values:
        before["dueDate"], after["dueDate"] = day_of(row.revision.due_date, zone), changes.due_date
    if "received_date" in values:
        before["receivedDate"] = day_of(row.texts.received_date, zone)
        after["receivedDate"] = changes.received_date
    removed = list(map(str, changes.remove_attachment_public_ids)) or None
    added = list(map(str, changes.add_attachment_public_ids)) or None
    files = {"attachmentPublicIds": {"old": removed, "new": added}} if removed or added else {}
    return field_changes(before, after) | files


async def change_files(ctx: RequestContext, session: AsyncSession, row: DocumentRow, changes: DocumentChanges) -> None:
    linked = (await repository.files(session, revision_ids=[row.revision.id]))[row.revision.id]
    by_id = {file.public_id: file for file in linked}
    for place, public_id in enumerate(changes.remove_attachment_public_ids):
        if public_id not in by_id:
            pointer = f"/removeAttachmentPublicIds/{place}"
            raise invalid(pointer, "unknown", "ไม่พบไฟล์นี้ในเอกสาร", "This file is not attached to the document.")
    removed = [by_id[public_id] for public_id in set(changes.remove_attachment_public_ids)]
    await repository.unlink_files(session, revision_id=row.revision.id, attachment_ids=[file.id for file in removed])
    if row.revision.issued_date is None:  # readers of an issued revision may have seen its files: keep them
        await attachments.release(session, [file.id for file in removed], now=ctx.now)
    await claim_files(
        ctx,
        session,
        row.revision.id,
        changes.add_attachment_public_ids,
        project_id=row.document.project_id,
        pointer="/addAttachmentPublicIds",
        main_first=all(file in removed for file in linked if file.is_main),
    )


def check_printed(changes: DocumentChanges) -> None:
    """:raises NumberAlreadyIssued: names each field"""
    touched = [name for name in _PRINTED if name in changes.model_fields_set]
    if touched:
        raise NumberAlreadyIssued(
            fields=[FieldProblem(f"/{alias(name)}", "already_printed", _FIXED) for name in touched]
        )


def alias(name: str) -> str:
    return DocumentChanges.model_fields[name].alias or name


async def change_relations(
    ctx: RequestContext, session: AsyncSession, *, row: DocumentRow, changes: DocumentChanges
) -> Mapping[str, tuple[object, object]]:
    """
    Replace recipients and references; return old and new values.

    :raises NumberAlreadyIssued: if the main recipient changes
    :raises DocumentAlreadyIssued: if a recipient of an issued revision is removed
    """
    values: dict[str, tuple[object, object]] = {}
    if "recipients" in changes.model_fields_set:
        values["recipients"] = await _change_recipients(session, row, changes.recipients)
    if "reference_public_ids" in changes.model_fields_set:
        values["referencePublicIds"] = await _change_references(ctx, session, row, changes.reference_public_ids)
    return values


async def _change_recipients(
    session: AsyncSession, row: DocumentRow, stated: Sequence[StatedRecipient] | None
) -> tuple[object, object]:
    if stated is None:
        raise required("/recipients")
    present = (await repository.recipients(session, document_ids=[row.document.id]))[row.document.id]
    before = [(recipient.organization.public_id, recipient.recipient_type) for recipient in present]
    after = [(recipient.organization_public_id, recipient.recipient_type) for recipient in stated]
    if before != after:
        main_recipient(row.originator.public_id, stated)
        of_project = await projects.list_parties(session, project_id=row.project.id)
        recipients = [(party.id, kind) for party, kind in recipients_among(of_project, stated)]
        if _main_organization(after) != _main_organization(before):
            raise NumberAlreadyIssued(fields=[FieldProblem("/recipients", "already_printed", _MAIN)])
        removed = {organization for organization, _ in before} - {organization for organization, _ in after}
        if removed and await repository.ever_issued(session, document_id=row.document.id):
            raise DocumentAlreadyIssued(fields=[FieldProblem("/recipients", "issued", DocumentAlreadyIssued.says)])
        await repository.replace_recipients(session, document_id=row.document.id, recipients=recipients)
    return _recipient_texts(before), _recipient_texts(after)


def _main_organization(recipients: Sequence[tuple[UUID, str]]) -> UUID | None:
    return next((organization for organization, kind in recipients if kind == "TO"), None)


def _recipient_texts(recipients: Sequence[tuple[UUID, str]]) -> list[str]:
    return [f"{kind} {organization}" for organization, kind in recipients]


async def _change_references(
    ctx: RequestContext, session: AsyncSession, row: DocumentRow, stated: Sequence[UUID]
) -> tuple[object, object]:
    """Keep references that the caller may not see."""
    outgoing, _ = await repository.referenced(session, document_id=row.document.id)
    visible = await repository.visible(session, reach=reach(ctx.caller), public_ids=outgoing)
    before = [public_id for public_id in outgoing if public_id in visible]
    if set(before) != set(stated) or len(stated) != len(before):
        if row.document.public_id in stated:
            pointer = f"/referencePublicIds/{list(stated).index(row.document.public_id)}"
            raise invalid(pointer, "self", "เอกสารอ้างอิงตัวเองไม่ได้", "A document cannot refer to itself.")
        targets = await references_of(ctx, session, project=project_of(row), stated=stated)
        gone = [visible[public_id].document.id for public_id in before]
        await repository.replace_references(session, document_id=row.document.id, gone=gone, targets=targets)
    return sorted(map(str, before)), sorted(map(str, stated))


def project_of(row: DocumentRow) -> ProjectRef:
    project = row.project
    return ProjectRef(project.id, project.public_id, project.project_code, project.project_name)
