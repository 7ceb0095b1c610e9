"""Circulation sheets for the books of numbering."""

from saraban.documents.circulation.models import Circulation
from saraban.documents.core.service import DocumentNumbers

CARRIED = DocumentNumbers(Circulation, Circulation.circulation_no)
