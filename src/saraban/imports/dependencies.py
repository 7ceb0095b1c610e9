"""The operations of an import, for the routers of the features."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, NamedTuple, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, params
from starlette.responses import Response

from saraban.attachments.dependencies import MULTIPART, FileStorage, SentFile, sent_file
from saraban.identity.dependencies import keyed_context, request_context
from saraban.identity.domain.context import RequestContext
from saraban.imports.models import AnyImportRow
from saraban.imports.schemas import ImportQuery, ImportStatusOut
from saraban.imports.service import uploads
from saraban.imports.service.run import AnyImporter
from saraban.imports.service.uploads import ImportFile
from saraban.kit.db import Database
from saraban.kit.http import (
    BINARY,
    Db,
    Idempotent,
    Language,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    Received,
    WorkbookFormat,
    read_after_commit,
    respond,
    stored_workbook,
    written_file,
)
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Schema
from saraban.kit.workbooks import write_template

Answer = TypeVar("Answer", bound=ImportStatusOut)
_SIGNED_IN, _KEYED = params.Depends(request_context), params.Depends(keyed_context)


class SentImport(NamedTuple):
    """The query is checked before the file is read."""

    query: ImportQuery
    file: SentFile


async def import_id(public_id: PathId) -> UUID:
    """A dependency, so that the API description lists it after the importer's parameters."""
    return public_id


ImportId = Annotated[UUID, Depends(import_id)]


@dataclass(frozen=True, slots=True)
class ImportRoutes:
    """:param of: what is imported, for the summaries"""

    of: str
    find: Callable[..., Awaitable[AnyImporter]]
    query: type[ImportQuery]
    commit: type[Schema]
    answer: type[ImportStatusOut]
    page: type[Schema]
    item: type[ImportStatusOut]
    reader: params.Depends = _SIGNED_IN
    writer: params.Depends = _KEYED


def add_import_routes(router: APIRouter, routes: ImportRoutes, *, reads: Sequence[params.Depends] = ()) -> None:
    _add_reading(router, routes, reads)
    _add_writing(router, routes)


def _add_reading(router: APIRouter, routes: ImportRoutes, reads: Sequence[params.Depends]) -> None:
    @router.get(
        "/template", dependencies=reads, response_class=Response, responses=BINARY, summary=f"The sheet for {routes.of}"
    )
    async def import_template(
        importer: Annotated[AnyImporter, Depends(routes.find)],
        ctx: Annotated[RequestContext, routes.reader],
        session: ReadSession,
        form: WorkbookFormat = "xlsx",
        project: Annotated[
            UUID | None, Query(alias="projectPublicId", description="Project whose codes are offered.")
        ] = None,
    ) -> Response:
        """Headings are in Thai and English; the second sheet of the XLSX explains each column."""
        name = f"{importer.name.lower().replace(' ', '-')}.{form}"
        columns = await importer.template_columns(ctx, session, project)
        await session.close()  # release the connection while a thread writes
        write = partial(write_template, columns=columns, name=importer.name)
        return await written_file(name, partial(asyncio.to_thread, write))

    @router.get("", dependencies=reads, response_model=routes.page, summary=f"List the imports of {routes.of}")
    async def list_imports(
        importer: Annotated[AnyImporter, Depends(routes.find)],
        session: ReadSession,
        ctx: Annotated[RequestContext, routes.reader],
        project_public_id: Annotated[UUID, Query(alias="projectPublicId")],
        language: Language,
        limit: PageLimit = 50,
        cursor: PageCursor = None,
    ) -> object:
        """Newest first: your own imports, or all imports for an administrator of the register."""
        page = await uploads.list_imports(ctx, session, importer, project_public_id, cursor=cursor, limit=limit)
        items = [import_answer(row, language, routes.item) for row in page.items]
        return routes.page.model_validate({"items": items, "next_cursor": page.next_cursor})

    @router.get(
        "/{publicId}", dependencies=reads, response_model=routes.answer, summary=f"Read an import of {routes.of}"
    )
    async def read_import(
        importer: Annotated[AnyImporter, Depends(routes.find)],
        public_id: ImportId,
        session: ReadSession,
        ctx: Annotated[RequestContext, routes.reader],
        language: Language,
    ) -> object:
        """Returns the progress, and the report of the dry run or of the import."""
        return import_answer(await uploads.read_import(ctx, session, importer, public_id), language, routes.answer)

    @router.get(
        "/{publicId}/result",
        dependencies=reads,
        response_class=Response,
        responses=BINARY,
        summary=f"Download the result workbook of an import of {routes.of}",
    )
    async def import_result(
        importer: Annotated[AnyImporter, Depends(routes.find)],
        public_id: ImportId,
        session: ReadSession,
        ctx: Annotated[RequestContext, routes.reader],
        storage: FileStorage,
    ) -> Response:
        """Returns each line of the file with its outcome; before the commit, that of the dry run."""
        key = await uploads.find_result(ctx, session, storage, importer, public_id)
        await session.close()  # release the connection during a slow download
        return stored_workbook(storage.read(key), f"import-{public_id}.xlsx")


