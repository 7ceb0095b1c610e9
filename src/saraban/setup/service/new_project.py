"""Creates projects by applying a generated project file."""

from dataclasses import replace
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import EVERYTHING, Grant, RequestContext, Scope
from saraban.identity.models import Organization
from saraban.kit.clock import Clock
from saraban.kit.errors import FieldProblem, Invalid, invalid
from saraban.kit.json import Json
from saraban.kit.operation import Receipt
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.setup.domain.master_rows import MasterCodeTaken
from saraban.setup.domain.new_project import Data, NewProject, contract_code, project_data
from saraban.setup.domain.project_file import ProjectFile
from saraban.setup.domain.project_yaml import ReadFile, plain_data
from saraban.setup.repository import project_contents as repository
from saraban.setup.schemas.new_project import NewProjectIn
from saraban.setup.service import current_project
from saraban.setup.service.project_files import MANAGE, template
from saraban.setup.service.reconciliation import ApplyOptions, Origin, reconcile

CREATE: Final = "project.create"
# The creator has these permissions only while the project is created.
_CREATOR_PERMISSIONS: Final = frozenset({MANAGE, "numbering.manage_formats"})


async def new_project(ctx: RequestContext, session: AsyncSession, order: NewProjectIn) -> Receipt:
    """:raises Forbidden, MasterCodeTaken, Invalid:"""
    ctx.caller.require(CREATE, Scope())
    await identity.lock_rights(session)  # one project at a time
    code = order.project_code
    if await repository.project(session, code=code) is not None:
        raise MasterCodeTaken.at("projectCode", code)
    source = await _read_source(ctx, session, order)
    wanted = NewProject(
        code,
        order.project_name,
        order.project_name_en,
        party=await _own_party(ctx, session, order),
        takes_parties=order.copy_of is not None,
        takes_people=order.with_people,
    )
    await _require_free_contracts(session, wanted, source)
    read = ReadFile(ProjectFile.model_validate(project_data(wanted, source)), {})
    grant = Grant(CREATE, _CREATOR_PERMISSIONS)
    creator_context = replace(ctx, caller=replace(ctx.caller, grants=(*ctx.caller.grants, grant)))
    try:
        await reconcile(creator_context, session, read, Origin("project.create", _origin(order)), ApplyOptions())
    except Invalid as fault:
        raise Invalid(fields=[_move_to_form(problem) for problem in fault.fields]) from fault
    project = await repository.project(session, code=code)
    assert project is not None
    return Receipt("project", project.public_id)


async def closed_projects(ctx: RequestContext, session: AsyncSession) -> list[ProjectRef]:
    rows = await repository.closed_projects(session)
    references = [
        ProjectRef(row.id, row.public_id, row.project_code, row.project_name, row.project_name_en) for row in rows
    ]
    return [reference for reference in references if ctx.caller.may(MANAGE, Scope(project=reference.id))]


def _origin(order: NewProjectIn) -> dict[str, Json]:
    return {"template": order.template, "copyOf": str(order.copy_of) if order.copy_of else None}


async def _read_source(ctx: RequestContext, session: AsyncSession, order: NewProjectIn) -> Data | None:
    """:raises Invalid, Forbidden:"""
    if order.template and order.copy_of:
        th, en = "เลือกแม่แบบหรือโครงการต้นแบบอย่างใดอย่างหนึ่ง", "Choose a template or a project to copy, not both."
        raise invalid("/copyOf", "not_together", th, en)
    if order.with_people:
        ctx.caller.require(EVERYTHING, Scope())
    if order.template:
        return plain_data(template(order.template))
    if order.copy_of is None:
        return None
    return await _read_set_up(ctx, session, order.copy_of)


async def _read_set_up(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Data:
    codes = {project.public_id: project.code for project in await projects.projects_of(ctx, session)}
    project = await repository.project(session, code=codes[public_id]) if public_id in codes else None
    if project is None:
        th, en = "ไม่พบโครงการ “{value}”", "There is no project “{value}”."
        raise invalid("/copyOf", "unknown", th, en, value=str(public_id))
    ctx.caller.require(MANAGE, Scope(project=project.id))
    data = await current_project.read_project(session, project)
    return {**data, "people": await current_project.project_people(session, project, data)}


async def _own_party(ctx: RequestContext, session: AsyncSession, order: NewProjectIn) -> tuple[str, str] | None:
    if order.role is None:
        return None
    key = ctx.caller.organization_id
    organization = await session.get(Organization, key) if key is not None else None
    if organization is None:
        th, en = "บัญชีของคุณไม่ได้สังกัดองค์กร", "Your account belongs to no organization."
        raise invalid("/role", "not_needed", th, en)
    return organization.organization_code, order.role.value


async def _require_free_contracts(session: AsyncSession, new: NewProject, source: Data | None) -> None:
    """:raises MasterCodeTaken:"""
    if source is None:
        return
    codes = [contract_code(contract["code"], source["project"]["code"], new.code) for contract in source["contracts"]]
    longest = max(codes, key=len, default="")
    if len(longest) > 50:
        th, en = (
            "รหัสสัญญา “{value}” จะยาวเกิน 50 ตัวอักษร",
            "The contract code “{value}” would have more than 50 characters.",
        )
        raise invalid("/projectCode", "too_long", th, en, value=longest)
    taken = await repository.contracts(session, codes, project_id=None)
    if taken:
        raise MasterCodeTaken.at("projectCode", taken[0].contract_code)


def _move_to_form(fault: FieldProblem) -> FieldProblem:
    """Point to the project code, from which the other codes are derived."""
    if fault.code == "collides":
        return replace(fault, pointer="/projectCode")
    return fault


async def begin(
    session: AsyncSession,
    first: identity.FirstAdministrator,
    order: NewProjectIn | None,
    *,
    token: str,
    clock: Clock,
    address: str,
) -> RequestContext:
    """
    Create the first Super Admin, their organization and optionally a project.

    The lock makes the second of two simultaneous callers find the first one's account.

    :raises AlreadySetUp, SetupTokenWrong, SetupTokenExpired, Invalid:
    """
    await identity.lock_rights(session)
    await identity.require_setup_token(session, token=token, now=clock.now())
    caller = await identity.set_up(session, first, clock=clock, address=address)
    ctx = RequestContext(caller, clock.now(), clock.zone, address)
    if order is not None:
        await new_project(ctx, session, order)
    return ctx
