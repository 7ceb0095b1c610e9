"""Endpoints of definitions, workflow assignments and interventions."""

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
from saraban.workflow.administration.dependencies import Definitions, DuplicateKeys
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
    """List all versions, newest first, without their content."""
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
    twice: DuplicateKeys,
) -> RawResponse:
    """Publish a definition as the next version of its code. A version never changes."""
    if twice:
        raise WorkflowNotValid(fields=twice)
    operation = Operation.of(ctx, "POST /workflow/definitions", body)
    receipt = await idempotency.run(operation, versions.publish, ctx, raw=body.dsl, activate=body.activate)
    async with read_after_commit(db) as session:
        published = schemas.PublishedOut.model_validate(await versions.read(session, public_id=receipt.resource_id))
        await definitions.delete(code=published.code, version=published.version)
        await _add_assignments(ctx, session, published)
    return respond(published, status=201, receipt=receipt)


@router.post("/workflow/definitions/validate", dependencies=[MANAGER])
async def validate_definition(
    body: schemas.DefinitionText, session: ReadSession, twice: DuplicateKeys
) -> schemas.ValidationOut:
    """
    Return the faults that publishing would refuse, without saving.

    For a definition sent as `text`, every fault has its line.
    """
    faults_with_lines: list[tuple[FieldProblem, int]] | list[tuple[FieldProblem, None]]
    if body.text is not None and not twice:
        faults_with_lines = await versions.validate_text(session, text=body.text)
    else:
        faults_with_lines = [(fault, None) for fault in twice or await versions.validate(session, raw=body.dsl)]
    errors = [
        schemas.DefinitionFault(pointer=fault.pointer, code=fault.code, line=line, message=_label(fault))
        for fault, line in faults_with_lines
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
    """Return the version that new instances start on; 404 if none is active."""
    return await definitions.active(code=code)


@router.post("/workflow/definitions/{code}/versions/{version}/activate", dependencies=[MANAGER])
async def activate_definition(
    code: Code, version: Version, ctx: Context, db: Db, definitions: Definitions
) -> schemas.ActivatedOut:
    """Start new instances on this version. Running instances keep theirs."""
    return await _set_active(ctx, db, definitions, code=code, version=version, is_active=True)


@router.post("/workflow/definitions/{code}/versions/{version}/deactivate", dependencies=[MANAGER])
async def deactivate_definition(
    code: Code, version: Version, ctx: Context, db: Db, definitions: Definitions
) -> schemas.ActivatedOut:
    """Stop new instances from starting. Running instances continue."""
    return await _set_active(ctx, db, definitions, code=code, version=version, is_active=False)


async def _set_active(
    ctx: RequestContext, db: Database, definitions: Definitions, *, code: str, version: int, is_active: bool
) -> schemas.ActivatedOut:
    definition = await db.transact(versions.set_active, ctx, code=code, version=version, is_active=is_active)
    await definitions.delete(code=code)
    activated = schemas.ActivatedOut.model_validate(definition)
    async with read_after_commit(db) as session:
        await _add_assignments(ctx, session, activated)
        if activated.is_active:
            faults = await versions.refused_today(session, code=code, version=version)
            activated.warnings += [
                WarningOut.of(replace(fault, code="REFUSED_TODAY", text=_refused_today_text(fault.text)), ctx.language)
                for fault in faults
            ]
    return activated


async def _add_assignments(
    ctx: RequestContext, session: AsyncSession, response: schemas.ActivatedOut | schemas.PublishedOut
) -> None:
    assigned = (await workflow_assignment.assigned_kinds(ctx, session)).get(
        response.code, workflow_assignment.AssignedKinds()
    )
    response.started_by = list(assigned.seen)
    if response.is_active and not assigned:
        warning = FieldProblem("", "NOTHING_STARTS_IT", workflow_assignment.NOTHING_STARTS_IT)
        response.warnings = [WarningOut.of(warning, ctx.language)]


def _refused_today_text(text: Text) -> Text:
    th, en = "หากเผยแพร่วันนี้จะไม่ผ่านการตรวจสอบ", "This version would not pass today's publishing checks"
    return Text(f"{th}: {text.th}", f"{en}: {text.en}")


@router.get("/workflow/definitions/{code}/difference", dependencies=[guarded(MAY_VIEW)])
async def compare_versions(
    code: Code,
    session: ReadSession,
    before: Annotated[int, Query(ge=1, le=1_000_000, description="A version.", examples=[1])],
    after: Annotated[int, Query(ge=1, le=1_000_000, description="Another one.", examples=[2])],
) -> schemas.DifferenceOut:
    """List the differences between two versions; states are compared by name."""
    older, newer = [await versions.find(session, code=code, version=version) for version in (before, after)]
    changes = difference(older.dsl, newer.dsl)
    return schemas.DifferenceOut(changes=[schemas.ChangeOut.model_validate(change) for change in changes])


@router.get("/workflow/definitions/{code}/versions/{version}/diagram", dependencies=[guarded(MAY_VIEW)])
async def draw_version(
    code: Code, version: Version, session: ReadSession, language: Annotated[Literal["th", "en"], Query()] = "th"
) -> schemas.DiagramOut:
    """Return the diagram for Mermaid: `?` marks a condition, `*` a required comment."""
    definition = await versions.version(session, code=code, version=version)
    return schemas.DiagramOut(mermaid=mermaid(definition, language=language))


@router.post("/workflow/definitions/{code}/versions/{version}/rehearse", dependencies=[MANAGER])
async def rehearse_version(
    code: Code, version: Version, body: schemas.SimulationIn, session: ReadSession
) -> schemas.SimulationOut:
    """
    Run a list of actors and actions on a version, without saving.

    A refused step leaves the document in its state, and the next step is tried there.
    """
    definition = await versions.version(session, code=code, version=version)
    tries = [step.simulation_step() for step in body.steps]
    results = simulate(definition, tries, document=body.document, context=body.context)
    return schemas.SimulationOut(steps=[_simulated_step(result) for result in results])


@router.post("/workflow/definitions/{code}/versions/{version}/replay", dependencies=[MANAGER])
async def replay_version(
    code: Code, version: Version, body: schemas.ReplayIn, session: ReadSession, subjects: RegisteredSubjects
) -> schemas.ReplayOut:
    """
    Replay the latest finished instances on this version, and list those that would differ.

    Nothing is saved. Conditions read the current documents; roles and permissions of the past are unknown and not
    checked.
    """
    report = await simulation.replay(
        session, subjects=subjects, code=code, version=version, limit=body.limit, after=body.after
    )
    return schemas.ReplayOut(
        looked_at=report.looked_at,
        same=report.same,
        unknown=report.unknown,
        left_out=report.left_out,
        next_after=report.next_after,
        differing=[
            schemas.DifferingOut(
                instance_public_id=item.instance_public_id,
                number=item.number,
                step=item.parting.step,
                state=item.parting.state,
                action=item.parting.action,
                went_to=item.parting.went_to,
                would_go_to=item.parting.reason.to,
                code=item.parting.reason.code,
                message=item.parting.reason.says,
                faults=[
                    schemas.DefinitionFault(pointer=fault.pointer, code=fault.code, message=_label(fault))
                    for fault in item.parting.reason.faults
                ],
            )
            for item in report.differing
        ],
    )


def _simulated_step(result: SimulationResult) -> schemas.SimulatedStepOut:
    refusal = result.refusal
    return schemas.SimulatedStepOut(
        state=result.state,
        available_actions=[choice.code for choice in result.choices],
        next_state=result.next_state,
        terminal=result.terminal,
        code=refusal.code if refusal else None,
        message=_refusal_text(refusal) if refusal else None,
        automatic=list(result.automatic),
        values=dict(result.values),
        cautions=list(result.cautions),
    )


def _refusal_text(refusal: DomainError) -> Text:
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
    List the workflows that documents start on.

    The most specific choice applies: a project's before the installation's, and in each of them a type's before one
    for all types. Without a choice, documents start on the kind's default workflow.
    """
    assignments = await workflow_assignment.listing(ctx, session, project_public_id=project)
    return Items[schemas.WorkflowAssignmentOut](items=list(assignments))


@router.put("/workflow/choices", summary="Choose the workflow that documents start on")
async def choose_workflow(body: schemas.WorkflowAssignmentIn, ctx: Context, db: Db) -> schemas.WorkflowAssignmentOut:
    """
    Set the workflow of new documents. Running documents keep theirs.

    A project needs `project.edit` or `workflow.manage_definitions` in it, the installation
    `workflow.manage_definitions`.
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
    """Remove a choice; the next less specific one applies again."""
    place = AssignmentTarget(kind, type_code, project)
    await db.transact(workflow_assignment.unassign, ctx, place=place)


@router.get("/workflow/instances/{publicId}/steering")
async def read_steering(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> schemas.InterventionsOut:
    """Return your interventions: forced actions and states, termination, reassignment."""
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
    Force an action, or put the instance into another state of its definition.

    Requirements and conditions are not checked. The history marks the step as forced, and all participants are
    notified.
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
    End the instance without an outcome, with the status `TERMINATED`.

    The document keeps its number, and its originator may issue the next revision.
    """
    command = Command(TERMINATE, body.reason, client_version_no=body.client_version_no, if_match=if_match)
    done = await interventions.terminate(ctx, transitions, public_id=public_id, command=command)
    return await show_transitioned(ctx, transitions, done)


@router.get("/workflow/instances/{publicId}/steering/people")
async def list_people(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> ShortList[PersonRef]:
    """List the people to whom you may reassign the current state; empty if you may not."""
    candidates = await interventions.people(ctx, session, subjects=subjects, public_id=public_id)
    return ShortList[PersonRef](items=[PersonRef.model_validate(person) for person in candidates])


@router.post("/workflow/instances/{publicId}/reassign", response_model=TransitionedEnvelope)
async def reassign_instance(
    public_id: PathId,
    body: schemas.ReassignmentIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Assign the current state, or a branch of a review, to another person.

    The person must be able to act in it. The history names the previous and the new assignee.
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
    Move running instances to this version, in batches.

    With `dryRun`, the default, return the result for each instance without moving it. Instances that cannot continue
    under this version keep theirs, and another run includes them again.
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
        instances=[_migrated_instance(line, dry_run=body.dry_run) for line in lines],
        next_after=last if looked_at == body.limit else None,
    )


def _migrated_instance(line: migration.MigratedInstance, *, dry_run: bool) -> schemas.MigratedOut:
    finding = line.found
    return schemas.MigratedOut(
        instance_public_id=line.instance_public_id,
        number=line.number,
        from_version=line.from_version,
        state=line.state,
        to_state=finding.to,
        outcome=finding.outcome.value,
        moved=finding.goes and not dry_run,
        message=WORDS[finding.outcome],
        errors=[schemas.ContextFault(pointer=fault.pointer, message=_label(fault)) for fault in finding.faults],
    )
