"""`/correspondences`: letters, memos, requests for information and the other general types."""

from typing import Annotated

from starlette.responses import Response

from saraban.documents.core.dependencies.routes import RouteTexts, register_routes
from saraban.documents.core.schemas import DocumentAnswer
from saraban.documents.correspondence import service as correspondences
from saraban.documents.correspondence.schemas import CorrespondencePage, NewCorrespondence
from saraban.documents.correspondence.service import CORRESPONDENCE
from saraban.identity.dependencies import guarded
from saraban.identity.domain.caller import Caller
from saraban.kit.http import Address, Db, IdempotencyKey, Now, to_response
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, Numbers
from saraban.workflow.runtime.schemas import WorkflowEnvelope

router = register_routes(
    CORRESPONDENCE, page=CorrespondencePage, words=RouteTexts("Correspondences", "correspondences", "correspondence")
)

Author = Annotated[Caller, guarded("correspondence.create")]


@router.post(
    "",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=WorkflowEnvelope[DocumentAnswer],
    summary="Write a letter, memo or RFI",
)
async def create(
    body: NewCorrespondence, caller: Author, db: Db, numbers: Numbers, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Draws the number and writes the draft in one transaction. The first TO is the main recipient."""
    answer = await correspondences.create(
        db, numbers, caller=caller, order=body, now=now.now(), zone=now.zone, address=address, key=key
    )
    return to_response(answer)
