"""What a new drawing states: contract, originator and classification; and the number that it gets or has reserved."""

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
    """
    Return the columns of what is stated of a drawing's place in its register.

    :param given: by the names of the fields; what is absent gives no column
    """
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
    A new drawing with everything resolved and checked; only its number may be missing.

    :param columns: of its head, but for the number
    :param revision: the first one, with label and titles
    :param has_workflow: its revisions go through a workflow of their own
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
    Return the revision that a reserved number prints, which is the first one of its drawing.

    :raises Invalid: when the drawing states another one
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
    Plan a number of the register; one that concerns the whole project is issued for the organization of who registers it.

    :raises Invalid: naming the field that the format prints and that has no value, and where the format prints a recipient
    """
    by = draft.originator.public_id if draft.originator else await _registrar(ctx, session, draft.project)
    request = numbering.NumberRequest(
        project_public_id=draft.project.public_id,
        correspondence_type_code="DRAWING",
        originator_organization_public_id=by,
        contract_public_id=draft.contract.public_id if draft.contract else None,
        discipline_code=new.discipline_code,
        category_code=new.category_code,
        revision=draft.revision.label,
        drawing_register=kind.path,
    )
    try:
        return await numbering.plan(ctx, session, request)
    except numbering.NumberUnprintable as refused:
        if any(one.pointer == "/recipientOrganizationPublicId" for one in refused.fields):
            raise invalid(
                "/drawingNumber",
                "no_format",
                "โครงการนี้ยังไม่มีรูปแบบเลขที่แบบก่อสร้าง จึงต้องระบุเลขที่แบบ",
                "This project has no number format for drawings: the number must be given.",
            ) from refused
        raise


async def _registrar(ctx: RequestContext, session: AsyncSession, project: ProjectRef) -> UUID:
    parties = await projects.list_parties(session, project_id=project.id)
    own = [one for one in parties if one.id in ctx.caller.organization_ids]
    owners = [one for one in parties if one.role == PartyRole.OWNER]
    if not own + owners:
        raise required(ORIGINATOR)
    return (own + owners)[0].public_id
