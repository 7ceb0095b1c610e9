"""Finds the steps that a project still needs before its first number."""

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
    items: Sequence[ChecklistItem]
    contract: UUID | None

    @property
    def complete(self) -> bool:
        return all(item.done for item in self.items)


async def read_checklist(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> ProjectChecklist:
    """:raises NotFound, Forbidden:"""
    visible = await projects.projects_of(ctx, session)
    project = next((candidate for candidate in visible if candidate.public_id == public_id), None)
    if project is None:
        raise NotFound(f"There is no project {public_id}.")
    ctx.caller.require(MANAGE, Scope(project=project.id))
    contracts = await repository.contract_sizes(session, project_id=project.id)
    facts = await _read_facts(session, project.id, [row.parties for row in contracts])
    return ProjectChecklist(checklist(facts), contracts[0].public_id if contracts else None)


async def _read_facts(session: AsyncSession, key: int, contract_parties: Sequence[int]) -> ProjectFacts:
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
        rights={organization: frozenset(items) for organization, items in rights.items()},
        workflows=frozenset(starts.values()),
        in_force=frozenset(await repository.workflows(session)),
        roles={organization: frozenset(items) for organization, items in roles.items()},
        asked=await _list_deciding_roles(session, starts["rfa"]),
    )


async def _list_deciding_roles(session: AsyncSession, code: str) -> list[frozenset[str]]:
    try:
        definition = (await workflow.starting(session, code=code)).definition
    except workflow.WorkflowNotDefined:
        return []
    roles = []
    for state in definition.states.values():
        deciding = [
            transition.require.organization_roles
            for transition in state.on.values()
            if REVIEWS in transition.require.permissions
        ]
        roles.append(frozenset[str]().union(*deciding))
    return [step_roles for step_roles in roles if step_roles]
