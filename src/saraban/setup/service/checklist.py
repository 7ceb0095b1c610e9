"""What is missing of a project until its first number, for those who can do something about it."""

from collections import defaultdict
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.errors import Forbidden, NotFound
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.setup.domain.checklist import CREATES, REVIEWS, ChecklistItem, ProjectFacts, checklist
from saraban.setup.repository import project_contents as repository
from saraban.setup.service.project_files import MANAGE
from saraban.workflow.language.registers import REGISTERS


async def read_checklist(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> list[ChecklistItem]:
    """
    :raises NotFound: when there is no such project that the caller may see
    :raises Forbidden: when the caller does not manage it
    """
    seen = await projects.projects_of(ctx, session)
    project = next((one for one in seen if one.public_id == public_id), None)
    if project is None:
        raise NotFound(f"There is no project {public_id}.")
    if not may_complete(ctx, project):
        raise Forbidden(f"The permission {MANAGE} is needed here.")
    return checklist(await _facts(session, project.id))


def may_complete(ctx: RequestContext, project: ProjectRef) -> bool:
    """Return whether somebody may do something about what a project lacks."""
    return ctx.caller.may(MANAGE, Scope(project=project.id))


async def _facts(session: AsyncSession, key: int) -> ProjectFacts:
    counts = await repository.checklist_counts(session, project_id=key)
    rights: dict[int, set[str]] = defaultdict(set)
    for row in await repository.rights_in(session, project_id=key, permissions=CREATES | {REVIEWS}):
        rights[row.organization_id].add(row.permission_name)
    chosen = {
        row.kind: row.workflow_code for row in await repository.choices(session, project_id=key) if not row.type_code
    }
    return ProjectFacts(
        members=counts.members,
        contract_parties=await repository.contract_sizes(session, project_id=key),
        disciplines=counts.disciplines,
        rfa_types=counts.rfa_types,
        formats=counts.formats,
        rights={organization: frozenset(held) for organization, held in rights.items()},
        workflows=frozenset(chosen.get(kind, register.code) for kind, register in REGISTERS.items()),
        in_force=frozenset(await repository.workflows(session)),
    )
