"""Queries about projects, parties, calendars, teams and master data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, TypedDict
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.models import Organization, User
from saraban.kit.db import AnyRow, AnySelect, Base, table_of
from saraban.kit.keys import has_spelling, is_spelled, spelled, spelling
from saraban.kit.pagination import newest_first
from saraban.kit.text import key_text
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
# Frequent statements are built once, over columns of tables.
_PROJECT, _CONTRACT, _TYPE = table_of(Project).c, table_of(Contract).c, table_of(CorrespondenceType).c
_ORGANIZATION, _PROJECT_PARTY = table_of(Organization).c, table_of(ProjectOrganization).c
_PARTY = table_of(ContractOrganization).c
_DISCIPLINE, _RFA_TYPE, _SUB_TYPE = table_of(Discipline).c, table_of(RfaType).c, table_of(CorrespondenceSubType).c
_IS_OPEN_PROJECT = sa.and_(_PROJECT.is_active, _PROJECT.deleted_at.is_(None))
_IS_OPEN_CONTRACT = sa.and_(_CONTRACT.is_active, _CONTRACT.deleted_at.is_(None))
_IS_OPEN_ORGANIZATION = sa.and_(_ORGANIZATION.is_active, _ORGANIZATION.deleted_at.is_(None))
_ROLE = sa.func.coalesce(_PARTY.role_in_contract, _PROJECT_PARTY.role_in_project).label("role")
_PROJECTS = sa.select(
    _PROJECT.id, _PROJECT.uuid, _PROJECT.project_code, _PROJECT.project_name, _PROJECT.project_name_en
)


def _flag(name: str) -> sa.BindParameter[bool]:
    return sa.bindparam(name, type_=sa.Boolean())


def _keys(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, expanding=True)


class ProjectReach(TypedDict):
    """The projects that a caller sees, by role, contract or organization."""

    everything: bool
    sandbox: bool
    project_ids: list[int]
    contract_ids: list[int]
    organization_ids: list[int]


# Parameters: a `ProjectReach`, and `closed` to include closed projects.
_IS_VISIBLE = sa.and_(
    sa.or_(
        _flag("everything"),
        _PROJECT.id.in_(_keys("project_ids")),
        _PROJECT.id.in_(sa.select(_CONTRACT.project_id).where(_CONTRACT.id.in_(_keys("contract_ids")))),
        _PROJECT.id.in_(
            sa.select(_PROJECT_PARTY.project_id).where(_PROJECT_PARTY.organization_id.in_(_keys("organization_ids")))
        ),
    ),
    sa.or_(_flag("closed"), _IS_OPEN_PROJECT),
    sa.or_(_flag("sandbox"), _PROJECT.is_sandbox.is_(False)),
)
_TYPE_NAMES = sa.select(_TYPE.type_code, _TYPE.type_name, _TYPE.type_name_en)
_PARTIES_OF_PROJECTS = sa.select(_PROJECT_PARTY.organization_id).where(
    _PROJECT_PARTY.project_id.in_(_keys("project_ids"))
)
_VISIBLE_PROJECTS = _PROJECTS.where(_IS_VISIBLE).order_by(_PROJECT.project_code)


async def project_page(
    session: AsyncSession,
    reach: ProjectReach,
    *,
    search: str | None,
    closed: bool,
    cursor: str | None,
    limit: int,
) -> Sequence[Project]:
    statement = sa.select(Project).where(_IS_VISIBLE)
    if search:
        statement = statement.where(
            sa.or_(
                Project.project_code.contains(search, autoescape=True),
                Project.project_name.contains(search, autoescape=True),
            )
        )
    statement = newest_first(statement, at=Project.created_at, public_id=Project.public_id, cursor=cursor, limit=limit)
    return (await session.scalars(statement, {**reach, "closed": closed})).all()


async def projects(session: AsyncSession, reach: ProjectReach, *, closed: bool = False) -> Rows:
    """Return (key, public id, code, name, English name), by code."""
    return (await session.execute(_VISIBLE_PROJECTS, {**reach, "closed": closed})).all()


async def visible_project(
    session: AsyncSession, reach: ProjectReach, *, public_id: UUID, closed: bool = False
) -> Project | None:
    statement = sa.select(Project).where(_IS_VISIBLE, _PROJECT.uuid == public_id)
    return await session.scalar(statement, {**reach, "closed": closed})


_PROJECT_OF_ID = _PROJECTS.where(_IS_OPEN_PROJECT, _PROJECT.uuid == sa.bindparam("public_id"))
_CONTRACT_OF_ID = sa.select(_CONTRACT.id, _CONTRACT.uuid, _CONTRACT.contract_code, _CONTRACT.contract_name).where(
    _IS_OPEN_CONTRACT, _CONTRACT.project_id == sa.bindparam("project_id"), _CONTRACT.uuid == sa.bindparam("public_id")
)
_TYPE_OF_CODE = (
    sa.select(_TYPE.id, _TYPE.type_code, _TYPE.type_name)
    .where(_TYPE.is_active, _TYPE.deleted_at.is_(None), has_spelling(_TYPE.type_code))
    .order_by(_TYPE.type_code != sa.bindparam("text"))
    .limit(1)
)


async def open_project(session: AsyncSession, named: UUID | str) -> AnyRow | None:
    if isinstance(named, UUID):
        return (await session.execute(_PROJECT_OF_ID, {"public_id": named})).one_or_none()
    statement = spelled(_PROJECTS.where(_IS_OPEN_PROJECT), _PROJECT.project_code, named)
    return (await session.execute(statement)).one_or_none()


async def open_contract(session: AsyncSession, *, project_id: int, public_id: UUID) -> AnyRow | None:
    return (await session.execute(_CONTRACT_OF_ID, {"project_id": project_id, "public_id": public_id})).one_or_none()


async def open_type(session: AsyncSession, *, code: str) -> AnyRow | None:
    return (await session.execute(_TYPE_OF_CODE, spelling(code))).one_or_none()


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
    """Return a row for each party of each contract."""
    statement = (
        sa.select(
            *(Contract.id, Contract.public_id),
            Contract.contract_code,
            Contract.contract_name,
            Contract.contract_name_en,
            Contract.start_date,
            Contract.end_date,
            _IS_OPEN_CONTRACT.label("is_active"),
            _ROLE,
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
        .where(Contract.project_id == project_id, sa.true() if closed else _IS_OPEN_CONTRACT)
        .order_by(Contract.contract_code, _by_role(_ROLE), Organization.organization_code)
    )
    return list((await session.execute(statement)).all())


def _by_role(role: Any) -> sa.ColumnElement[int]:
    name = sa.func.upper(role)
    return sa.case({role.value: place for place, role in enumerate(PartyRole)}, value=name, else_=len(PartyRole))


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """Codes of a project's contracts, or of one contract, or one code."""

    project_id: int
    contract: UUID | None = None
    code: str | None = None


