"""Reads the contents of a project for comparison and export; one statement per function."""

from collections.abc import Collection, Sequence
from typing import Any, Final, TypeVarTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.identity.models import (
    Organization,
    OrganizationRole,
    Permission,
    Role,
    RolePermission,
    User,
    UserAssignment,
)
from saraban.kit.db import AnyRow, Base
from saraban.numbering.series.models import LedgerEntry, NumberCounter, NumberFormat
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    CorrespondenceSubType,
    CorrespondenceType,
    Discipline,
    DrawingSettingsRow,
    Project,
    ProjectDay,
    ProjectOrganization,
    ReviewTeam,
    ReviewTeamMember,
    RfaType,
)
from saraban.setup.domain.master_kinds import FILE_LISTS
from saraban.workflow.runtime.models import WorkflowAssignment, WorkflowDefinition

Rows = Sequence[AnyRow]
Ts = TypeVarTuple("Ts")
OfContract = CorrespondenceSubType | ContractOrganization | Discipline | RfaType


async def _rows(session: AsyncSession, statement: sa.Select[*tuple[Any, ...]]) -> Rows:
    return (await session.execute(statement)).all()


async def project(session: AsyncSession, *, code: str) -> Project | None:
    return await session.scalar(sa.select(Project).where(Project.project_code == code))


async def organizations(session: AsyncSession) -> Sequence[Organization]:
    return (await session.scalars(sa.select(Organization).order_by(Organization.organization_code))).all()


async def types(session: AsyncSession) -> Sequence[CorrespondenceType]:
    return (await session.scalars(sa.select(CorrespondenceType).order_by(CorrespondenceType.type_code))).all()


async def workflows(session: AsyncSession) -> set[str]:
    """Return the codes of workflows with an active version."""
    statement = sa.select(WorkflowDefinition.workflow_code).where(WorkflowDefinition.is_active)
    return set((await session.scalars(statement)).all())


async def accounts(session: AsyncSession) -> dict[str, AnyRow]:
    statement = sa.select(User, Organization.organization_code).outerjoin(
        Organization, Organization.id == User.primary_organization_id
    )
    return {row.User.username: row for row in await _rows(session, statement)}


async def codes(session: AsyncSession, *, project_id: int | None) -> set[tuple[str, str]]:
    """Return (list of a project file, code) of all rows, including closed ones."""
    pairs: set[tuple[str, str]] = set()
    for kind, column in _CODES.items():
        pairs |= {(kind, code) for code in await session.scalars(sa.select(column))}
    for kind, model, column in _CODES_OF_CONTRACTS:
        statement = _of_project(sa.select(column), model, project_id or 0)
        pairs |= {(kind, code) for code in await session.scalars(statement)}
    pairs |= {
        ("subTypes", f"{row.type_code} {row.sub_type_code}")
        for row in await sub_types(session, project_id=project_id or 0)
    }
    teams_of = sa.select(ReviewTeam.team_code).where(ReviewTeam.project_id == project_id)
    return pairs | {("reviewTeams", code) for code in await session.scalars(teams_of)}


_CODES: Final[dict[str, InstrumentedAttribute[str]]] = {
    "project": Project.project_code,
    "organizations": Organization.organization_code,
    "correspondenceTypes": CorrespondenceType.type_code,
    "contracts": Contract.contract_code,
    "people": User.username,
}
_CODES_OF_CONTRACTS: Final[tuple[tuple[str, type[OfContract], InstrumentedAttribute[str]], ...]] = (
    ("disciplines", Discipline, Discipline.discipline_code),
    ("rfaTypes", RfaType, RfaType.type_code),
)


async def members(session: AsyncSession, *, project_id: int) -> Rows:
    statement = (
        sa.select(Organization.organization_code, ProjectOrganization.role_in_project)
        .join(Organization, Organization.id == ProjectOrganization.organization_id)
        .where(ProjectOrganization.project_id == project_id)
        .order_by(Organization.organization_code)
    )
    return await _rows(session, statement)


async def roles_of_parties(session: AsyncSession, *, project_id: int) -> Rows:
    member, party = ProjectOrganization, ContractOrganization
    statement = sa.select(member.organization_id, member.role_in_project.label("role")).where(
        member.project_id == project_id
    )
    of_contracts = (
        sa.select(party.organization_id, party.role_in_contract.label("role"))
        .join(Contract, Contract.id == party.contract_id)
        .where(Contract.project_id == project_id)
    )
    return (await session.execute(sa.union(statement, of_contracts))).all()


async def contracts(session: AsyncSession, codes: Collection[str], *, project_id: int | None) -> Sequence[Contract]:
    """Return all contracts of the project, and those with the codes in other projects."""
    wanted = sa.or_(Contract.contract_code.in_(codes), Contract.project_id == project_id)
    return (await session.scalars(sa.select(Contract).where(wanted).order_by(Contract.contract_code))).all()


