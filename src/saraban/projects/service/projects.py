"""Projects that a caller sees, by role or organization; only a Superadmin sees sandboxes."""

from collections.abc import Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.catalogue import party_role
from saraban.identity.domain.context import EVERYTHING, Caller, RequestContext, Scope
from saraban.kit.db import AnyRow
from saraban.kit.errors import NotFound, Text
from saraban.kit.pagination import page_of
from saraban.kit.schema import PageOut
from saraban.projects import repository
from saraban.projects.domain.master_data import ProjectRef
from saraban.projects.models import Project
from saraban.projects.repository import CodeFilter
from saraban.projects.schemas import (
    CodeSummary,
    ContractSummary,
    PartySummary,
    ProjectDetail,
    ProjectSummary,
    SubTypeSummary,
    TypeSummary,
)


async def list_projects(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    search: str | None = None,
    include_closed: bool = False,
    cursor: str | None = None,
    limit: int = 50,
) -> PageOut[ProjectSummary]:
    rows = await repository.project_page(
        session,
        _reach(ctx.caller),
        search=search,
        closed=include_closed,
        cursor=cursor,
        limit=limit,
    )
    page = page_of(rows, limit=limit, key=lambda row: (row.created_at, row.public_id))
    items = [ProjectSummary.model_validate(row) for row in page.items]
    return PageOut[ProjectSummary](items=items, next_cursor=page.next_cursor)


async def projects_of(ctx: RequestContext, session: AsyncSession) -> tuple[ProjectRef, ...]:
    return tuple(ProjectRef(*row) for row in await repository.projects(session, _reach(ctx.caller)))


async def read_project(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, closed: bool = False
) -> ProjectDetail:
    """
    :param closed: include closed projects
    :raises NotFound:
    """
    project = await visible_project(ctx, session, public_id, closed=closed)
    return ProjectDetail(
        public_id=project.public_id,
        project_code=project.project_code,
        project_name=project.project_name,
        project_name_en=project.project_name_en,
        is_active=project.is_active,
        file_kinds=project.file_kinds,
        organizations=await _members(session, project),
        contracts=await _contracts(session, project),
    )


