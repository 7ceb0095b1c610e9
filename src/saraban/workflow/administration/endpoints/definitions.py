"""`/workflow/definitions`: versions, published, compared, drawn and tried out."""

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response as RawResponse

from saraban.identity.dependencies import Context, KeyedContext, guarded
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, FieldProblem
from saraban.kit.http import Db, Idempotent, PageCursor, PageLimit, ReadSession, read_after_commit, respond
from saraban.kit.operation import Operation
from saraban.kit.pagination import Page
from saraban.workflow.administration.dependencies import Definitions, WrittenTwice
from saraban.workflow.administration.domain.simulation import SimulatedActor, SimulationResult, SimulationStep
from saraban.workflow.administration.schemas.definitions import (
    ChangeOut,
    DefinitionDetailOut,
    DefinitionFault,
    DefinitionIn,
    DefinitionPage,
    DefinitionText,
    DiagramOut,
    DifferenceOut,
    ValidationOut,
)
from saraban.workflow.administration.schemas.simulation import (
    DifferingOut,
    ReplayIn,
    ReplayOut,
    SimulatedActionIn,
    SimulatedStepOut,
    SimulationIn,
    SimulationOut,
)
from saraban.workflow.administration.schemas.workflow_assignments import (
    ActivatedOut,
    AssignedKindOut,
    PublishedOut,
    WorkflowWarning,
)
from saraban.workflow.administration.service import simulation, versions, workflow_assignment
from saraban.workflow.administration.service.versions import DefinitionView
from saraban.workflow.language.dsl import WorkflowNotValid
from saraban.workflow.runtime.dependencies import RegisteredSubjects
from saraban.workflow.runtime.schemas import LabelOut

router = APIRouter()

