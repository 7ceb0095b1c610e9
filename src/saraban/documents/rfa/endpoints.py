"""`/rfas`: requests for approval."""

from typing import Annotated

from starlette.responses import Response

from saraban.documents.core.dependencies.routes import RouteTexts, register_routes
from saraban.documents.rfa import service as rfas
from saraban.documents.rfa.schemas import NewRfa, RfaAnswer, RfaPage
from saraban.documents.rfa.service import RFA
from saraban.identity.dependencies import guarded
from saraban.identity.domain.caller import Caller
from saraban.kit.http import Address, Db, IdempotencyKey, Now, to_response
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, Numbers
from saraban.workflow.runtime.schemas import WorkflowEnvelope

router = register_routes(
    RFA, page=RfaPage, words=RouteTexts("RFAs", "RFAs", "RFA", cancel="Cancel a draft with a reason")
)

Author = Annotated[Caller, guarded("rfa.create")]


@router.post(
    "",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=WorkflowEnvelope[RfaAnswer],
    summary="Write a request for approval",
)
async def create(
    body: NewRfa, caller: Author, db: Db, numbers: Numbers, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Draws the number and writes the draft in one transaction. The first TO is the main recipient."""
    answer = await rfas.create(
        db, numbers, caller=caller, order=body, now=now.now(), zone=now.zone, address=address, key=key
    )
    return to_response(answer)