def _add_writing(router: APIRouter, routes: ImportRoutes) -> None:
    query_type = Received[ImportQuery]("query", Annotated[routes.query, Query()])

    async def sent_import(request: Request, query: Annotated[ImportQuery, Depends(query_type)]) -> SentImport:
        return SentImport(query, await sent_file(request))

    @router.post(
        "",
        status_code=202,
        response_model=routes.answer,
        summary=f"Upload a file of {routes.of} to be checked",
        openapi_extra=MULTIPART,
    )
    async def upload_import(
        request: Request,
        importer: Annotated[AnyImporter, Depends(routes.find)],
        ctx: Annotated[RequestContext, routes.writer],
        sent: Annotated[SentImport, Depends(sent_import)],
        db: Db,
        storage: FileStorage,
        once: Idempotent,
    ) -> Response:
        """
        Accepts XLSX, XLSM, XLS, ODS or CSV, up to 20 MB and 200,000 rows.

        Nothing is imported yet: wait until the state is CHECKED, then commit the import.
        """
        sheet = ImportFile.of(sent.file.name, sent.file.chunks())
        receipt = await uploads.upload_import(ctx, db, storage, once, importer, query=sent.query, sheet=sheet)
        headers = {"Location": f"{request.url.path}/{receipt.public_id}"}
        return await _respond_with_import(importer, ctx, db, receipt, routes.answer, headers=headers)

    @router.post(
        "/{publicId}/commit",
        status_code=202,
        response_model=routes.answer,
        summary=f"Import the {routes.of} that were checked",
    )
    async def commit_import(
        importer: Annotated[AnyImporter, Depends(routes.find)],
        public_id: ImportId,
        body: Annotated[Schema, Depends(Received[Schema]("body", routes.commit))],
        ctx: Annotated[RequestContext, routes.writer],
        db: Db,
        once: Idempotent,
    ) -> Response:
        """Rejected lines do not affect others, and registered rows do not change. An interrupted import continues."""
        operation = Operation.of(ctx, f"POST {importer.path}/{public_id}/commit", body)
        receipt = await once.run(operation, uploads.start_import, ctx, importer, public_id, body)
        return await _respond_with_import(importer, ctx, db, receipt, routes.answer)


async def _respond_with_import(
    importer: AnyImporter,
    ctx: RequestContext,
    db: Database,
    receipt: Receipt,
    answer: type[ImportStatusOut],
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    async with read_after_commit(db) as session:
        row = await uploads.read_import(ctx, session, importer, receipt.resource_id)
    return respond(import_answer(row, ctx.language, answer), status=202, receipt=receipt, headers=headers)


def import_answer(current: AnyImportRow, language: str, answer: type[Answer]) -> Answer:
    row, report = current.row, current.row.report or {}
    problem, faults = report.get("problem"), report.get("faults", [])
    shown = {**report, "faults": [{**fault, "message": fault[language]} for fault in faults]}
    return answer.from_object(
        row,
        project_public_id=current.project,
        username=current.username,
        uploaded=row.file_key is not None,
        report=shown if "there" in report else None,
        problem={**problem, "message": problem[language]} if problem else None,
    )
