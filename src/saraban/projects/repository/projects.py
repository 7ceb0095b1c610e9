"""Reads projects with what forms need to know about them."""

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.models import Organization
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.pagination import newest_first
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    CorrespondenceSubType,
    CorrespondenceType,
    Discipline,
    Project,
    ProjectCalendar,
    ProjectDay,
    ProjectOrganization,
    RfaType,
)


def visible(
    *, everything: bool, projects: frozenset[int], contracts: frozenset[int], organizations: frozenset[int]
) -> sa.ColumnElement[bool]:
    """Given directly, through a contract, or because an organization of the caller takes part."""
    if everything:
        return sa.true()
    return sa.or_(
        Project.id.in_(projects),
        Project.id.in_(sa.select(Contract.project_id).where(Contract.id.in_(contracts))),
        Project.id.in_(
            sa.select(ProjectOrganization.project_id).where(ProjectOrganization.organization_id.in_(organizations))
        ),
    )


def _projects(may_see: sa.ColumnElement[bool], *, sandbox: bool) -> sa.Select[Project]:
    statement = sa.select(Project).where(Project.is_active, Project.deleted_at.is_(None), may_see)
    return statement if sandbox else statement.where(Project.is_sandbox.is_(False))


async def page(
    session: AsyncSession,
    may_see: sa.ColumnElement[bool],
    *,
    sandbox: bool,
    search: str | None,
    cursor: str | None,
    limit: int,
) -> Sequence[Project]:
    statement = _projects(may_see, sandbox=sandbox)
    if search:
        statement = statement.where(
            sa.or_(
                Project.project_code.contains(search, autoescape=True),
                Project.project_name.contains(search, autoescape=True),
            )
        )
    statement = newest_first(statement, at=Project.created_at, public_id=Project.public_id, cursor=cursor, limit=limit)
    return list(await session.scalars(statement))


async def every(session: AsyncSession, may_see: sa.ColumnElement[bool], *, sandbox: bool) -> Sequence[Project]:
    return list(await session.scalars(_projects(may_see, sandbox=sandbox).order_by(Project.project_code)))


async def one(
    session: AsyncSession, may_see: sa.ColumnElement[bool], *, sandbox: bool, public_id: UUID
) -> Project | None:
    return await session.scalar(_projects(may_see, sandbox=sandbox).where(Project.public_id == public_id))


async def members(session: AsyncSession, *, project_id: int) -> Sequence[AnyRow]:
    statement = (
        sa.select(
            Organization.public_id,
            Organization.organization_code,
            Organization.organization_name,
            Organization.organization_name_en,
            ProjectOrganization.role_in_project,
        )
        .join(ProjectOrganization, ProjectOrganization.organization_id == Organization.id)
        .where(ProjectOrganization.project_id == project_id, Organization.is_active, Organization.deleted_at.is_(None))
        .order_by(_by_role(ProjectOrganization.role_in_project), Organization.organization_code)
    )
    return list((await session.execute(statement)).all())


async def contracts(session: AsyncSession, *, project_id: int) -> Sequence[AnyRow]:
    """One row for each party of each contract, the contract's columns repeated."""
    role = sa.func.coalesce(ContractOrganization.role_in_contract, ProjectOrganization.role_in_project).label("role")
    statement = (
        sa.select(
            Contract.public_id,
            Contract.contract_code,
            Contract.contract_name,
            Contract.contract_name_en,
            Contract.start_date,
            Contract.end_date,
            role,
            Organization.public_id.label("organization_public_id"),
            Organization.organization_code,
            Organization.organization_name,
            Organization.organization_name_en,
        )
        .outerjoin(ContractOrganization, ContractOrganization.contract_id == Contract.id)
        .outerjoin(
            Organization,
            sa.and_(Organization.id == ContractOrganization.organization_id, Organization.deleted_at.is_(None)),
        )
        .outerjoin(
            ProjectOrganization,
            sa.and_(
                ProjectOrganization.project_id == Contract.project_id,
                ProjectOrganization.organization_id == ContractOrganization.organization_id,
            ),
        )
        .where(Contract.project_id == project_id, Contract.is_active, Contract.deleted_at.is_(None))
        .order_by(Contract.contract_code, _by_role(role), Organization.organization_code)
    )
    return list((await session.execute(statement)).all())


