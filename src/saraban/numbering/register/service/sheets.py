"""Export of a project's ledger as a sheet."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.text import fold
from saraban.kit.workbooks import SheetWriter
from saraban.numbering.issue.service.number_plan import reason_of
from saraban.numbering.register.domain import ExportedNumber
from saraban.numbering.register.repository import ledger
from saraban.numbering.register.repository.ledger import RegisterPlace
from saraban.numbering.register.service.ledger import viewed_register
from saraban.numbering.series.domain.template import reason_text
from saraban.projects import service as projects

PAGE = 2000
# fmt: off
LEDGER_HEADINGS = (
    "เลขที่เอกสาร / Document number", "ประเภท / Type", "ผู้ส่ง / Originator", "ผู้รับ / Recipient",
    "ชุดเลข / Series", "ลำดับ / Sequence", "ฉบับแก้ไข / Revision", "สถานะ / Status", "ที่มา / Source",
    "ชนิดเอกสาร / Document kind", "เอกสาร / Document publicId", "เหตุผล / Reason", "ผู้ใช้ / User",
    "ออกเมื่อ / Issued at", "ยืนยันเมื่อ / Confirmed at", "ยกเลิกการจองเมื่อ / Released at",
    "ยกเลิกเลขที่เมื่อ / Voided at", "publicId", "ออกแทนเลขที่ / Replaces", "แทนด้วยเลขที่ / Replaced by",
    "รูปแบบ / Format", "เหตุผลที่ใช้รูปแบบ / Reason for format",
)
# fmt: on


async def ledger_rows(
    ctx: RequestContext,
    db: Database,
    *,
    project_public_id: UUID,
    type_code: str | None = None,
    series: str | None = None,
) -> AsyncIterator[list[object]]:
    """
    Times are local without a zone. Access is checked before the first row; no connection is held between pages.

    :raises Forbidden: as `viewed_register`; a caller limited to organizations gets their numbers
    """
    async with db.reading() as session:
        viewed = await viewed_register(ctx, session, project_public_id)
        if type_code is not None:
            await projects.find_type(session, code=type_code, pointer="query:type")
    return _rows(db, viewed.place, ctx.zone, type_code, fold(series) if series else None)


async def _rows(
    db: Database, place: RegisterPlace, zone: ZoneInfo, type_code: str | None, series: str | None
) -> AsyncIterator[list[object]]:
    after = 0
    while True:
        async with db.reading() as session:
            page = await ledger.export_page(session, place, type_code=type_code, series=series, after=after, limit=PAGE)
        for row in page:
            yield [*(_cell(cell, zone) for cell in row.cells), _reason_words(row)]
        if len(page) < PAGE:
            return
        after = page[-1].id


def _reason_words(row: ExportedNumber) -> str:
    reason = reason_of(row.source, row.format_source, row.narrowing)
    words = reason_text(reason, type_code=row.type_code, narrowing=row.narrowing)
    return f"{words.th} / {words.en}"


def _cell(cell: object, zone: ZoneInfo) -> object:
    if isinstance(cell, datetime):
        return cell.astimezone(zone).replace(tzinfo=None)
    return str(cell) if isinstance(cell, UUID) else cell


async def write_export(path: Path, rows: AsyncIterator[list[object]]) -> int:
    count = 0
    with SheetWriter(path, LEDGER_HEADINGS) as sheet:
        async for row in rows:
            sheet.add(row)
            count += 1
    return count
