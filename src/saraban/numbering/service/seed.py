"""The formats a project starts with: ADR-002's examples are the shipped defaults (ruling N7)."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.numbering import repository
from saraban.numbering.domain.narrowing import FormatKey
from saraban.numbering.service.formats import FormatDraft, save_format
from saraban.projects import service as projects

SHIPPED: dict[str | None, tuple[str, str]] = {
    None: ("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}", "หนังสือและเอกสารทั่วไป / Letters and everything else"),
    "TRANSMITTAL": ("{ORIGINATOR}-{RECIPIENT}-{SUB_TYPE}-{SEQ:4}-{YEAR:B.E.}", "ใบนำส่ง / Transmittals"),
    "RFA": ("{PROJECT}-{CORR_TYPE}-{DISCIPLINE}-{RFA_TYPE}-{SEQ:4}-{REV}", "ใบขออนุมัติ / Requests for approval"),
    "CIRCULATION": ("{ORIGINATOR}-CIR-{SEQ:4}-{YEAR:B.E.}", "ใบเวียนเอกสาร / Circulation sheets"),
    "DRAWING": ("{PROJECT}-{DISCIPLINE}-{CATEGORY}-{SEQ:4}-{REV}", "แบบก่อสร้าง / Drawings"),
}


async def default_formats(session: AsyncSession, *, caller: Caller, project_public_id: UUID, now: datetime) -> int:
    """Return a project the shipped formats it lacks, and say how many; what is there stays."""
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    made = 0
    for code, (template, description) in SHIPPED.items():
        kind = await projects.find_type(session, code=code, pointer="/correspondenceTypeCode") if code else None
        key = FormatKey(kind.id if kind else 0)
        if await repository.format_of(session, project_id=project.id, key=key) is not None:
            continue
        wanted = FormatDraft(
            template=template, description=description, resets=None, overflow="widen", reason="Shipped default."
        )
        await save_format(
            session,
            caller=caller,
            project_public_id=project_public_id,
            type_code=code,
            wanted=wanted,
            now=now,
            address="",
        )
        made += 1
    return made
