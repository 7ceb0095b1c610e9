"""Exports of registers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from saraban.attachments.domain import Storage
from saraban.documents.drawing.domain import DrawingKind
from saraban.documents.drawing.domain.register_import import columns_of
from saraban.documents.drawing.repository import registers as repository
from saraban.documents.drawing.repository.registers import DrawingRow, LinkedDrawingFile
from saraban.documents.drawing.schemas import DrawingQuery
from saraban.documents.drawing.service.registers import find_page
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.file_names import archive_paths
from saraban.kit.workbooks import SheetWriter

PAGE: Final = 500
MOST_BYTES: Final = 2 * 1024**3
_EXTRA_TITLES: Final = (  # not columns of the import
    Text("ผลการอนุมัติ", "Response code"),
    Text("วันที่เริ่มใช้", "Current since"),
    Text("ถูกแทนที่ด้วยฉบับ", "Superseded by"),
)


class ExportTooLarge(DomainError):
    """The files of the selection exceed the size limit of one ZIP; nothing is sent."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_EXPORT_TOO_LARGE"
    says = Text("ไฟล์ที่เลือกรวมกันเกิน {most} GB", "The files of this selection are more than {most} GB.")
    recovery = (Text("กรองให้แคบลงแล้วส่งออกทีละส่วน", "Narrow the filter and export one part at a time."),)


async def write_sheet(
    ctx: RequestContext, db: Database, kind: DrawingKind, query: DrawingQuery, path: Path, *, files: bool = False
) -> list[tuple[DrawingRow, LinkedDrawingFile]]:
    """
    :param path: ends in `.csv` or `.xlsx`
    :returns: each file with its drawing, if `files`
    :raises Invalid: for a hidden project
    """
    listed_files: list[tuple[DrawingRow, LinkedDrawingFile]] = []
    titles = [column.title for column in columns_of(kind)] + [f"{title.th} / {title.en}" for title in _EXTRA_TITLES]
    with SheetWriter(path, titles, "Drawings") as sheet:
        async for attached, rows in _pages(ctx, db, kind, query, files=files):
            for row in rows:
                sheet.add(_cells(ctx, kind, row))
                listed_files += [(row, file) for file in attached.get(row.revision.id, ())]
    return listed_files


async def write_zip(
    ctx: RequestContext, db: Database, storage: Storage, kind: DrawingKind, query: DrawingQuery, path: Path
) -> None:
    """:raises ExportTooLarge: before any file is read"""
    sheet = path.with_name("register.xlsx")
    listed_files = await write_sheet(ctx, db, kind, query, sheet, files=True)
    if sum(file.attachment.file_size for _, file in listed_files) > MOST_BYTES:
        raise ExportTooLarge(values={"most": MOST_BYTES >> 30})
    with ZipFile(path, "w", ZIP_STORED) as archive:  # the files are compressed already
        await asyncio.to_thread(archive.write, sheet, sheet.name)
        names = [(row.revision.id, _folder(row), file.attachment.original_filename) for row, file in listed_files]
        _, *paths = archive_paths([(None, "", sheet.name), *names])
        for name, (_, file) in zip(paths, listed_files, strict=True):
            uploaded = file.attachment.created_at.astimezone(ctx.zone)
            with archive.open(ZipInfo(name, uploaded.timetuple()[:6]), "w") as target:
                async for chunk in storage.read(file.attachment.file_path):
                    await asyncio.to_thread(target.write, chunk)


async def _pages(
    ctx: RequestContext, db: Database, kind: DrawingKind, query: DrawingQuery, *, files: bool
) -> AsyncIterator[tuple[dict[int, list[LinkedDrawingFile]], Sequence[DrawingRow]]]:
    """Yield outside the session: no connection is held meanwhile."""
    page_query = query.model_copy(update={"limit": PAGE, "cursor": None})
    while True:
        async with db.reading() as session:
            page = await find_page(ctx, session, kind, page_query)
            keys = [row.revision.id for row in page.items] if files else []
            attached = await repository.files(session, kind, keys) if keys else {}
        yield attached, page.items
        if page.next_cursor is None:
            return
        page_query = page_query.model_copy(update={"cursor": page.next_cursor})


def _cells(ctx: RequestContext, kind: DrawingKind, row: DrawingRow) -> list[object]:
    head, revision, named = row.head, row.revision, row.named
    stated = {
        "drawing_number": row.number,
        "title": revision.title,
        "title_en": revision.title_en,
        "volume": named.get("volume"),
        "page": named.get("volume_page"),
        "category": named.get("category"),
        "main_category": named.get("category"),
        "sub_category": named.get("sub_category"),
        "revision": revision.revision_label,
        "revision_date": revision.revision_date and revision.revision_date.isoformat(),
        "contract": row.contract and row.contract.contract_code,
        "originator": row.originator and row.originator.organization_code,
        "discipline": row.discipline and row.discipline.discipline_code,
        "scale": head.scale,
        "sheet_size": head.sheet_size,
        "zone": head.zone,
        "status_code": revision.status_code,
        "legacy_number": revision.legacy_drawing_number,
    }
    since = revision.current_from.astimezone(ctx.zone).replace(tzinfo=None)
    more = [named.get("response"), since, row.superseded_by]
    return [*(stated[column.key] for column in columns_of(kind)), *more]


def _folder(row: DrawingRow) -> str:
    label = row.revision.revision_label
    return f"{row.number} Rev.{label}" if label else row.number