MAY_VIEW, MAY_MANAGE = "workflow.view_definitions", "workflow.manage_definitions"
Code = Annotated[str, Path(max_length=50, pattern="^[A-Z][A-Z0-9_]*$", description="Code of a workflow.")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/workflow/definitions", response_model=DefinitionPage, dependencies=[guarded(MAY_VIEW)])
async def list_definitions(
    session: ReadSession,
    code: Annotated[str | None, Query(max_length=50)] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 20,
) -> Page[DefinitionView]:
    """All versions, newest first, without their text."""
    return await versions.listing(session, code=code, cursor=cursor, limit=limit)


@router.post(
    "/workflow/definitions",
    response_model=PublishedOut,
    status_code=201,
    dependencies=[guarded(MAY_MANAGE)],
)
async def publish_definition(
    body: DefinitionIn,
    ctx: KeyedContext,
    db: Db,
    idempotency: Idempotent,
    definitions: Definitions,
    twice: WrittenTwice,
) -> RawResponse:
    """Keeps a definition as the next version of its code; it can never change afterwards."""
    if twice:
        raise WorkflowNotValid(fields=twice)
    work = partial(versions.publish, ctx, raw=body.dsl, activate=body.activate)
    receipt = await idempotency.run(Operation.of(ctx, "POST /workflow/definitions", body), work)
    async with read_after_commit(db) as session:
        shown = PublishedOut.model_validate(await versions.read(session, public_id=receipt.resource_id))
        await _say_what_starts(ctx, session, shown)
    await definitions.delete(code=shown.code, version=shown.version)
    return respond(shown, status=201, receipt=receipt)


@router.post("/workflow/definitions/validate", dependencies=[guarded(MAY_MANAGE)])
async def validate_definition(body: DefinitionText, session: ReadSession, twice: WrittenTwice) -> ValidationOut:
    """
    Says what publishing would refuse, and saves nothing. Of a definition that is sent as `text` every fault has its line.
    """
    faults = twice or (await versions.validate(session, raw=body.dsl) if body.text is None else ())
    places: dict[str, int] = {}
    if not faults and body.text is not None:
        faults, places = await versions.validate_text(session, text=body.text)
    errors = [
        DefinitionFault(
            pointer=fault.pointer, code=fault.code, line=versions.line_of(fault, places), message=_label(fault)
        )
        for fault in faults
    ]
    return ValidationOut(valid=not errors, errors=errors)


@router.get(
    "/workflow/definitions/{code}/versions/{version}",
    response_model=DefinitionDetailOut,
    dependencies=[guarded(MAY_VIEW)],
)
async def read_definition(code: Code, version: Version, definitions: Definitions) -> DefinitionView:
    return await definitions.version(code=code, version=version)


@router.get(
    "/workflow/definitions/{code}/active",
    response_model=DefinitionDetailOut,
    dependencies=[guarded(MAY_VIEW)],
)
async def read_active_definition(code: Code, definitions: Definitions) -> DefinitionView:
    """The version that new instances start on; 404 while none is active."""
    return await definitions.active(code=code)


@router.post(
    "/workflow/definitions/{code}/versions/{version}/activate",
    dependencies=[guarded(MAY_MANAGE)],
)
async def activate_definition(
    code: Code, version: Version, ctx: Context, db: Db, definitions: Definitions
) -> ActivatedOut:
    """New instances start on this version; running ones keep theirs."""
    return await _switched(ctx, db, definitions, code=code, version=version, is_active=True)


@router.post(
    "/workflow/definitions/{code}/versions/{version}/deactivate",
    dependencies=[guarded(MAY_MANAGE)],
)
async def deactivate_definition(
    code: Code, version: Version, ctx: Context, db: Db, definitions: Definitions
) -> ActivatedOut:
    """Without an active version no new instance can start; running ones go on."""
    return await _switched(ctx, db, definitions, code=code, version=version, is_active=False)


async def _switched(
    ctx: RequestContext, db: Database, definitions: Definitions, *, code: str, version: int, is_active: bool
) -> ActivatedOut:
    made = await db.transact(partial(versions.set_active, ctx, code=code, version=version, is_active=is_active))
    await definitions.delete(code=code)
    shown = ActivatedOut.model_validate(made)
    async with read_after_commit(db) as session:
        await _say_what_starts(ctx, session, shown)
        if shown.is_active:
            faults = await versions.refused_today(session, code=code, version=version)
            shown.warnings += [_refused_today(fault) for fault in faults]
    return shown


async def _say_what_starts(ctx: RequestContext, session: AsyncSession, shown: ActivatedOut | PublishedOut) -> None:
    found = (await workflow_assignment.assigned_kinds(ctx, session)).get(
        shown.code, workflow_assignment.AssignedKinds()
    )
    shown.started_by = [AssignedKindOut.model_validate(one) for one in found.seen]
    if shown.is_active and not found:
        says = workflow_assignment.NOTHING_STARTS_IT
        shown.warnings = [WorkflowWarning(code="NOTHING_STARTS_IT", message=LabelOut(th=says.th, en=says.en))]


def _refused_today(fault: FieldProblem) -> WorkflowWarning:
    """It can be put in force all the same: an older version may be the one that is needed."""
    says = _label(fault)
    message = LabelOut(
        th=f"หากเผยแพร่วันนี้จะไม่ผ่านการตรวจสอบ: {says.th}",
        en=f"This version would not pass today's publishing checks: {says.en}",
    )
    return WorkflowWarning(code="REFUSED_TODAY", pointer=fault.pointer, message=message)


@router.get("/workflow/definitions/{code}/difference", dependencies=[guarded(MAY_VIEW)])
async def compare_versions(
    code: Code,
    session: ReadSession,
    before: Annotated[int, Query(ge=1, le=1_000_000, description="A version.", examples=[1])],
    after: Annotated[int, Query(ge=1, le=1_000_000, description="Another one.", examples=[2])],
) -> DifferenceOut:
    """What changed from one version to another, place by place; states are compared by name."""
    changes = await simulation.compare(session, code=code, before=before, after=after)
    return DifferenceOut(changes=[ChangeOut.model_validate(change) for change in changes])


@router.get("/workflow/definitions/{code}/versions/{version}/diagram", dependencies=[guarded(MAY_VIEW)])
async def draw_version(
    code: Code, version: Version, session: ReadSession, language: Annotated[Literal["th", "en"], Query()] = "th"
) -> DiagramOut:
    """The diagram for Mermaid. An action with a condition is marked `?`, one that needs a comment `*`."""
    return DiagramOut(mermaid=await simulation.diagram(session, code=code, version=version, language=language))


@router.post("/workflow/definitions/{code}/versions/{version}/rehearse", dependencies=[guarded(MAY_MANAGE)])
async def rehearse_version(code: Code, version: Version, body: SimulationIn, session: ReadSession) -> SimulationOut:
    """
    Plays a list of actors and actions against a version; nothing is kept. A step that is refused leaves the document where
    it is, and the next is tried there.
    """
    tried = await simulation.simulate(
        session,
        code=code,
        version=version,
        tries=[_try(step) for step in body.steps],
        document=body.document,
        context=body.context,
    )
    return SimulationOut(steps=[_tried(one) for one in tried])


@router.post("/workflow/definitions/{code}/versions/{version}/replay", dependencies=[guarded(MAY_MANAGE)])
async def replay_version(
    code: Code, version: Version, body: ReplayIn, session: ReadSession, subjects: RegisteredSubjects
) -> ReplayOut:
    """
    Plays the instances that ended last through this version and names those that would have gone another way; nothing is
    kept. Conditions read the documents as they are today; roles and permissions of that day are not known and not asked.
    """
    found = await simulation.replay(
        session, subjects=subjects, code=code, version=version, limit=body.limit, after=body.after
    )
    return ReplayOut(
        looked_at=found.looked_at,
        same=found.same,
        unknown=found.unknown,
        left_out=found.left_out,
        next_after=found.next_after,
        differing=[
            DifferingOut(
                instance_public_id=one.instance_public_id,
                number=one.number,
                step=one.parting.step,
                state=one.parting.state,
                action=one.parting.action,
                went_to=one.parting.went_to,
                would_go_to=one.parting.would_go_to,
                code=one.parting.code,
                message=LabelOut(th=one.parting.says.th, en=one.parting.says.en),
                faults=[
                    DefinitionFault(pointer=fault.pointer, code=fault.code, message=_label(fault))
                    for fault in one.parting.faults
                ],
            )
            for one in found.differing
        ],
    )


def _try(step: SimulatedActionIn) -> SimulationStep:
    who = step.actor
    actor = SimulatedActor(
        roles=frozenset(who.roles),
        permissions=frozenset(who.permissions),
        party=frozenset(who.party),
        organization_roles=frozenset(who.organization_roles),
        is_submitter=who.is_submitter,
        is_assignee=who.is_assignee,
        public_id=who.user_public_id,
        teams=frozenset(who.teams),
        disciplines=frozenset(who.disciplines),
    )
    return SimulationStep(
        actor, step.action, step.comment, step.payload, step.with_files, step.response_code, branch=step.branch
    )


def _tried(one: SimulationResult) -> SimulatedStepOut:
    refusal = one.refusal
    return SimulatedStepOut(
        state=one.state,
        available_actions=[choice.code for choice in one.choices],
        next_state=one.next_state,
        terminal=one.terminal,
        code=refusal.code if refusal else None,
        message=_refused(refusal) if refusal else None,
        automatic=list(one.automatic),
        values=dict(one.values),
        cautions=[LabelOut.model_validate(text) for text in one.cautions],
    )


def _refused(refusal: DomainError) -> LabelOut:
    texts = [(field.text, field.values) for field in refusal.fields] or [(refusal.words, refusal.values)]
    return LabelOut(
        th=" ".join(text.say("th", values) for text, values in texts),
        en=" ".join(text.say("en", values) for text, values in texts),
    )


def _label(fault: FieldProblem) -> LabelOut:
    return LabelOut(th=fault.text.say("th", fault.values), en=fault.text.say("en", fault.values))