async def disciplines(session: AsyncSession, wanted: CodeFilter) -> Rows:
    return await _list_codes(session, Discipline, wanted)


async def rfa_types(session: AsyncSession, wanted: CodeFilter) -> Rows:
    return await _list_codes(session, RfaType, wanted)


async def sub_types(
    session: AsyncSession, wanted: CodeFilter, *, type_id: int | None = None, type_code: str | None = None
) -> Rows:
    rows = await _list_codes(session, CorrespondenceSubType, wanted)
    code = None if type_code is None else key_text(type_code)
    return [row for row in rows if type_id in {None, row.type_id} and code in {None, key_text(row.type_code)}]


_CODES: Mapping[type[Base], Sequence[Any]] = {  # each begins with the code
    Discipline: (
        _DISCIPLINE.discipline_code,
        _DISCIPLINE.code_name_th.label("name_th"),
        _DISCIPLINE.code_name_en.label("name_en"),
    ),
    RfaType: (
        _RFA_TYPE.type_code,
        _RFA_TYPE["items"],
        _RFA_TYPE.type_name_th.label("name_th"),
        _RFA_TYPE.type_name_en.label("name_en"),
    ),
    CorrespondenceSubType: (
        _SUB_TYPE.sub_type_code,
        _SUB_TYPE.sub_type_name.label("name"),
        _SUB_TYPE.sub_type_name_en.label("name_en"),
        _SUB_TYPE.sub_type_number.label("number"),
        _TYPE.id.label("type_id"),
        _TYPE.type_code,
    ),
}


