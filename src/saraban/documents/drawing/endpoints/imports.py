"""Registers of drawings as spreadsheets over HTTP: uploaded, checked, and imported once that is said."""

from functools import partial
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.attachments.dependencies import MULTIPART, FileStorage, SentFile, sent_file
from saraban.documents.drawing import service
from saraban.documents.drawing.domain import CREATE, KINDS
from saraban.documents.drawing.domain.register_import import columns_of
from saraban.documents.drawing.endpoints.registers import Kind
from saraban.documents.drawing.schemas import DrawingImportAnswer, DrawingImportCommit, DrawingImportQuery
from saraban.identity.dependencies import guarded, guarded_keyed
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
from saraban.kit.schema import PageOut
from saraban.kit.workbooks import write_template

router = APIRouter(prefix="/drawings/{kind}/imports", tags=["Drawings"])
Project = Annotated[UUID, Query(alias="projectPublicId")]
Importer = Annotated[RequestContext, guarded(CREATE)]
KeyedImporter = Annotated[RequestContext, guarded_keyed(CREATE)]


@router.get("/template", response_class=Response, responses=BINARY, summary="The sheet for a register of drawings")
async def import_template(kind: Kind, _ctx: Importer, form: WorkbookFormat = "xlsx") -> Response:
    """Headings in Thai and English; the second sheet of the XLSX says what each column is."""
    folder = TemporaryDirectory(prefix="saraban-")
    path = FilePath(folder.name) / f"{kind}-drawings.{form}"
    write_template(path, columns_of(KINDS[kind]), f"{kind.title()} drawings")
    return workbook_response(path, form, folder)


class SentImport(NamedTuple):
    """What is asked, and the file, which is not begun to be read where the query is wrong already."""

    asked: DrawingImportQuery
    file: SentFile


async def _sent(request: Request, asked: Annotated[DrawingImportQuery, Query()]) -> SentImport:
    return SentImport(asked, await sent_file(request))


@router.post(
    "",
    status_code=202,
    response_model=DrawingImportAnswer,
    summary="Upload a file of drawings to be checked",
    openapi_extra=MULTIPART,
)
async def upload_import(
    kind: Kind,
    request: Request,
    ctx: KeyedImporter,
    sent: Annotated[SentImport, Depends(_sent)],
    db: Db,
    storage: FileStorage,
    once: Idempotent,
    language: Language,
) -> Response:
    """
    XLSX, XLSM, XLS, ODS or CSV, up to 20 MB and 200,000 rows, one for each revision. Nothing is imported yet: read the import until it
    is CHECKED, then commit it. `contract` and `originator` are codes, for lines that state none.
    """
    receipt = await service.upload_import(
        ctx,
        db,
        storage,
        once,
        KINDS[kind],
        asked=sent.asked,
        sheet=ImportFile.of(sent.file.name, sent.file.chunks()),
    )
    return await _shown(ctx, db, kind, receipt, language, location=request.url.path)


@router.get("", summary="List the imports into a register")
async def list_imports(
    kind: Kind,
    session: ReadSession,
    ctx: Importer,
    project_public_id: Project,
    language: Language,
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> PageOut[DrawingImportAnswer]:
    """Newest first: your own, and all of them for who manages the project."""
    page = await service.list_imports(
        ctx, session, KINDS[kind], project_public_id=project_public_id, cursor=cursor, limit=limit
    )
    return PageOut[DrawingImportAnswer](
        items=[_answer(one, language) for one in page.items], next_cursor=page.next_cursor
    )


@router.get("/{publicId}", summary="Read an import of drawings")
async def read_import(
    kind: Kind, public_id: PathId, session: ReadSession, ctx: Importer, language: Language
) -> DrawingImportAnswer:
    """How far it is, and what the dry run or the import found."""
    return _answer(await service.read_import(ctx, session, KINDS[kind], public_id), language)


@router.post(
    "/{publicId}/commit",
    status_code=202,
    response_model=DrawingImportAnswer,
    summary="Import the drawings that were checked",
)
async def commit_import(
    kind: Kind,
    public_id: PathId,
    body: DrawingImportCommit,
    ctx: KeyedImporter,
    db: Db,
    once: Idempotent,
    language: Language,
) -> Response:
    """Lines that are refused harm no others, and what is there already is left alone. It may be broken off anywhere."""
    operation = Operation.of(ctx, f"POST /drawings/{kind}/imports/{public_id}/commit", body)
    receipt = await once.run(operation, partial(_start, ctx, kind, public_id, body))
    return await _shown(ctx, db, kind, receipt, language)


async def _start(
    ctx: RequestContext, kind: str, public_id: UUID, body: DrawingImportCommit, session: AsyncSession
) -> Receipt:
    await service.start_import(ctx, session, KINDS[kind], public_id, create_missing=body.create_missing)
    return Receipt("drawing_import", public_id)


@router.get(
    "/{publicId}/result",
    response_class=Response,
    responses=BINARY,
    summary="Download the result workbook of an import of drawings",
)
async def import_result(
    kind: Kind, public_id: PathId, session: ReadSession, ctx: Importer, storage: FileStorage
) -> Response:
    """Each line of the file again, with what came of it, or, before the commit, what would."""
    key = await service.import_result(ctx, session, storage, KINDS[kind], public_id)
    await session.close()  # a slow download must not keep a connection
    return stored_workbook(storage.read(key), f"import-{public_id}.xlsx")


async def _shown(
    ctx: RequestContext, db: Db, kind: str, receipt: Receipt, language: str, *, location: str | None = None
) -> Response:
    async with read_after_commit(db) as session:
        found = await service.read_import(ctx, session, KINDS[kind], receipt.resource_id)
    headers = {"Location": f"{location}/{receipt.public_id}"} if location else {}
    return respond(_answer(found, language), status=202, receipt=receipt, headers=headers)


def _answer(found: service.DrawingImportRow, language: str) -> DrawingImportAnswer:
    report = found.row.report or {}
    shown = {**report, "faults": faults_of(report, language)} if "faults" in report else None
    values = {"kind": found.row.kind, "report": shown, "problem": problem_of(report, language)}
    return DrawingImportAnswer.model_validate(status_values(found.row, found.project, found.username) | values)
