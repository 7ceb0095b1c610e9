"""`/document-numbering/ledger` and `/document-numbering/imports`: numbers as spreadsheets."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.attachments.dependencies import MULTIPART, FileStorage, SentFile, sent_file
from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.imports.schemas import faults_of, problem_of, status_values
from saraban.imports.service import ImportFile
from saraban.kit.http import (
    BINARY,
    Db,
    Idempotent,
    Language,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    WorkbookFormat,
    read_after_commit,
    respond,
    stored_workbook,
    workbook_response,
)
from saraban.kit.operation import Operation, Receipt
from saraban.kit.workbooks import write_template
from saraban.numbering.imports.domain import COLUMNS
from saraban.numbering.imports.schemas import (
    ImportCommitIn,
    ImportMovedOut,
    ImportOut,
    ImportReportOut,
    ImportSeriesOut,
    ImportsOut,
    ImportSummaryOut,
)
from saraban.numbering.imports.service import uploads
from saraban.numbering.imports.service.uploads import CounterMove, NumberImportRow
from saraban.numbering.issue.dependencies import READ_LIMIT, RecordedRoute

router = APIRouter(route_class=RecordedRoute)
Project = Annotated[UUID, Query(alias="projectPublicId")]


@router.get(
    "/imports/template",
    dependencies=READ_LIMIT,
    response_class=Response,
    responses=BINARY,
    summary="The sheet for legacy numbers",
)
async def import_template(ctx: Context, form: WorkbookFormat = "xlsx") -> Response:  # noqa: ARG001  signed in
    """Headings in Thai and English; the second sheet of the XLSX says what each column is."""
    folder = TemporaryDirectory(prefix="saraban-")
    path = Path(folder.name) / f"legacy-numbers.{form}"
    write_template(path, COLUMNS, "Numbers")
    return workbook_response(path, form, folder)


async def _after_the_project(request: Request, project_public_id: Project) -> SentFile:  # noqa: ARG001  read first
    """A file is not begun to be read where the query is wrong already."""
    return await sent_file(request)


@router.post(
    "/imports",
    status_code=202,
    response_model=ImportOut,
    summary="Upload a file of legacy numbers to be checked",
    openapi_extra=MULTIPART,
)
async def upload_import(
    request: Request,
    ctx: KeyedContext,
    project_public_id: Project,
    sent: Annotated[SentFile, Depends(_after_the_project)],
    db: Db,
    storage: FileStorage,
    once: Idempotent,
    language: Language,
) -> Response:
    """
    XLSX, XLSM, XLS, ODS or CSV, up to 20 MB and 200,000 rows. Nothing is imported yet: read the import until it is CHECKED, then
    commit it.
    """
    sheet = ImportFile.of(sent.name, sent.chunks())
    receipt = await uploads.upload_import(ctx, db, storage, once, project_public_id=project_public_id, sheet=sheet)
    async with read_after_commit(db) as session:
        found = await uploads.read_import(ctx, session, public_id=receipt.resource_id)
    headers = {"Location": f"{request.url.path}/{receipt.public_id}"}
    return respond(_import(found, language), status=202, receipt=receipt, headers=headers)


@router.get("/imports", dependencies=READ_LIMIT, summary="List the imports of a project")
async def list_imports(
    session: ReadSession, ctx: Context, project_public_id: Project, limit: PageLimit = 50, cursor: PageCursor = None
) -> ImportsOut:
    """Newest first, those at a terminal too."""
    page = await uploads.list_imports(ctx, session, project_public_id=project_public_id, cursor=cursor, limit=limit)
    return ImportsOut(
        items=[ImportSummaryOut.model_validate(_summary(one)) for one in page.items], next_cursor=page.next_cursor
    )


@router.get("/imports/{publicId}", dependencies=READ_LIMIT, summary="Read an import")
async def read_import(public_id: PathId, session: ReadSession, ctx: Context, language: Language) -> ImportOut:
    """How far it is, and what the dry run or the import found."""
    found = await uploads.read_import(ctx, session, public_id=public_id)
    return _import(found, language)


@router.post("/imports/{publicId}/commit", status_code=202, response_model=ImportOut, summary="Import what was checked")
async def commit_import(
    public_id: PathId,
    body: ImportCommitIn,
    ctx: KeyedContext,
    db: Db,
    once: Idempotent,
    language: Language,
) -> Response:
    """One transaction for each 1,000 lines; lines that are refused harm no others, and what is there already is left alone."""
    operation = Operation.of(ctx, f"POST /document-numbering/imports/{public_id}/commit", body)
    receipt = await once.run(operation, partial(_start, ctx, public_id, body))
    async with read_after_commit(db) as session:
        found = await uploads.read_import(ctx, session, public_id=public_id)
    return respond(_import(found, language), status=202, receipt=receipt)


async def _start(ctx: RequestContext, public_id: UUID, body: ImportCommitIn, session: AsyncSession) -> Receipt:
    moves = [CounterMove(one.series, one.to) for one in body.moves]
    await uploads.start_import(ctx, session, public_id=public_id, moves=moves)
    return Receipt("number_import", public_id)


@router.get(
    "/imports/{publicId}/result",
    dependencies=READ_LIMIT,
    response_class=Response,
    responses=BINARY,
    summary="Download the result workbook of an import",
)
async def import_result(public_id: PathId, session: ReadSession, ctx: Context, storage: FileStorage) -> Response:
    """Each line of the file again, with what came of it, or, before the commit, what would."""
    key = await uploads.import_result(ctx, session, storage, public_id=public_id)
    await session.close()  # a slow download must not keep a connection
    return stored_workbook(storage.read(key), f"import-{public_id}.xlsx")


def _import(found: NumberImportRow, language: str) -> ImportOut:
    report = found.row.report or {}
    shown = _report(report, language) if "faults" in report or "imported" in report else None
    return ImportOut.model_validate(_summary(found) | {"report": shown, "problem": problem_of(report, language)})


def _summary(found: NumberImportRow) -> dict[str, object]:
    return status_values(found.row, found.project, found.username) | {"uploaded": found.row.file_key is not None}


def _report(report: Mapping[str, Any], language: str) -> ImportReportOut:
    return ImportReportOut(
        ready=report.get("ready", report.get("imported", 0)),
        there=report["there"],
        refused=report["refused"],
        imported=report.get("imported"),
        faults=faults_of(report, language),
        series=[ImportSeriesOut.model_validate(one) for one in report.get("series", [])],
        series_total=report.get("seriesTotal", 0),
        moved=[
            ImportMovedOut(series=series, before=before, after=after)
            for series, (before, after) in report.get("moved", {}).items()
        ],
    )
