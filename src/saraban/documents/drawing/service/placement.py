"""Whose a new drawing is and where it stands in its register: contract, originator and classification, each as it is stated."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import may_write_in
from saraban.documents.drawing.domain import CREATE, DrawingKind, audience_of
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.service import registers
from saraban.identity.domain.context import EVERYTHING, NotYourOrganization, RequestContext, Scope
from saraban.kit.errors import invalid
from saraban.projects import service as projects
from saraban.projects.domain.master_data import ContractRef, OrganizationRef, ProjectRef

ORIGINATOR = "/originatorOrganizationPublicId"


def belonging(
    project: ProjectRef, contract: ContractRef | None, originator: OrganizationRef | None
) -> dict[str, int | None]:
    """Return whose a drawing is, and whom it concerns."""
    contract_id, originator_id = contract.id if contract else None, originator.id if originator else None
    audience_kind, audience_id = audience_of(contract=contract_id, originator=originator_id)
    return {
        "project_id": project.id,
        "contract_id": contract_id,
        "originator_id": originator_id,
        "audience_kind": int(audience_kind),
        "audience_id": audience_id,
    }


async def find_place(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    project: ProjectRef,
    *,
    contract: UUID | None,
    originator: UUID | None,
) -> tuple[ContractRef | None, OrganizationRef | None]:
    """
    Return the contract and the originator that are stated.

    :raises Invalid: for one that is none of the project's
    :raises Forbidden: when the caller may not register for them
    """
    within = by = None
    if contract is not None:
        within = await projects.find_contract(session, project=project, public_id=contract)
    if originator is not None:
        by = await projects.find_organization(session, project=project, public_id=originator, pointer=ORIGINATOR)
    scope = await registers.scope_of(ctx, session, tables_of(kind).head(**belonging(project, within, by)))
    everything = ctx.caller.may(EVERYTHING, Scope())
    if by is not None and by.id not in ctx.caller.organization_ids and not everything:
        raise NotYourOrganization.at(ORIGINATOR)
    ctx.caller.require(CREATE, scope)
    if within is not None and by is not None:
        await _require_party(session, project, within, by)
    return within, by


async def _require_party(
    session: AsyncSession, project: ProjectRef, contract: ContractRef, originator: OrganizationRef
) -> None:
    of_contract = await projects.parties(session, project_id=project.id, contract_id=contract.id)
    of_project = await projects.parties(session, project_id=project.id, contract_id=None)
    if not may_write_in(originator.id, of_contract=of_contract, of_project=of_project):
        raise invalid(
            "/contractPublicId",
            "not_a_party",
            "{organization} ไม่ใช่คู่สัญญาของสัญญานี้",
            "{organization} is not a party to this contract.",
            organization=originator.code,
        )


async def classified(
    session: AsyncSession,
    kind: DrawingKind,
    project: ProjectRef,
    contract: ContractRef | None,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """
    Return the columns of what is stated of a drawing's place in its register.

    :param given: by the names of the fields; what is absent gives no column
    """
    columns = {name: given[name] for name in ("scale", "sheet_size", "zone") if name in given}
    if "discipline_code" in given:
        code, discipline = given["discipline_code"], None
        if code is not None:
            discipline = await projects.find_discipline(session, project=project, contract=contract, code=code)
        columns["discipline_id"] = discipline and discipline.id
    if kind.whole:
        return columns | await writes.contract_columns(session, project.id, given)
    for name in ("volume_code", "volume_page"):
        if given.get(name) is not None:
            raise invalid(
                f"/{'volumeCode' if name == 'volume_code' else 'volumePage'}",
                "not_for_this",
                "เล่มและหน้าใช้กับแบบคู่สัญญาเท่านั้น",
                "Volume and page belong to contract drawings only.",
            )
    return columns | await writes.shop_columns(session, project.id, given)
