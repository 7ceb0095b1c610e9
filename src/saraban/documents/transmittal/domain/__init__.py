"""Transmittals: the register as data."""

from saraban.documents.core.domain.kind import KindRules

TRANSMITTAL_RULES = KindRules(
    name="transmittal",
    path="transmittals",
    entity_type="transmittal_revision",
    type_codes=frozenset({"TRANSMITTAL"}),
    statuses={
        "draft": "DRAFT",
        "submitted": "SUBMITTED",
        "completed": "CLB*",
        "returned": "REP*",
        "cancelled": "CANCELLED",
        "terminated": "TERMINATED",
    },
    create="transmittal.create",
    edit="transmittal.edit",
    finished=frozenset({"completed", "returned", "cancelled", "terminated"}),
    sent="SUBMITTED",
    closes="CLB*",
)
