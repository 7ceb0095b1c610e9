"""`/transmittals`: lists of documents that go along."""

from typing import Annotated

from starlette.responses import Response

from saraban.documents.core.dependencies.routes import RouteTexts, register_routes
from saraban.documents.transmittal import service as transmittals
from saraban.documents.transmittal.schemas import NewTransmittal, TransmittalAnswer, TransmittalPage
from saraban.documents.transmittal.service import TRANSMITTAL
from saraban.identity.dependencies import guarded
from saraban.identity.domain.caller import Caller
from saraban.kit.http import Address, Db, IdempotencyKey, Now, to_response
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, Numbers
from saraban.workflow.runtime.schemas import WorkflowEnvelope

router = register_routes(
    TRANSMITTAL, page=TransmittalPage, words=RouteTexts("Transmittals", "transmittals", "transmittal")
)

Author = Annotated[Caller, guarded("transmittal.create")]


@router.post(
    "",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=WorkflowEnvelope[TransmittalAnswer],
    summary="Write a transmittal",
)
async def create(
    body: NewTransmittal, caller: Author, db: Db, numbers: Numbers, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Draws the number and writes the draft in one transaction. The first TO is the main recipient."""
    answer = await transmittals.create(
        db, numbers, caller=caller, order=body, now=now.now(), zone=now.zone, address=address, key=key
    )
    return to_response(answer)
