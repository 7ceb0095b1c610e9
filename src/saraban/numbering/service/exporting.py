"""The ledger of a project, every number in whatever state, as rows for a sheet; read a page at a time."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.db import Database
from saraban.kit.text import fold
from saraban.numbering.domain.narrowing import Narrowing, reason_text
from saraban.numbering.repository import importing as rows
from saraban.numbering.service.account import VIEW_COUNTERS
from saraban.numbering.service.format_choice import reason_of
from saraban.numbering.service.workbook import SheetWriter
from saraban.projects import service as projects

PAGE = 2000
LEDGER_HEADINGS = (
    "เลขที่เอกสาร / Document number",
    "ประเภท / Type",
    "ผู้ส่ง / Originator",
    "ผู้รับ / Recipient",
    "ชุดเลข / Series",
    "ลำดับ / Sequence",
    "ฉบับแก้ไข / Revision",
    "สถานะ / Status",
    "ที่มา / Source",
    "ชนิดเอกสาร / Document kind",
    "เอกสาร / Document publicId",
    "เหตุผล / Reason",
    "ผู้ใช้ / User",
    "ออกเมื่อ / Issued at",
    "ยืนยันเมื่อ / Confirmed at",
    "ยกเลิกการจองเมื่อ / Released at",
    "ยกเลิกเลขที่เมื่อ / Voided at",
    "publicId",
    "ออกแทนเลขที่ / Replaces",
    "แทนด้วยเลขที่ / Replaced by",
    "รูปแบบ / Format",
    "เหตุผลที่ใช้รูปแบบ / Reason for format",
)


async def ledger_rows(
    db: Database,
    *,
    caller: Caller,
    project_public_id: UUID,
    zone: ZoneInfo,
    type_code: str | None = None,
    series: str | None = None,
) -> AsyncIterator[list[object]]:
    """
    Return the numbers of a project in the order of issue; times are local and without a zone, as sheets have them.

    No connection is held while the taker of the rows is busy. Who may not have them is refused before the first row.

    :raises Forbidden: for who may not see the counters of the project
    """
    async with db.reading() as session:
        project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
        caller.require(VIEW_COUNTERS, Scope(project=project.id))
        if type_code is not None:
            await projects.find_type(session, code=type_code, pointer="query:type")
    return _rows(db, project.id, zone, type_code, fold(series) if series else None)


async def _rows(
    db: Database, project_id: int, zone: ZoneInfo, type_code: str | None, series: str | None
) -> AsyncIterator[list[object]]:
    after = 0
    while True:
        async with db.reading() as session:
            page = await rows.ledger_page(
                session, project_id=project_id, type_code=type_code, series=series, after=after, limit=PAGE
            )
        for row in page:
            yield [*(_cell(cell, zone) for cell in row[1:-4]), _why(row)]
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _why(row: Any) -> str:
    narrowing = Narrowing(*(code or "" for code in row[-3:]))
    words = reason_text(
        reason_of(row.source, row.format_source, narrowing), type_code=row.type_code, narrowing=narrowing
    )
    return f"{words.th} / {words.en}"


def _cell(cell: object, zone: ZoneInfo) -> object:
    if isinstance(cell, datetime):
        return cell.astimezone(zone).replace(tzinfo=None)
    return str(cell) if isinstance(cell, UUID) else cell


async def sheet_to(path: Path, given: AsyncIterator[list[object]]) -> int:
    """Write the rows to a sheet, and say how many there were."""
    count = 0
    with SheetWriter(path, LEDGER_HEADINGS) as sheet:
        async for row in given:
            sheet.add(row)
            count += 1
    return count
