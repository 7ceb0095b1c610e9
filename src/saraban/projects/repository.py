"""Queries about projects, their parties, calendars and teams, and master data; each function is one statement."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.models import Organization, User
from saraban.kit.db import AnyRow, AnySelect, table_of
from saraban.kit.keys import is_spelled, spelled
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
    ReviewTeam,
    ReviewTeamMember,
    RfaType,
)

Rows = Sequence[AnyRow]
Found = TypeVar("Found")
Active = TypeVar("Active", Project, Contract, CorrespondenceType)


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


def _projects(may_see: sa.ColumnElement[bool], *, sandbox: bool, closed: bool = False) -> sa.Select[Project]:
    """:param closed: those that are closed, too"""
    statement = sa.select(Project).where(may_see)
    if not closed:
        statement = statement.where(Project.is_active, Project.deleted_at.is_(None))
    return statement if sandbox else statement.where(Project.is_sandbox.is_(False))


async def project_page(
    session: AsyncSession,
    may_see: sa.ColumnElement[bool],
    *,
    sandbox: bool,
    search: str | None,
    closed: bool,
    cursor: str | None,
    limit: int,
) -> Sequence[Project]:
    statement = _projects(may_see, sandbox=sandbox, closed=closed)
    if search:
        statement = statement.where(
            sa.or_(
                Project.project_code.contains(search, autoescape=True),
                Project.project_name.contains(search, autoescape=True),
            )
        )
    statement = newest_first(statement, at=Project.created_at, public_id=Project.public_id, cursor=cursor, limit=limit)
    return list(await session.scalars(statement))


async def projects(
    session: AsyncSession, may_see: sa.ColumnElement[bool], *, sandbox: bool, closed: bool = False
) -> Rows:
    """Rows of (key, public id, code, name, English name), by code."""
    statement = _projects(may_see, sandbox=sandbox, closed=closed).with_only_columns(
        Project.id, Project.public_id, Project.project_code, Project.project_name, Project.project_name_en
    )
    return (await session.execute(statement.order_by(Project.project_code))).all()


async def visible_project(
    session: AsyncSession, may_see: sa.ColumnElement[bool], *, sandbox: bool, public_id: UUID, closed: bool = False
) -> Project | None:
    statement = _projects(may_see, sandbox=sandbox, closed=closed)
    return await session.scalar(statement.where(Project.public_id == public_id))


async def members(session: AsyncSession, *, project_id: int) -> Rows:
    statement = (
        sa.select(
            Organization.public_id.label("organization_public_id"),
            Organization.organization_code,
            Organization.organization_name,
            Organization.organization_name_en,
            ProjectOrganization.role_in_project.label("role"),
        )
        .join(ProjectOrganization, ProjectOrganization.organization_id == Organization.id)
        .where(ProjectOrganization.project_id == project_id, Organization.is_active, Organization.deleted_at.is_(None))
        .order_by(_by_role(ProjectOrganization.role_in_project), Organization.organization_code)
    )
    return list((await session.execute(statement)).all())


async def contracts(session: AsyncSession, *, project_id: int, closed: bool = False) -> Rows:
    """One row for each party of each contract, of `closed` ones too, the contract's columns repeated."""
    is_open = sa.and_(Contract.is_active, Contract.deleted_at.is_(None))
    role = sa.func.coalesce(ContractOrganization.role_in_contract, ProjectOrganization.role_in_project).label("role")
    statement = (
        sa.select(
            *(Contract.id, Contract.public_id),
            Contract.contract_code,
            Contract.contract_name,
            Contract.contract_name_en,
            Contract.start_date,
            Contract.end_date,
            is_open.label("is_active"),
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
        .where(Contract.project_id == project_id, sa.true() if closed else is_open)
        .order_by(Contract.contract_code, _by_role(role), Organization.organization_code)
    )
    return list((await session.execute(statement)).all())


def _by_role(role: Any) -> sa.ColumnElement[int]:
    """Owners first, as people name them."""
    name = sa.func.upper(role)
    return sa.case({role.value: place for place, role in enumerate(PartyRole)}, value=name, else_=len(PartyRole))


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """The codes of a project's contracts; of one contract alone, or one code alone, where that is given."""

    project_id: int
    contract: UUID | None = None
    code: str | None = None


async def disciplines(session: AsyncSession, wanted: CodeFilter) -> Rows:
    names = (Discipline.code_name_th.label("name_th"), Discipline.code_name_en.label("name_en"))
    statement = sa.select(Discipline.id, *names).where(Discipline.is_active)
    return await _of_contracts(session, statement, Discipline.discipline_code, wanted)


async def rfa_types(session: AsyncSession, wanted: CodeFilter) -> Rows:
    names = (RfaType.type_name_th.label("name_th"), RfaType.type_name_en.label("name_en"))
    statement = sa.select(RfaType.id, RfaType.items, *names).where(RfaType.is_active)
    return await _of_contracts(session, statement, RfaType.type_code, wanted)


async def sub_types(
    session: AsyncSession, wanted: CodeFilter, *, type_id: int | None = None, type_code: str | None = None
) -> Rows:
    """Those of every document type, or of one, named by its key or its code."""
    statement = sa.select(
        CorrespondenceSubType.id,
        CorrespondenceSubType.sub_type_name.label("name"),
        CorrespondenceSubType.sub_type_name_en.label("name_en"),
        CorrespondenceSubType.sub_type_number.label("number"),
        CorrespondenceType.type_code,
    ).join(CorrespondenceType, CorrespondenceType.id == CorrespondenceSubType.correspondence_type_id)
    statement = statement.where(CorrespondenceSubType.is_active)
    if type_id is not None:
        statement = statement.where(CorrespondenceType.id == type_id)
    if type_code is not None:
        statement = statement.where(is_spelled(CorrespondenceType.type_code, [type_code]))
    return await _of_contracts(session, statement, CorrespondenceSubType.sub_type_code, wanted)


async def _of_contracts(session: AsyncSession, statement: AnySelect, code: Any, wanted: CodeFilter) -> Rows:
    contract = code.class_.contract_id
    statement = (
        statement.add_columns(
            code.label("code"), contract, Contract.public_id.label("contract_public_id"), Contract.contract_code
        )
        .join(Contract, Contract.id == contract)
        .where(Contract.project_id == wanted.project_id, Contract.is_active, Contract.deleted_at.is_(None))
        .order_by(Contract.contract_code, code.class_.sort_order, code)
    )
    if wanted.contract is not None:
        statement = statement.where(Contract.public_id == wanted.contract)
    if wanted.code is not None:
        statement = statement.where(is_spelled(code, [wanted.code]))
    return (await session.execute(statement)).all()


async def weekend(session: AsyncSession, project_id: int) -> ProjectCalendar | None:
    return await session.get(ProjectCalendar, project_id)


async def calendar_days(session: AsyncSession, project_id: int) -> Sequence[ProjectDay]:
    return (await session.scalars(sa.select(ProjectDay).where(ProjectDay.project_id == project_id))).all()


async def calendar_day(session: AsyncSession, *, project_id: int, on: date) -> ProjectDay | None:
    return await session.get(ProjectDay, (project_id, on))


async def participant(
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


_in_project, _in_contract, _organization, _contract = (
    table_of(mapped) for mapped in (ProjectOrganization, ContractOrganization, Organization, Contract)
)
_is_open = _organization.c.is_active, _organization.c.deleted_at.is_(None)
_PROJECT_PARTIES = (
    sa.select(
        _in_project.c.organization_id,
        _organization.c.uuid,
        _organization.c.organization_code,
        _in_project.c.role_in_project,
    )
    .select_from(_in_project)
    .join(_organization, _organization.c.id == _in_project.c.organization_id)
    .where(_in_project.c.project_id == sa.bindparam("project"), *_is_open)
)
_CONTRACT_PARTIES = (
    sa.select(
        _in_contract.c.organization_id,
        _organization.c.uuid,
        _organization.c.organization_code,
        sa.func.coalesce(_in_contract.c.role_in_contract, _in_project.c.role_in_project),
    )
    .select_from(_in_contract)
    .join(_organization, _organization.c.id == _in_contract.c.organization_id)
    .join(_contract, _contract.c.id == _in_contract.c.contract_id)
    .outerjoin(
        _in_project,
        sa.and_(
            _in_project.c.project_id == _contract.c.project_id,
            _in_project.c.organization_id == _in_contract.c.organization_id,
        ),
    )
    .where(_in_contract.c.contract_id == sa.bindparam("contract"), *_is_open)
)


_ALL_PARTIES = sa.union_all(
    *(statement.add_columns(sa.literal(of)) for of, statement in enumerate((_PROJECT_PARTIES, _CONTRACT_PARTIES)))
)


async def parties(session: AsyncSession, *, project_id: int, contract_id: int | None) -> Rows:
    """
    Rows of (key, public id, code, role) of the organizations that take part.

    :param contract_id: only the parties of this contract, whose role in it comes before their role in the project
    """
    statement = _PROJECT_PARTIES if contract_id is None else _CONTRACT_PARTIES
    return (await session.execute(statement, {"project": project_id, "contract": contract_id})).all()


async def all_parties(session: AsyncSession, *, project_id: int, contract_id: int) -> Rows:
    """Rows as those of `parties`, of the project and then of the contract, which is 0 and 1 at their end."""
    return (await session.execute(_ALL_PARTIES, {"project": project_id, "contract": contract_id})).all()


async def printable(session: AsyncSession, project_id: int) -> Rows:
    """Rows of (kind, code) for everything a number of the project may print."""
    of_project = Contract.project_id == project_id
    statement: sa.CompoundSelect[*tuple[Any, ...]] = sa.union_all(
        sa.select(sa.literal("organization").label("kind"), Organization.organization_code.label("code"))
        .join(ProjectOrganization, ProjectOrganization.organization_id == Organization.id)
        .where(ProjectOrganization.project_id == project_id),
        sa.select(sa.literal("discipline").label("kind"), Discipline.discipline_code)
        .join(Contract, Contract.id == Discipline.contract_id)
        .where(of_project),
        sa.select(sa.literal("rfa_type").label("kind"), RfaType.type_code)
        .join(Contract, Contract.id == RfaType.contract_id)
        .where(of_project),
        sa.select(sa.literal("sub_type").label("kind"), CorrespondenceSubType.sub_type_number)
        .join(Contract, Contract.id == CorrespondenceSubType.contract_id)
        .where(of_project),
        sa.select(sa.literal("type").label("kind"), CorrespondenceType.type_code),
    )
    return list((await session.execute(statement)).all())


async def party_choices(session: AsyncSession, project_ids: Collection[int]) -> Rows:
    """Rows of (public id, code, Thai name, English name) of the organizations that take part in the projects."""
    is_party = sa.exists().where(
        ProjectOrganization.organization_id == Organization.id, ProjectOrganization.project_id.in_(project_ids)
    )
    statement = sa.select(
        Organization.public_id,
        Organization.organization_code,
        Organization.organization_name,
        Organization.organization_name_en,
    )
    return (await session.execute(statement.where(is_party).order_by(Organization.organization_code))).all()


async def discipline_choices(session: AsyncSession, project_ids: Collection[int]) -> Rows:
    """Rows of (code, code, Thai name, English name)."""
    statement = sa.select(
        Discipline.discipline_code,
        Discipline.discipline_code,
        sa.func.min(Discipline.code_name_th),
        sa.func.min(Discipline.code_name_en),
    ).join(Contract, Contract.id == Discipline.contract_id)
    return await _code_choices(session, statement, Discipline.discipline_code, project_ids)


async def rfa_type_choices(session: AsyncSession, project_ids: Collection[int]) -> Rows:
    """Rows of (code, code, Thai name, English name)."""
    statement = sa.select(
        RfaType.type_code, RfaType.type_code, sa.func.min(RfaType.type_name_th), sa.func.min(RfaType.type_name_en)
    ).join(Contract, Contract.id == RfaType.contract_id)
    return await _code_choices(session, statement, RfaType.type_code, project_ids)


async def _code_choices(
    session: AsyncSession, statement: AnySelect, code: InstrumentedAttribute[str], project_ids: Collection[int]
) -> Rows:
    # A code that several contracts have is one choice. What is no longer offered to new documents still finds old ones.
    statement = statement.where(Contract.project_id.in_(project_ids)).group_by(code).order_by(code)
    return (await session.execute(statement)).all()


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


async def teams(session: AsyncSession, *, project_id: int) -> Sequence[ReviewTeam]:
    statement = sa.select(ReviewTeam).where(ReviewTeam.project_id == project_id).order_by(ReviewTeam.team_code)
    return (await session.scalars(statement)).all()


async def team(session: AsyncSession, *, project_id: int, code: str) -> ReviewTeam | None:
    statement = sa.select(ReviewTeam).where(ReviewTeam.project_id == project_id)
    return await session.scalar(spelled(statement, ReviewTeam.team_code, code))


async def team_members(session: AsyncSession, *, team_ids: Collection[int]) -> Rows:
    """Rows of (member, public id, user name, first and last name), by user name."""
    statement = (
        sa.select(ReviewTeamMember, User.public_id, User.username, User.first_name, User.last_name)
        .join(User, User.user_id == ReviewTeamMember.user_id)
        .where(ReviewTeamMember.team_id.in_(team_ids), User.is_active, User.deleted_at.is_(None))
        .order_by(User.username)
    )
    return (await session.execute(statement)).all() if team_ids else []


async def seats(session: AsyncSession, project_ids: Collection[int], user_ids: Collection[int] | None) -> Rows:
    """Rows of (project, user, code of the team, discipline), of teams that are active; all people, or some."""
    statement = (
        sa.select(
            ReviewTeam.project_id, ReviewTeamMember.user_id, ReviewTeam.team_code, ReviewTeamMember.discipline_code
        )
        .join(ReviewTeam, ReviewTeam.id == ReviewTeamMember.team_id)
        .join(User, User.user_id == ReviewTeamMember.user_id)
        .where(ReviewTeam.project_id.in_(project_ids), ReviewTeam.is_active, User.is_active, User.deleted_at.is_(None))
    )
    if user_ids is not None:
        statement = statement.where(ReviewTeamMember.user_id.in_(user_ids))
    return (await session.execute(statement)).all() if project_ids else []


async def organization_ids(session: AsyncSession, project_ids: Collection[int]) -> frozenset[int]:
    statement = sa.select(ProjectOrganization.organization_id).where(ProjectOrganization.project_id.in_(project_ids))
    return frozenset((await session.scalars(statement)).all())


async def has_discipline(session: AsyncSession, *, project_id: int, code: str) -> bool:
    statement = (
        sa.select(Discipline.id)
        .join(Contract, Contract.id == Discipline.contract_id)
        .where(Contract.project_id == project_id, is_spelled(Discipline.discipline_code, [code]), Discipline.is_active)
        .limit(1)
    )
    return await session.scalar(statement) is not None


def active(model: type[Active]) -> sa.Select[Active]:
    return sa.select(model).where(model.is_active, model.deleted_at.is_(None))


async def remove_team_members(session: AsyncSession, *, team_id: int) -> None:
    await session.execute(sa.delete(ReviewTeamMember).where(ReviewTeamMember.team_id == team_id))


async def type_names(session: AsyncSession) -> Rows:
    model = CorrespondenceType
    return (await session.execute(sa.select(model.type_code, model.type_name, model.type_name_en))).all()
