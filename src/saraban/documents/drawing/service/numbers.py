"""The number that a new drawing gets from the project's format, or has reserved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import DrawingKind
from saraban.documents.drawing.schemas import NewDrawing, NewDrawingRevision
from saraban.documents.drawing.service.placement import ORIGINATOR
from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import invalid, required
from saraban.kit.ids import new_id
from saraban.kit.statements import fetch
from saraban.numbering import service as numbering
from saraban.numbering.series.domain.tokens import REV
from saraban.projects import service as projects
from saraban.projects.domain.master_data import ContractRef, OrganizationRef, ProjectRef


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
    columns: Mapping[str, Any]
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
    parties = await fetch(session, projects.parties_query(project.id, None))
    own = [one for one in parties if one.id in ctx.caller.organization_ids]
    owners = [one for one in parties if one.role == PartyRole.OWNER]
    if not own + owners:
        raise required(ORIGINATOR)
    return (own + owners)[0].public_id
