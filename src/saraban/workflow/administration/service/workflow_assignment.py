"""
Which workflow documents start on: chosen by kind and type, for a project or for the whole installation.

The most specific choice counts: the project's before the installation's, and within either one for a type before one for
all. Where nobody chose it is the workflow that ships for the kind. Documents that run keep what they began with.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.service.callers import display_name
from saraban.kit.db import AnyRow
from saraban.kit.errors import Forbidden, NotFound, Text, invalid
from saraban.kit.json import JsonObject
from saraban.projects import service as projects
from saraban.projects.schemas import ProjectCode
from saraban.projects.service import ProjectRef
from saraban.workflow.administration import repository
from saraban.workflow.administration.schemas import AssignedKindOut, WorkflowAssignmentOut
from saraban.workflow.language.registers import REGISTERS, Register
from saraban.workflow.runtime.models import WorkflowAssignment
from saraban.workflow.runtime.repository import EVERY_TYPE, EVERYWHERE
from saraban.workflow.runtime.service import definitions
from saraban.workflow.verification.register_fit import misfits

NOTHING_STARTS_IT = Text(
    "ยังไม่มีเอกสารใดเริ่มด้วยกระบวนงานนี้ กรุณากำหนดกระบวนงานให้เอกสาร",
    "No document starts on this workflow yet: assign it to documents.",
)
VIEW, MANAGE, MANAGE_PROJECT = "workflow.view_definitions", "workflow.manage_definitions", "project.edit"


@dataclass(frozen=True, slots=True)
class AssignmentTarget:
    """What a choice is for; without a project the whole installation, without a type every one of the kind."""

    kind: str
    type_code: str | None = None
    project_public_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class AssignedKinds:
    """:param hidden: that documents of projects start on it too which the reader does not see"""

    seen: tuple[AssignedKindOut, ...] = ()
    hidden: bool = False

    def __bool__(self) -> bool:
        return self.hidden or bool(self.seen)


@dataclass(frozen=True, slots=True)
class AssignableWorkflow:
    code: str
    version: int
    description: Text | None
    kinds: frozenset[str]


async def assign(
    ctx: RequestContext, session: AsyncSession, *, place: AssignmentTarget, workflow_code: str
) -> WorkflowAssignmentOut:
    """
    Have documents start on a workflow, from the next that is written on; what was chosen before is replaced.

    :raises Invalid: naming the field: kind, type, project, or a workflow that has no active version or does not fit
    :raises Forbidden: when the caller manages neither the project nor workflows there
    """
    register, project = await _held(ctx, session, place)
    type_code = await _type(session, register, place.type_code, project)
    await _check(session, register.of_type(type_code), workflow_code)
    reach = project.id if project else EVERYWHERE
    row = await repository.assignment(session, kind=register.name, reach=reach, type_code=type_code)
    before = row.workflow_code if row else None
    if row is None:
        row = WorkflowAssignment(
            kind=register.name,
            project_id=project.id if project else None,
            reach=reach,
            type_code=type_code,
            created_at=ctx.now,
        )
        session.add(row)
    row.workflow_code, row.chosen_by_user_id, row.updated_at = workflow_code, ctx.caller.user_id, ctx.now
    await session.flush()
    what: JsonObject = {"workflowCode": {"old": before, "new": workflow_code}}
    await _note(ctx, session, "workflow.choose", row, project, what)
    return WorkflowAssignmentOut(
        kind=register.name,
        type_code=type_code or None,
        project=ProjectCode(public_id=project.public_id, project_code=project.code) if project else None,
        workflow_code=workflow_code,
        is_in_force=True,
        chosen_by=ctx.caller.display_name,
        chosen_at=ctx.now,
    )


async def unassign(ctx: RequestContext, session: AsyncSession, *, place: AssignmentTarget) -> None:
    """
    Undo a choice, so that the next less specific one counts again.

    :raises NotFound: when nothing was chosen there
    """
    register, project = await _held(ctx, session, place)
    reach = project.id if project else EVERYWHERE
    row = await repository.assignment(session, kind=register.name, reach=reach, type_code=place.type_code or EVERY_TYPE)
    if row is None:
        raise NotFound("Nothing is chosen there.")
    await session.delete(row)
    what: JsonObject = {"workflowCode": {"old": row.workflow_code, "new": None}}
    await _note(ctx, session, "workflow.take_back", row, project, what)


async def listing(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID | None = None
) -> tuple[WorkflowAssignmentOut, ...]:
    """
    Return the choices for the whole installation, and those of the projects that the caller sees, or of one.

    :raises Invalid: when the project is not known to the caller
    """
    ctx.caller.require_somewhere(VIEW)
    seen = await projects.projects_of(ctx, session)
    if project_public_id is not None:
        seen = (_project(seen, project_public_id, pointer="query:projectPublicId"),)
    rows = await repository.assignments(session, reaches={EVERYWHERE, *(one.id for one in seen)})
    return tuple(_view(row) for row in rows)


async def assigned_kinds(ctx: RequestContext, session: AsyncSession) -> dict[str, AssignedKinds]:
    """Return the documents that start on each workflow; one without any has no entry."""
    seen = {one.id for one in await projects.projects_of(ctx, session)}
    rows = await repository.assignments(session)
    found: dict[str, list[AssignedKindOut]] = {}
    hidden = {row[0].workflow_code for row in rows if row[0].reach not in {EVERYWHERE, *seen}}
    taken = {(row[0].kind, row[0].type_code) for row in rows if row[0].reach == EVERYWHERE}
    for register in REGISTERS.values():
        if (register.name, EVERY_TYPE) in taken:
            continue
        for named_type, code in ((None, register.code), *register.codes):
            if (register.name, named_type) not in taken:
                starter = AssignedKindOut(kind=register.name, type_code=named_type, project_code=None, by_default=True)
                found.setdefault(code, []).append(starter)
    for row in rows:
        one = row[0]
        if one.reach in {EVERYWHERE, *seen}:
            starter = AssignedKindOut(
                kind=one.kind, type_code=one.type_code or None, project_code=row.project_code, by_default=False
            )
            found.setdefault(one.workflow_code, []).append(starter)
    return {code: AssignedKinds(tuple(found.get(code, ())), code in hidden) for code in {*found, *hidden}}


async def assignable_workflows(session: AsyncSession) -> tuple[AssignableWorkflow, ...]:
    """Return the workflows in force, by code, each with the kinds whose documents can run on it."""
    found = []
    for key, code, version in await repository.in_force(session):
        definition = await definitions.load(session, key)
        kinds = frozenset(name for name, register in REGISTERS.items() if not misfits(definition, [register]))
        found.append(AssignableWorkflow(code, version, definition.description, kinds))
    return tuple(found)


def may_assign(ctx: RequestContext, project: ProjectRef | None) -> bool:
    """Return whether somebody chooses for a project, or for the whole installation."""
    scope = Scope(project=project.id) if project else Scope()
    return ctx.caller.may(MANAGE, scope) or (project is not None and ctx.caller.may(MANAGE_PROJECT, scope))


async def _held(
    ctx: RequestContext, session: AsyncSession, place: AssignmentTarget
) -> tuple[Register, ProjectRef | None]:
    """The register and the project, the first held until the end: two who choose for a kind at once take turns."""
    register = REGISTERS.get(place.kind)
    if register is None:
        raise invalid("/kind", "unknown", "ไม่มีเอกสารประเภท “{value}”", "There is no kind “{value}”.", value=place.kind)
    project = None
    if place.project_public_id is not None:
        seen = await projects.projects_of(ctx, session)
        project = _project(seen, place.project_public_id, pointer="/projectPublicId")
    if not may_assign(ctx, project):
        raise Forbidden(f"The permission {MANAGE_PROJECT if project else MANAGE} is needed here.")
    await repository.locked_versions(session, register.code)
    return register, project


def _project(seen: Collection[ProjectRef], public_id: UUID, *, pointer: str) -> ProjectRef:
    found = next((one for one in seen if one.public_id == public_id), None)
    if found is None:
        th, en = "ไม่พบโครงการ “{value}”", "There is no project “{value}”."
        raise invalid(pointer, "unknown", th, en, value=str(public_id))
    return found


async def _type(session: AsyncSession, register: Register, wanted: str | None, project: ProjectRef | None) -> str:
    if wanted is None:
        return EVERY_TYPE
    if register.by_rfa_type:
        known = await repository.rfa_type_known(session, code=wanted, project_id=project.id if project else None)
    else:
        known = wanted in register.types
    if not known:
        th, en = (
            "{kind}ไม่มีชนิด “{value}” ที่เลือกกระบวนงานแยกได้",
            "{kind} have no type “{value}” with a workflow of its own.",
        )
        values = {"value": wanted}
        says = register.says
        raise invalid("/typeCode", "unknown", th.replace("{kind}", says.th), en.replace("{kind}", says.en), **values)
    return wanted


async def _check(session: AsyncSession, register: Register, code: str) -> None:
    """Held until the end: nobody puts a version in force meanwhile that would not fit."""
    versions = await repository.locked_versions(session, code)
    active = next((one for one in versions if one.is_active), None)
    if active is None:
        th = "กระบวนงาน “{value}” ไม่มีเวอร์ชันที่ใช้งานอยู่ จึงเลือกไม่ได้"
        en = "No version of “{value}” is in force, so no document could start on it."
        raise invalid("/workflowCode", "not_in_force", th, en, value=code)
    faults = misfits(await definitions.load(session, active.id), [register])
    if faults:
        first = faults[0]
        values = {**first.values, "place": first.pointer.removeprefix("/dsl")}
        th, en = f"{first.text.th} (ที่ {{place}})", f"{first.text.en} (at {{place}})"
        raise invalid("/workflowCode", "does_not_fit", th, en, **values)


def _view(row: AnyRow) -> WorkflowAssignmentOut:
    one = row[0]
    return WorkflowAssignmentOut(
        kind=one.kind,
        type_code=one.type_code or None,
        project=None if row.project_code is None else ProjectCode.model_validate(row),
        workflow_code=one.workflow_code,
        is_in_force=bool(row.in_force),
        chosen_by=display_name(row),
        chosen_at=one.updated_at,
    )


async def _note(
    ctx: RequestContext,
    session: AsyncSession,
    action: str,
    row: WorkflowAssignment,
    project: ProjectRef | None,
    what: JsonObject,
) -> None:
    details = {
        "kind": row.kind,
        "typeCode": row.type_code or None,
        "projectPublicId": str(project.public_id) if project else None,
        **what,
    }
    await audit.record(ctx, session, audit.AuditEntry(action, "workflow_choice", row.kind, details))
