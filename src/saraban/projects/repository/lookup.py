"""Finds one row by its public id or code, only if it is active and belongs to the project that is asked about."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.statements import PreparedStatement, Query
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    CorrespondenceSubType,
    CorrespondenceType,
    Discipline,
    Project,
    ProjectOrganization,
    RfaType,
)

Rows = Sequence[AnyRow]
Found = TypeVar("Found")


async def project(session: AsyncSession, public_id: UUID) -> Project | None:
    return await session.scalar(
        sa.select(Project).where(Project.public_id == public_id, Project.is_active, Project.deleted_at.is_(None))
    )


async def project_coded(session: AsyncSession, *, code: str) -> Project | None:
    return await session.scalar(
        sa.select(Project).where(Project.project_code == code, Project.is_active, Project.deleted_at.is_(None))
    )


async def lock(session: AsyncSession, project_id: int) -> None:
    """Hold the project's row: two who change its settings at once take turns."""
    await session.execute(sa.select(Project.id).where(Project.id == project_id).with_for_update())


async def member(
    session: AsyncSession, *, project_id: int, public_id: UUID, contract_id: int | None = None
) -> AnyRow | None:
    """:param contract_id: a party of this contract has the role that it has there"""
    of_contract = sa.and_(
        ContractOrganization.organization_id == Organization.id, ContractOrganization.contract_id == contract_id
    )
    statement = (
        sa.select(
            Organization.id,
            Organization.public_id,
            Organization.organization_code,
            Organization.organization_name,
            sa.func.coalesce(ContractOrganization.role_in_contract, ProjectOrganization.role_in_project).label("role"),
        )
        .join(ProjectOrganization, ProjectOrganization.organization_id == Organization.id)
        .outerjoin(ContractOrganization, of_contract)
        .where(
            ProjectOrganization.project_id == project_id,
            Organization.public_id == public_id,
            Organization.is_active,
            Organization.deleted_at.is_(None),
        )
    )
    return (await session.execute(statement)).one_or_none()


async def contract(session: AsyncSession, *, project_id: int, public_id: UUID) -> Contract | None:
    return await session.scalar(_contracts(project_id).where(Contract.public_id == public_id))


async def type_coded(session: AsyncSession, *, code: str) -> CorrespondenceType | None:
    return await session.scalar(
        sa.select(CorrespondenceType).where(
            CorrespondenceType.type_code == code,
            CorrespondenceType.is_active,
            CorrespondenceType.deleted_at.is_(None),
        )
    )


async def disciplines(session: AsyncSession, *, project_id: int, contract_id: int | None, code: str) -> Rows:
    statement = sa.select(Discipline.id, Discipline.discipline_code.label("code"), Discipline.contract_id).where(
        Discipline.discipline_code == code, Discipline.is_active
    )
    return await _of_contracts(session, statement, Discipline.contract_id, project_id, contract_id)


async def rfa_types(session: AsyncSession, *, project_id: int, contract_id: int | None, code: str) -> Rows:
    statement = sa.select(RfaType.id, RfaType.type_code.label("code"), RfaType.contract_id).where(
        RfaType.type_code == code, RfaType.is_active
    )
    return await _of_contracts(session, statement, RfaType.contract_id, project_id, contract_id)


async def sub_types(
    session: AsyncSession, *, project_id: int, contract_id: int | None, type_id: int, code: str
) -> Rows:
    statement = sa.select(
        CorrespondenceSubType.id,
        CorrespondenceSubType.sub_type_code.label("code"),
        CorrespondenceSubType.sub_type_number.label("number"),
        CorrespondenceSubType.contract_id,
    ).where(CorrespondenceSubType.sub_type_code == code, CorrespondenceSubType.correspondence_type_id == type_id)
    return await _of_contracts(session, statement, CorrespondenceSubType.contract_id, project_id, contract_id)


