"""`/document-numbering/series`, `/resolve`, `/ledger/export`, `/logs/audit`."""

from typing import Annotated, Literal
from uuid import UUID

import orjson
from fastapi import APIRouter, Query
from starlette.responses import Response

from saraban.identity.dependencies import Context
from saraban.kit.http import BINARY, Db, PageCursor, PageLimit, ReadSession, WorkbookFormat, written_file
from saraban.kit.json import Json
from saraban.kit.schema import Items, PageOut
from saraban.numbering.issue.dependencies import READ_LIMIT, RecordedRoute
from saraban.numbering.issue.service import number_plan
from saraban.numbering.register.domain import LedgerLine, NumberRow
from saraban.numbering.register.schemas import (
    FoundNumberOut,
    LedgerLineOut,
    NumberAuditQuery,
    NumberOperationOut,
    NumberResolutionOut,
    SeriesLedgerOut,
    SeriesOut,
)
from saraban.numbering.register.service import ledger, operations, sheets
from saraban.numbering.series.domain.counter import LARGEST_STATED
from saraban.numbering.series.domain.states import DOCUMENTS
from saraban.numbering.series.models import NumberOperation

router = APIRouter(route_class=RecordedRoute)
Project = Annotated[UUID, Query(alias="projectPublicId")]


@router.get("/resolve", dependencies=READ_LIMIT, summary="Find what a number became")
async def resolve(
    session: ReadSession,
    ctx: Context,
    project_public_id: Project,
    number: Annotated[str, Query(min_length=1, max_length=255)],
    register: Annotated[
        Literal["document", "contract", "shop", "asbuilt"], Query(description="Drawings have registers of their own.")
    ] = DOCUMENTS,
) -> NumberResolutionOut:
    """Find the current number and document of any number that was ever printed."""
    resolution = await ledger.resolve_number(
        ctx, session, project_public_id=project_public_id, number=number, register=register
    )
    current = resolution.current
    choice = await number_plan.format_choice(session, current.public_id)
    assert choice is not None
    return NumberResolutionOut(
        public_id=current.public_id,
        asked_number=number,
        asked_status=resolution.asked.document_number_status,
        document_number=current.document_number,
        status=current.document_number_status,
        document_kind=current.holder_kind,
        document_public_id=current.holder_public_id,
        number_format=choice.shown(),
    )


@router.get("/series", dependencies=READ_LIMIT, summary="List the series of a project")
async def list_series(
    session: ReadSession,
    ctx: Context,
    project_public_id: Project,
    q: Annotated[str | None, Query(max_length=255, description="Only series whose name contains this.")] = None,
    limit: PageLimit = 50,
    cursor: Annotated[str | None, Query(max_length=1100, description="`nextCursor` of the page before.")] = None,
) -> PageOut[SeriesOut]:
    """
    By name. A series is named by what its numbers print, with `{SEQ}` instead of the sequence.

    A document controller sees the series that were begun for the organization or contain its numbers.
    """
    page = await ledger.list_series(
        ctx, session, project_public_id=project_public_id, text=q, cursor=cursor, limit=limit
    )
    return PageOut[SeriesOut](items=page.items, next_cursor=page.next_cursor)


