"""The workflow's HTTP door; each module is one subject."""

from fastapi import APIRouter

from saraban.workflow.endpoints import choices, definitions, delegations, instances, review, steering

router = APIRouter(tags=["workflow"])
for subject in (choices, definitions, delegations, instances, review, steering):
    router.include_router(subject.router)
