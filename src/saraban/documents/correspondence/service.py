"""Letters, memos, requests for information and the other general types: the shared verbs, and nothing beside."""

from saraban.documents.core import service as core
from saraban.documents.correspondence.domain import CORRESPONDENCE_RULES
from saraban.documents.correspondence.schemas import NewCorrespondence


class CorrespondenceKind(core.RevisionedKind):
    rules = CORRESPONDENCE_RULES
    new = NewCorrespondence

    def type_codes(self, new: NewCorrespondence) -> tuple[str, str | None]:
        return new.correspondence_type_code, None


CORRESPONDENCE = CorrespondenceKind()
