"""
Giving a document another number: the next one of its series, by the format in force now. The old one is void and remains its
alias for ever (ruling N8).
"""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.service.document_change import DocumentIsCancelled, hold_current
from saraban.documents.core.service.kind import AnyKind, DocumentHeader
from saraban.documents.core.service.presentation import result
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult, Remember, answer_once, request_token
from saraban.numbering import service as numbering

RENUMBERS = "numbering.manage_formats"


async def renumber(
    db: Database,
    allocator: numbering.Allocator,
    kind: AnyKind,
    *,
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None = None,
) -> OperationResult:
    """
    Issue a number for a document that has one, make the old one void and link the two, in one transaction.

    :raises NotFound: also when the caller may not know of it
    :raises Forbidden: for everybody but the project's administrators
    :raises DocumentIsCancelled: when the document carries no number any more
    """
    operation, payload = f"POST /{kind.rules.path}/{public_id}/renumber", {"reason": reason}
    user = caller.public_id

    async def show(session: AsyncSession) -> OperationResult:
        fresh = await kind.find(session, caller=caller, public_id=public_id)
        return await result(session, kind, fresh, caller=caller, now=now, zone=zone)

    async def run(remember: Remember) -> OperationResult:
        async with db.reading() as session:
            before: DocumentHeader = await kind.find(session, caller=caller, public_id=public_id)
            plan = await _plan(session, kind, before, caller=caller, now=now, zone=zone)

        async def then(session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            await _change_number(
                session, kind, before, issued, caller=caller, reason=reason, now=now, zone=zone, address=address
            )
            answer = await show(session)
            await remember(session, answer)
            return answer

        return await allocator.issue_and_write(
            plan,
            caller=caller,
            holder=numbering.Holder(kind.rules.name, public_id),
            token=request_token(key=key, user=user, operation=operation, payload=payload),
            address=address,
            idempotency_key=key,
            then=then,
            recall=lambda session, _issued: show(session),
        )

    return await answer_once(db, key=key, user=user, operation=operation, payload=payload, now=now, run=run)


async def _plan(
    session: AsyncSession, kind: AnyKind, row: DocumentHeader, *, caller: Caller, now: datetime, zone: ZoneInfo
) -> numbering.Plan:
    caller.require(RENUMBERS, Scope(project=row.project.id))
    if row.cancelled_at is not None or row.number_uuid is None:
        raise DocumentIsCancelled
    request = await kind.number_request(session, row)
    return await numbering.plan(session, caller=caller, request=request, now=now, zone=zone)


async def _change_number(
    session: AsyncSession,
    kind: AnyKind,
    before: DocumentHeader,
    issued: numbering.Issued,
    *,
    caller: Caller,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> None:
    """
    :param before: the document as it was when the new number was planned
    """
    row, _ = await hold_current(session, kind, caller=caller, public_id=before.public_id, zone=zone)
    assert before.number_uuid is not None  # the plan says so
    old_number = row.number
    await numbering.replace_held_number(
        session,
        caller=caller,
        holder=numbering.Holder(kind.rules.name, row.public_id),
        number=before.number_uuid,
        replacement=issued,
        reason=reason,
        now=now,
        address=address,
    )
    await audit.write(
        session,
        action=f"{kind.rules.name}.renumber",
        caller=caller,
        entity_type=kind.rules.name,
        entity_id=str(row.public_id),
        details={"documentNumber": issued.number, "oldNumber": old_number, "reason": reason},
        address=address,
        now=now,
    )
    await kind.change_number(session, row, issued, now=now)
    session.expire_all()
