"""
What a register of documents is called, who may write in it and which status each workflow state shows.

One `Kind` per subtype, as data: `core` works from it and never asks which subtype it has in hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

DRAFT = "draft"
CANCELLED = "cancelled"
TERMINATED = "terminated"  # its workflow was ended without an outcome

UNDER_WAY, CLOSED = "IN_REVIEW", "CLOSED"
_ROLE_SUFFIX = {"OWNER": "OWN", "DESIGNER": "DSN", "CONSULTANT": "CSC", "CONTRACTOR": "CON"}


def issues(state: str) -> bool:
    """Whether a revision that comes to a workflow state has been issued, if it was not before."""
    return state not in {DRAFT, CANCELLED, TERMINATED}


@dataclass(frozen=True, slots=True)
class Kind:
    """
    :param name: the word in audit actions, events and the number's holder: `rfa`
    :param path: the collection under `/api/v1`
    :param type_codes: correspondence types that are kept in this register
    :param statuses: workflow state to correspondence status code; `*` stands for a role, see `status_code`
    :param finished: states in which nobody is waited for, so that nothing can be overdue
    :param deciders: the role that decides in a workflow state, where it is not the recipient's
    """

    name: str
    path: str
    entity_type: str
    workflow_code: str
    type_codes: frozenset[str]
    statuses: Mapping[str, str]
    create: str
    edit: str
    finished: frozenset[str]
    cancel_after_issue: bool = True
    deciders: Mapping[str, str] = field(default_factory=dict)

    def status_code(
        self, state: str, recipient_role: str | None, *, left: str | None = None, ended: bool = False
    ) -> str:
        """
        This will give the code of `correspondence_status` that a workflow state shows.

        A state that only an administrator's own definition has shows that it is under way, or closed.

        :param left: the state it was reached from; `*` is the role that decided there, or else the recipient's
        """
        role = self.deciders.get(left or "", recipient_role or "")
        if state not in self.statuses:
            return CLOSED if ended else UNDER_WAY
        return self.statuses[state].replace("*", _ROLE_SUFFIX.get(role, "OTH"))

    def status_codes(self, state: str) -> frozenset[str]:
        """This will give every code that the state may show, whoever the recipient is."""
        pattern = self.statuses[state]
        return frozenset(pattern.replace("*", suffix) for suffix in (*_ROLE_SUFFIX.values(), "OTH"))

    @property
    def finished_codes(self) -> frozenset[str]:
        """The status codes of what is finished; none of them is shown by a state that is not."""
        return frozenset({CLOSED}).union(*(self.status_codes(state) for state in self.finished))
