"""
The workflows that documents start on.

The most specific choice applies: a project's before the installation's, then a type's before one for all types.
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
    """Without a project it stands for the installation, without a type for all types."""

    kind: str
    type_code: str | None = None
    project_public_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class AssignedKinds:
    """:param hidden: documents of projects that the reader does not see also start on it"""

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
    Set the workflow of new documents.
    :raises Invalid: for a kind, type, project or workflow that is unknown, inactive or unfit
    :raises Forbidden: when the caller manages neither the project nor workflows there
    """
    register, project = await _lock_register(ctx, session, place)
    type_code = await _check_type(session, register, place.type_code, project)
    await _check_workflow(session, register.of_type(type_code), workflow_code)
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
    change: JsonObject = {"workflowCode": {"old": before, "new": workflow_code}}
    await _record_audit(ctx, session, "workflow.choose", row, project, change)
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
    """:raises NotFound:"""
    register, project = await _lock_register(ctx, session, place)
    reach = project.id if project else EVERYWHERE
    row = await repository.assignment(session, kind=register.name, reach=reach, type_code=place.type_code or EVERY_TYPE)
    if row is None:
        raise NotFound("Nothing is chosen there.")
    await session.delete(row)
    change: JsonObject = {"workflowCode": {"old": row.workflow_code, "new": None}}
    await _record_audit(ctx, session, "workflow.take_back", row, project, change)


async def listing(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID | None = None
) -> tuple[WorkflowAssignmentOut, ...]:
    """:raises Invalid: for a project that the caller does not see"""
    ctx.caller.require_somewhere(VIEW)
    visible = await projects.projects_of(ctx, session)
    if project_public_id is not None:
        visible = (_project(visible, project_public_id, pointer="query:projectPublicId"),)
    rows = await repository.assignments(session, reaches={EVERYWHERE, *(ref.id for ref in visible)})
    return tuple(_view(row) for row in rows)


async def assigned_kinds(ctx: RequestContext, session: AsyncSession) -> dict[str, AssignedKinds]:
    visible_ids = {ref.id for ref in await projects.projects_of(ctx, session)}
    rows = await repository.assignments(session)
    kinds_by_code: dict[str, list[AssignedKindOut]] = {}
    hidden = {row[0].workflow_code for row in rows if row[0].reach not in {EVERYWHERE, *visible_ids}}
    assigned_targets = {(row[0].kind, row[0].type_code) for row in rows if row[0].reach == EVERYWHERE}
    for register in REGISTERS.values():
        if (register.name, EVERY_TYPE) in assigned_targets:
            continue
        for named_type, code in ((None, register.code), *register.codes):
            if (register.name, named_type) not in assigned_targets:
                starter = AssignedKindOut(kind=register.name, type_code=named_type, project_code=None, by_default=True)
                kinds_by_code.setdefault(code, []).append(starter)
    for row in rows:
        ref = row[0]
        if ref.reach in {EVERYWHERE, *visible_ids}:
            starter = AssignedKindOut(
                kind=ref.kind, type_code=ref.type_code or None, project_code=row.project_code, by_default=False
            )
            kinds_by_code.setdefault(ref.workflow_code, []).append(starter)
    return {
        code: AssignedKinds(tuple(kinds_by_code.get(code, ())), code in hidden) for code in {*kinds_by_code, *hidden}
    }


async def assignable_workflows(session: AsyncSession) -> tuple[AssignableWorkflow, ...]:
    workflows = []
    for key, code, version in await repository.in_force(session):
        definition = await definitions.load(session, key)
        kinds = frozenset(name for name, register in REGISTERS.items() if not misfits(definition, [register]))
        workflows.append(AssignableWorkflow(code, version, definition.description, kinds))
    return tuple(workflows)


def may_assign(ctx: RequestContext, project: ProjectRef | None) -> bool:
    scope = Scope(project=project.id) if project else Scope()
    return ctx.caller.may(MANAGE, scope) or (project is not None and ctx.caller.may(MANAGE_PROJECT, scope))


async def _lock_register(
    ctx: RequestContext, session: AsyncSession, place: AssignmentTarget
) -> tuple[Register, ProjectRef | None]:
    """Lock the register, so that two choices for a kind cannot interleave."""
    register = REGISTERS.get(place.kind)
    if register is None:
        raise invalid("/kind", "unknown", "ไม่มีเอกสารประเภท “{value}”", "There is no kind “{value}”.", value=place.kind)
    project = None
    if place.project_public_id is not None:
        visible = await projects.projects_of(ctx, session)
        project = _project(visible, place.project_public_id, pointer="/projectPublicId")
    if not may_assign(ctx, project):
        raise Forbidden(f"The permission {MANAGE_PROJECT if project else MANAGE} is needed here.")
    await repository.locked_versions(session, register.code)
    return register, project


def _project(visible: Collection[ProjectRef], public_id: UUID, *, pointer: str) -> ProjectRef:
    project = next((ref for ref in visible if ref.public_id == public_id), None)
    if project is None:
        th, en = "ไม่พบโครงการ “{value}”", "There is no project “{value}”."
        raise invalid(pointer, "unknown", th, en, value=str(public_id))
    return project


async def _check_type(
    session: AsyncSession, register: Register, type_code: str | None, project: ProjectRef | None
) -> str:
    if type_code is None:
        return EVERY_TYPE
    if register.by_rfa_type:
        is_known = await repository.rfa_type_known(session, code=type_code, project_id=project.id if project else None)
    else:
        is_known = type_code in register.types
    if not is_known:
        th, en = (
            "{kind}ไม่มีชนิด “{value}” ที่เลือกกระบวนงานแยกได้",
            "{kind} have no type “{value}” with a workflow of its own.",
        )
        values = {"value": type_code}
        says = register.says
        raise invalid("/typeCode", "unknown", th.replace("{kind}", says.th), en.replace("{kind}", says.en), **values)
    return type_code


async def _check_workflow(session: AsyncSession, register: Register, code: str) -> None:
    """Lock the workflow, so that no unfit version is activated meanwhile."""
    versions = await repository.locked_versions(session, code)
    active = next((version_row for version_row in versions if version_row.is_active), None)
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
    assignment_row = row[0]
    return WorkflowAssignmentOut(
        kind=assignment_row.kind,
        type_code=assignment_row.type_code or None,
        project=None if row.project_code is None else ProjectCode.model_validate(row),
        workflow_code=assignment_row.workflow_code,
        is_in_force=bool(row.in_force),
        chosen_by=display_name(row),
        chosen_at=assignment_row.updated_at,
    )


async def _record_audit(
    ctx: RequestContext,
    session: AsyncSession,
    action: str,
    row: WorkflowAssignment,
    project: ProjectRef | None,
    change: JsonObject,
) -> None:
    details = {
        "kind": row.kind,
        "typeCode": row.type_code or None,
        "projectPublicId": str(project.public_id) if project else None,
        **change,
    }
    await audit.record(ctx, session, audit.AuditEntry(action, "workflow_choice", row.kind, details))
