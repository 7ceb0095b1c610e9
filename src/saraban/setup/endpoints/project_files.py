"""New projects and project files over HTTP; invitations are sent only by e-mail."""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from starlette.responses import Response

from saraban.identity.dependencies import Context, CurrentCaller, KeyedContext
from saraban.identity.domain.context import EVERYTHING, Scope
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.http import Db, Idempotent, PathId, ReadSession, read_after_commit, respond
from saraban.kit.json import Json, JsonObject
from saraban.kit.operation import Operation
from saraban.kit.schema import Schema
from saraban.projects import service as projects
from saraban.projects.schemas import ProjectDetail
from saraban.setup import service
from saraban.setup.schemas.new_project import ChecklistItemOut, ChecklistOut, NewProjectIn

router = APIRouter()

YAML: Final = "application/yaml"
_EXAMPLE: Final = """\
organizations: [{code: คคง., name: ที่ปรึกษา, nameEn: Consultant}]
project: {code: LCBP3-C2, name: ท่าเรือแหลมฉบัง}
members: [{organization: คคง., role: CONSULTANT}]
"""
_BODY: Final[dict[str, Json]] = {
    "requestBody": {
        "required": True,
        "description": "A project file, at most 1 MB; its keys are described by docs/project.schema.json.",
        "content": {YAML: {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}


_FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A project file; its keys are described by docs/project.schema.json.",
        "content": {YAML: {"schema": {"type": "object"}}},
    }
}
_ADDED: JsonDict = {
    "path": "/contracts/C1/disciplines/STR",
    "change": "add",
    "before": None,
    "after": {"code": "STR", "nameTh": "โครงสร้าง", "nameEn": "Structure"},
}


class ProjectChangeOut(Schema):
    model_config = ConfigDict(json_schema_extra={"examples": [_ADDED]})

    path: str = Field(description="Codes that name the thing, as a JSON pointer.")
    change: Literal["add", "change", "close", "keep", "conflict"] = Field(
        description="`keep`: missing from the file, but in use. `conflict`: only in a dry run; nothing can be applied."
    )
    before: dict[str, Json] | None = Field(description="Stored values that differ; null for a new item.")
    after: dict[str, Json] | None = Field(description="Values of the file; null for an item that is closed.")


class AppliedOut(Schema):
    model_config = ConfigDict(json_schema_extra={"examples": [{"changes": [_ADDED], "applied": True}]})

    changes: list[ProjectChangeOut]
    applied: bool = Field(description="False for a dry run.")


class NotYaml(DomainError):
    """Send the project file as `application/yaml`."""

    kind, code = ErrorKind.UNSUPPORTED, "PROJECT_FILE_NOT_YAML"
    says = Text("ต้องส่งไฟล์โครงการเป็น application/yaml", "Send the project file as application/yaml.")
    recovery = (Text("ตั้ง Content-Type เป็น application/yaml", "Set the Content-Type to application/yaml."),)


async def _content(request: Request, caller: CurrentCaller) -> bytes:
    """:raises NotYaml:"""
    caller.require(EVERYTHING, Scope())
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != YAML:
        raise NotYaml
    return await request.body()


@router.get(
    "/projects/{publicId}/file",
    tags=["Projects"],
    response_class=Response,
    responses=_FILE,
    summary="Download a project file",
)
async def download(ctx: Context, session: ReadSession, public_id: PathId) -> Response:
    """
    Returns the set-up of a project as a file, for callers who manage it. Applied to another
    installation it creates the same project; applied here it changes nothing.
    """
    project = await projects.read_project(ctx, session, public_id=public_id)
    content = await service.export(ctx, session, code=project.project_code)
    headers = {"Content-Disposition": 'attachment; filename="project.yaml"', "Cache-Control": "no-store"}
    return Response(content, media_type=f"{YAML}; charset=utf-8", headers=headers)


@router.post("/projects/apply", tags=["Projects"], summary="Apply a project file", openapi_extra=_BODY)
async def apply(
    ctx: Context,
    content: Annotated[bytes, Depends(_content)],
    db: Db,
    dry_run: Annotated[bool, Query(alias="dryRun", description="Return the changes without saving them.")] = False,
    prune: Annotated[
        bool, Query(description="Close items that the file's lists leave out, unless they are in use.")
    ] = False,
    update_shared: Annotated[
        bool,
        Query(alias="updateShared", description="Also change organizations, document types and accounts that differ."),
    ] = False,
) -> AppliedOut:
    """
    Applies a project file, all or nothing. A repeated request changes nothing.

    Only for Super Admins. What the file leaves out stays unchanged. Each fault names its key and line in the file.
    """
    result = await db.transact(
        service.apply, ctx, content=content, prune=prune, update_shared=update_shared, dry_run=dry_run
    )
    changes = [
        ProjectChangeOut(
            path=diff.pointer, change=diff.what.value, before=_to_dict(diff.before), after=_to_dict(diff.after)
        )
        for diff in result.differences
    ]
    return AppliedOut(changes=changes, applied=result.applied)


def _to_dict(values: JsonObject | None) -> dict[str, Json] | None:
    return None if values is None else dict(values)


@router.post("/projects", tags=["Projects"], status_code=201, response_model=ProjectDetail, summary="Create a project")
async def create_project(body: NewProjectIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """
    Creates an empty project, one from a template, or a copy of another project's set-up.

    An empty project has only the shipped number formats. Requires the global permission `project.create`.
    """
    receipt = await once.run(Operation.of(ctx, "POST /projects", body), service.new_project, ctx, body)
    async with read_after_commit(db) as session:
        project = await projects.read_project(ctx, session, public_id=receipt.resource_id)
    return respond(project, status=201, receipt=receipt)


@router.get("/projects/{publicId}/checklist", tags=["Projects"], summary="Read what a project lacks")
async def checklist(ctx: Context, session: ReadSession, public_id: PathId) -> ChecklistOut:
    """
    Returns the steps that the project needs before its first number, for callers who manage
    it.
    """
    result = await service.read_checklist(ctx, session, public_id=public_id)
    items = [ChecklistItemOut.model_validate(item) for item in result.items]
    return ChecklistOut(items=items, complete=result.complete)
