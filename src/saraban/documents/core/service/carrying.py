"""Letters, RFAs and transmittals for the books of numbering."""

from saraban.documents.core.models import Document
from saraban.documents.core.repository.numbers import DocumentNumbers

CARRIED = DocumentNumbers(Document, Document.correspondence_number)

__all__ = ["CARRIED", "DocumentNumbers"]
