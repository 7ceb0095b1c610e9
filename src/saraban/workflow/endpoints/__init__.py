"""The workflow's HTTP door; each module is one subject."""

from fastapi import APIRouter

from saraban.workflow.administration.endpoints import definitions, interventions, workflow_assignments
from saraban.workflow.runtime.endpoints import delegations, instances, review

router = APIRouter(tags=["workflow"])
for subject in (workflow_assignments, definitions, delegations, instances, review, interventions):
    router.include_router(subject.router)
