"""`/document-numbering`: everything about numbers over HTTP."""

from fastapi import APIRouter

from saraban.numbering.formats import endpoints as formats
from saraban.numbering.imports import endpoints as imports
from saraban.numbering.issue import endpoints as issue
from saraban.numbering.ranges import endpoints as ranges
from saraban.numbering.register import endpoints as register

router = APIRouter(prefix="/document-numbering", tags=["Document numbering"])
for room in (issue, register, formats, ranges, imports):
    router.include_router(room.router)
