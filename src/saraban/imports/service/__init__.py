"""Imports of uploaded files: stored, checked, told to go on, worked on under a lease."""

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
    "ImportFile",
    "ImportTurn",
    "ImportWorker",
    "find",
    "hold",
    "hold_checked",
    "page",
    "result",
    "start",
    "store",
    "write_progress",
]
