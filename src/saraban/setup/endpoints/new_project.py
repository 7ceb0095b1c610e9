"""New projects over HTTP, and what one lacks until its first number."""

from fastapi import APIRouter
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.kit.http import Db, Idempotent, PathId, ReadSession, read_after_commit, respond
from saraban.kit.operation import Operation
from saraban.projects import service as projects
from saraban.projects.schemas import ProjectDetail
from saraban.setup import service
from saraban.setup.schemas.new_project import ChecklistItemOut, ChecklistOut, NewProjectIn

router = APIRouter(tags=["Projects"])


@router.post("/projects", status_code=201, response_model=ProjectDetail, summary="Create a project")
async def create_project(body: NewProjectIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """
    Empty, from a template, or with the set-up of another project; `project.create` is needed everywhere.

    An empty project has the number formats that ship, and nothing else.
    """
    receipt = await once.run(Operation.of(ctx, "POST /projects", body), service.new_project, ctx, body)
    async with read_after_commit(db) as session:
        found = await projects.read_project(ctx, session, public_id=receipt.resource_id)
    return respond(found, status=201, receipt=receipt)


@router.get("/projects/{publicId}/checklist", summary="Read what a project lacks")
async def checklist(ctx: Context, session: ReadSession, public_id: PathId) -> ChecklistOut:
    """What a project needs until its first number, for those who manage it."""
    found = await service.read_checklist(ctx, session, public_id=public_id)
    items = [ChecklistItemOut.model_validate(one) for one in found.items]
    return ChecklistOut(items=items, complete=found.complete)
