"""Letters, memos, requests for information and the other general types: the shared verbs, and only words of their own."""

from typing import Literal

from pydantic import Field

from saraban.documents.core import service as core
from saraban.documents.core.domain import KindRules, RegisterCode
from saraban.documents.core.schemas import NewDocument

CORRESPONDENCE_RULES = KindRules(
    name="correspondence",
    register=RegisterCode.CORRESPONDENCE,
    path="correspondences",
    entity_type="correspondence_revision",
    type_codes=frozenset({"LETTER", "MEMO", "RFI", "EMAIL", "INSTRUCTION", "MOM", "NOTICE", "OTHER"}),
    statuses={
        "draft": "DRAFT",
        "in_review": "SUB*",
        "awaiting_response": "SUB*",
        "responded": "RESPONDED",
        "approved": "CLB*",
        "closed": "CLOSED",
        "acknowledged": "CLOSED",
        "rejected": "REJECTED",
        "revision_requested": "REP*",
        "cancelled": "CANCELLED",
        "terminated": "TERMINATED",
    },
    create="correspondence.create",
    edit="correspondence.edit",
    finished=frozenset(
        {"approved", "acknowledged", "rejected", "revision_requested", "closed", "cancelled", "terminated"}
    ),
    answered=frozenset({"responded"}),
)

GeneralType = Literal["LETTER", "MEMO", "RFI", "EMAIL", "INSTRUCTION", "MOM", "NOTICE", "OTHER"]


class NewCorrespondence(NewDocument):
    correspondence_type_code: GeneralType = Field(examples=["LETTER"])


class CorrespondenceKind(core.RevisionedKind):
    rules = CORRESPONDENCE_RULES
    new = NewCorrespondence

    def type_codes(self, new: NewCorrespondence) -> tuple[str, str | None]:
        return new.correspondence_type_code, None


CORRESPONDENCE = CorrespondenceKind()
