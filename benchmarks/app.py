"""The product's application with one address more: everything that issuing a number passes, and no number."""

from typing import Any

from fastapi import APIRouter, Depends
from starlette.responses import Response

from saraban.app import API, create_app, tune_garbage_collector
from saraban.config import Settings
from saraban.identity.dependencies import KeyedContext
from saraban.kit.http import OrjsonResponse
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, Numbers, RecordedRoute
from saraban.numbering.issue.schemas import GenerateIn
from saraban.ops.problems import check_request

router = APIRouter(route_class=RecordedRoute)
ANSWER = {
    "publicId": "019505a1-7c3e-7000-8000-abc123def456",
    "documentNumber": "คคง.-ผรม.2-0001-2569",
    "sequence": 1,
    "year": 2026,
    "template": "{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}",
}


@router.post("/bench/nothing", dependencies=ISSUE_LIMIT, status_code=201, include_in_schema=False)
async def nothing(
    body: GenerateIn,  # noqa: ARG001  taking all this is what is measured
    ctx: KeyedContext,  # noqa: ARG001
    numbers: Numbers,  # noqa: ARG001
) -> Response:
    """What `generate` is given and what it answers, without what it does between."""
    return OrjsonResponse(ANSWER, status_code=201)


def served(settings: Settings | None = None) -> Any:
    app = create_app(settings)
    # As `create_app` includes every feature.
    app.include_router(router, prefix=API, dependencies=[Depends(check_request)])
    tune_garbage_collector()  # as every server of ours does it
    return app