async def organizations(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> list[PartySummary]:
    return await _members(session, await visible_project(ctx, session, project_public_id))


async def contracts(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, include_closed: bool = False
) -> list[ContractSummary]:
    return await _contracts(session, await visible_project(ctx, session, project_public_id), closed=include_closed)


async def disciplines(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, contract_public_id: UUID | None = None
) -> list[CodeSummary]:
    project = await visible_project(ctx, session, project_public_id)
    rows = await repository.disciplines(session, CodeFilter(project.id, contract_public_id))
    return [CodeSummary.model_validate(row) for row in rows]


async def rfa_types(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, contract_public_id: UUID | None = None
) -> list[CodeSummary]:
    project = await visible_project(ctx, session, project_public_id)
    rows = await repository.rfa_types(session, CodeFilter(project.id, contract_public_id))
    return [CodeSummary.model_validate(row) for row in rows]


async def sub_types(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    contract_public_id: UUID | None = None,
    type_code: str | None = None,
) -> list[SubTypeSummary]:
    project = await visible_project(ctx, session, project_public_id)
    rows = await repository.sub_types(session, CodeFilter(project.id, contract_public_id), type_code=type_code)
    return [SubTypeSummary.model_validate(row) for row in rows]


class FilterChoice(NamedTuple):
    """:param value: the public id of an organization, or a code"""

    value: str
    code: str
    name_th: str | None
    name_en: str | None


async def filter_choices(session: AsyncSession, places: Collection[ProjectRef]) -> list[list[FilterChoice]]:
    project_ids = [project.id for project in places]
    return [
        [FilterChoice(str(value), code, name_th, name_en) for value, code, name_th, name_en in rows]
        for rows in (
            await repository.party_choices(session, project_ids),
            await repository.discipline_choices(session, project_ids),
            await repository.rfa_type_choices(session, project_ids),
        )
    ]


async def own_scope(ctx: RequestContext, session: AsyncSession, project_id: int) -> Scope:
    """Return the project's scope with the caller's organizations that take part in it."""
    members = await repository.organization_ids(session, [project_id])
    return Scope(ctx.caller.organization_ids & members, project_id)


async def party_keys(session: AsyncSession, places: Collection[ProjectRef]) -> frozenset[int]:
    return await repository.organization_ids(session, [project.id for project in places]) if places else frozenset()


async def correspondence_types(session: AsyncSession) -> list[TypeSummary]:
    return [
        TypeSummary(code=row.type_code, name_th=row.type_name, name_en=row.type_name_en or row.type_name)
        for row in await repository.open_types(session)
    ]


async def type_names(session: AsyncSession) -> dict[str, Text]:
    rows = await repository.type_names(session)
    return {code: Text(thai, english or thai) for code, thai, english in rows}


async def visible_project(
    ctx: RequestContext, session: AsyncSession, public_id: UUID, *, closed: bool = False
) -> Project:
    """
    :param closed: include closed projects
    :raises NotFound:
    """
    project = await repository.visible_project(session, _reach(ctx.caller), public_id=public_id, closed=closed)
    if project is None:
        raise NotFound(f"There is no project {public_id}.")
    return project


async def visible_keys(ctx: RequestContext, session: AsyncSession) -> frozenset[int]:
    """Return closed projects too."""
    return frozenset(row.id for row in await repository.projects(session, _reach(ctx.caller), closed=True))


async def _members(session: AsyncSession, project: Project) -> list[PartySummary]:
    return [_party(row) for row in await repository.members(session, project_id=project.id)]


async def _contracts(session: AsyncSession, project: Project, *, closed: bool = False) -> list[ContractSummary]:
    contracts: dict[UUID, ContractSummary] = {}
    for row in await repository.contracts(session, project_id=project.id, closed=closed):
        contract = contracts.setdefault(row.public_id, _contract(row))
        if row.organization_public_id is not None:
            contract.organizations.append(_party(row))
    return list(contracts.values())


def _contract(row: AnyRow) -> ContractSummary:
    return ContractSummary(
        public_id=row.public_id,
        contract_code=row.contract_code,
        contract_name=row.contract_name,
        contract_name_en=row.contract_name_en,
        start_date=row.start_date,
        end_date=row.end_date,
        is_active=row.is_active,
        organizations=[],
    )


def _party(row: AnyRow) -> PartySummary:
    return PartySummary(
        public_id=row.organization_public_id,
        organization_code=row.organization_code,
        organization_name=row.organization_name,
        organization_name_en=row.organization_name_en,
        role=party_role(row.role),
    )


def _reach(caller: Caller) -> repository.ProjectReach:
    return repository.ProjectReach(
        everything=any(grant.is_global for grant in caller.grants),
        sandbox=caller.may(EVERYTHING, Scope()),
        project_ids=[grant.project for grant in caller.grants if grant.project is not None],
        contract_ids=[grant.contract for grant in caller.grants if grant.contract is not None],
        organization_ids=list(caller.organization_ids),
    )


MANAGE = "project.edit"


async def lock_managed_project(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Project:
    """:raises NotFound, Forbidden:"""
    project = await visible_project(ctx, session, public_id)
    ctx.caller.require(MANAGE, Scope(project=project.id))
    await lock_project(session, project_id=project.id)
    return project


async def lock_project(session: AsyncSession, *, project_id: int) -> None:
    await session.get(Project, project_id, with_for_update=True)


async def record_change(
    ctx: RequestContext, session: AsyncSession, action: str, project: Project, details: Mapping[str, object]
) -> None:
    await audit.record(ctx, session, audit.AuditEntry(action, "project", str(project.public_id), details))
