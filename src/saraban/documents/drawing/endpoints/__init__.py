"""Drawings over HTTP: registers, what a project decides for them, and imports."""

from fastapi import APIRouter

from saraban.documents.drawing.endpoints import imports, registers

router = APIRouter()
# Imports first: `imports` is no public id of a drawing.
for one in (imports.router, registers.router, registers.of_project):
    router.include_router(one)
