"""The three registers of drawings over HTTP: the same operations under `/drawings/contract`, `/drawings/shop`, `/drawings/asbuilt`."""

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
    """Without a decision of its own a register counts 0, 1, 2 and takes any number."""
    return await projects.read_drawing_settings(ctx, session, project_public_id=public_id, register=kind)


@of_project.put("/{publicId}/drawing-registers/{kind}", summary="Decide for a register")
async def save_settings(
    kind: Kind, public_id: PathId, body: RegisterSettings, idempotency: Idempotent, ctx: Manager
) -> RegisterSettings:
    """The revision scheme and the form of numbers count for what is registered from then on."""
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
    """Each drawing of a register at its current revision, or at that of a day that has passed, in the order of numbers."""
    return await service.list_items(ctx, session, KINDS[search.kind], search)


@router.get("/{kind}", summary="A register of drawings")
async def listing(
    kind: Kind, session: ReadSession, search: Annotated[DrawingQuery, Query()], ctx: Reader
) -> PageOut[WorkflowItem[DrawingSummary]]:
    """In the order of numbers. A drawing is shown to the parties of its contract, else to its originator, else to the project."""
    return await service.list_items(ctx, session, KINDS[kind], search)


@router.post("/{kind}", status_code=201, response_model=DrawingEnvelope, summary="Register a drawing")
async def create(kind: Kind, body: NewDrawing, services: Documents, ctx: Registrar, request: Request) -> Response:
    """
    With its first revision and the files of it. The number is unique in its register of the project; without one the next
    number of the project's format for drawings is issued.
    """
    if body.drawing_number is None:
        await limit_issuing(request)
    receipt = await service.create(ctx, services, KINDS[kind], body)
    return await _shown(ctx, services.db, kind, receipt, status=201, located=True)


_EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The register, or the register with its files.",
        "content": {**BINARY[200]["content"], MEDIA["zip"]: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/{kind}/export", response_class=Response, responses=_EXPORTED, summary="Export a register of drawings")
async def export(
    kind: Kind,
    db: Db,
    storage: FileStorage,
    search: Annotated[DrawingQuery, Query()],
    ctx: Reader,
    form: Annotated[Literal["xlsx", "csv", "zip"], Query(alias="format")] = "xlsx",
) -> Response:
    """
    All that the filters find, in the columns that an import takes; `limit` and `cursor` do not count. `zip` has the files of each
    drawing as well, up to 2 GB.
    """

    async def write(path: FilePath) -> None:
        if form == "zip":
            await service.write_zip(ctx, db, storage, KINDS[kind], search, path)
        else:
            await service.write_sheet(ctx, db, KINDS[kind], search, path)

    return await written_file(f"{kind}-drawings.{form}", write)


@router.get("/{kind}/{publicId}", response_model=DrawingEnvelope, summary="One drawing")
async def read(kind: Kind, public_id: PathId, session: ReadSession, ctx: Reader) -> Response:
    """With its history, what it derives from and what refers to it. Answers 404 also for what the caller may not know of."""
    answer, tag = await service.read(ctx, session, KINDS[kind], public_id)
    return respond(answer, headers={"ETag": tag})


@router.get("/{kind}/revisions/{publicId}", response_model=DrawingEnvelope, summary="The drawing of a revision")
async def read_by_revision(kind: Kind, public_id: PathId, session: ReadSession, ctx: Reader) -> Response:
    """Found by the `publicId` of any of its revisions. Answers 404 also for what the caller may not know of."""
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
    What was mistyped, and files that it does not have yet; one that is being approved or has been answered takes its first files only.
    What has been sent keeps the words that it was sent with. With `If-Match`, only the version of the drawing that was read.
    """
    operation = Operation.of(ctx, "PATCH /drawings/revisions/{publicId}", _payload(kind, public_id, body))
    receipt = await idempotency.run(operation, service.correct, ctx, KINDS[kind], public_id, body, if_match)
    return await _shown(ctx, db, kind, receipt, stated=body)


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
    """The number, the revisions, the contract and the originator stay. With `If-Match`, only the version that was read."""
    operation = Operation.of(ctx, "PATCH /drawings/{publicId}", _payload(kind, public_id, body))
    receipt = await idempotency.run(operation, service.change, ctx, KINDS[kind], public_id, body, if_match)
    return await _shown(ctx, db, kind, receipt)


@router.get("/{kind}/{publicId}/revisions", summary="The revisions of a drawing, newest first")
async def revisions(
    kind: Kind, public_id: PathId, session: ReadSession, ctx: Reader
) -> Items[WorkflowItem[DrawingRevisionDetail]]:
    """Each with its files, what it derives from and what refers to it."""
    items = [
        WorkflowItem[DrawingRevisionDetail](
            data=DrawingRevisionDetail(**one.model_dump(exclude={"workflow"})), workflow=one.workflow
        )
        for one in await service.list_revisions(ctx, session, KINDS[kind], public_id)
    ]
    return Items[WorkflowItem[DrawingRevisionDetail]](items=items)


@router.post(
    "/{kind}/{publicId}/revisions", status_code=201, response_model=DrawingEnvelope, summary="Issue the next revision"
)
async def revise(
    kind: Kind, public_id: PathId, body: NewDrawingRevision, db: Db, idempotency: Idempotent, ctx: Reviser
) -> Response:
    """It is the current one from then on. Its label comes after that of the newest in the register's revision scheme."""
    payload = {"kind": kind, "id": str(public_id), "body": body.model_dump(mode="json")}
    operation = Operation.of(ctx, "POST /drawings/{publicId}/revisions", payload)
    receipt = await idempotency.run(operation, service.revise, ctx, KINDS[kind], public_id, body)
    return await _shown(ctx, db, kind, receipt, status=201, located=True, stated=body)


@router.post(
    "/{kind}/{publicId}/approval",
    status_code=201,
    response_model=DrawingEnvelope,
    summary="Start the workflow of a revision",
)
async def start_approval(kind: Kind, public_id: PathId, db: Db, idempotency: Idempotent, ctx: Reviser) -> Response:
    """
    Of the current revision, where the project has chosen workflows for the register and the revision has none yet. New revisions
    start theirs by themselves; its steps are taken at `/workflow/instances`.
    """
    operation = Operation.of(ctx, "POST /drawings/{publicId}/approval", {"kind": kind, "id": str(public_id)})
    receipt = await idempotency.run(operation, service.start_approval, ctx, KINDS[kind], public_id)
    return await _shown(ctx, db, kind, receipt, status=201, located=True)


def _payload(kind: KindName, public_id: UUID, body: Schema) -> dict[str, object]:
    return {"kind": kind, "id": str(public_id), "body": body.model_dump(mode="json", exclude_unset=True)}


async def _shown(
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
        doubts = await service.warnings(ctx, session, KINDS[kind], public_id, stated) if stated is not None else ()
        answer.warnings = [WarningOut.of(one, ctx.language) for one in doubts]
    headers = {"Location": f"/api/v1/drawings/{kind}/{public_id}"} if located else {}
    return respond(answer, status=status, receipt=receipt, headers={**headers, "ETag": tag})
