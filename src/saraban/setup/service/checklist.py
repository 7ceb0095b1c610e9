"""What is missing of a project until its first number, for those who can do something about it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.catalogue import party_role
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.errors import NotFound
from saraban.projects import service as projects
from saraban.setup.domain.checklist import CREATES, REVIEWS, ChecklistItem, ProjectFacts, checklist
from saraban.setup.repository import project_contents as repository
from saraban.setup.service.project_files import MANAGE
from saraban.workflow import service as workflow
from saraban.workflow.language.registers import REGISTERS


@dataclass(frozen=True, slots=True)
class ProjectChecklist:
    """:param contract: the first one, which most of it is about"""

    items: Sequence[ChecklistItem]
    contract: UUID | None

    @property
    def complete(self) -> bool:
        return all(one.done for one in self.items)


async def read_checklist(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> ProjectChecklist:
    """
    :raises NotFound: when there is no such project that the caller may see
    :raises Forbidden: when the caller does not manage it
    """
    seen = await projects.projects_of(ctx, session)
    project = next((one for one in seen if one.public_id == public_id), None)
    if project is None:
        raise NotFound(f"There is no project {public_id}.")
    ctx.caller.require(MANAGE, Scope(project=project.id))
    contracts = await repository.contract_sizes(session, project_id=project.id)
    facts = await _facts(session, project.id, [row.parties for row in contracts])
    return ProjectChecklist(checklist(facts), contracts[0].public_id if contracts else None)


async def _facts(session: AsyncSession, key: int, contract_parties: Sequence[int]) -> ProjectFacts:
    counts = await repository.checklist_counts(session, project_id=key)
    rights: dict[int, set[str]] = defaultdict(set)
    for row in await repository.rights_in(session, project_id=key, permissions=CREATES | {REVIEWS}):
        rights[row.organization_id].add(row.permission_name)
    chosen = {
        row.kind: row.workflow_code for row in await repository.choices(session, project_id=key) if not row.type_code
    }
    starts = {kind: chosen.get(kind, register.code) for kind, register in REGISTERS.items()}
    roles: dict[int, set[str]] = defaultdict(set)
    for row in await repository.roles_of_parties(session, project_id=key):
        roles[row.organization_id].add(party_role(row.role).value)
    return ProjectFacts(
        members=counts.members,
        contract_parties=contract_parties,
        disciplines=counts.disciplines,
        rfa_types=counts.rfa_types,
        formats=counts.formats,
        rights={organization: frozenset(held) for organization, held in rights.items()},
        workflows=frozenset(starts.values()),
        in_force=frozenset(await repository.workflows(session)),
        roles={organization: frozenset(held) for organization, held in roles.items()},
        asked=await _asked(session, starts["rfa"]),
    )


async def _asked(session: AsyncSession, code: str) -> list[frozenset[str]]:
    try:
        definition = (await workflow.starting(session, code=code)).definition
    except workflow.WorkflowNotDefined:
        return []
    asked = []
    for state in definition.states.values():
        deciding = [one.require.organization_roles for one in state.on.values() if REVIEWS in one.require.permissions]
        asked.append(frozenset[str]().union(*deciding))
    return [one for one in asked if one]