def parties(read: Callable[[Rows], Found], project_id: int, contract_id: int | None) -> Query[Found]:
    """For each organization that takes part: its key, its public id, its code, and its role there."""
    if contract_id is None:
        return Query(_PROJECT_PARTIES, {"key": project_id}, read)
    return Query(_CONTRACT_PARTIES, {"key": contract_id}, read)


def _parties(statement: AnySelect) -> PreparedStatement:
    """Made once: every step of a workflow asks for them."""
    return PreparedStatement(statement.where(Organization.is_active, Organization.deleted_at.is_(None)))


_PROJECT_PARTIES = _parties(
    sa.select(
        ProjectOrganization.organization_id,
        Organization.public_id,
        Organization.organization_code,
        ProjectOrganization.role_in_project,
    )
    .join(Organization, Organization.id == ProjectOrganization.organization_id)
    .where(ProjectOrganization.project_id == sa.bindparam("key"))
)
_CONTRACT_PARTIES = _parties(
    sa.select(
        ContractOrganization.organization_id,
        Organization.public_id,
        Organization.organization_code,
        sa.func.coalesce(ContractOrganization.role_in_contract, ProjectOrganization.role_in_project),
    )
    .join(Organization, Organization.id == ContractOrganization.organization_id)
    .join(Contract, Contract.id == ContractOrganization.contract_id)
    .outerjoin(
        ProjectOrganization,
        sa.and_(
            ProjectOrganization.project_id == Contract.project_id,
            ProjectOrganization.organization_id == ContractOrganization.organization_id,
        ),
    )
    .where(ContractOrganization.contract_id == sa.bindparam("key"))
)


async def printable(session: AsyncSession, project_id: int) -> Rows:
    """Rows of (kind, code) for everything a number of the project may print."""

    def kind(name: str) -> sa.Label[str]:
        return sa.literal(name).label("kind")

    of_project = Contract.project_id == project_id
    statement: sa.CompoundSelect[*tuple[Any, ...]] = sa.union_all(
        sa.select(kind("organization"), Organization.organization_code.label("code"))
        .join(ProjectOrganization, ProjectOrganization.organization_id == Organization.id)
        .where(ProjectOrganization.project_id == project_id),
        sa.select(kind("discipline"), Discipline.discipline_code)
        .join(Contract, Contract.id == Discipline.contract_id)
        .where(of_project),
        sa.select(kind("rfa_type"), RfaType.type_code)
        .join(Contract, Contract.id == RfaType.contract_id)
        .where(of_project),
        sa.select(kind("sub_type"), CorrespondenceSubType.sub_type_number)
        .join(Contract, Contract.id == CorrespondenceSubType.contract_id)
        .where(of_project),
        sa.select(kind("type"), CorrespondenceType.type_code),
    )
    return list((await session.execute(statement)).all())


async def sub_type_numbers(session: AsyncSession, project_id: int) -> Rows:
    """Rows of (type code, sub type's code, its number); contracts may number the same code differently."""
    statement = (
        sa.select(
            CorrespondenceType.type_code,
            CorrespondenceSubType.sub_type_code,
            CorrespondenceSubType.sub_type_number,
        )
        .join(CorrespondenceType, CorrespondenceType.id == CorrespondenceSubType.correspondence_type_id)
        .join(Contract, Contract.id == CorrespondenceSubType.contract_id)
        .where(Contract.project_id == project_id, CorrespondenceSubType.sub_type_number.is_not(None))
    )
    return list((await session.execute(statement)).all())


def _contracts(project_id: int) -> sa.Select[Contract]:
    return sa.select(Contract).where(
        Contract.project_id == project_id, Contract.is_active, Contract.deleted_at.is_(None)
    )


async def _of_contracts(
    session: AsyncSession, statement: AnySelect, column: Any, project_id: int, contract_id: int | None
) -> Rows:
    """At most two rows are needed to know that a code is ambiguous."""
    statement = statement.join(Contract, Contract.id == column).where(
        Contract.project_id == project_id, Contract.is_active, Contract.deleted_at.is_(None)
    )
    if contract_id is not None:
        statement = statement.where(column == contract_id)
    return list((await session.execute(statement.limit(2))).all())
