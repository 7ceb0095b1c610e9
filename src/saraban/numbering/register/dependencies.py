"""Spreadsheets as responses."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import Query
from starlette.responses import Response, StreamingResponse

WorkbookFormat = Annotated[Literal["xlsx", "csv"], Query(alias="format")]
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


def workbook_response(path: Path, form: str, folder: TemporaryDirectory[str]) -> Response:
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
