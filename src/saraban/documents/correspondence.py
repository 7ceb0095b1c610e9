"""Letters, memos, requests for information and the other general types: the shared verbs, and only words of their own."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from saraban.documents.core import service as core
from saraban.documents.core.domain import KindRules, RegisterCode
from saraban.documents.core.schemas import NewDocument
from saraban.kit.text import MOST_KEY, system_code

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

GeneralType = Annotated[
    Literal["LETTER", "MEMO", "RFI", "EMAIL", "INSTRUCTION", "MOM", "NOTICE", "OTHER"],
    BeforeValidator(lambda code: system_code(code) if isinstance(code, str) and len(code) <= MOST_KEY else code),
]


class NewCorrespondence(NewDocument):
    correspondence_type_code: GeneralType = Field(examples=["LETTER"])


class CorrespondenceKind(core.RevisionedKind):
    rules = CORRESPONDENCE_RULES
    new = NewCorrespondence

    def type_codes(self, new: NewCorrespondence) -> tuple[str, str | None]:
        return new.correspondence_type_code, None


CORRESPONDENCE = CorrespondenceKind()
