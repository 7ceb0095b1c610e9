"""Endpoints of the three drawing registers."""

from pathlib import Path as FilePath
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.attachments.dependencies import FileStorage
from saraban.documents.core.dependencies import Documents
from saraban.documents.drawing import service
from saraban.documents.drawing.domain import CREATE, KINDS, REVISE
from saraban.documents.drawing.schemas import (
    CurrentSetQuery,
    DrawingChanges,
    DrawingEnvelope,
    DrawingImportAnswer,
    DrawingImportCommit,
    DrawingImportQuery,
    DrawingQuery,
    DrawingRevisionDetail,
    DrawingSummary,
    KindName,
    NewDrawing,
    NewDrawingRevision,
    RevisionCorrections,
)
from saraban.identity.dependencies import guarded, guarded_keyed
from saraban.identity.domain.context import RequestContext
from saraban.imports.dependencies import ImportRoutes, add_import_routes
from saraban.kit.http import (
    BINARY,
    MEDIA,
    Db,
    Idempotent,
    IfMatch,
    PathId,
    ReadSession,
    read_after_commit,
    respond,
    written_file,
)
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Items, PageOut, Schema, WarningOut
from saraban.numbering.issue.dependencies import limit_issuing
from saraban.projects import service as projects
from saraban.projects.schemas import RegisterSettings
from saraban.workflow.runtime.schemas import WorkflowItem

READ, MANAGE = "document.view", "project.edit"

router = APIRouter(prefix="/drawings", tags=["Drawings"])
of_project = APIRouter(prefix="/projects", tags=["Drawings"])

Reader = Annotated[RequestContext, guarded(READ)]
Registrar = Annotated[RequestContext, guarded_keyed(CREATE)]
Reviser = Annotated[RequestContext, guarded_keyed(REVISE)]
Manager = Annotated[RequestContext, guarded_keyed(MANAGE)]
Kind = Annotated[KindName, Path(description="The register.")]


async def drawing_importer(kind: Kind) -> service.DrawingImporter:
    return service.DRAWING_IMPORTERS[kind]


imports = APIRouter(prefix="/drawings/{kind}/imports", tags=["Drawings"])
add_import_routes(
    imports,
    ImportRoutes(
        "drawings",
        drawing_importer,
        query=DrawingImportQuery,
        commit=DrawingImportCommit,
        answer=DrawingImportAnswer,
        page=PageOut[DrawingImportAnswer],
        item=DrawingImportAnswer,
        reader=guarded(CREATE),
        writer=guarded_keyed(CREATE),
    ),
)


@of_project.get("/{publicId}/drawing-registers/{kind}", summary="Read what a project decides for a register")
async def read_settings(kind: Kind, public_id: PathId, session: ReadSession, ctx: Reader) -> RegisterSettings:
    """The default settings count revisions 0, 1, 2 and accept any drawing number."""
    return await projects.read_drawing_settings(ctx, session, project_public_id=public_id, register=kind)


@of_project.put("/{publicId}/drawing-registers/{kind}", summary="Decide for a register")
async def save_settings(
    kind: Kind, public_id: PathId, body: RegisterSettings, idempotency: Idempotent, ctx: Manager
) -> RegisterSettings:
    """The revision scheme and the number pattern apply to drawings and revisions registered from then on."""
    payload = {"kind": kind, "project": str(public_id), "body": body.model_dump(mode="json")}
    operation = Operation.of(ctx, "PUT /projects/{publicId}/drawing-registers", payload)
    await idempotency.run(operation, _save_settings, ctx, kind, public_id, body)
    return body


async def _save_settings(
    ctx: RequestContext, session: AsyncSession, kind: KindName, public_id: UUID, settings: RegisterSettings
) -> Receipt:
    await projects.save_drawing_settings(ctx, session, project_public_id=public_id, register=kind, wanted=settings)
    return Receipt("drawing_settings")


