"""Imports of uploaded files: stored, checked, told to go on, worked on under a lease."""

from saraban.imports.service.run import (
    AnyImporter,
    Importer,
    ImportRun,
    ImportTurn,
    Lookups,
    check_rows,
    import_batch,
    import_rows,
)
from saraban.imports.service.uploads import (
    MOST_BYTES,
    ImportFile,
    list_imports,
    read_import,
    result_of,
    start_import,
    upload_import,
)
from saraban.imports.service.worker import ImportWorker

__all__ = [
    "MOST_BYTES",
    "AnyImporter",
    "ImportFile",
    "ImportRun",
    "ImportTurn",
    "ImportWorker",
    "Importer",
    "Lookups",
    "check_rows",
    "import_batch",
    "import_rows",
    "list_imports",
    "read_import",
    "result_of",
    "start_import",
    "upload_import",
]
