"""Cancelling a document: its number stays and is marked, its workflow ends, and what hangs on it ends with it."""

from collections.abc import Sequence
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
from saraban.documents.core.service.kind import DocumentKind, Follower
from saraban.documents.core.service.queries import find
from saraban.documents.core.service.records import record
from saraban.documents.core.service.revisions import is_draft_revision
from saraban.documents.core.service.rights import require_edit, require_withdraw
from saraban.documents.core.service.workflow_subject import show_status
from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text
from saraban.kit.idempotency import OperationResult
from saraban.numbering import service as numbering
from saraban.workflow import service as workflow
from saraban.workflow.domain.subject import Envelope


class CancelOnlyDraft(DomainError):
    """This kind of document can be cancelled only before it is submitted (EC-RFA-006)."""

    kind, code = ErrorKind.CONFLICT, "CANCEL_ONLY_DRAFT"
    says = Text("สามารถยกเลิกได้เฉพาะในสถานะ Draft", "Only a draft can be cancelled.")
    recovery = (Text("ดำเนินการต่อใน Workflow", "Continue in the workflow."),)


class WithdrawRevisionFirst(DomainError):
    """The next revision is being drafted; cancelling the whole document now is hardly what is meant."""

    kind, code = ErrorKind.CONFLICT, "WITHDRAW_REVISION_FIRST"
    says = Text(
        "ฉบับแก้ไขยังเป็นฉบับร่างอยู่ กรุณาถอนฉบับแก้ไขก่อน",
        "The next revision is still a draft. Withdraw that revision first.",
    )
    recovery = (Text("ถอนฉบับแก้ไขที่ยังเป็นฉบับร่าง", "Withdraw the draft revision."), REFRESH)


async def cancel(
    db: Database,
    register: DocumentKind,
    followers: Sequence[Follower],
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
    Cancel a document with all that hangs on it, in one transaction; there is no way back.

    :raises WithdrawRevisionFirst: while the draft of a next revision is open
    :raises CancelOnlyDraft: for a kind that its workflow alone may end, once submitted
    :raises Forbidden: when the caller may not withdraw what has been issued
    """
    return await ended_once(
        db,
        register,
        caller=caller,
        public_id=public_id,
        verb="cancel",
        reason=reason,
        now=now,
        zone=zone,
        key=key,
        end=lambda session: _cancel(session, register, followers, caller, public_id, reason, now, zone, address),
    )


async def _cancel(
    session: AsyncSession,
    register: DocumentKind,
    followers: Sequence[Follower],
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> DocumentRow:
    row, envelope = await hold_current(session, register, caller=caller, public_id=public_id, zone=zone)
    await _check_right(session, register, caller, row, envelope)
    await writes.change_head(
        session,
        document_id=row.head.id,
        values={"cancelled_at": now, "cancelled_by": caller.user_id, "cancel_reason": reason},
    )
    await show_status(session, register, row=row, state=CANCELLED, now=now, zone=zone)
    await workflow.cancel(
        session,
        entity_type=register.kind.entity_type,
        entity_id=str(row.revision.public_id),
        caller=caller,
        reason=reason,
        now=now,
    )
    await numbering.cancel_number(
        session,
        caller=caller,
        holder=numbering.Holder(register.kind.name, public_id),
        reason=reason,
        now=now,
        address=address,
    )
    for follower in followers:
        await follower.document_cancelled(
            session, caller=caller, document_id=row.head.id, reason=reason, address=address, now=now
        )
    details: dict[str, object] = {"reason": reason}
    await record(
        session, register.kind, "cancelled", "cancel", caller=caller, row=row, address=address, now=now, details=details
    )
    return await find(session, register.kind, caller=caller, public_id=public_id)


async def _check_right(
    session: AsyncSession, register: DocumentKind, caller: Caller, row: DocumentRow, envelope: Envelope | None
) -> None:
    in_draft = envelope is not None and envelope.current_state == DRAFT
    if in_draft and not await repository.ever_issued(session, document_id=row.head.id):
        require_edit(caller, register.kind, row.head)
        return
    if await is_draft_revision(session, row=row, envelope=envelope):
        require_edit(caller, register.kind, row.head)
        raise WithdrawRevisionFirst
    if not register.kind.cancel_after_issue:
        # Whoever may not cancel it anyway learns just that; the state is told to those whom it concerns.
        require_edit(caller, register.kind, row.head)
        raise CancelOnlyDraft
    require_withdraw(caller, row.head)