@router.get("/current-set", summary="What one builds from")
async def current_set(
    session: ReadSession, search: Annotated[CurrentSetQuery, Query()], ctx: Reader
) -> PageOut[WorkflowItem[DrawingSummary]]:
    """Each drawing of a register at its current revision, or at the revision that was current on a past day, in number order."""
    return await service.list_items(ctx, session, KINDS[search.kind], search)


@router.get("/{kind}", summary="A register of drawings")
async def listing(
    kind: Kind, session: ReadSession, search: Annotated[DrawingQuery, Query()], ctx: Reader
) -> PageOut[WorkflowItem[DrawingSummary]]:
    """
    In number order. The parties of a drawing's contract see the drawing; without a contract its originator sees it; without
    either, everyone in the project.
    """
    return await service.list_items(ctx, session, KINDS[kind], search)


@router.post("/{kind}", status_code=201, response_model=DrawingEnvelope, summary="Register a drawing")
async def create(kind: Kind, body: NewDrawing, services: Documents, ctx: Registrar, request: Request) -> Response:
    """
    Creates the drawing with its first revision and that revision's files. The number is unique in the project's register. If
    `drawingNumber` is omitted, the drawing gets its reserved number, else the next number of the project's format for drawings.
    """
    if body.drawing_number is None:
        await limit_issuing(request)
    receipt = await service.create(ctx, services, KINDS[kind], body)
    return await _drawing_response(ctx, services.db, kind, receipt, status=201, located=True)


