"""`/document-numbering/series`: the series of a project, and the account of one, from its first number on."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import PageCursor, PageLimit, ReadSession
from saraban.numbering import service as numbering
from saraban.numbering.dependencies import READ_LIMIT, RecordedRoute
from saraban.numbering.domain.sequence import LARGEST_STATED
from saraban.numbering.schemas import LedgerLineOut, SeriesLedgerOut, SeriesListOut, SeriesOut

router = APIRouter(route_class=RecordedRoute)
Project = Annotated[UUID, Query(alias="projectPublicId")]


@router.get("/series", dependencies=READ_LIMIT, summary="List the series of a project")
async def list_series(
    session: ReadSession,
    caller: CurrentCaller,
    project_public_id: Project,
    q: Annotated[str | None, Query(max_length=255, description="Only series whose name contains this.")] = None,
    limit: PageLimit = 50,
    cursor: Annotated[str | None, Query(max_length=1100, description="`nextCursor` of the page before.")] = None,
) -> SeriesListOut:
    """By name. A series is what its numbers print, with `{SEQ}` in the place of the sequence."""
    page = await numbering.list_series(
        session, caller=caller, project_public_id=project_public_id, text=q, cursor=cursor, limit=limit
    )
    return SeriesListOut(items=[_series(row) for row in page.items], next_cursor=page.next_cursor)


@router.get("/series/account", dependencies=READ_LIMIT, summary="Account for every number of a series")
async def account(
    session: ReadSession,
    caller: CurrentCaller,
    project_public_id: Project,
    series: Annotated[str, Query(max_length=255, examples=["คคง.-สคฉ.3-{SEQ}-2569"])],
    first: Annotated[int, Query(alias="from", ge=1, le=LARGEST_STATED, description="Begin with this sequence.")] = 1,
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> SeriesLedgerOut:
    """
    Each number with its state and holder; each hole with its reason.

    `UNEXPLAINED` is what must never be there: `saraban number verify` looks for it in the whole database.
    """
    found = await numbering.series_ledger(
        session,
        caller=caller,
        project_public_id=project_public_id,
        series=series,
        first=first,
        cursor=cursor,
        limit=limit,
    )
    return SeriesLedgerOut(
        series=found.series,
        last_number=found.counter,
        items=[_line(line) for line in found.lines],
        next_cursor=found.next_cursor,
    )


def _series(row: numbering.SeriesRow) -> SeriesOut:
    return SeriesOut(
        series=row.series,
        document_type=row.type_code,
        year=row.year,
        last_number=row.last_number,
        highest_number=row.highest,
        ranges=row.range_count,
        updated_at=row.updated_at,
    )


def _line(line: numbering.LedgerLine[numbering.NumberRow]) -> LedgerLineOut:
    entry, gap = line.entry, line.gap
    if entry is None:
        assert gap is not None
        return LedgerLineOut(
            first=line.first, last=line.last, state=gap.why, reason=gap.reason, username=gap.username, at=gap.at
        )
    return LedgerLineOut(
        first=line.first,
        last=line.last,
        state=entry.status,
        public_id=entry.public_id,
        document_number=entry.number,
        source=entry.source,
        from_range=entry.range > 0,
        holder_kind=entry.holder_kind,
        holder_public_id=entry.holder,
        reason=entry.reason,
        username=entry.username,
        at=entry.issued_at,
        changed_at=entry.changed_at,
        replaces=entry.replaces,
        replaced_by=entry.replaced_by,
    )
