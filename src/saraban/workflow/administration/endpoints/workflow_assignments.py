"""`/workflow/choices`: which workflow documents start on."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from saraban.identity.dependencies import Context, guarded
from saraban.kit.http import Db, ReadSession
from saraban.workflow.administration.endpoints.definitions import MAY_VIEW
from saraban.workflow.administration.schemas import workflow_assignments as schemas
from saraban.workflow.administration.service import workflow_assignment as service
from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget

router = APIRouter(prefix="/workflow/choices")


@router.get("", dependencies=[guarded(MAY_VIEW)], summary="Which workflow documents start on")
async def list_choices(
    ctx: Context,
    session: ReadSession,
    project: Annotated[
        UUID | None, Query(alias="projectPublicId", description="Of this project and the whole installation alone.")
    ] = None,
) -> schemas.WorkflowAssignmentList:
    """
    The most specific choice counts: the project's before the installation's, within either one for a type before one for
    all. Where nothing is chosen, the workflow that ships for the kind.
    """
    found = await service.listing(ctx, session, project_public_id=project)
    return schemas.WorkflowAssignmentList(items=[schemas.WorkflowAssignmentOut.model_validate(one) for one in found])


@router.put("", summary="Choose the workflow that documents start on")
async def choose_workflow(body: schemas.WorkflowAssignmentIn, ctx: Context, db: Db) -> schemas.WorkflowAssignmentOut:
    """
    For the next documents of the kind; those that run keep what they began with. What was chosen there before is replaced.
    For a project it takes `project.edit` or `workflow.manage_definitions` in it, for the whole installation the latter.
    """
    place = AssignmentTarget(body.kind, body.type_code, body.project_public_id)
    made = await db.transact(
        lambda session: service.assign(
            ctx,
            session,
            place=place,
            workflow_code=body.workflow_code,
        )
    )
    return schemas.WorkflowAssignmentOut.model_validate(made)


@router.delete("", status_code=204, summary="Take a choice back")
async def take_back_choice(
    kind: Annotated[schemas.Kind, Query()],
    ctx: Context,
    db: Db,
    type_code: Annotated[str | None, Query(alias="typeCode", max_length=50)] = None,
    project: Annotated[UUID | None, Query(alias="projectPublicId")] = None,
) -> None:
    """Then the next less specific choice counts again."""
    place = AssignmentTarget(kind, type_code, project)
    await db.transact(lambda session: service.unassign(ctx, session, place=place))
