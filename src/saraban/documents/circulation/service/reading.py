"""Reading sheets: the register, one sheet, its history."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import CirculationFilters, CirculationRow
from saraban.documents.circulation.schemas import CirculationAnswer, CirculationSummary
from saraban.documents.circulation.service.presenting import full, reach, summaries
from saraban.documents.core import service as core
from saraban.documents.core.schemas import DocumentHistory
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import local_date
from saraban.kit.errors import NotFound, invalid
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.workflow.runtime.schemas import WorkflowEnvelope, WorkflowItem


@dataclass(frozen=True, slots=True, kw_only=True)
class CirculationSearch:
    """What a person asks the register for; None asks for all. `mine`: written by me, or with a part for me."""

    project: UUID | None = None
    status: str | None = None
    correspondence: UUID | None = None
    text: str | None = None
    due_before: date | None = None
    overdue: bool = False
    mine: bool = False


async def listing(
    session: AsyncSession,
    *,
    caller: Caller,
    search: CirculationSearch,
    cursor: str | None,
    limit: int,
    now: datetime,
    zone: ZoneInfo,
) -> Page[WorkflowItem[CirculationSummary]]:
    """Return a page of the sheets of the caller's organizations, newest first."""
    if search.status is not None and search.status not in domain.STATUSES:
        raise invalid(
            "query:status",
            "not_in_list",
            "ต้องเป็นค่าใดค่าหนึ่งต่อไปนี้: {expected}",
            "This must be one of: {expected}.",
            expected=", ".join(domain.STATUSES),
        )
    filters = CirculationFilters(
        reach=reach(caller),
        project=search.project,
        status=domain.STATUSES[search.status] if search.status else None,
        correspondence=search.correspondence,
        text=fold(search.text).strip() or None if search.text else None,
        due_before=search.due_before,
        overdue_on=local_date(now, zone) if search.overdue else None,
        person=caller.user_id if search.mine else None,
    )
    page = await repository.page(session, filters=filters, cursor=cursor, limit=limit)
    items = await summaries(session, caller=caller, rows=page.items, now=now, zone=zone)
    return Page(items, page.next_cursor)


async def find(session: AsyncSession, *, caller: Caller, public_id: UUID) -> CirculationRow:
    """
    :raises NotFound: also for a sheet of another organization
    """
    rows = await repository.visible(session, reach=reach(caller), public_ids=[public_id])
    if not rows:
        raise NotFound("There is no such circulation sheet.")
    return rows[0]


async def read(
    session: AsyncSession, *, caller: Caller, public_id: UUID, now: datetime, zone: ZoneInfo
) -> WorkflowEnvelope[CirculationAnswer]:
    """
    :raises NotFound: also for a sheet of another organization
    """
    row = await find(session, caller=caller, public_id=public_id)
    return await full(session, caller=caller, row=row, now=now, zone=zone)


async def history(session: AsyncSession, *, caller: Caller, public_id: UUID) -> DocumentHistory:
    """
    :raises NotFound: also for a sheet of another organization
    """
    row = await find(session, caller=caller, public_id=public_id)
    return await core.merged(
        session,
        entity_type=domain.ENTITY_TYPE,
        labels={str(row.sheet.public_id): None},
        audited_as=domain.KIND,
        public_id=public_id,
    )


async def reads_file(session: AsyncSession, caller: Caller, attachment_id: int) -> bool:
    """Return whether a file hangs on a sheet that the caller may see."""
    return await repository.reaches_file(session, reach=reach(caller), attachment_id=attachment_id)