_EXPORT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The register, or the register with its files.",
        "content": {**BINARY[200]["content"], MEDIA["zip"]: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get(
    "/{kind}/export", response_class=Response, responses=_EXPORT_RESPONSES, summary="Export a register of drawings"
)
async def export(
    kind: Kind,
    db: Db,
    storage: FileStorage,
    search: Annotated[DrawingQuery, Query()],
    ctx: Reader,
    form: Annotated[Literal["xlsx", "csv", "zip"], Query(alias="format")] = "xlsx",
) -> Response:
    """
    Every drawing that matches the filters, in the columns of the import and three more; `limit` and `cursor` are ignored. `zip`
    also contains the files of each drawing, up to 2 GB.
    """

    async def write(path: FilePath) -> None:
        if form == "zip":
            await service.write_zip(ctx, db, storage, KINDS[kind], search, path)
        else:
            await service.write_sheet(ctx, db, KINDS[kind], search, path)

    return await written_file(f"{kind}-drawings.{form}", write)


@router.get("/{kind}/{publicId}", response_model=DrawingEnvelope, summary="One drawing")
async def read(kind: Kind, public_id: PathId, session: ReadSession, ctx: Reader) -> Response:
    """
    With its revisions, the drawings that they derive from and the drawings that refer to them. Returns 404 also for a drawing
    that the caller may not see.
    """
    answer, tag = await service.read(ctx, session, KINDS[kind], public_id)
    return respond(answer, headers={"ETag": tag})


@router.get("/{kind}/revisions/{publicId}", response_model=DrawingEnvelope, summary="The drawing of a revision")
async def read_by_revision(kind: Kind, public_id: PathId, session: ReadSession, ctx: Reader) -> Response:
    """`publicId` is the id of any of its revisions. Returns 404 also for a drawing that the caller may not see."""
    answer, tag = await service.read(ctx, session, KINDS[kind], public_id, by_revision=True)
    return respond(answer, headers={"ETag": tag})


@router.patch("/{kind}/revisions/{publicId}", response_model=DrawingEnvelope, summary="Put a revision right")
async def correct(
    kind: Kind,
    public_id: PathId,
    body: RevisionCorrections,
    db: Db,
    idempotency: Idempotent,
    ctx: Reviser,
    if_match: IfMatch = None,
) -> Response:
    """
    Corrects fields and adds files. A revision that is being approved or has been answered only accepts its first files. Documents
    that were sent keep the texts that they were sent with. With `If-Match`, the change applies only to that version of the drawing.
    """
    operation = Operation.of(ctx, "PATCH /drawings/revisions/{publicId}", _payload(kind, public_id, body))
    receipt = await idempotency.run(operation, service.correct, ctx, KINDS[kind], public_id, body, if_match)
    return await _drawing_response(ctx, db, kind, receipt, stated=body)


@router.patch("/{kind}/{publicId}", response_model=DrawingEnvelope, summary="Classify a drawing otherwise")
async def change(
    kind: Kind,
    public_id: PathId,
    body: DrawingChanges,
    db: Db,
    idempotency: Idempotent,
    ctx: Registrar,
    if_match: IfMatch = None,
) -> Response:
    """
    The number, revisions, contract and originator cannot be changed. With `If-Match`, the change applies only to that version of
    the drawing.
    """
    operation = Operation.of(ctx, "PATCH /drawings/{publicId}", _payload(kind, public_id, body))
    receipt = await idempotency.run(operation, service.change, ctx, KINDS[kind], public_id, body, if_match)
    return await _drawing_response(ctx, db, kind, receipt)


@router.get("/{kind}/{publicId}/revisions", summary="The revisions of a drawing, newest first")
async def revisions(
    kind: Kind, public_id: PathId, session: ReadSession, ctx: Reader
) -> Items[WorkflowItem[DrawingRevisionDetail]]:
    """Each with its files, the drawings that it derives from and the drawings that refer to it."""
    items = [
        WorkflowItem[DrawingRevisionDetail](
            data=DrawingRevisionDetail(**revision.model_dump(exclude={"workflow"})), workflow=revision.workflow
        )
        for revision in await service.list_revisions(ctx, session, KINDS[kind], public_id)
    ]
    return Items[WorkflowItem[DrawingRevisionDetail]](items=items)


@router.post(
    "/{kind}/{publicId}/revisions", status_code=201, response_model=DrawingEnvelope, summary="Issue the next revision"
)
async def revise(
    kind: Kind, public_id: PathId, body: NewDrawingRevision, db: Db, idempotency: Idempotent, ctx: Reviser
) -> Response:
    """The new revision becomes current. Its label must follow the newest label in the register's revision scheme."""
    payload = {"kind": kind, "id": str(public_id), "body": body.model_dump(mode="json")}
    operation = Operation.of(ctx, "POST /drawings/{publicId}/revisions", payload)
    receipt = await idempotency.run(operation, service.revise, ctx, KINDS[kind], public_id, body)
    return await _drawing_response(ctx, db, kind, receipt, status=201, located=True, stated=body)


@router.post(
    "/{kind}/{publicId}/approval",
    status_code=201,
    response_model=DrawingEnvelope,
    summary="Start the workflow of a revision",
)
async def start_approval(kind: Kind, public_id: PathId, db: Db, idempotency: Idempotent, ctx: Reviser) -> Response:
    """
    Starts the workflow of the current revision, if the project approves this register by workflow and the revision has none yet.
    New revisions start their workflow automatically. Steps are taken at `/workflow/instances`.
    """
    operation = Operation.of(ctx, "POST /drawings/{publicId}/approval", {"kind": kind, "id": str(public_id)})
    receipt = await idempotency.run(operation, service.start_approval, ctx, KINDS[kind], public_id)
    return await _drawing_response(ctx, db, kind, receipt, status=201, located=True)


def _payload(kind: KindName, public_id: UUID, body: Schema) -> dict[str, object]:
    return {"kind": kind, "id": str(public_id), "body": body.model_dump(mode="json", exclude_unset=True)}


async def _drawing_response(
    ctx: RequestContext,
    db: Db,
    kind: KindName,
    receipt: Receipt,
    *,
    status: int = 200,
    located: bool = False,
    stated: Schema | None = None,
) -> Response:
    public_id: UUID = receipt.resource_id
    async with read_after_commit(db) as session:
        answer, tag = await service.read(ctx, session, KINDS[kind], public_id)
        warnings = await service.warnings(ctx, session, KINDS[kind], public_id, stated) if stated is not None else ()
        answer.warnings = [WarningOut.of(warning, ctx.language) for warning in warnings]
    headers = {"Location": f"/api/v1/drawings/{kind}/{public_id}"} if located else {}
    return respond(answer, status=status, receipt=receipt, headers={**headers, "ETag": tag})
