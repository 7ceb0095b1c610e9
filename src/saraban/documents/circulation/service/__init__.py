"""Functions of circulations that other features use."""

from saraban.documents.circulation.models import Circulation
from saraban.documents.circulation.service.assignees import AlreadyAnswered
from saraban.documents.circulation.service.kind import (
    CIRCULATION,
    CirculationExists,
    OpenCirculations,
    reads_file,
)
from saraban.documents.circulation.service.responses import NotRouting, permitted_actions, respond
from saraban.numbering.service import NumberedDocuments

CIRCULATION_NUMBERS = NumberedDocuments(Circulation, Circulation.circulation_no)
