"""Letters, memos, requests for information and the other general types: their register as data."""

from saraban.documents.core.domain.kind import Kind

CORRESPONDENCE = Kind(
    name="correspondence",
    path="correspondences",
    entity_type="correspondence_revision",
    workflow_code="CORRESPONDENCE_FLOW_V1",
    type_codes=frozenset({"LETTER", "MEMO", "RFI", "EMAIL", "INSTRUCTION", "MOM", "NOTICE", "OTHER"}),
    statuses={
        "draft": "DRAFT",
        "in_review": "SUB*",
        "approved": "CLB*",
        "acknowledged": "CLOSED",
        "rejected": "REJECTED",
        "revision_requested": "REP*",
        "cancelled": "CANCELLED",
        "terminated": "TERMINATED",
    },
    create="correspondence.create",
    edit="correspondence.edit",
    finished=frozenset({"approved", "acknowledged", "rejected", "revision_requested", "cancelled", "terminated"}),
)
