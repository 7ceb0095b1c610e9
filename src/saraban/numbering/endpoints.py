"""`/document-numbering`: everything about numbers over HTTP."""

from fastapi import APIRouter

from saraban.imports.dependencies import ImportRoutes, add_import_routes
from saraban.imports.schemas import ImportQuery
from saraban.kit.schema import PageOut
from saraban.numbering.formats import endpoints as formats
from saraban.numbering.imports.schemas import ImportCommitIn, ImportOut, ImportSummaryOut
from saraban.numbering.imports.service.legacy_import import NUMBER_IMPORTER, NumberImporter
from saraban.numbering.issue import endpoints as issue
from saraban.numbering.issue.dependencies import READ_LIMIT, RecordedRoute
from saraban.numbering.ranges import endpoints as ranges
from saraban.numbering.register import endpoints as register


async def number_importer() -> NumberImporter:
    return NUMBER_IMPORTER


_imports = APIRouter(prefix="/imports", route_class=RecordedRoute)
add_import_routes(
    _imports,
    ImportRoutes(
        "legacy numbers",
        number_importer,
        query=ImportQuery,
        commit=ImportCommitIn,
        answer=ImportOut,
        page=PageOut[ImportSummaryOut],
        item=ImportSummaryOut,
    ),
    reads=READ_LIMIT,
)
router = APIRouter(prefix="/document-numbering", tags=["Document numbering"])
for part in (issue.router, register.router, formats.router, ranges.router, _imports):
    router.include_router(part)
