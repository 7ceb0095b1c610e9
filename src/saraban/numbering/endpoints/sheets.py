"""`/document-numbering/ledger` and `/document-numbering/imports`: numbers as spreadsheets."""

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import Db, Now
from saraban.numbering.dependencies import LOOKS, KeptRoute
from saraban.numbering.service import exporting, workbook

router = APIRouter(route_class=KeptRoute)
SheetForm = Annotated[Literal["xlsx", "csv"], Query(alias="format")]
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
    dependencies=LOOKS,
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
    dependencies=LOOKS,
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
    return FileResponse(
        path,
        filename=path.name,
        media_type=MEDIA[form],
        headers={"Cache-Control": "private, no-store"},
        background=BackgroundTask(folder.cleanup),
    )
