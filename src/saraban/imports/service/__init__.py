"""Imports of uploaded files: stored, checked, told to go on, worked on under a lease."""

from saraban.imports.service.sheets import Cells, ResultWorkbook, sheet_lines, write_template
from saraban.imports.service.uploads import (
    MOST_BYTES,
    ImportFile,
    find,
    hold_checked,
    page,
    result,
    start,
    store,
)
from saraban.imports.service.worker import (
    ImportTurn,
    ImportWorker,
    hold,
    write_progress,
)

__all__ = [
    "MOST_BYTES",
    "Cells",
    "ImportFile",
    "ImportTurn",
    "ImportWorker",
    "ResultWorkbook",
    "find",
    "hold",
    "hold_checked",
    "page",
    "result",
    "sheet_lines",
    "start",
    "store",
    "write_progress",
    "write_template",
]
