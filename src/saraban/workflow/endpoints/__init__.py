"""The workflow's HTTP door."""

from fastapi import APIRouter

from saraban.workflow.administration.endpoints import definitions, interventions, workflow_assignments
from saraban.workflow.runtime import endpoints

router = APIRouter(tags=["workflow"])
for subject in (workflow_assignments, definitions, endpoints, interventions):
    router.include_router(subject.router)
