"""Letters, RFAs and transmittals for the books of numbering."""

from saraban.documents.core.models import Correspondence
from saraban.documents.core.repository.carrying import CarriedNumbers

CARRIED = CarriedNumbers(Correspondence, Correspondence.correspondence_number)

__all__ = ["CARRIED", "CarriedNumbers"]
