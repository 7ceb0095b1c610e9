"""Withdrawing the next revision while it is a draft: the document stands at the revision before it again."""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import CANCELLED, DRAFT
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.draft_changes import hold_current
from saraban.documents.core.service.ending import ended_once
from saraban.documents.core.service.kind import DocumentKind
from saraban.documents.core.service.queries import find
from saraban.documents.core.service.records import record
from saraban.documents.core.service.rights import require_edit
from saraban.documents.core.service.workflow_subject import show_status
from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.idempotency import OperationResult
from saraban.numbering import service as numbering
from saraban.workflow import service as workflow
from saraban.workflow.domain.subject import Envelope


class NoDraftRevision(DomainError):
    """Only a next revision that has not been submitted can be withdrawn."""

    kind, code = ErrorKind.CONFLICT, "NO_DRAFT_REVISION"
    says = Text("ไม่มีฉบับแก้ไขที่ยังเป็นฉบับร่างให้ถอน", "There is no draft revision to withdraw.")
    recovery = (Text("หากเป็นเอกสารที่ยังไม่เคยส่ง ให้ยกเลิกทั้งฉบับ", "Cancel the document if it has never been issued."),)


async def is_draft_revision(session: AsyncSession, *, row: DocumentRow, envelope: Envelope | None) -> bool:
    """Return whether a document stands at a draft that follows an issued revision."""
    in_draft = envelope is not None and envelope.current_state == DRAFT and row.revision.issued_date is None
    return in_draft and await repository.ever_issued(session, document_id=row.head.id)


async def withdraw_revision(
    db: Database,
    register: DocumentKind,
    *,
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None,
) -> OperationResult:
    """
    End the draft of the next revision, in one transaction; its label may be printed on a later one.

    :raises NoDraftRevision: when the current revision has been submitted, or is the first one
    """
    return await ended_once(
        db,
        register,
        caller=caller,
        public_id=public_id,
        verb="withdraw-revision",
        reason=reason,
        now=now,
        zone=zone,
        key=key,
        end=lambda session: _withdraw(session, register, caller, public_id, reason, now, zone, address),
    )


async def _withdraw(
    session: AsyncSession,
    register: DocumentKind,
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> DocumentRow:
    row, envelope = await hold_current(session, register, caller=caller, public_id=public_id, zone=zone)
    require_edit(caller, register.kind, row.head)
    if not await is_draft_revision(session, row=row, envelope=envelope):
        raise NoDraftRevision
    await show_status(session, register, row=row, state=CANCELLED, now=now, zone=zone)
    await workflow.cancel(
        session,
        entity_type=register.kind.entity_type,
        entity_id=str(row.revision.public_id),
        caller=caller,
        reason=reason,
        now=now,
    )
    details: dict[str, object] = {"reason": reason}
    await record(
        session,
        register.kind,
        "withdrawn",
        "withdraw-revision",
        caller=caller,
        row=row,
        address=address,
        now=now,
        details=details,
    )
    await _go_back(session, register, caller, row, now, address)
    return await find(session, register.kind, caller=caller, public_id=public_id)


async def _go_back(
    session: AsyncSession, register: DocumentKind, caller: Caller, row: DocumentRow, now: datetime, address: str
) -> None:
    """Makes the newest revision that still stands the current one, and its number the document's."""
    withdrawn = {"is_current": False, "withdrawn_at": now}
    await writes.change_revision(session, revision_id=row.revision.id, values=withdrawn)
    before = await repository.newest_standing(session, document_id=row.head.id)
    number = await numbering.restore_number(
        session,
        caller=caller,
        holder=numbering.Holder(register.kind.name, row.head.public_id),
        revision_label=before.revision_label,
        now=now,
        address=address,
    )
    await writes.change_revision(session, revision_id=before.id, values={"is_current": True})
    await writes.change_head(session, document_id=row.head.id, values={"correspondence_number": number})