def _by_role(role: Any) -> sa.ColumnElement[int]:
    """Owners first, as people name them."""
    name = sa.func.upper(role)
    return sa.case({role.value: place for place, role in enumerate(PartyRole)}, value=name, else_=len(PartyRole))


async def disciplines(session: AsyncSession, *, project_id: int, contract: UUID | None) -> Sequence[AnyRow]:
    statement = (
        sa.select(
            Discipline.discipline_code.label("code"),
            Discipline.code_name_th.label("name_th"),
            Discipline.code_name_en.label("name_en"),
            Contract.public_id.label("contract_public_id"),
            Contract.contract_code,
        )
        .join(Contract, Contract.id == Discipline.contract_id)
        .where(Discipline.is_active)
    )
    return await _of_project(session, statement, Discipline.discipline_code, project_id, contract)


async def rfa_types(session: AsyncSession, *, project_id: int, contract: UUID | None) -> Sequence[AnyRow]:
    statement = (
        sa.select(
            RfaType.type_code.label("code"),
            RfaType.type_name_th.label("name_th"),
            RfaType.type_name_en.label("name_en"),
            Contract.public_id.label("contract_public_id"),
            Contract.contract_code,
        )
        .join(Contract, Contract.id == RfaType.contract_id)
        .where(RfaType.is_active)
    )
    return await _of_project(session, statement, RfaType.type_code, project_id, contract)


async def sub_types(
    session: AsyncSession, *, project_id: int, contract: UUID | None, type_code: str | None
) -> Sequence[AnyRow]:
    statement = (
        sa.select(
            CorrespondenceSubType.sub_type_code.label("code"),
            CorrespondenceSubType.sub_type_name.label("name"),
            CorrespondenceSubType.sub_type_name_en.label("name_en"),
            CorrespondenceSubType.sub_type_number.label("number"),
            CorrespondenceType.type_code,
            Contract.public_id.label("contract_public_id"),
            Contract.contract_code,
        )
        .join(Contract, Contract.id == CorrespondenceSubType.contract_id)
        .join(CorrespondenceType, CorrespondenceType.id == CorrespondenceSubType.correspondence_type_id)
    )
    if type_code is not None:
        statement = statement.where(CorrespondenceType.type_code == type_code)
    return await _of_project(session, statement, CorrespondenceSubType.sub_type_number, project_id, contract)


async def correspondence_types(session: AsyncSession) -> Sequence[CorrespondenceType]:
    statement = sa.select(CorrespondenceType).where(
        CorrespondenceType.is_active, CorrespondenceType.deleted_at.is_(None)
    )
    return list(await session.scalars(statement.order_by(CorrespondenceType.sort_order, CorrespondenceType.type_code)))


async def _of_project(
    session: AsyncSession, statement: AnySelect, order: Any, project_id: int, contract: UUID | None
) -> Sequence[AnyRow]:
    statement = statement.where(
        Contract.project_id == project_id, Contract.is_active, Contract.deleted_at.is_(None)
    ).order_by(Contract.contract_code, order)
    if contract is not None:
        statement = statement.where(Contract.public_id == contract)
    return list((await session.execute(statement)).all())


async def weekend(session: AsyncSession, project_id: int) -> ProjectCalendar | None:
    return await session.get(ProjectCalendar, project_id)


async def calendar_days(session: AsyncSession, project_id: int) -> Sequence[ProjectDay]:
    return (await session.scalars(sa.select(ProjectDay).where(ProjectDay.project_id == project_id))).all()


async def calendar_day(session: AsyncSession, *, project_id: int, on: date) -> ProjectDay | None:
    return await session.get(ProjectDay, (project_id, on))