@router.get("/numbers", dependencies=READ_LIMIT, summary="Search numbers")
async def search_numbers(
    session: ReadSession,
    ctx: Context,
    project_public_id: Project,
    q: Annotated[
        str, Query(min_length=1, max_length=255, description="A number, or a part of one.", examples=["0042"])
    ],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Items[FoundNumberOut]:
    """
    Any printed form matches, including former revisions and replaced numbers; those that begin with `q` come first.

    A reader of the project's counters finds all numbers; a document controller finds those of the organization.
    """
    numbers = await ledger.search_numbers(ctx, session, project_public_id=project_public_id, text=q, limit=limit)
    return Items[FoundNumberOut](items=numbers)


@router.get("/series/account", dependencies=READ_LIMIT, summary="Read the ledger of a series")
async def account(
    session: ReadSession,
    ctx: Context,
    project_public_id: Project,
    series: Annotated[str, Query(max_length=255, examples=["คคง.-สคฉ.3-{SEQ}-2569"])],
    first: Annotated[int, Query(alias="from", ge=1, le=LARGEST_STATED, description="Begin with this sequence.")] = 1,
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> SeriesLedgerOut:
    """
    Each number with its state and holder; each gap with its reason. In a series that organizations share, a document
    controller sees only that another organization's number exists.

    `UNEXPLAINED` must never occur: `saraban number verify` looks for it in the whole database.
    """
    page = await ledger.series_ledger(
        ctx,
        session,
        project_public_id=project_public_id,
        series=series,
        first=first,
        cursor=cursor,
        limit=limit,
    )
    return SeriesLedgerOut(
        series=page.series,
        last_number=page.counter,
        items=[_ledger_line(line) for line in page.lines],
        next_cursor=page.next_cursor,
    )


def _ledger_line(line: LedgerLine[NumberRow]) -> LedgerLineOut:
    entry, gap = line.entry, line.gap
    if entry is None:
        assert gap is not None
        return LedgerLineOut.from_object(gap, first=line.first, last=line.last, state=gap.why)
    return LedgerLineOut.from_object(
        entry,
        first=line.first,
        last=line.last,
        state=entry.status,
        document_number=entry.number,
        from_range=entry.range > 0,
        holder_public_id=entry.holder,
        at=entry.issued_at,
    )


@router.get("/logs/audit", dependencies=READ_LIMIT, summary="Read the audit of a project's numbers")
async def list_operations(
    session: ReadSession,
    ctx: Context,
    project_public_id: Project,
    asked: Annotated[NumberAuditQuery, Query()],
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> PageOut[NumberOperationOut]:
    """
    Newest first, for readers of the whole project's counters. Refused calls are in `/logs/errors`.

    Days are in the deployment's time zone. Rows never change, and are kept for at least seven years.
    """
    page = await operations.list_operations(
        ctx, session, asked, project_public_id=project_public_id, cursor=cursor, limit=limit
    )
    return PageOut[NumberOperationOut](items=[_operation_out(row) for row in page.items], next_cursor=page.next_cursor)


def _operation_out(row: NumberOperation) -> NumberOperationOut:
    audit = row.audit
    return NumberOperationOut.from_object(
        audit,
        username=row.username,
        display_name=row.person or None,
        number_public_id=audit.reservation_uuid,
        document_number=audit.generated_number,
        document_public_id=audit.holder_public_id,
        template=audit.template_used,
        counter_key=_parse_stored(audit.counter_key),
        sequence=audit.sequence_number,
        before=_parse_stored(audit.old_value),
        after=_parse_stored(audit.new_value),
        address=audit.ip_address,
    )


def _parse_stored(text: str | None) -> Json:
    """Parse values stored as JSON; return others as text."""
    return orjson.loads(text) if text and text.startswith("{") else text


@router.get(
    "/ledger/export",
    dependencies=READ_LIMIT,
    response_class=Response,
    responses=BINARY,
    summary="Export the ledger of a project",
)
async def export_ledger(
    ctx: Context,
    db: Db,
    project_public_id: Project,
    form: WorkbookFormat = "xlsx",
    type_code: Annotated[str | None, Query(alias="type", max_length=50, examples=["LETTER"])] = None,
    series: Annotated[str | None, Query(max_length=255, examples=["คคง.-สคฉ.3-{SEQ}-2569"])] = None,
) -> Response:
    """Every number in any state, in order of issue; times are in the deployment's time zone."""
    rows = await sheets.ledger_rows(
        ctx,
        db,
        project_public_id=project_public_id,
        type_code=type_code,
        series=series,
    )
    return await written_file(f"ledger.{form}", lambda path: sheets.write_export(path, rows))
