"""The workflow's HTTP door; each module is one subject."""

from fastapi import APIRouter

from saraban.workflow.administration.endpoints import definitions, interventions, workflow_assignments
from saraban.workflow.runtime.endpoints import delegations, instances

router = APIRouter(tags=["workflow"])
for subject in (workflow_assignments, definitions, delegations, instances, interventions):
    router.include_router(subject.router)
