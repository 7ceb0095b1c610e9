"""Rules of RFAs."""

from collections.abc import Mapping
from dataclasses import dataclass

from saraban.documents.core import domain as core
from saraban.documents.core.domain import KindRules, RegisterCode
from saraban.kit.errors import invalid
from saraban.projects.domain.master_data import RFA_APPROVE_CODES
from saraban.workflow.language.outcome import BY_NAME, Outcome
from saraban.workflow.language.subject import NOTHING, Meaning

AUTHOR_ROLE = "CONTRACTOR"
APPROVE_CODES = frozenset(offer.code for offer in RFA_APPROVE_CODES)

RFA_RULES = KindRules(
    name="rfa",
    register=RegisterCode.RFA,
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
    carries_items=True,
)


@dataclass(frozen=True, slots=True)
class RfaVerdict:
    status: str
    approve_code: str | None = None
    approved: bool = False


# States of every RFA workflow, and of the shipped workflow.
STATES = {
    "draft": RfaVerdict("DFT"),
    "pending_review": RfaVerdict("FRE"),
    "pending_approval": RfaVerdict("FAP"),
    "cancelled": RfaVerdict("CC"),
    "terminated": RfaVerdict("TRM"),
}
VERDICTS: Mapping[Outcome, RfaVerdict] = {
    **{
        outcome: RfaVerdict("FCO", code, approved=True) if code.startswith("1") else RfaVerdict("FRE", code)
        for outcome, code in core.APPROVE_CODES.items()
    },
    "withdrawn": RfaVerdict("CC"),
}
NOT_ANSWERED = frozenset({STATES["cancelled"].status, STATES["terminated"].status})
BY_CONSULTANT = RfaVerdict("FCO", core.APPROVED_BY_CONSULTANT, approved=True)
# Outcome by an approve code's first digit, for final states whose definition and name give none.
GROUPS: Mapping[str, Outcome] = {"1": "approved", "3": "revise_resubmit", "4": "rejected", "5": "closed"}
UNDER_WAY = RfaVerdict("FRE")
FOR_APPROVAL = RfaVerdict("FAP")


def verdict(
    state: str, *, ended: bool = False, meaning: Meaning = NOTHING, response_code: str | None = None
) -> RfaVerdict:
    """The meaning counts first, then the state's name, then the response code."""
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
    return organization in parties.get(AUTHOR_ROLE, frozenset())


def require_items(rule: str, count: int) -> None:
    """
    :param rule: a value of `RfaItemsRule`
    :raises Invalid:
    """
    if rule == "none" and count:
        raise invalid(
            "/items",
            "not_for_this",
            "RFA ประเภทนี้ไม่มีรายการแบบหรือเอกสาร",
            "An RFA of this type carries no drawings or documents.",
        )
    if rule == "required" and not count:
        raise invalid(
            "/items",
            "required",
            "RFA ประเภทนี้ต้องมีแบบหรือเอกสารอย่างน้อยหนึ่งรายการ",
            "An RFA of this type has to carry at least one drawing or document.",
        )


def approved(code: str | None) -> bool:
    """Return whether an approve code permits construction."""
    return code is not None and GROUPS.get(code[:1]) == "approved"
