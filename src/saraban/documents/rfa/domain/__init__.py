"""Requests for approval: the register as data, who writes them, and what each workflow state means for their status."""

from collections.abc import Mapping
from dataclasses import dataclass

from saraban.documents.core.domain.kind import Kind

AUTHOR_ROLE = "CONTRACTOR"

RFA = Kind(
    name="rfa",
    path="rfas",
    entity_type="rfa_revision",
    workflow_code="RFA_APPROVAL",
    type_codes=frozenset({"RFA"}),
    statuses={
        "draft": "DRAFT",
        "pending_review": "SUBCSC",
        "pending_approval": "SUBOWN",
        "approved": "CLBOWN",
        "rejected": "REJECTED",
        "revision_requested": "REP*",
        "cancelled": "CANCELLED",
        "terminated": "TERMINATED",
    },
    create="rfa.create",
    edit="rfa.edit",
    finished=frozenset({"approved", "rejected", "revision_requested", "cancelled", "terminated"}),
    cancel_after_issue=False,
    deciders={"pending_review": "CONSULTANT", "pending_approval": "OWNER"},
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The RFA status code of a workflow state, and the approve code that comes with a final answer."""

    status: str
    approve_code: str | None = None
    approved: bool = False


VERDICTS = {
    "draft": Verdict("DFT"),
    "pending_review": Verdict("FRE"),
    "pending_approval": Verdict("FAP"),
    "approved": Verdict("FCO", "1A", approved=True),
    "rejected": Verdict("FRE", "4X"),
    "revision_requested": Verdict("FRE", "3R"),
    "cancelled": Verdict("CC"),
    "terminated": Verdict("TRM"),
}


# A state that only an administrator's own definition has says nothing of the answer.
UNNAMED = Verdict("FRE")


def may_ask(organization: int, parties: Mapping[str, frozenset[int]]) -> bool:
    """This will say whether an organization asks for approval in a contract: its contractors do, and nobody else."""
    return organization in parties.get(AUTHOR_ROLE, frozenset())
