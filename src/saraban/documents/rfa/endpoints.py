"""`/rfas`: requests for approval."""

from saraban.documents.core.dependencies.routes import RouteTexts, document_routes
from saraban.documents.rfa.schemas import RfaPage
from saraban.documents.rfa.service import RFA

router = document_routes(
    RFA,
    page=RfaPage,
    texts=RouteTexts(
        "RFAs", "RFAs", "RFA", create="Write a request for approval", cancel="Cancel a draft with a reason"
    ),
)