@cache
def _codes(model: type[Base], *, of_contract: bool, of_code: bool) -> AnySelect:
    code, *names = _CODES[model]
    table = table_of(model)
    contract = (table.c.contract_id, _CONTRACT.uuid.label("contract_public_id"), _CONTRACT.contract_code)
    statement: AnySelect = (
        sa.select(table.c.id, code.label("code"), *names, *contract)
        .join_from(table, table_of(Contract), _CONTRACT.id == table.c.contract_id)
        .where(table.c.is_active, _CONTRACT.project_id == sa.bindparam("project_id"), _IS_OPEN_CONTRACT)
        .order_by(_CONTRACT.contract_code, table.c.sort_order, code)
    )
    if model is CorrespondenceSubType:
        statement = statement.join(table_of(CorrespondenceType), _TYPE.id == _SUB_TYPE.correspondence_type_id)
    if of_contract:
        statement = statement.where(_CONTRACT.uuid == sa.bindparam("contract"))
    return statement.where(has_spelling(code)) if of_code else statement


async def _list_codes(session: AsyncSession, model: type[Base], wanted: CodeFilter) -> Rows:
    statement = _codes(model, of_contract=wanted.contract is not None, of_code=wanted.code is not None)
    parameters = {"project_id": wanted.project_id, "contract": wanted.contract, **spelling(wanted.code or "")}
    return (await session.execute(statement, parameters)).all()


async def weekend(session: AsyncSession, project_id: int) -> ProjectCalendar | None:
    return await session.get(ProjectCalendar, project_id)


async def calendar_days(session: AsyncSession, project_id: int) -> Sequence[ProjectDay]:
    return (await session.scalars(sa.select(ProjectDay).where(ProjectDay.project_id == project_id))).all()


async def calendar_day(session: AsyncSession, *, project_id: int, on: date) -> ProjectDay | None:
    return await session.get(ProjectDay, (project_id, on))


_PROJECT_PARTIES = (
    sa.select(_ORGANIZATION.id, _ORGANIZATION.uuid, _ORGANIZATION.organization_code, _PROJECT_PARTY.role_in_project)
    .where(_ORGANIZATION.id == _PROJECT_PARTY.organization_id)
    .where(_PROJECT_PARTY.project_id == sa.bindparam("project_id"), _IS_OPEN_ORGANIZATION)
)
_CONTRACT_PARTIES = (
    sa.select(_PARTY.organization_id, _ORGANIZATION.uuid, _ORGANIZATION.organization_code, _ROLE)
    .join_from(table_of(ContractOrganization), table_of(Organization), _ORGANIZATION.id == _PARTY.organization_id)
    .join(table_of(Contract), _CONTRACT.id == _PARTY.contract_id)
    .outerjoin(
        table_of(ProjectOrganization),
        sa.and_(
            _PROJECT_PARTY.project_id == _CONTRACT.project_id, _PROJECT_PARTY.organization_id == _PARTY.organization_id
        ),
    )
    .where(_PARTY.contract_id == sa.bindparam("contract_id"), _IS_OPEN_ORGANIZATION)
)
_ALL_PARTIES = sa.union_all(
    _PROJECT_PARTIES.add_columns(sa.literal_column("0")), _CONTRACT_PARTIES.add_columns(sa.literal_column("1"))
)
_PARTICIPANT = (
    sa.select(
        _ORGANIZATION.id, _ORGANIZATION.uuid, _ORGANIZATION.organization_code, _ORGANIZATION.organization_name, _ROLE
    )
    .join_from(
        table_of(Organization), table_of(ProjectOrganization), _PROJECT_PARTY.organization_id == _ORGANIZATION.id
    )
    .outerjoin(
        table_of(ContractOrganization),
        sa.and_(_PARTY.organization_id == _ORGANIZATION.id, _PARTY.contract_id == sa.bindparam("contract_id")),
    )
    .where(
        _PROJECT_PARTY.project_id == sa.bindparam("project_id"),
        _ORGANIZATION.uuid == sa.bindparam("public_id"),
        _IS_OPEN_ORGANIZATION,
    )
)