async def parties(session: AsyncSession, *, project_id: int) -> Rows:
    statement = (
        sa.select(
            ContractOrganization.contract_id, Organization.organization_code, ContractOrganization.role_in_contract
        )
        .join(Organization, Organization.id == ContractOrganization.organization_id)
        .order_by(Organization.organization_code)
    )
    return await _rows(session, _of_project(statement, ContractOrganization, project_id))


async def sub_types(session: AsyncSession, *, project_id: int) -> Rows:
    """Return (type code, code), including closed rows."""
    statement = sa.select(CorrespondenceType.type_code, CorrespondenceSubType.sub_type_code).join(
        CorrespondenceType, CorrespondenceType.id == CorrespondenceSubType.correspondence_type_id
    )
    return await _rows(session, _of_project(statement, CorrespondenceSubType, project_id))


def _of_project(statement: sa.Select[*Ts], model: type[OfContract], project_id: int) -> sa.Select[*Ts]:
    return statement.join(Contract, Contract.id == model.contract_id).where(Contract.project_id == project_id)


async def formats(session: AsyncSession, *, project_id: int) -> Rows:
    statement = (
        sa.select(NumberFormat, CorrespondenceType.type_code)
        .outerjoin(CorrespondenceType, CorrespondenceType.id == NumberFormat.correspondence_type_id)
        .where(NumberFormat.project_id == project_id)
        .order_by(
            sa.func.coalesce(CorrespondenceType.sort_order, 0),
            CorrespondenceType.type_code,
            NumberFormat.sub_type_code,
            NumberFormat.rfa_type_code,
            NumberFormat.discipline_code,
        )
    )
    return await _rows(session, statement)


def narrowing(row: NumberFormat) -> tuple[str, str, str]:
    return row.sub_type_code, row.rfa_type_code, row.discipline_code


async def choices(session: AsyncSession, *, project_id: int) -> Sequence[WorkflowAssignment]:
    statement = sa.select(WorkflowAssignment).where(WorkflowAssignment.project_id == project_id)
    return (await session.scalars(statement.order_by(WorkflowAssignment.kind, WorkflowAssignment.type_code))).all()


async def teams(session: AsyncSession, *, project_id: int) -> Sequence[ReviewTeam]:
    statement = sa.select(ReviewTeam).where(ReviewTeam.project_id == project_id, ReviewTeam.is_active)
    return (await session.scalars(statement.order_by(ReviewTeam.team_code))).all()


async def seats(session: AsyncSession, *, project_id: int) -> Rows:
    statement = (
        sa.select(ReviewTeamMember, User.username)
        .join(User, User.user_id == ReviewTeamMember.user_id)
        .join(ReviewTeam, ReviewTeam.id == ReviewTeamMember.team_id)
        .where(ReviewTeam.project_id == project_id, User.is_active)
        .order_by(User.username)
    )
    return await _rows(session, statement)


async def grants(session: AsyncSession, *, project_id: int) -> Rows:
    members = sa.select(ProjectOrganization.organization_id).where(ProjectOrganization.project_id == project_id)
    statement = (
        sa.select(
            User.username,
            User.is_service,
            User.is_active,
            Role.role_name,
            Role.scope,
            Organization.organization_code,
            Project.project_code,
            Contract.contract_code,
        )
        .select_from(UserAssignment)
        .join(User, User.user_id == UserAssignment.user_id)
        .join(Role, Role.role_id == UserAssignment.role_id)
        .outerjoin(Organization, Organization.id == UserAssignment.organization_id)
        .outerjoin(Project, Project.id == UserAssignment.project_id)
        .outerjoin(Contract, Contract.id == UserAssignment.contract_id)
        .where(
            User.deleted_at.is_(None),
            _without_period(),
            sa.or_(
                Project.id == project_id,
                Contract.project_id == project_id,
                UserAssignment.organization_id.in_(members),
            ),
        )
        .order_by(User.username, Role.role_id, Organization.organization_code, Contract.contract_code)
    )
    return await _rows(session, statement)


async def checklist_counts(session: AsyncSession, *, project_id: int) -> AnyRow:
    contracts = sa.select(Contract.id).where(
        Contract.project_id == project_id, Contract.is_active, Contract.deleted_at.is_(None)
    )
    statement = sa.select(
        _count(ProjectOrganization.project_id == project_id).label("members"),
        _count(Discipline.is_active.is_(True), Discipline.contract_id.in_(contracts)).label("disciplines"),
        _count(RfaType.is_active.is_(True), RfaType.contract_id.in_(contracts)).label("rfa_types"),
        _count(NumberFormat.project_id == project_id).label("formats"),
    )
    return (await session.execute(statement)).one()


def _count(*conditions: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).where(*conditions).scalar_subquery()


async def contract_sizes(session: AsyncSession, *, project_id: int) -> Rows:
    statement = (
        sa.select(Contract.public_id, sa.func.count(ContractOrganization.organization_id).label("parties"))
        .outerjoin(ContractOrganization, ContractOrganization.contract_id == Contract.id)
        .where(Contract.project_id == project_id, Contract.is_active, Contract.deleted_at.is_(None))
        .group_by(Contract.id, Contract.public_id, Contract.contract_code)
        .order_by(Contract.contract_code)
    )
    return await _rows(session, statement)


