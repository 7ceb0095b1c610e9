"""
`/workflow/definitions`: versions, published, compared, drawn and tried out; `/workflow/choices`: which workflow documents start on;
`/workflow/instances/{publicId}/…`: what those may do who take a workflow out of its course.
"""

from collections import Counter
from dataclasses import replace
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response as RawResponse

from saraban.identity.dependencies import Context, KeyedContext, guarded
from saraban.identity.domain.context import RequestContext
from saraban.identity.schemas import PersonRef
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, FieldProblem, Text
from saraban.kit.http import Db, Idempotent, PageCursor, PageLimit, PathId, ReadSession, read_after_commit, respond
from saraban.kit.operation import Operation
from saraban.kit.pagination import Page
from saraban.kit.schema import Items, PageOut, ShortList, WarningOut
from saraban.workflow.administration import schemas
from saraban.workflow.administration.dependencies import Definitions, WrittenTwice
from saraban.workflow.administration.domain.definition_text import difference
from saraban.workflow.administration.domain.diagram import mermaid
from saraban.workflow.administration.domain.migration import WORDS
from saraban.workflow.administration.domain.simulation import SimulationResult, simulate
from saraban.workflow.administration.service import interventions, migration, simulation, versions, workflow_assignment
from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget
from saraban.workflow.language.dsl import WorkflowNotValid
from saraban.workflow.runtime.dependencies import IfMatch, InstanceTransitions, RegisteredSubjects
from saraban.workflow.runtime.domain.interventions import FORCE, REASSIGN, TERMINATE
from saraban.workflow.runtime.endpoints import show_transitioned
from saraban.workflow.runtime.schemas import TransitionedEnvelope
from saraban.workflow.runtime.service.transition_request import Command

router = APIRouter()

