"""Requests for approval: the register as data, who writes them, and what each workflow state means for their status."""

from collections.abc import Mapping
from dataclasses import dataclass

from saraban.documents.core.domain.kind import Kind
from saraban.projects.domain.master import RFA_APPROVE_CODES
from saraban.workflow.domain.outcome import BY_NAME, NOTHING, Meaning, Outcome

AUTHOR_ROLE = "CONTRACTOR"
APPROVE_CODES = frozenset(offer.code for offer in RFA_APPROVE_CODES)

RFA = Kind(
    name="rfa",
    path="rfas",
    entity_type="rfa_revision",
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


# Of the states that every workflow of an RFA has, and of those that ship.
STATES = {
    "draft": Verdict("DFT"),
    "pending_review": Verdict("FRE"),
    "pending_approval": Verdict("FAP"),
    "cancelled": Verdict("CC"),
    "terminated": Verdict("TRM"),
}
VERDICTS: Mapping[Outcome, Verdict] = {
    "approved": Verdict("FCO", "1A", approved=True),
    "approved_with_comments": Verdict("FCO", "1N", approved=True),
    "revise_resubmit": Verdict("FRE", "3R"),
    "rejected": Verdict("FRE", "4X"),
    "closed": Verdict("FRE", "5N"),
    "withdrawn": Verdict("CC"),
}
BY_CONSULTANT = Verdict("FCO", "1C", approved=True)
# The groups of approve codes by their first digit: what an end means that neither its definition nor its name explains.
GROUPS: Mapping[str, Outcome] = {"1": "approved", "3": "revise_resubmit", "4": "rejected", "5": "closed"}
UNDER_WAY = Verdict("FRE")
FOR_APPROVAL = Verdict("FAP")


def verdict(
    state: str, *, ended: bool = False, meaning: Meaning = NOTHING, response_code: str | None = None
) -> Verdict:
    """
    Return what an RFA shows in a workflow state.

    What its definition says counts first, then the name of the state, then the approve code that was answered.
    """
    if ended and state not in STATES:
        answered = response_code if response_code in APPROVE_CODES else None
        outcome = meaning.outcome or BY_NAME.get(state) or GROUPS.get((answered or "")[:1])
        if meaning.outcome == "approved" and meaning.decided_by == "CONSULTANT":
            return BY_CONSULTANT
        return VERDICTS[outcome] if outcome is not None else UNDER_WAY
    if meaning.asks is not None and not ended:
        return FOR_APPROVAL if meaning.asks == "OWNER" else UNDER_WAY
    return STATES.get(state, UNDER_WAY)


def may_ask(organization: int, parties: Mapping[str, frozenset[int]]) -> bool:
    """Return whether an organization asks for approval in a contract: its contractors do, and nobody else."""
    return organization in parties.get(AUTHOR_ROLE, frozenset())
