"""`/correspondences`: letters, memos, requests for information and the other general types."""

from saraban.documents.core.dependencies.routes import RouteTexts, document_routes
from saraban.documents.correspondence.schemas import CorrespondencePage
from saraban.documents.correspondence.service import CORRESPONDENCE

router = document_routes(
    CORRESPONDENCE,
    page=CorrespondencePage,
    texts=RouteTexts("Correspondences", "correspondences", "correspondence", create="Write a letter, memo or RFI"),
)