MAY_VIEW, MAY_MANAGE = "workflow.view_definitions", "workflow.manage_definitions"
MANAGER = guarded(MAY_MANAGE, everywhere=True)
Code = Annotated[str, Path(max_length=50, pattern="^[A-Z][A-Z0-9_]*$", description="Code of a workflow.")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/workflow/definitions", response_model=PageOut[schemas.DefinitionOut], dependencies=[guarded(MAY_VIEW)])
async def list_definitions(
    session: ReadSession,
    code: Annotated[str | None, Query(max_length=50)] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 20,
) -> Page[schemas.DefinitionOut]:
    """All versions, newest first, without their text."""
    return await versions.listing(session, code=code, cursor=cursor, limit=limit)


@router.post(
    "/workflow/definitions",
    response_model=schemas.PublishedOut,
    status_code=201,
    dependencies=[MANAGER],
)
async def publish_definition(
    body: schemas.DefinitionIn,
    ctx: KeyedContext,
    db: Db,
    idempotency: Idempotent,
    definitions: Definitions,
    twice: WrittenTwice,
) -> RawResponse:
    """Keeps a definition as the next version of its code; it can never change afterwards."""
    if twice:
        raise WorkflowNotValid(fields=twice)
    operation = Operation.of(ctx, "POST /workflow/definitions", body)
    receipt = await idempotency.run(operation, versions.publish, ctx, raw=body.dsl, activate=body.activate)
    async with read_after_commit(db) as session:
        shown = schemas.PublishedOut.model_validate(await versions.read(session, public_id=receipt.resource_id))
        await definitions.delete(code=shown.code, version=shown.version)
        await _say_what_starts(ctx, session, shown)
    return respond(shown, status=201, receipt=receipt)


@router.post("/workflow/definitions/validate", dependencies=[MANAGER])
async def validate_definition(
    body: schemas.DefinitionText, session: ReadSession, twice: WrittenTwice
) -> schemas.ValidationOut:
    """
    Says what publishing would refuse, and saves nothing. Of a definition that is sent as `text` every fault has its line.
    """
    found: list[tuple[FieldProblem, int]] | list[tuple[FieldProblem, None]]
    if body.text is not None and not twice:
        found = await versions.validate_text(session, text=body.text)
    else:
        found = [(fault, None) for fault in twice or await versions.validate(session, raw=body.dsl)]
    errors = [
        schemas.DefinitionFault(pointer=fault.pointer, code=fault.code, line=line, message=_label(fault))
        for fault, line in found
    ]
    return schemas.ValidationOut(valid=not errors, errors=errors)


@router.get(
    "/workflow/definitions/{code}/versions/{version}",
    dependencies=[guarded(MAY_VIEW)],
)
async def read_definition(code: Code, version: Version, definitions: Definitions) -> schemas.DefinitionDetailOut:
    return await definitions.version(code=code, version=version)


@router.get(
    "/workflow/definitions/{code}/active",
    dependencies=[guarded(MAY_VIEW)],
)
async def read_active_definition(code: Code, definitions: Definitions) -> schemas.DefinitionDetailOut:
    """The version that new instances start on; 404 while none is active."""
    return await definitions.active(code=code)


@router.post("/workflow/definitions/{code}/versions/{version}/activate", dependencies=[MANAGER])
async def activate_definition(
    code: Code, version: Version, ctx: Context, db: Db, definitions: Definitions
) -> schemas.ActivatedOut:
    """New instances start on this version; running ones keep theirs."""
    return await _switched(ctx, db, definitions, code=code, version=version, is_active=True)


@router.post("/workflow/definitions/{code}/versions/{version}/deactivate", dependencies=[MANAGER])
async def deactivate_definition(
    code: Code, version: Version, ctx: Context, db: Db, definitions: Definitions
) -> schemas.ActivatedOut:
    """Without an active version no new instance can start; running ones go on."""
    return await _switched(ctx, db, definitions, code=code, version=version, is_active=False)


async def _switched(
    ctx: RequestContext, db: Database, definitions: Definitions, *, code: str, version: int, is_active: bool
) -> schemas.ActivatedOut:
    made = await db.transact(versions.set_active, ctx, code=code, version=version, is_active=is_active)
    await definitions.delete(code=code)
    shown = schemas.ActivatedOut.model_validate(made)
    async with read_after_commit(db) as session:
        await _say_what_starts(ctx, session, shown)
        if shown.is_active:
            faults = await versions.refused_today(session, code=code, version=version)
            shown.warnings += [
                WarningOut.of(replace(fault, code="REFUSED_TODAY", text=_of_today(fault.text)), ctx.language)
                for fault in faults
            ]
    return shown


async def _say_what_starts(
    ctx: RequestContext, session: AsyncSession, shown: schemas.ActivatedOut | schemas.PublishedOut
) -> None:
    found = (await workflow_assignment.assigned_kinds(ctx, session)).get(
        shown.code, workflow_assignment.AssignedKinds()
    )
    shown.started_by = list(found.seen)
    if shown.is_active and not found:
        warning = FieldProblem("", "NOTHING_STARTS_IT", workflow_assignment.NOTHING_STARTS_IT)
        shown.warnings = [WarningOut.of(warning, ctx.language)]


def _of_today(text: Text) -> Text:
    """It can be put in force all the same: an older version may be the one that is needed."""
    th, en = "หากเผยแพร่วันนี้จะไม่ผ่านการตรวจสอบ", "This version would not pass today's publishing checks"
    return Text(f"{th}: {text.th}", f"{en}: {text.en}")


@router.get("/workflow/definitions/{code}/difference", dependencies=[guarded(MAY_VIEW)])
async def compare_versions(
    code: Code,
    session: ReadSession,
    before: Annotated[int, Query(ge=1, le=1_000_000, description="A version.", examples=[1])],
    after: Annotated[int, Query(ge=1, le=1_000_000, description="Another one.", examples=[2])],
) -> schemas.DifferenceOut:
    """What changed from one version to another, place by place; states are compared by name."""
    older, newer = [await versions.find(session, code=code, version=version) for version in (before, after)]
    changes = difference(older.dsl, newer.dsl)
    return schemas.DifferenceOut(changes=[schemas.ChangeOut.model_validate(change) for change in changes])


@router.get("/workflow/definitions/{code}/versions/{version}/diagram", dependencies=[guarded(MAY_VIEW)])
async def draw_version(
    code: Code, version: Version, session: ReadSession, language: Annotated[Literal["th", "en"], Query()] = "th"
) -> schemas.DiagramOut:
    """The diagram for Mermaid. An action with a condition is marked `?`, one that needs a comment `*`."""
    definition = await versions.version(session, code=code, version=version)
    return schemas.DiagramOut(mermaid=mermaid(definition, language=language))


@router.post("/workflow/definitions/{code}/versions/{version}/rehearse", dependencies=[MANAGER])
async def rehearse_version(
    code: Code, version: Version, body: schemas.SimulationIn, session: ReadSession
) -> schemas.SimulationOut:
    """
    Plays a list of actors and actions against a version; nothing is kept. A step that is refused leaves the document where
    it is, and the next is tried there.
    """
    definition = await versions.version(session, code=code, version=version)
    tries = [step.simulation_step() for step in body.steps]
    tried = simulate(definition, tries, document=body.document, context=body.context)
    return schemas.SimulationOut(steps=[_tried(one) for one in tried])


@router.post("/workflow/definitions/{code}/versions/{version}/replay", dependencies=[MANAGER])
async def replay_version(
    code: Code, version: Version, body: schemas.ReplayIn, session: ReadSession, subjects: RegisteredSubjects
) -> schemas.ReplayOut:
    """
    Plays the instances that ended last through this version and names those that would have gone another way; nothing is
    kept. Conditions read the documents as they are today; roles and permissions of that day are not known and not asked.
    """
    found = await simulation.replay(
        session, subjects=subjects, code=code, version=version, limit=body.limit, after=body.after
    )
    return schemas.ReplayOut(
        looked_at=found.looked_at,
        same=found.same,
        unknown=found.unknown,
        left_out=found.left_out,
        next_after=found.next_after,
        differing=[
            schemas.DifferingOut(
                instance_public_id=one.instance_public_id,
                number=one.number,
                step=one.parting.step,
                state=one.parting.state,
                action=one.parting.action,
                went_to=one.parting.went_to,
                would_go_to=one.parting.reason.to,
                code=one.parting.reason.code,
                message=one.parting.reason.says,
                faults=[
                    schemas.DefinitionFault(pointer=fault.pointer, code=fault.code, message=_label(fault))
                    for fault in one.parting.reason.faults
                ],
            )
            for one in found.differing
        ],
    )


def _tried(one: SimulationResult) -> schemas.SimulatedStepOut:
    refusal = one.refusal
    return schemas.SimulatedStepOut(
        state=one.state,
        available_actions=[choice.code for choice in one.choices],
        next_state=one.next_state,
        terminal=one.terminal,
        code=refusal.code if refusal else None,
        message=_refused(refusal) if refusal else None,
        automatic=list(one.automatic),
        values=dict(one.values),
        cautions=list(one.cautions),
    )


def _refused(refusal: DomainError) -> Text:
    texts = [(field.text, field.values) for field in refusal.fields] or [(refusal.words, refusal.values)]
    return Text(
        th=" ".join(text.say("th", values) for text, values in texts),
        en=" ".join(text.say("en", values) for text, values in texts),
    )


def _label(fault: FieldProblem) -> Text:
    return Text(th=fault.text.say("th", fault.values), en=fault.text.say("en", fault.values))


@router.get("/workflow/choices", dependencies=[guarded(MAY_VIEW)], summary="Which workflow documents start on")
async def list_choices(
    ctx: Context,
    session: ReadSession,
    project: Annotated[
        UUID | None, Query(alias="projectPublicId", description="Of this project and the whole installation alone.")
    ] = None,
) -> Items[schemas.WorkflowAssignmentOut]:
    """
    The most specific choice counts: the project's before the installation's, within either one for a type before one for
    all. Where nothing is chosen, the workflow that ships for the kind.
    """
    found = await workflow_assignment.listing(ctx, session, project_public_id=project)
    return Items[schemas.WorkflowAssignmentOut](items=list(found))


@router.put("/workflow/choices", summary="Choose the workflow that documents start on")
async def choose_workflow(body: schemas.WorkflowAssignmentIn, ctx: Context, db: Db) -> schemas.WorkflowAssignmentOut:
    """
    For the next documents of the kind; those that run keep what they began with. What was chosen there before is replaced.
    For a project it takes `project.edit` or `workflow.manage_definitions` in it, for the whole installation the latter.
    """
    place = AssignmentTarget(body.kind, body.type_code, body.project_public_id)
    return await db.transact(workflow_assignment.assign, ctx, place=place, workflow_code=body.workflow_code)


@router.delete("/workflow/choices", status_code=204, summary="Take a choice back")
async def take_back_choice(
    kind: Annotated[schemas.Kind, Query()],
    ctx: Context,
    db: Db,
    type_code: Annotated[str | None, Query(alias="typeCode", max_length=50)] = None,
    project: Annotated[UUID | None, Query(alias="projectPublicId")] = None,
) -> None:
    """Then the next less specific choice counts again."""
    place = AssignmentTarget(kind, type_code, project)
    await db.transact(workflow_assignment.unassign, ctx, place=place)


@router.get("/workflow/instances/{publicId}/steering")
async def read_steering(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> schemas.InterventionsOut:
    """What you may do to this instance besides its actions: what can be forced, and whether you may end or reassign it."""
    return await interventions.find(ctx, session, subjects=subjects, public_id=public_id)


@router.post("/workflow/instances/{publicId}/force", response_model=TransitionedEnvelope)
async def force_step(
    public_id: PathId,
    body: schemas.ForceIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Takes an action that is somebody else's, or puts the instance into a state of its definition. No requirement and no
    condition is asked; the history marks the step as forced, and everybody who takes part is told.
    """
    command = Command(body.action or FORCE, body.reason, client_version_no=body.client_version_no, if_match=if_match)
    done = await interventions.force(
        ctx, transitions, public_id=public_id, command=command, action=body.action, to=body.to
    )
    return await show_transitioned(ctx, transitions, done)


@router.post("/workflow/instances/{publicId}/terminate", response_model=TransitionedEnvelope)
async def terminate_instance(
    public_id: PathId,
    body: schemas.TerminationIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Ends the instance without an outcome: its status is `TERMINATED`, nobody is waited for any more. The document stays,
    with its number; its originator may issue the next revision.
    """
    command = Command(TERMINATE, body.reason, client_version_no=body.client_version_no, if_match=if_match)
    done = await interventions.terminate(ctx, transitions, public_id=public_id, command=command)
    return await show_transitioned(ctx, transitions, done)


@router.get("/workflow/instances/{publicId}/steering/people")
async def list_people(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> ShortList[PersonRef]:
    """Those to whom you may give the present state; nobody, when you may not give it."""
    found = await interventions.people(ctx, session, subjects=subjects, public_id=public_id)
    return ShortList[PersonRef](items=[PersonRef.model_validate(person) for person in found])


@router.post("/workflow/instances/{publicId}/reassign", response_model=TransitionedEnvelope)
async def reassign_instance(
    public_id: PathId,
    body: schemas.ReassignmentIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Gives the present state to one person, in the place of the person or the organization that it waits for. That person
    must be one who may act in it; the history names both. In a parallel review a branch is given, by `branchPublicId`.
    """
    command = Command(REASSIGN, body.reason, client_version_no=body.client_version_no, if_match=if_match)
    reassignment = interventions.Reassignment(body.user_public_id, body.branch_public_id)
    done = await interventions.reassign(
        ctx, transitions, public_id=public_id, command=command, reassignment=reassignment
    )
    return await show_transitioned(ctx, transitions, done)


@router.post("/workflow/definitions/{code}/versions/{version}/migrations", dependencies=[MANAGER])
async def migrate_instances(
    code: Code, version: Version, body: schemas.MigrationIn, ctx: Context, db: Db, subjects: RegisteredSubjects
) -> schemas.MigrationOut:
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
    return schemas.MigrationOut(
        dry_run=body.dry_run,
        counts=dict(counts),
        instances=[_migrated(line, dry_run=body.dry_run) for line in lines],
        next_after=last if looked_at == body.limit else None,
    )


def _migrated(line: migration.MigratedInstance, *, dry_run: bool) -> schemas.MigratedOut:
    found = line.found
    return schemas.MigratedOut(
        instance_public_id=line.instance_public_id,
        number=line.number,
        from_version=line.from_version,
        state=line.state,
        to_state=found.to,
        outcome=found.outcome.value,
        moved=found.goes and not dry_run,
        message=WORDS[found.outcome],
        errors=[schemas.ContextFault(pointer=fault.pointer, message=_label(fault)) for fault in found.faults],
    )
