"""`/audit`: who did what, when, to what, and what it was before; for those who may see all of it or that of an organization."""

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from saraban.identity.dependencies import Context
from saraban.kit.http import BINARY, MEDIA, Db, PageCursor, PageLimit, ReadSession, WorkbookFormat, workbook_response
from saraban.kit.workbooks import SheetWriter, csv_line
from saraban.ops.audit_trail import (
    HEADINGS,
    MOST_IN_WORKBOOK,
    AuditPageOut,
    AuditQuery,
    exported_rows,
    read_trail,
)

router = APIRouter(prefix="/audit", tags=["audit"])
Asked = Annotated[AuditQuery, Query()]
_MORE = ("ยังมีแถวเก่ากว่านี้ ให้ส่งออกเป็น CSV หรือย่นช่วงวันที่", "There are older rows: export as CSV, or narrow the period.")


@router.get("", summary="Read the audit trail")
async def listing(
    ctx: Context, session: ReadSession, asked: Asked, cursor: PageCursor = None, limit: PageLimit = 50
) -> AuditPageOut:
    """
    Newest first. With `audit.view_all` everywhere all of it, with `audit.view_own` what the accounts of that organization did.

    Days are those of the deployment's zone.
    """
    return (await read_trail(ctx, session, asked, cursor=cursor, limit=limit)).page


@router.get("/export", response_class=Response, responses=BINARY, summary="Export the audit trail")
async def export(ctx: Context, db: Db, asked: Asked, form: WorkbookFormat = "xlsx") -> Response:
    """
    What the same filters list, newest first; times are those of the deployment's zone.

    CSV is sent while it is read, however long it is; a workbook ends after a million rows and says so.
    """
    return await sent_trail(await exported_rows(ctx, db, asked), form)


async def sent_trail(rows: AsyncIterator[list[object]], form: WorkbookFormat) -> Response:
    """Send the rows of an export."""
    name = f"audit.{form}"
    if form == "csv":
        headers = {"Cache-Control": "private, no-store", "Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(_lines(rows), media_type=MEDIA[form], headers=headers)
    folder = TemporaryDirectory(prefix="saraban-")
    path = Path(folder.name) / name
    try:
        await _write(path, rows)
    except BaseException:
        folder.cleanup()
        raise
    return workbook_response(path, form, folder)


async def _lines(rows: AsyncIterator[list[object]]) -> AsyncIterator[bytes]:
    yield b"\xef\xbb\xbf" + csv_line(HEADINGS)
    async for row in rows:
        yield csv_line(row)


async def _write(path: Path, rows: AsyncIterator[list[object]]) -> None:
    count = 0
    with SheetWriter(path, HEADINGS, "Audit") as sheet:
        async for row in rows:
            count += 1
            if count > MOST_IN_WORKBOOK:
                sheet.add(_MORE)
                return
            sheet.add(row)
