"""
A sheet gets another number: the next one of its series, by the format in force now. The old one is void and remains
its alias for ever (ruling N8).
"""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import SheetRow
from saraban.documents.circulation.service.answering import current
from saraban.documents.circulation.service.presenting import etag, full
from saraban.documents.circulation.service.reading import find
from saraban.documents.core import service as core
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.db import Database
from saraban.kit.idempotency import Answer, Remember, answer_once, request_token
from saraban.numbering import service as numbering


async def renumber(
    db: Database,
    allocator: numbering.Allocator,
    *,
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None = None,
) -> Answer:
    """
    This will draw a number for a sheet that has one, make the old one void and link the two, in one transaction.

    :raises NotFound: also for a sheet of another organization
    :raises Forbidden: for everybody but the project's administrators
    :raises DocumentIsCancelled: when the sheet carries no number any more
    """
    operation, payload = f"POST {domain.PATH}/{public_id}/renumber", {"reason": reason}

    async def run(remember: Remember) -> Answer:
        async with db.reading() as session:
            row = await find(session, caller=caller, public_id=public_id)
            plan = await _plan(session, row, caller=caller, now=now, zone=zone)

        async def then(session: AsyncSession, issued: numbering.Issued) -> Answer:
            await _renumber(session, row, issued, caller=caller, reason=reason, now=now, address=address)
            answer = await recall(session, issued)
            await remember(session, answer)
            return answer

        async def recall(session: AsyncSession, _issued: numbering.Issued) -> Answer:
            fresh = await find(session, caller=caller, public_id=public_id)
            shown = await full(session, caller=caller, row=fresh, now=now, zone=zone)
            return Answer(200, shown.model_dump(mode="json", by_alias=True), {"ETag": etag(shown)})

        return await allocator.issue(
            plan,
            caller=caller,
            holder=numbering.Holder(domain.KIND, public_id),
            token=request_token(key=key, user=caller.public_id, operation=operation, payload=payload),
            address=address,
            idempotency_key=key,
            then=then,
            recall=recall,
        )

    return await answer_once(db, key=key, user=caller.public_id, operation=operation, payload=payload, now=now, run=run)


async def _plan(
    session: AsyncSession, row: SheetRow, *, caller: Caller, now: datetime, zone: ZoneInfo
) -> numbering.Plan:
    caller.require(core.RENUMBERS, Scope(project=row.sheet.project_id))
    if row.sheet.cancelled_at is not None or row.sheet.number_uuid is None:
        raise core.DocumentIsCancelled
    request = numbering.NumberRequest(
        project_public_id=row.project.public_id,
        correspondence_type_code=domain.TYPE_CODE,
        originator_organization_public_id=row.organization.public_id,
    )
    return await numbering.plan(session, caller=caller, request=request, now=now, zone=zone)


async def _renumber(
    session: AsyncSession,
    seen: SheetRow,
    issued: numbering.Issued,
    *,
    caller: Caller,
    reason: str,
    now: datetime,
    address: str,
) -> None:
    row, _, _ = await current(session, caller=caller, public_id=seen.sheet.public_id)
    assert seen.sheet.number_uuid is not None
    await numbering.replace_held(
        session,
        caller=caller,
        holder=numbering.Holder(domain.KIND, row.sheet.public_id),
        number=seen.sheet.number_uuid,
        replacement=issued,
        reason=reason,
        now=now,
        address=address,
    )
    old = row.sheet.circulation_no
    await repository.change(
        session,
        sheet_id=row.sheet.id,
        values={"circulation_no": issued.number, "number_uuid": issued.public_id, "updated_at": now},
    )
    await audit.write(
        session,
        action=f"{domain.KIND}.renumber",
        caller=caller,
        entity_type=domain.KIND,
        entity_id=str(row.sheet.public_id),
        details={"documentNumber": issued.number, "oldNumber": old, "reason": reason},
        address=address,
        now=now,
    )