async def rights_in(session: AsyncSession, *, project_id: int, permissions: Collection[str]) -> Rows:
    """Return people's permissions by the organization they act for, without global roles."""
    members = sa.select(ProjectOrganization.organization_id).where(ProjectOrganization.project_id == project_id)
    contracts = sa.select(Contract.id).where(Contract.project_id == project_id)
    acts_for = sa.func.coalesce(UserAssignment.organization_id, User.primary_organization_id)
    statement = (
        sa.select(acts_for.label("organization_id"), Permission.permission_name)
        .distinct()
        .select_from(UserAssignment)
        .join(User, User.user_id == UserAssignment.user_id)
        .join(RolePermission, RolePermission.role_id == UserAssignment.role_id)
        .join(Permission, Permission.permission_id == RolePermission.permission_id)
        .where(
            User.is_active,
            User.is_service.is_(False),
            Permission.permission_name.in_(permissions),
            acts_for.in_(members),
            sa.or_(
                UserAssignment.organization_id.is_not(None),
                UserAssignment.project_id == project_id,
                UserAssignment.contract_id.in_(contracts),
            ),
        )
    )
    return await _rows(session, statement)


async def global_grants(session: AsyncSession) -> Rows:
    statement = (
        sa.select(User.username, Role.role_name)
        .select_from(UserAssignment)
        .join(User, User.user_id == UserAssignment.user_id)
        .join(Role, Role.role_id == UserAssignment.role_id)
        .where(Role.scope == "Global", _without_period())
    )
    return await _rows(session, statement)


def _without_period() -> sa.ColumnElement[bool]:
    """Select roles without a period: project files neither contain nor close the others."""
    return sa.and_(UserAssignment.valid_from.is_(None), UserAssignment.valid_until.is_(None))


async def is_referenced(session: AsyncSession, table_name: str, *, key: int) -> bool:
    """Search all tables in the metadata, except the row's own parts."""
    target = Base.metadata.tables[table_name]
    for table in Base.metadata.sorted_tables:
        keys = [] if table.name in _PARTS else [fk.parent for fk in table.foreign_keys if fk.column is target.c.id]
        for column in keys:
            if await session.scalar(sa.select(sa.literal(1)).select_from(table).where(column == key).limit(1)):
                return True
    # Counters have no foreign keys.
    counters = next((kind.counter for kind in FILE_LISTS.values() if kind.table == table_name), ())
    statement = sa.select(sa.literal(1)).where(
        sa.or_(sa.false(), *(getattr(NumberCounter, name) == key for name in counters))
    )
    return bool(counters and await session.scalar(statement.limit(1)))


_PARTS = frozenset(
    {
        *("contract_organizations", "disciplines", "rfa_types", "correspondence_sub_types"),
        *("project_organizations", "user_assignments", "contract_drawing_subcat_cat_maps"),
    }
)


async def has_numbers(session: AsyncSession, *, project_id: int, organization_id: int) -> bool:
    statement = sa.select(LedgerEntry.id).where(
        LedgerEntry.project_id == project_id,
        sa.or_(
            LedgerEntry.originator_organization_id == organization_id,
            LedgerEntry.recipient_organization_id == organization_id,
        ),
    )
    return await session.scalar(statement.limit(1)) is not None


async def is_party(session: AsyncSession, *, project_id: int, organization_id: int) -> bool:
    statement = sa.select(ContractOrganization.contract_id).where(
        ContractOrganization.organization_id == organization_id
    )
    return await session.scalar(_of_project(statement, ContractOrganization, project_id).limit(1)) is not None


async def closed_projects(session: AsyncSession) -> Sequence[Project]:
    statement = sa.select(Project).where(Project.is_active.is_(False), Project.deleted_at.is_(None))
    return (await session.scalars(statement.order_by(Project.project_code))).all()


async def organization_roles(session: AsyncSession) -> dict[str, int]:
    return {row.role_name: row.id for row in await session.scalars(sa.select(OrganizationRole))}


async def roles(session: AsyncSession) -> dict[str, str]:
    rows = await _rows(session, sa.select(Role.role_name, Role.scope).where(Role.deleted_at.is_(None)))
    return {row.role_name: row.scope for row in rows}


async def account(session: AsyncSession, *, username: str) -> User:
    return (await session.scalars(sa.select(User).where(User.username == username))).one()


async def days(session: AsyncSession, *, project_id: int) -> Sequence[ProjectDay]:
    statement = sa.select(ProjectDay).where(ProjectDay.project_id == project_id).order_by(ProjectDay.day)
    return (await session.scalars(statement)).all()


async def drawing_registers(session: AsyncSession, *, project_id: int) -> Sequence[DrawingSettingsRow]:
    of_project = sa.select(DrawingSettingsRow).where(DrawingSettingsRow.project_id == project_id)
    return (await session.scalars(of_project.order_by(DrawingSettingsRow.kind))).all()


async def delete_where(session: AsyncSession, model: type[Base], **columns: int) -> None:
    await session.execute(sa.delete(model).filter_by(**columns))
