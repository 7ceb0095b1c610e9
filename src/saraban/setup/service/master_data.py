"""Saves the rows that a project file adds and changes: organizations, types, the project, its members and contracts."""

from collections.abc import Sequence
from datetime import date

import sqlalchemy as sa

from saraban.identity.models import Organization, OrganizationRole
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
from saraban.setup import repository
from saraban.setup.domain.comparison import Difference
from saraban.setup.service.apply_context import ApplyContext, fill


async def save_organizations(saving: ApplyContext, those: Sequence[Difference]) -> None:
    session = saving.session
    saving.organizations = {row.organization_code: row for row in await repository.organizations(session)}
    roles = {row.role_name: row.id for row in await session.scalars(sa.select(OrganizationRole))}
    for one in those:
        row = saving.organizations.get(one.path[1])
        if row is None:
            member = saving.wanted.found.get(("members", one.path[1]))
            row = Organization(
                organization_code=one.path[1],
                role_id=roles.get(member.values["role"]) if member else None,
                created_at=saving.ctx.now,
            )
            session.add(row)
            saving.organizations[one.path[1]] = row
        fill(row, one.values, {"name": "organization_name", "nameEn": "organization_name_en"})
        row.is_active, row.deleted_at, row.updated_at = True, None, saving.ctx.now


async def save_types(saving: ApplyContext, those: Sequence[Difference]) -> None:
    rows = {row.type_code: row for row in await repository.types(saving.session)}
    for one in those:
        if one.path[1] not in rows:
            last = max((row.sort_order for row in rows.values()), default=0)
            row = CorrespondenceType(type_code=one.path[1], sort_order=last + 10, created_at=saving.ctx.now)
            saving.session.add(row)
            rows[one.path[1]] = row
        row = rows[one.path[1]]
        row.type_name, row.is_active, row.deleted_at, row.updated_at = one.values["name"], True, None, saving.ctx.now
    await saving.session.flush()
    saving.types = {code: row.id for code, row in rows.items()}


async def save_project(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        if saving.project is None:
            saving.project = Project(project_code=one.values["code"], created_at=saving.ctx.now)
            saving.session.add(saving.project)
        fill(saving.project, one.values, {"name": "project_name", "nameEn": "project_name_en"})
        saving.project.is_active, saving.project.deleted_at = True, None
        saving.project.updated_at = saving.ctx.now


async def save_members(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        organization = saving.organizations[one.path[1]]
        await saving.session.merge(
            ProjectOrganization(
                project_id=saving.project_row.id,
                organization_id=organization.id,
                role_in_project=one.values["role"],
            )
        )


async def save_contracts(saving: ApplyContext, those: Sequence[Difference]) -> None:
    key = saving.project_row.id
    rows = await repository.contracts(saving.session, codes=(), project_id=key)
    saving.contracts = {row.contract_code: row for row in rows}
    for one in those:
        row = saving.contracts.get(one.path[1])
        if row is None:
            row = Contract(project_id=key, contract_code=one.path[1], created_at=saving.ctx.now)
            saving.session.add(row)
            saving.contracts[one.path[1]] = row
        fill(row, one.values, {"name": "contract_name", "nameEn": "contract_name_en"})
        for name, column in (("startDate", "start_date"), ("endDate", "end_date")):
            if name in one.values:
                setattr(row, column, date.fromisoformat(one.values[name]))
        row.is_active, row.deleted_at, row.updated_at = True, None, saving.ctx.now


async def save_parties(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        await saving.session.merge(
            ContractOrganization(
                contract_id=saving.contracts[one.path[1]].id,
                organization_id=saving.organizations[one.path[3]].id,
                role_in_contract=one.values["role"],
            )
        )


async def save_disciplines(saving: ApplyContext, those: Sequence[Difference]) -> None:
    rows = await repository.disciplines(saving.session, project_id=saving.project_row.id)
    known = {(row.contract_id, row.discipline_code): row for row in rows}
    for one in those:
        key = saving.contracts[one.path[1]].id, one.path[3]
        row = known.get(key)
        if row is None:
            row = Discipline(contract_id=key[0], discipline_code=key[1], created_at=saving.ctx.now)
            saving.session.add(row)
        fill(row, one.values, {"nameTh": "code_name_th", "nameEn": "code_name_en"})
        row.is_active, row.updated_at = True, saving.ctx.now


async def save_rfa_types(saving: ApplyContext, those: Sequence[Difference]) -> None:
    rows = await repository.rfa_types(saving.session, project_id=saving.project_row.id)
    known = {(row.contract_id, row.type_code): row for row in rows}
    for one in those:
        key = saving.contracts[one.path[1]].id, one.path[3]
        row = known.get(key)
        if row is None:
            row = RfaType(contract_id=key[0], type_code=key[1])
            saving.session.add(row)
        fill(row, one.values, {"nameTh": "type_name_th", "nameEn": "type_name_en"})
        row.is_active = True


async def save_sub_types(saving: ApplyContext, those: Sequence[Difference]) -> None:
    rows = await repository.sub_types(saving.session, project_id=saving.project_row.id)
    known = {
        (row.CorrespondenceSubType.contract_id, row.type_code, row.CorrespondenceSubType.sub_type_code): row[0]
        for row in rows
    }
    columns = {"number": "sub_type_number", "nameTh": "sub_type_name", "nameEn": "sub_type_name_en"}
    for one in those:
        key = saving.contracts[one.path[1]].id, one.values["type"], one.values["code"]
        row = known.get(key)
        if row is None:
            row = CorrespondenceSubType(
                contract_id=key[0],
                correspondence_type_id=saving.types[key[1]],
                sub_type_code=key[2],
                created_at=saving.ctx.now,
            )
            saving.session.add(row)
        fill(row, one.values, columns)