async def participant(
    session: AsyncSession, *, project_id: int, public_id: UUID, contract_id: int | None = None
) -> AnyRow | None:
    """Return (key, public id, code, name, role); the role in the contract, if any, counts."""
    parameters = {"project_id": project_id, "public_id": public_id, "contract_id": contract_id}
    return (await session.execute(_PARTICIPANT, parameters)).one_or_none()


async def parties(session: AsyncSession, *, project_id: int, contract_id: int | None) -> Rows:
    """Return (key, public id, code, role); the role in the contract, if any, counts."""
    statement = _PROJECT_PARTIES if contract_id is None else _CONTRACT_PARTIES
    return (await session.execute(statement, {"project_id": project_id, "contract_id": contract_id})).all()


async def all_parties(session: AsyncSession, *, project_id: int, contract_id: int) -> Rows:
    """Return rows of `parties` with 0 for the project and 1 for the contract at the end."""
    return (await session.execute(_ALL_PARTIES, {"project_id": project_id, "contract_id": contract_id})).all()


async def printable(session: AsyncSession, project_id: int) -> Rows:
    """Return (kind, code) of everything that a number may print."""
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
    """Return (public id, code, Thai name, English name)."""
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
    """Return (code, code, Thai name, English name)."""
    statement = sa.select(
        Discipline.discipline_code,
        Discipline.discipline_code,
        sa.func.min(Discipline.code_name_th),
        sa.func.min(Discipline.code_name_en),
    ).join(Contract, Contract.id == Discipline.contract_id)
    return await _code_choices(session, statement, Discipline.discipline_code, project_ids)


async def rfa_type_choices(session: AsyncSession, project_ids: Collection[int]) -> Rows:
    """Return (code, code, Thai name, English name)."""
    statement = sa.select(
        RfaType.type_code, RfaType.type_code, sa.func.min(RfaType.type_name_th), sa.func.min(RfaType.type_name_en)
    ).join(Contract, Contract.id == RfaType.contract_id)
    return await _code_choices(session, statement, RfaType.type_code, project_ids)


async def _code_choices(
    session: AsyncSession, statement: AnySelect, code: InstrumentedAttribute[str], project_ids: Collection[int]
) -> Rows:
    # A code of several contracts is one choice; closed codes still find old documents.
    statement = statement.where(Contract.project_id.in_(project_ids)).group_by(code).order_by(code)
    return (await session.execute(statement)).all()


async def sub_type_numbers(session: AsyncSession, project_id: int) -> Rows:
    """Return (type code, sub type's code, its number); contracts may differ."""
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
    """Return (member, public id, user name, first and last name)."""
    statement = (
        sa.select(ReviewTeamMember, User.public_id, User.username, User.first_name, User.last_name)
        .join(User, User.user_id == ReviewTeamMember.user_id)
        .where(ReviewTeamMember.team_id.in_(team_ids), User.is_active, User.deleted_at.is_(None))
        .order_by(User.username)
    )
    return (await session.execute(statement)).all() if team_ids else []


async def seats(session: AsyncSession, project_ids: Collection[int], user_ids: Collection[int] | None) -> Rows:
    """Return (project, user, code of the team, discipline) of active teams."""
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
    return frozenset(await session.scalars(_PARTIES_OF_PROJECTS, {"project_ids": list(project_ids)}))


async def has_discipline(session: AsyncSession, *, project_id: int, code: str) -> bool:
    statement = (
        sa.select(Discipline.id)
        .join(Contract, Contract.id == Discipline.contract_id)
        .where(Contract.project_id == project_id, is_spelled(Discipline.discipline_code, [code]), Discipline.is_active)
        .limit(1)
    )
    return await session.scalar(statement) is not None


async def open_types(session: AsyncSession) -> Sequence[CorrespondenceType]:
    model = CorrespondenceType
    statement = sa.select(model).where(model.is_active, model.deleted_at.is_(None))
    return (await session.scalars(statement.order_by(model.sort_order, model.type_code))).all()


async def remove_team_members(session: AsyncSession, *, team_id: int) -> None:
    await session.execute(sa.delete(ReviewTeamMember).where(ReviewTeamMember.team_id == team_id))


async def type_names(session: AsyncSession) -> Rows:
    return (await session.execute(_TYPE_NAMES)).all()
