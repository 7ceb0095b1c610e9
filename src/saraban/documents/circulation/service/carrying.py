"""Circulation sheets for the books of numbering."""

from saraban.documents.circulation.models import Circulation
from saraban.documents.core.service import CarriedNumbers

CARRIED = CarriedNumbers(Circulation, Circulation.circulation_no)
