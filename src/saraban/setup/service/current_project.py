"""What is there of a project, in the shape of a project file: compared with one that is applied, written when it is exported."""

from collections import defaultdict
from collections.abc import Collection
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.catalogue import party_role
from saraban.identity.models import Organization
from saraban.kit.db import AnyRow
from saraban.kit.json import Json
from saraban.projects.domain.calendar import USUAL_WEEKEND, WEEKDAYS
from saraban.projects.domain.drawing_settings import CONTRACT_REGISTER
from saraban.projects.models import (
    Contract,
    CorrespondenceType,
    Project,
    ProjectCalendar,
)
from saraban.setup.domain.master_kinds import FILE_LISTS, SUB_TYPE, MasterKind, Owner
from saraban.setup.domain.master_rows import MasterRow
from saraban.setup.domain.new_project import Data
from saraban.setup.domain.project_file import WEEK
from saraban.setup.repository import master_rows
from saraban.setup.repository import project_contents as repository

OF_CONTRACTS: Final = [name for name, kind in FILE_LISTS.items() if kind.owner is Owner.CONTRACT]
OF_PROJECTS: Final = [name for name, kind in FILE_LISTS.items() if kind.owner is Owner.PROJECT]
_WEEKDAYS: Final = dict(zip(WEEKDAYS, WEEK, strict=True))
WEEKDAY_OF: Final = {code: name for name, code in _WEEKDAYS.items()}


def stated(**values: Json) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


async def read_shared(session: AsyncSession, *, codes: Collection[str], usernames: Collection[str]) -> Data:
    """Read what belongs to the installation, as far as a file names it."""
    accounts = await repository.accounts(session)
    return {
        "organizations": [
            stated(code=row.organization_code, name=row.organization_name, nameEn=row.organization_name_en)
            for row in await repository.organizations(session)
            if row.organization_code in codes and _is_open(row)
        ],
        "correspondenceTypes": [
            stated(code=row.type_code, name=row.type_name, nameEn=row.type_name_en)
            for row in await repository.types(session)
            if _is_open(row)
        ],
        "people": [_person(accounts[name]) for name in sorted(set(usernames) & accounts.keys())],
    }


def _is_open(row: Organization | CorrespondenceType) -> bool:
    return row.is_active and row.deleted_at is None


def _person(row: AnyRow) -> dict[str, Json]:
    user = row.User
    return stated(
        username=user.username,
        email=user.email,
        firstName=user.first_name or "",
        lastName=user.last_name or "",
        organization=row.organization_code,
    )


async def read_project(session: AsyncSession, project: Project) -> Data:
    """Read the project itself; without organizations and people, which belong to the installation."""
    key = project.id
    return {
        "project": stated(code=project.project_code, name=project.project_name, nameEn=project.project_name_en)
        | stated(fileKinds=project.file_kinds),
        "members": [
            {"organization": row.organization_code, "role": party_role(row.role_in_project).value}
            for row in await repository.members(session, project_id=key)
        ],
        "contracts": await _contracts(session, key),
        "numberFormats": [_format(row) for row in await repository.formats(session, project_id=key)],
        "assignments": [
            stated(workflow=row.workflow_code, kind=row.kind.upper(), type=row.type_code or None)
            for row in await repository.choices(session, project_id=key)
        ],
        "calendar": await _calendar(session, key),
        **{name: found for name in OF_PROJECTS if (found := await _listed(session, FILE_LISTS[name], key))},
        **({"drawingRegisters": registers} if (registers := await _registers(session, key)) else {}),
        "reviewTeams": await _teams(session, key),
    }


async def roles_in(
    session: AsyncSession, project: Project, *, named: Collection[str] = ()
) -> dict[str, list[dict[str, str]]]:
    """
    Read who has which role in the project, its contracts and its organizations, by user name.

    :param named: accounts of programs and closed ones are left out, but for these
    """
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in await repository.grants(session, project_id=project.id):
        if row.username not in named and (row.is_service or not row.is_active):
            continue
        place = row.organization_code or row.contract_code or row.project_code
        found[row.username].append({"role": row.role_name, "level": row.scope, "place": place})
    return found


