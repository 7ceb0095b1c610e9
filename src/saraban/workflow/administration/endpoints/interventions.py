"""`/workflow/instances/{publicId}/…`: what those may do who take a workflow out of its course."""

from collections import Counter

from fastapi import APIRouter
from starlette.responses import Response as RawResponse

from saraban.identity.dependencies import Context, KeyedContext, guarded
from saraban.kit.http import Db, PathId, ReadSession
from saraban.workflow.administration.domain.migration import WORDS
from saraban.workflow.administration.endpoints.definitions import MAY_MANAGE, Code, Version
from saraban.workflow.administration.schemas.interventions import (
    AssignablePeople,
    AssignablePersonOut,
    ContextFault,
    ForceIn,
    InterventionsOut,
    MigratedOut,
    MigrationIn,
    MigrationOut,
    ReassignmentIn,
    TerminationIn,
)
from saraban.workflow.administration.service import interventions, migration
from saraban.workflow.runtime import schemas
from saraban.workflow.runtime.dependencies import IfMatch, InstanceTransitions, RegisteredSubjects
from saraban.workflow.runtime.endpoints import show_transitioned
from saraban.workflow.runtime.schemas import LabelOut
from saraban.workflow.runtime.service.transition_request import Command

router = APIRouter()


@router.get("/workflow/instances/{publicId}/steering")
async def read_steering(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> InterventionsOut:
    """What you may do to this instance besides its actions: what can be forced, and whether you may end or reassign it."""
    found = await interventions.find(ctx, session, subjects=subjects, public_id=public_id)
    return InterventionsOut.model_validate(found)


@router.post("/workflow/instances/{publicId}/force", response_model=schemas.TransitionedEnvelope)
async def force_step(
    public_id: PathId,
    body: ForceIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Takes an action that is somebody else's, or puts the instance into a state of its definition. No requirement and no
    condition is asked; the history marks the step as forced, and everybody who takes part is told.
    """
    command = Command(
        body.action or interventions.FORCE, body.reason, client_version_no=body.client_version_no, if_match=if_match
    )
    done = await interventions.force(
        ctx, transitions, public_id=public_id, command=command, action=body.action, to=body.to
    )
    return await show_transitioned(ctx, transitions, done)


@router.post("/workflow/instances/{publicId}/terminate", response_model=schemas.TransitionedEnvelope)
async def terminate_instance(
    public_id: PathId,
    body: TerminationIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Ends the instance without an outcome: its status is `TERMINATED`, nobody is waited for any more. The document stays,
    with its number; its originator may issue the next revision.
    """
    command = Command(interventions.TERMINATE, body.reason, client_version_no=body.client_version_no, if_match=if_match)
    done = await interventions.terminate(ctx, transitions, public_id=public_id, command=command)
    return await show_transitioned(ctx, transitions, done)


@router.get("/workflow/instances/{publicId}/steering/people")
async def list_people(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> AssignablePeople:
    """Those to whom you may give the present state; nobody, when you may not give it."""
    found = await interventions.people(ctx, session, subjects=subjects, public_id=public_id)
    return AssignablePeople(items=[AssignablePersonOut.model_validate(person) for person in found])


@router.post("/workflow/instances/{publicId}/reassign", response_model=schemas.TransitionedEnvelope)
async def reassign_instance(
    public_id: PathId,
    body: ReassignmentIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Gives the present state to one person, in the place of the person or the organization that it waits for. That person
    must be one who may act in it; the history names both. In a parallel review a branch is given, by `branchPublicId`.
    """
    command = Command(interventions.REASSIGN, body.reason, client_version_no=body.client_version_no, if_match=if_match)
    reassignment = interventions.Reassignment(body.user_public_id, body.branch_public_id)
    done = await interventions.reassign(
        ctx, transitions, public_id=public_id, command=command, reassignment=reassignment
    )
    return await show_transitioned(ctx, transitions, done)


@router.post("/workflow/definitions/{code}/versions/{version}/migrations", dependencies=[guarded(MAY_MANAGE)])
async def migrate_instances(
    code: Code, version: Version, body: MigrationIn, ctx: Context, db: Db, subjects: RegisteredSubjects
) -> MigrationOut:
    """
    Moves running instances of the workflow to this version, in batches; with `dryRun`, the default, it says what would
    become of each. What cannot go on under the version stays on its own; run again, only such are left.
    """
    plan = migration.MigrationPlan(code, version, body.mapping, body.dry_run)
    lines: list[migration.MigratedInstance] = []
    batches = migration.migrate(
        ctx,
        db,
        subjects=subjects,
        plan=plan,
        after=body.after,
        most=body.limit,
    )
    looked_at, last = 0, body.after
    async for batch in batches:
        lines += batch.lines
        looked_at, last = looked_at + batch.looked_at, batch.last
    counts = Counter(line.found.outcome.value for line in lines)
    return MigrationOut(
        dry_run=body.dry_run,
        counts=dict(counts),
        instances=[_migrated(line, dry_run=body.dry_run) for line in lines],
        next_after=last if looked_at == body.limit else None,
    )


def _migrated(line: migration.MigratedInstance, *, dry_run: bool) -> MigratedOut:
    found, words = line.found, WORDS[line.found.outcome]
    return MigratedOut(
        instance_public_id=line.instance_public_id,
        number=line.number,
        from_version=line.from_version,
        state=line.state,
        to_state=found.to,
        outcome=found.outcome.value,
        moved=found.goes and not dry_run,
        message=LabelOut(th=words.th, en=words.en),
        errors=[
            ContextFault(
                pointer=fault.pointer,
                message=LabelOut(th=fault.text.say("th", fault.values), en=fault.text.say("en", fault.values)),
            )
            for fault in found.faults
        ],
    )
