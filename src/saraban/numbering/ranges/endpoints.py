"""`/document-numbering/ranges`: reserved and blocked ranges of a series."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import Db, Idempotent, PageCursor, PageLimit, PathId, ReadSession, read_after_commit, respond
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import PageOut
from saraban.numbering.issue.dependencies import READ_LIMIT, RecordedRoute
from saraban.numbering.issue.endpoints import request_of
from saraban.numbering.issue.service import number_plan
from saraban.numbering.ranges import service
from saraban.numbering.ranges.schemas import RangeEffectOut, RangeIn, RangeOut, RangePreviewIn, ReleasedOut, ReleaseIn
from saraban.numbering.series.models import RangeRow

router = APIRouter(route_class=RecordedRoute)


@router.post("/ranges", status_code=201, response_model=RangeOut, summary="Reserve or block a range of a series")
async def create_range(body: RangeIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """In the series of the described document. A reserved range has its own counter: issue with `rangePublicId`."""
    operation = Operation.of(ctx, "POST /document-numbering/ranges", body)
    receipt = await once.run(operation, _create, ctx, body)
    async with read_after_commit(db) as session:
        row = await service.read_range(ctx, session, receipt.resource_id)
    return respond(_range_out(row), status=201, receipt=receipt)


async def _create(ctx: RequestContext, session: AsyncSession, body: RangeIn) -> Receipt:
    plan = await number_plan.plan(ctx, session, request_of(body))
    row = await service.create_range(ctx, session, plan, body.draft)
    return Receipt("number_range", row.range.public_id)


@router.post("/ranges/preview", dependencies=READ_LIMIT, summary="Preview a range")
async def preview_range(body: RangePreviewIn, session: ReadSession, ctx: Context) -> RangeEffectOut:
    """The number of its sequences, and the next number of the series. An impossible range is refused as on creation."""
    plan = await number_plan.plan(ctx, session, request_of(body))
    return await service.range_effect(ctx, session, plan, body.draft)


@router.get("/ranges", dependencies=READ_LIMIT, summary="List the ranges of a project")
async def list_ranges(
    session: ReadSession,
    ctx: Context,
    project_public_id: Annotated[UUID, Query(alias="projectPublicId")],
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> PageOut[RangeOut]:
    """Newest first, including released ranges."""
    page = await service.list_ranges(ctx, session, project_public_id=project_public_id, cursor=cursor, limit=limit)
    return PageOut[RangeOut](items=[_range_out(row) for row in page.items], next_cursor=page.next_cursor)


@router.post("/ranges/{publicId}/release", response_model=ReleasedOut, summary="Release a range")
async def release_range(public_id: PathId, body: ReleaseIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """The main series then issues what it has not passed; numbers issued from the range stay."""
    operation = Operation.of(ctx, f"POST /document-numbering/ranges/{public_id}", body)
    receipt = await once.run(operation, service.release_range, ctx, public_id=public_id, reason=body.reason)
    async with read_after_commit(db) as session:
        row = await service.read_range(ctx, session, public_id)
    return respond(ReleasedOut.from_object(row.range), receipt=receipt)


def _range_out(row: RangeRow) -> RangeOut:
    last = row.last if row.last is not None and row.last >= row.range.first_number else None
    return RangeOut.from_object(row.range, organization_public_id=row.organization, last_issued=last)
