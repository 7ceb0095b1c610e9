"""Reads a project in the form of a project file, for comparison and export."""

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


def without_none(**values: Json) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


async def read_shared(session: AsyncSession, *, codes: Collection[str], usernames: Collection[str]) -> Data:
    accounts = await repository.accounts(session)
    return {
        "organizations": [
            without_none(code=row.organization_code, name=row.organization_name, nameEn=row.organization_name_en)
            for row in await repository.organizations(session)
            if row.organization_code in codes and _is_open(row)
        ],
        "correspondenceTypes": [
            without_none(code=row.type_code, name=row.type_name, nameEn=row.type_name_en)
            for row in await repository.types(session)
            if _is_open(row)
        ],
        "people": [_person(accounts[name]) for name in sorted(set(usernames) & accounts.keys())],
    }


def _is_open(row: Organization | CorrespondenceType) -> bool:
    return row.is_active and row.deleted_at is None


def _person(row: AnyRow) -> dict[str, Json]:
    user = row.User
    return without_none(
        username=user.username,
        email=user.email,
        firstName=user.first_name or "",
        lastName=user.last_name or "",
        organization=row.organization_code,
    )


async def read_project(session: AsyncSession, project: Project) -> Data:
    key = project.id
    return {
        "project": without_none(code=project.project_code, name=project.project_name, nameEn=project.project_name_en)
        | without_none(fileKinds=project.file_kinds),
        "members": [
            {"organization": row.organization_code, "role": party_role(row.role_in_project).value}
            for row in await repository.members(session, project_id=key)
        ],
        "contracts": await _contracts(session, key),
        "numberFormats": [_format(row) for row in await repository.formats(session, project_id=key)],
        "assignments": [
            without_none(workflow=row.workflow_code, kind=row.kind.upper(), type=row.type_code or None)
            for row in await repository.choices(session, project_id=key)
        ],
        "calendar": await _calendar(session, key),
        **{name: rows for name in OF_PROJECTS if (rows := await _list_rows(session, FILE_LISTS[name], key))},
        **({"drawingRegisters": registers} if (registers := await _drawing_registers(session, key)) else {}),
        "reviewTeams": await _teams(session, key),
    }


async def roles_by_username(
    session: AsyncSession, project: Project, *, named: Collection[str] = ()
) -> dict[str, list[dict[str, str]]]:
    """:param named: user names to include even for service accounts and closed accounts"""
    roles: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in await repository.grants(session, project_id=project.id):
        if row.username not in named and (row.is_service or not row.is_active):
            continue
        place = row.organization_code or row.contract_code or row.project_code
        roles[row.username].append({"role": row.role_name, "level": row.scope, "place": place})
    return roles


async def project_people(session: AsyncSession, project: Project, data: Data) -> list[Data]:
    roles = await roles_by_username(session, project)
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
            **{name: await _list_rows(session, FILE_LISTS[name], row.id) for name in OF_CONTRACTS},
        }
        for row in rows
        if row.is_active and row.deleted_at is None
    ]


def _contract(row: Contract) -> dict[str, Json]:
    return without_none(
        code=row.contract_code,
        name=row.contract_name,
        nameEn=row.contract_name_en,
        startDate=row.start_date.isoformat() if row.start_date else None,
        endDate=row.end_date.isoformat() if row.end_date else None,
    )


async def _list_rows(session: AsyncSession, kind: MasterKind, owner: int) -> list[dict[str, Json]]:
    rows = await master_rows.rows(session, kind, owner=owner, include_closed=False)
    return [_file_values(row) for row in rows]


def _file_values(row: MasterRow) -> dict[str, Json]:
    """Fill names that old rows lack from their other values."""
    values: dict[str, Json] = {name: value for name, value in row.values.items() if value is not None}
    thai, english = values.get("nameTh"), values.get("nameEn")
    if row.kind is SUB_TYPE:
        values |= {
            "type": values.pop("typeCode"),
            "number": values.get("number", row.code[:10]),
            "nameTh": thai or row.code,
        }
    elif row.kind.field("nameEn").required:
        values |= {"nameTh": thai or english or row.code, "nameEn": english or thai or row.code}
    for name, usual in (("color", "default"), ("items", "optional")):
        if values.get(name) == usual:
            del values[name]
    return values


def _format(row: AnyRow) -> dict[str, Json]:
    number_format = row.NumberFormat
    return without_none(
        type=row.type_code,
        subType=number_format.sub_type_code or None,
        rfaType=number_format.rfa_type_code or None,
        discipline=number_format.discipline_code or None,
        template=number_format.format_template,
        description=number_format.description,
        resetYearly=number_format.reset_sequence_yearly,
        overflow=number_format.overflow,
    )


async def _calendar(session: AsyncSession, key: int) -> dict[str, Json]:
    calendar = await session.get(ProjectCalendar, key)
    names = calendar.weekend.split(",") if calendar is not None else USUAL_WEEKEND
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


async def _drawing_registers(session: AsyncSession, key: int) -> list[dict[str, Json]]:
    return [
        without_none(
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
        member = row.ReviewTeamMember
        seats[member.team_id].append(
            without_none(person=row.username, discipline=member.discipline_code, role=member.member_role)
        )
    return [
        {"code": row.team_code, "name": row.name_th, "nameEn": row.name_en, "members": seats[row.id]}
        for row in await repository.teams(session, project_id=key)
    ]
