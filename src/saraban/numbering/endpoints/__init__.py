"""`/document-numbering`: everything about numbers over HTTP; each module is one subject."""

from fastapi import APIRouter

from saraban.numbering.endpoints import books, drawing, formats, imports, life, logs, ranges, sheets

router = APIRouter(prefix="/document-numbering", tags=["Document numbering"])
for subject in (drawing, books, formats, life, ranges, sheets, imports, logs):
    router.include_router(subject.router)
