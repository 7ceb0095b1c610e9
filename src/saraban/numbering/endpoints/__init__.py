"""`/document-numbering`: everything about numbers over HTTP; each module is one subject."""

from fastapi import APIRouter

from saraban.numbering.endpoints import drawing, formats

router = APIRouter(prefix="/document-numbering", tags=["Document numbering"])
for subject in (drawing, formats):
    router.include_router(subject.router)
