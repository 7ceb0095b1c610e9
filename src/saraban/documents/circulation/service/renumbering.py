"""
A sheet gets another number: the next one of its series, by the format in force now. The old one is void and remains
its alias for ever (ruling N8).
"""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import CirculationRow
from saraban.documents.circulation.service.answering import current
from saraban.documents.circulation.service.presenting import etag, full
from saraban.documents.circulation.service.reading import find
from saraban.documents.core import service as core
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult
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
) -> OperationResult:
    """
    Draw a number for a sheet that has one, make the old one void and link the two, in one transaction.

    :raises NotFound: also for a sheet of another organization
    :raises Forbidden: for everybody but the project's administrators
    :raises DocumentIsCancelled: when the sheet carries no number any more
    """
    wish = core.Renumbering(caller, domain.KIND, domain.PATH, public_id, reason, now, address, key)

    async def seen() -> tuple[CirculationRow, numbering.Plan]:
        async with db.reading() as session:
            row = await find(session, caller=caller, public_id=public_id)
            return row, await _plan(session, row, caller=caller, now=now, zone=zone)

    async def change(session: AsyncSession, before: CirculationRow, issued: numbering.Issued) -> None:
        row, _, _ = await current(session, caller=caller, public_id=public_id)
        old = row.sheet.circulation_no
        await core.replaced(session, wish, number=before.sheet.number_uuid, printed=old, issued=issued)
        values = {"circulation_no": issued.number, "number_uuid": issued.public_id, "updated_at": now}
        await repository.change(session, sheet_id=row.sheet.id, values=values)

    async def show(session: AsyncSession) -> OperationResult:
        fresh = await find(session, caller=caller, public_id=public_id)
        shown = await full(session, caller=caller, row=fresh, now=now, zone=zone)
        return OperationResult(200, shown.model_dump(mode="json", by_alias=True), {"ETag": etag(shown)})

    return await core.numbered_anew(db, allocator, wish, seen=seen, change=change, show=show)


async def _plan(
    session: AsyncSession, row: CirculationRow, *, caller: Caller, now: datetime, zone: ZoneInfo
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
