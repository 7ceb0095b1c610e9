"""
A document gets another number: the next one of its series, by the format in force now. The old one is void and remains
its alias for ever (ruling N8).
"""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.editing import DocumentIsCancelled, current
from saraban.documents.core.service.presenting import etag, full
from saraban.documents.core.service.reading import find
from saraban.documents.core.service.register import Register
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.db import Database
from saraban.kit.idempotency import Answer, Remember, answer_once, request_token
from saraban.numbering import service as numbering

RENUMBERS = "numbering.manage_formats"


async def renumber(
    db: Database,
    allocator: numbering.Allocator,
    register: Register,
    *,
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None,
) -> Answer:
    """
    This will draw a number for a document that has one, make the old one void and link the two, in one transaction.

    :raises Forbidden: for everybody but the project's administrators
    :raises DocumentIsCancelled: when the document carries no number any more
    """
    operation, payload = f"POST /{register.kind.path}/{public_id}/renumber", {"reason": reason}

    async def run(remember: Remember) -> Answer:
        async with db.reading() as session:
            row = await find(session, register.kind, caller=caller, public_id=public_id)
            plan = await _plan(session, row, caller=caller, now=now, zone=zone)

        async def then(session: AsyncSession, issued: numbering.Issued) -> Answer:
            await _renumber(session, register, row, issued, caller, reason, now, zone, address)
            answer = await recall(session, issued)
            await remember(session, answer)
            return answer

        async def recall(session: AsyncSession, _issued: numbering.Issued) -> Answer:
            fresh = await find(session, register.kind, caller=caller, public_id=public_id)
            shown = await full(session, register, caller=caller, row=fresh, now=now, zone=zone)
            return Answer(200, shown.model_dump(mode="json", by_alias=True), {"ETag": etag(shown)})

        return await allocator.issue(
            plan,
            caller=caller,
            holder=numbering.Holder(register.kind.name, public_id),
            token=request_token(key=key, user=caller.public_id, operation=operation, payload=payload),
            address=address,
            idempotency_key=key,
            then=then,
            recall=recall,
        )

    return await answer_once(db, key=key, user=caller.public_id, operation=operation, payload=payload, now=now, run=run)


async def _plan(
    session: AsyncSession, row: DocumentRow, *, caller: Caller, now: datetime, zone: ZoneInfo
) -> numbering.Plan:
    caller.require(RENUMBERS, Scope(project=row.head.project_id))
    if row.head.cancelled_at is not None or row.head.number_uuid is None:
        raise DocumentIsCancelled
    recipients = (await repository.recipients(session, document_ids=[row.head.id]))[row.head.id]
    main = next(one.organization for one in recipients if one.recipient_type == "TO")
    request = numbering.NumberRequest(
        project_public_id=row.project.public_id,
        correspondence_type_code=row.type.type_code,
        originator_organization_public_id=row.originator.public_id,
        recipient_organization_public_id=main.public_id,
        contract_public_id=row.contract.public_id if row.contract else None,
        sub_type_code=row.sub_type.sub_type_code if row.sub_type else None,
        rfa_type_code=await numbering.rfa_type_of(session, number=row.head.number_uuid),
        discipline_code=row.discipline.discipline_code if row.discipline else None,
        revision=row.revision.revision_label,
    )
    return await numbering.plan(session, caller=caller, request=request, now=now, zone=zone)


async def _renumber(
    session: AsyncSession,
    register: Register,
    seen: DocumentRow,
    issued: numbering.Issued,
    caller: Caller,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> None:
    row, _ = await current(session, register, caller=caller, public_id=seen.head.public_id, zone=zone)
    assert seen.head.number_uuid is not None
    await numbering.replace_held(
        session,
        caller=caller,
        holder=numbering.Holder(register.kind.name, row.head.public_id),
        number=seen.head.number_uuid,
        replacement=issued,
        reason=reason,
        now=now,
        address=address,
    )
    old = row.head.correspondence_number
    await writes.change_revision(session, revision_id=row.revision.id, values={"correspondence_number": issued.number})
    await writes.change_head(
        session,
        document_id=row.head.id,
        values={"correspondence_number": issued.number, "number_uuid": issued.public_id},
    )
    await audit.write(
        session,
        action=f"{register.kind.name}.renumber",
        caller=caller,
        entity_type=register.kind.name,
        entity_id=str(row.head.public_id),
        details={"documentNumber": issued.number, "oldNumber": old, "reason": reason},
        address=address,
        now=now,
    )
    session.expire_all()