async def people_of(session: AsyncSession, project: Project, data: Data) -> list[Data]:
    """Read those who have a role in the project or a place in one of its teams, with their roles."""
    roles = await roles_in(session, project)
    seated = {seat["person"] for team in data["reviewTeams"] for seat in team["members"]}
    shared = await read_shared(session, codes=(), usernames=seated | roles.keys())
    return [{**person, "roles": roles.get(person["username"], [])} for person in shared["people"]]


async def _contracts(session: AsyncSession, key: int) -> list[dict[str, Json]]:
    rows = await repository.contracts(session, codes=(), project_id=key)
    parties: dict[int, list[dict[str, Json]]] = defaultdict(list)
    for row in await repository.parties(session, project_id=key):
        party = {"organization": row.organization_code, "role": party_role(row.role_in_contract).value}
        parties[row.contract_id].append(party)
    return [
        {
            **_contract(row),
            "parties": parties[row.id],
            **{name: await _listed(session, FILE_LISTS[name], row.id) for name in OF_CONTRACTS},
        }
        for row in rows
        if row.is_active and row.deleted_at is None
    ]


def _contract(row: Contract) -> dict[str, Json]:
    return stated(
        code=row.contract_code,
        name=row.contract_name,
        nameEn=row.contract_name_en,
        startDate=row.start_date.isoformat() if row.start_date else None,
        endDate=row.end_date.isoformat() if row.end_date else None,
    )


async def _listed(session: AsyncSession, kind: MasterKind, owner: int) -> list[dict[str, Json]]:
    rows = await master_rows.rows(session, kind, owner=owner, include_closed=False)
    return [_shown(row) for row in rows]


def _shown(row: MasterRow) -> dict[str, Json]:
    """What rows of before these rules may lack is filled from what they have."""
    said: dict[str, Json] = {name: value for name, value in row.values.items() if value is not None}
    thai, english = said.get("nameTh"), said.get("nameEn")
    if row.kind is SUB_TYPE:
        said |= {"type": said.pop("typeCode"), "number": said.get("number", row.code[:10]), "nameTh": thai or row.code}
    elif row.kind.field("nameEn").required:
        said |= {"nameTh": thai or english or row.code, "nameEn": english or thai or row.code}
    for name, usual in (("color", "default"), ("items", "optional")):
        if said.get(name) == usual:
            del said[name]
    return said


def _format(row: AnyRow) -> dict[str, Json]:
    one = row.NumberFormat
    return stated(
        type=row.type_code,
        subType=one.sub_type_code or None,
        rfaType=one.rfa_type_code or None,
        discipline=one.discipline_code or None,
        template=one.format_template,
        description=one.description,
        resetYearly=one.reset_sequence_yearly,
        overflow=one.overflow,
    )


async def _calendar(session: AsyncSession, key: int) -> dict[str, Json]:
    own = await session.get(ProjectCalendar, key)
    names = own.weekend.split(",") if own is not None else USUAL_WEEKEND
    return {
        "weekend": [code for name, code in _WEEKDAYS.items() if name in names],
        "days": [
            {
                "date": row.day.isoformat(),
                "kind": "working" if row.is_working else "holiday",
                "name": row.name_th,
                "nameEn": row.name_en,
            }
            for row in await repository.days(session, project_id=key)
        ],
    }


async def _registers(session: AsyncSession, key: int) -> list[dict[str, Json]]:
    """Only contract drawings take addenda or not, and the others are approved."""
    return [
        stated(
            kind=row.kind,
            revisionScheme=row.revision_scheme,
            numberPattern=row.number_pattern,
            takesAddenda=row.addenda if row.kind == CONTRACT_REGISTER else None,
            approval=None if row.kind == CONTRACT_REGISTER else "workflow" if row.own_workflow else "rfa",
        )
        for row in await repository.drawing_registers(session, project_id=key)
    ]


async def _teams(session: AsyncSession, key: int) -> list[dict[str, Json]]:
    seats: dict[int, list[dict[str, Json]]] = defaultdict(list)
    for row in await repository.seats(session, project_id=key):
        one = row.ReviewTeamMember
        seats[one.team_id].append(stated(person=row.username, discipline=one.discipline_code, role=one.member_role))
    return [
        {"code": row.team_code, "name": row.name_th, "nameEn": row.name_en, "members": seats[row.id]}
        for row in await repository.teams(session, project_id=key)
    ]
