"""Letters, memos, requests for information and the other general types: their register as data."""

from saraban.documents.core.domain.kind import KindRules

CORRESPONDENCE_RULES = KindRules(
    name="correspondence",
    path="correspondences",
    entity_type="correspondence_revision",
    type_codes=frozenset({"LETTER", "MEMO", "RFI", "EMAIL", "INSTRUCTION", "MOM", "NOTICE", "OTHER"}),
    statuses={
        "draft": "DRAFT",
        "in_review": "SUB*",
        "awaiting_response": "SUB*",
        "responded": "RESPONDED",
        "approved": "CLB*",
        "acknowledged": "CLOSED",
        "rejected": "REJECTED",
        "revision_requested": "REP*",
        "closed": "CLOSED",
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
