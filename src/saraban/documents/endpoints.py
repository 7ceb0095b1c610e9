"""
`/correspondences`, `/rfas`, `/transmittals`, `/circulations`: the shared routes for each kind of documents, and its own; `/drawings`
and `/access`.
"""

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from saraban.documents.access.endpoints import router as access
from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.domain import VIEW
from saraban.documents.circulation.schemas import AssigneeResponse, CirculationAnswer
from saraban.documents.circulation.service import CIRCULATION
from saraban.documents.core.dependencies import Documents, present
from saraban.documents.core.endpoints import RouteTexts, document_routes
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.drawing.endpoints import registers as drawings
from saraban.documents.rfa.service import RFA
from saraban.documents.transmittal.service import TRANSMITTAL
from saraban.identity.dependencies import guarded_keyed
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import PathId
from saraban.workflow.runtime.schemas import WorkflowEnvelope

_correspondences = document_routes(
    CORRESPONDENCE,
    texts=RouteTexts("Correspondences", "correspondences", "correspondence", create="Write a letter, memo or RFI"),
)

_rfas = document_routes(
    RFA,
    texts=RouteTexts(
        "RFAs", "RFAs", "RFA", create="Write a request for approval", cancel="Cancel a draft with a reason"
    ),
)

_transmittals = document_routes(
    TRANSMITTAL,
    texts=RouteTexts("Transmittals", "transmittals", "transmittal", create="Write a transmittal"),
)

Reader = Annotated[RequestContext, guarded_keyed(VIEW)]

_circulations = document_routes(
    CIRCULATION,
    texts=RouteTexts(
        "Circulations",
        "circulations",
        "circulation",
        create="Write a circulation sheet",
        created="Issues the number and writes the draft in one transaction. Assignees are active members of the organization.",
        readers="Newest first: those of your organizations.",
    ),
    read=VIEW,
)


@_circulations.post(
    "/{publicId}/responses",
    status_code=201,
    response_model=WorkflowEnvelope[CirculationAnswer],
    summary="Give your answer",
)
async def respond(public_id: PathId, body: AssigneeResponse, ctx: Reader, services: Documents) -> Response:
    """By whom it names, once, while it is being passed round."""
    receipt = await circulations.respond(ctx, services, public_id, body)
    return await present(ctx, services.db, CIRCULATION, receipt, status=201)


router = APIRouter()
# Imports of drawings first: `imports` is no public id of a drawing.
_drawings = (drawings.imports, drawings.router, drawings.of_project)
for one in (_correspondences, _rfas, _transmittals, _circulations, *_drawings, access):
    router.include_router(one)
