"""`/document-numbering/ledger` and `/document-numbering/imports`: numbers as spreadsheets."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, BinaryIO, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import Db, Now
from saraban.numbering.dependencies import READ_LIMIT, RecordedRoute
from saraban.numbering.service import exporting, workbook

router = APIRouter(route_class=RecordedRoute)
SheetForm = Annotated[Literal["xlsx", "csv"], Query(alias="format")]
_CHUNK = 1 << 16
MEDIA = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv; charset=utf-8",
}
BINARY: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The sheet.",
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA.values()
        },
    }
}


@router.get(
    "/ledger/export",
    dependencies=READ_LIMIT,
    response_class=Response,
    responses=BINARY,
    summary="Export the ledger of a project",
)
async def export_ledger(
    caller: CurrentCaller,
    db: Db,
    now: Now,
    project_public_id: Annotated[UUID, Query(alias="projectPublicId")],
    form: SheetForm = "xlsx",
    type_code: Annotated[str | None, Query(alias="type", max_length=50, examples=["LETTER"])] = None,
    series: Annotated[str | None, Query(max_length=255, examples=["คคง.-สคฉ.3-{SEQ}-2569"])] = None,
) -> Response:
    """Every number in whatever state, in the order of issue; times are those of the deployment's zone."""
    rows = await exporting.ledger_rows(
        db, caller=caller, project_public_id=project_public_id, zone=now.zone, type_code=type_code, series=series
    )
    return await _sent(f"ledger.{form}", form, rows)


@router.get(
    "/imports/template",
    dependencies=READ_LIMIT,
    response_class=Response,
    responses=BINARY,
    summary="The sheet for legacy numbers",
)
async def import_template(caller: CurrentCaller, form: SheetForm = "xlsx") -> Response:  # noqa: ARG001  signed in
    """Headings in Thai and English; the second sheet of the XLSX says what each column is."""
    folder = TemporaryDirectory(prefix="saraban-")
    path = Path(folder.name) / f"legacy-numbers.{form}"
    workbook.template_to(path)
    return _file(path, form, folder)


async def _sent(name: str, form: str, rows: AsyncIterator[list[object]]) -> Response:
    folder = TemporaryDirectory(prefix="saraban-")
    path = Path(folder.name) / name
    try:
        await exporting.sheet_to(path, rows)
    except BaseException:
        folder.cleanup()
        raise
    return _file(path, form, folder)


def _file(path: Path, form: str, folder: TemporaryDirectory[str]) -> Response:
    """
    The sheet, read here and not by its path: the server would open that after the folder is gone.

    An open file can be read to its end when its folder is removed, so that nothing stays behind however the request ends.
    """
    sheet = path.open("rb")
    headers = {
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{path.name}"',
        "Content-Length": str(path.stat().st_size),
    }
    folder.cleanup()
    return StreamingResponse(_chunks(sheet), media_type=MEDIA[form], headers=headers)


def _chunks(sheet: BinaryIO) -> Iterator[bytes]:
    with sheet:
        while chunk := sheet.read(_CHUNK):
            yield chunk
