"""Placement and number of a new drawing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import may_write_in
from saraban.documents.drawing.domain import CREATE, DrawingKind, audience_of
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import NewDrawing, NewDrawingRevision
from saraban.documents.drawing.service import registers
from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.domain.context import EVERYTHING, NotYourOrganization, RequestContext, Scope
from saraban.kit.errors import invalid, required
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering
from saraban.numbering.series.domain.tokens import REV
from saraban.projects import service as projects
from saraban.projects.domain.master_data import ContractRef, OrganizationRef, ProjectRef

ORIGINATOR = "/originatorOrganizationPublicId"


def belonging(
    project: ProjectRef, contract: ContractRef | None, originator: OrganizationRef | None
) -> dict[str, int | None]:
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
    :raises Invalid: if one is not of the project, or the originator is no party to the contract
    :raises Forbidden: if the caller may not register for them
    """
    contract_ref = originator_ref = None
    if contract is not None:
        contract_ref = await projects.find_contract(session, project=project, public_id=contract)
    if originator is not None:
        originator_ref = await projects.find_organization(
            session, project=project, public_id=originator, pointer=ORIGINATOR
        )
    head = tables_of(kind).head(**belonging(project, contract_ref, originator_ref))
    scope = await registers.scope_of(ctx, session, head)
    is_own = originator_ref is None or originator_ref.id in ctx.caller.organization_ids
    if not is_own and not ctx.caller.may(EVERYTHING, Scope()):
        raise NotYourOrganization.at(ORIGINATOR)
    ctx.caller.require(CREATE, scope)
    if contract_ref is not None and originator_ref is not None:
        await _require_party(session, project, contract_ref, originator_ref)
    return contract_ref, originator_ref


async def _require_party(
    session: AsyncSession, project: ProjectRef, contract: ContractRef, originator: OrganizationRef
) -> None:
    parties = await projects.list_all_parties(session, project_id=project.id, contract_id=contract.id)
    of_project, of_contract = map(projects.by_role, parties)
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
    given: Mapping[str, object],
) -> dict[str, object]:
    """:param given: by field name; an absent field gives no column"""
    columns = {name: given[name] for name in ("scale", "sheet_size", "zone") if name in given}
    if "discipline_code" in given:
        code, discipline = given["discipline_code"], None
        if isinstance(code, str):
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


@dataclass(frozen=True, slots=True)
class DrawingDraft:
    """
    :param columns: of its head, without the number
    :param has_workflow: its revisions are approved by workflow
    """

    project: ProjectRef
    contract: ContractRef | None
    originator: OrganizationRef | None
    columns: Mapping[str, object]
    revision: NewDrawingRevision
    has_workflow: bool
    tags: Sequence[str] = ()
    public_id: UUID = field(default_factory=new_id)


def prints_revision(template: str) -> bool:
    return f"{{{REV}}}" in template


async def reserved_label(ctx: RequestContext, session: AsyncSession, new: NewDrawing) -> str | None:
    """
    Return the label that a reserved number prints.

    :raises Invalid: if the drawing states another label
    """
    if new.reservation_token is None:
        return None
    reserved = await numbering.own_reservation(ctx, session, new.reservation_token)
    if not prints_revision(reserved.format_template):
        return None
    if new.revision.label not in {None, reserved.revision_label}:
        raise invalid(
            "/revision/label",
            "not_as_reserved",
            "เลขที่ที่จองไว้พิมพ์ฉบับ {label}",
            "The reserved number prints revision {label}.",
            label=reserved.revision_label,
        )
    return reserved.revision_label


async def plan_number(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, draft: DrawingDraft, new: NewDrawing
) -> numbering.Plan:
    """
    Without an originator, plan for the caller's organization or the owner.

    :raises Invalid: for a printed field without value, or a format that prints a recipient
    """
    originator = draft.originator.public_id if draft.originator else await _registrar(ctx, session, draft.project)
    request = numbering.NumberRequest(
        project_public_id=draft.project.public_id,
        correspondence_type_code="DRAWING",
        originator_organization_public_id=originator,
        contract_public_id=draft.contract.public_id if draft.contract else None,
        discipline_code=new.discipline_code,
        category_code=new.category_code,
        revision=draft.revision.label,
        drawing_register=kind.path,
    )
    try:
        return await numbering.plan(ctx, session, request)
    except numbering.NumberUnprintable as refused:
        if any(problem.pointer == "/recipientOrganizationPublicId" for problem in refused.fields):
            raise invalid(
                "/drawingNumber",
                "no_format",
                "โครงการนี้ยังไม่มีรูปแบบเลขที่แบบก่อสร้าง จึงต้องระบุเลขที่แบบ",
                "This project has no number format for drawings: the number must be given.",
            ) from refused
        raise


async def _registrar(ctx: RequestContext, session: AsyncSession, project: ProjectRef) -> UUID:
    parties = await projects.list_parties(session, project_id=project.id)
    callers = [party for party in parties if party.id in ctx.caller.organization_ids]
    owners = [party for party in parties if party.role == PartyRole.OWNER]
    if not callers + owners:
        raise required(ORIGINATOR)
    return (callers + owners)[0].public_id
