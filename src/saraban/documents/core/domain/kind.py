"""
What a register of documents is called, who may write in it and which status each workflow state shows.

One `Kind` per subtype, as data: `core` works from it and never asks which subtype it has in hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from saraban.workflow.language.outcome import BY_NAME, NOTHING, OUTCOMES, Meaning, Outcome

DRAFT = "draft"
CANCELLED = "cancelled"
TERMINATED = "terminated"  # its workflow was ended without an outcome

UNDER_WAY, CLOSED = "IN_REVIEW", "CLOSED"
_ROLE_SUFFIX = {"OWNER": "OWN", "DESIGNER": "DSN", "CONSULTANT": "CSC", "CONTRACTOR": "CON"}


# What an end shows by what it means; `*` stands for the role that decided.
ENDINGS: Mapping[str, str] = {
    "approved": "CLB*",
    "approved_with_comments": "CLB*",
    "revise_resubmit": "REP*",
    "rejected": "REJECTED",
    "withdrawn": "CANCELLED",
}


def counts_as_issued(state: str, outcome: Outcome | None = None) -> bool:
    """Whether a revision that comes to a workflow state has been issued, if it was not before."""
    return state not in {DRAFT, CANCELLED, TERMINATED} and outcome != "withdrawn"


@dataclass(frozen=True, slots=True)
class KindRules:
    """
    :param name: the word in audit actions, events and the number's holder: `rfa`
    :param path: the collection under `/api/v1`
    :param type_codes: correspondence types that are kept in this register
    :param statuses: workflow state to correspondence status code; `*` stands for a role, see `status_code`
    :param finished: states in which nobody is waited for, so that nothing can be overdue
    :param answered: states that go on although what was due by the due date is there, so that nothing is overdue either
    :param deciders: the role that decides in a workflow state, where it is not the recipient's and the step names none
    :param sent: what is shown of a document that waits for organizations of one role
    :param closes: what is shown of one that is over without a verdict
    """

    name: str
    path: str
    entity_type: str
    type_codes: frozenset[str]
    statuses: Mapping[str, str]
    create: str
    edit: str
    finished: frozenset[str]
    answered: frozenset[str] = frozenset()
    cancel_after_issue: bool = True
    deciders: Mapping[str, str] = field(default_factory=dict)
    sent: str = "SUB*"
    closes: str = CLOSED

    def status_code(
        self,
        state: str,
        recipient_role: str | None,
        *,
        left: str | None = None,
        ended: bool = False,
        meaning: Meaning = NOTHING,
    ) -> str:
        """
        Return the code of `correspondence_status` that a workflow state shows.

        What the definition says of the state counts; its name where that says nothing. One of which neither says anything
        shows that it is under way, or closed.

        :param left: the state it was reached from
        :param meaning: what the definition says; where it names no role that decided, that is the one of the state left, or
            the recipient's
        """
        role = self.deciders.get(left or "", recipient_role)
        outcome = meaning.outcome or (None if state in self.statuses else BY_NAME.get(state))
        if ended and outcome is not None:
            return _of(ENDINGS.get(outcome, self.closes), meaning.decided_by or role)
        if meaning.asks is not None and not ended:
            return _of(self.sent, recipient_role if meaning.asks == "recipient" else meaning.asks)
        if state not in self.statuses:
            return CLOSED if ended else UNDER_WAY
        return _of(self.statuses[state], role)

    def status_codes(self, state: str) -> frozenset[str]:
        """Return every code that the state may show, whoever the recipient is."""
        outcome = BY_NAME.get(state) if state in self.finished else None
        ending = _every(ENDINGS.get(outcome, self.closes)) if outcome is not None else frozenset()
        return _every(self.statuses[state]) | ending

    @property
    def finished_codes(self) -> frozenset[str]:
        """The status codes of what can be overdue no more; none of them is shown by a state that can."""
        shown = {ENDINGS.get(outcome, self.closes) for outcome in OUTCOMES}
        return frozenset({CLOSED}).union(
            *(_every(pattern) for pattern in shown),
            *(self.status_codes(state) for state in self.finished | self.answered),
        )


def _of(pattern: str, role: str | None) -> str:
    return pattern.replace("*", _ROLE_SUFFIX.get(role or "", "OTH"))


def _every(pattern: str) -> frozenset[str]:
    return frozenset(pattern.replace("*", suffix) for suffix in (*_ROLE_SUFFIX.values(), "OTH"))


_LETTERS = 26


def revision_label(number: int) -> str:
    """Return the label of the revision with this number, the first being 0."""
    if number < 0:
        raise ValueError("revisions are counted from 0")
    letters = ""
    rest = number + 1
    while rest:
        rest, letter = divmod(rest - 1, _LETTERS)
        letters = chr(ord("A") + letter) + letters
    return letters
