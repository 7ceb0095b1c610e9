"""New projects, and a project from one file, over HTTP. People who are invited get their links by e-mail, never in the answer."""

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
        description="`keep`: left out of the file, and in use. `conflict`: only in a dry run, which nothing follows."
    )
    before: dict[str, Json] | None = Field(description="What differs, as it is there; null where there is nothing.")
    after: dict[str, Json] | None = Field(description="The same as the file states it; null where it is closed.")


class AppliedOut(Schema):
    model_config = ConfigDict(json_schema_extra={"examples": [{"changes": [_ADDED], "applied": True}]})

    changes: list[ProjectChangeOut]
    applied: bool = Field(description="False for a dry run.")


class NotYaml(DomainError):
    """A project file is sent as `application/yaml`."""

    kind, code = ErrorKind.UNSUPPORTED, "PROJECT_FILE_NOT_YAML"
    says = Text("ต้องส่งไฟล์โครงการเป็น application/yaml", "Send the project file as application/yaml.")
    recovery = (Text("ตั้ง Content-Type เป็น application/yaml", "Set the Content-Type to application/yaml."),)


async def _content(request: Request, caller: CurrentCaller) -> bytes:
    """
    Give the body, once it is known that its sender may apply one.

    :raises NotYaml: for another content type
    """
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
    """The whole set-up of a project, for those who manage it: applied elsewhere it makes the same, applied here it changes nothing."""
    project = await projects.read_project(ctx, session, public_id=public_id)
    content = await service.export(ctx, session, code=project.project_code)
    headers = {"Content-Disposition": 'attachment; filename="project.yaml"', "Cache-Control": "no-store"}
    return Response(content, media_type=f"{YAML}; charset=utf-8", headers=headers)


@router.post("/projects/apply", tags=["Projects"], summary="Apply a project file", openapi_extra=_BODY)
async def apply(
    ctx: Context,
    content: Annotated[bytes, Depends(_content)],
    db: Db,
    dry_run: Annotated[bool, Query(alias="dryRun", description="Say what it would do, and do nothing.")] = False,
    prune: Annotated[bool, Query(description="Close what its lists leave out and nothing refers to.")] = False,
    update_shared: Annotated[
        bool, Query(alias="updateShared", description="Change organizations, types and accounts that differ, too.")
    ] = False,
) -> AppliedOut:
    """
    Make a project what a file says, all of it or nothing; a second time it changes nothing. For Super Admins.

    What the file leaves out stays as it is. Each fault is named with its place in the file and its line.
    """
    found = await db.transact(
        service.apply, ctx, content=content, prune=prune, update_shared=update_shared, dry_run=dry_run
    )
    changes = [
        ProjectChangeOut(path=one.pointer, change=one.what.value, before=_plain(one.before), after=_plain(one.after))
        for one in found.differences
    ]
    return AppliedOut(changes=changes, applied=found.applied)


def _plain(values: JsonObject | None) -> dict[str, Json] | None:
    return None if values is None else dict(values)


@router.post("/projects", tags=["Projects"], status_code=201, response_model=ProjectDetail, summary="Create a project")
async def create_project(body: NewProjectIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """
    Empty, from a template, or with the set-up of another project; `project.create` is needed everywhere.

    An empty project has the number formats that ship, and nothing else.
    """
    receipt = await once.run(Operation.of(ctx, "POST /projects", body), service.new_project, ctx, body)
    async with read_after_commit(db) as session:
        found = await projects.read_project(ctx, session, public_id=receipt.resource_id)
    return respond(found, status=201, receipt=receipt)


@router.get("/projects/{publicId}/checklist", tags=["Projects"], summary="Read what a project lacks")
async def checklist(ctx: Context, session: ReadSession, public_id: PathId) -> ChecklistOut:
    """What a project needs until its first number, for those who manage it."""
    found = await service.read_checklist(ctx, session, public_id=public_id)
    items = [ChecklistItemOut.model_validate(one) for one in found.items]
    return ChecklistOut(items=items, complete=found.complete)
