"""`/transmittals`: lists of documents that go along."""

from saraban.documents.core.dependencies.routes import RouteTexts, document_routes
from saraban.documents.transmittal.schemas import TransmittalPage
from saraban.documents.transmittal.service import TRANSMITTAL

router = document_routes(
    TRANSMITTAL,
    page=TransmittalPage,
    texts=RouteTexts("Transmittals", "transmittals", "transmittal", create="Write a transmittal"),
)
