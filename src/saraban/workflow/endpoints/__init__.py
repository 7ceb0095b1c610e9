"""The workflow's HTTP door."""

from fastapi import APIRouter

from saraban.workflow.administration.endpoints import router as administration
from saraban.workflow.runtime.endpoints import router as runtime

router = APIRouter(tags=["Workflow"])
for room in (administration, runtime):
    router.include_router(room)
