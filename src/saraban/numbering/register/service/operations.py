"""Reads of the number audit."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.dates import moments_of_days
from saraban.kit.pagination import Page, page_of
from saraban.kit.text import fold
from saraban.numbering.issue.service.lifecycle import VIEW_COUNTERS
from saraban.numbering.register.repository import operations
from saraban.numbering.register.repository.operations import OperationSearch
from saraban.numbering.register.schemas import NumberAuditQuery
from saraban.numbering.series.models import NumberOperation
from saraban.projects import service as projects


async def list_operations(
    ctx: RequestContext,
    session: AsyncSession,
    query: NumberAuditQuery,
    *,
    project_public_id: UUID,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[NumberOperation]:
    """
    :raises NotFound: for a project that the caller may not see
    :raises Forbidden: without access to the counters of the whole project
    :raises Invalid: for a period that ends before it begins
    """
    project = await projects.visible_project(ctx, session, project_public_id)
    ctx.caller.require(VIEW_COUNTERS, Scope(project=project.id))
    since, until = moments_of_days(query.since, query.until, ctx.zone)
    person, numbers = None, None
    if query.person is not None:
        person = await _find_account(session, query.person)
        if person is None:
            return Page([], None)
    if query.number is not None:
        numbers = await operations.entries_printed_as(session, project_id=project.id, number=fold(query.number))
    search = OperationSearch(
        project.id,
        operation=query.operation,
        person=person,
        numbers=numbers,
        series=fold(query.series) if query.series is not None else None,
        since=since,
        until=until,
    )
    rows = await operations.operations_page(session, search, cursor=cursor, limit=limit)
    return page_of(rows, limit=limit, key=lambda row: (row.audit.created_at, row.audit.public_id))


async def _find_account(session: AsyncSession, identifier: str) -> int | None:
    try:
        matches = await identity.look_up(session, public_ids=[UUID(identifier)])
    except ValueError:
        matches = await identity.look_up(session, codes=[identifier])
    return next((match.key for match in matches if match.kind == "user"), None)
