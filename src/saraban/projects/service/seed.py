"""
Fills in the master data of the product and the demo project.

Each function may run any number of times: it adds what is missing and changes nothing that is there.
"""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.service import seed as identity
from saraban.identity.service.seed import SHIPPED_AT
from saraban.projects.domain import demo as plan
from saraban.projects.domain import master as shipped
from saraban.projects.models import (
    CirculationStatusCode,
    Contract,
    ContractOrganization,
    CorrespondenceStatus,
    CorrespondenceSubType,
    CorrespondenceType,
    Discipline,
    Project,
    ProjectOrganization,
    RfaApproveCode,
    RfaStatusCode,
    RfaType,
)

_STAMPS = {"created_at": SHIPPED_AT, "updated_at": SHIPPED_AT}


async def master(session: AsyncSession) -> None:
    """This will fill in document types, statuses, approve codes."""
    await _fill(
        session,
        CorrespondenceType.type_code,
        (
            CorrespondenceType(type_code=one.code, type_name=one.says.en, sort_order=one.order, **_STAMPS)
            for one in shipped.CORRESPONDENCE_TYPES
        ),
    )
    await _fill(
        session,
        CorrespondenceStatus.status_code,
        (
            CorrespondenceStatus(status_code=one.code, status_name=one.says.en, sort_order=one.order)
            for one in shipped.CORRESPONDENCE_STATUSES
        ),
    )
    await _rfa_codes(session)
    await _fill(
        session,
        CirculationStatusCode.code,
        (
            CirculationStatusCode(code=one.code, description=one.says.en, sort_order=one.order)
            for one in shipped.CIRCULATION_STATUSES
        ),
    )


async def demo(session: AsyncSession) -> None:
    """This will fill in the demo project with its organizations, contracts, disciplines and types."""
    organizations = await identity.organizations(session, plan.ORGANIZATIONS)
    code, name = plan.PROJECT
    await _fill(session, Project.project_code, [Project(project_code=code, project_name=name, **_STAMPS)])
    project = await session.scalar(sa.select(Project.id).where(Project.project_code == code))
    assert project is not None
    roles = {one: role for one, _name, role in plan.ORGANIZATIONS}
    there = set(
        await session.scalars(
            sa.select(ProjectOrganization.organization_id).where(ProjectOrganization.project_id == project)
        )
    )
    session.add_all(
        ProjectOrganization(project_id=project, organization_id=one, role_in_project=roles[code])
        for code, one in organizations.items()
        if one not in there
    )
    types = {row.type_code: row.id for row in await session.scalars(sa.select(CorrespondenceType))}
    for contract in plan.CONTRACTS:
        await _contract(session, contract, project=project, organizations=organizations, types=types)


async def _contract(
    session: AsyncSession,
    offer: plan.DemoContract,
    *,
    project: int,
    organizations: dict[str, int],
    types: dict[str, int],
) -> None:
    if await session.scalar(sa.select(Contract.id).where(Contract.contract_code == offer.code)):
        return
    row = Contract(project_id=project, contract_code=offer.code, contract_name=offer.name, **_STAMPS)
    session.add(row)
    await session.flush()
    session.add_all(
        ContractOrganization(contract_id=row.id, organization_id=organizations[code], role_in_contract=role)
        for code, role in offer.parties
    )
    session.add_all(
        Discipline(contract_id=row.id, discipline_code=code, code_name_th=th, code_name_en=en, **_STAMPS)
        for code, th, en in offer.disciplines
    )
    session.add_all(
        RfaType(contract_id=row.id, type_code=code, type_name_th=th, type_name_en=en)
        for code, th, en in offer.rfa_types
    )
    session.add_all(
        CorrespondenceSubType(
            contract_id=row.id,
            correspondence_type_id=types[kind],
            sub_type_code=code,
            sub_type_name=name,
            sub_type_number=number,
            created_at=SHIPPED_AT,
        )
        for kind, code, name, number in offer.sub_types
    )
    await session.flush()


async def _rfa_codes(session: AsyncSession) -> None:
    await _fill(
        session,
        RfaStatusCode.status_code,
        (
            RfaStatusCode(status_code=one.code, status_name=one.says.en, description=one.says.th, sort_order=one.order)
            for one in shipped.RFA_STATUSES
        ),
    )
    await _fill(
        session,
        RfaApproveCode.approve_code,
        (
            RfaApproveCode(
                approve_code=one.code, approve_name=one.says.en, description=one.says.th, sort_order=one.order
            )
            for one in shipped.RFA_APPROVE_CODES
        ),
    )


async def _fill(session: AsyncSession, code: Any, rows: Iterable[Any]) -> None:
    known = set(await session.scalars(sa.select(code)))
    session.add_all(row for row in rows if getattr(row, code.key) not in known)
    await session.flush()
