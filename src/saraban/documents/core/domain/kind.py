"""
What a register of documents is called, who may write in it and which status each workflow state shows.

One `Kind` per subtype, as data: `core` works from it and never asks which subtype it has in hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass

DRAFT = "draft"
CANCELLED = "cancelled"

_ROLE_SUFFIX = {"OWNER": "OWN", "DESIGNER": "DSN", "CONSULTANT": "CSC", "CONTRACTOR": "CON"}


@dataclass(frozen=True, slots=True)
class Kind:
    """
    :param name: the word in audit actions, events and the number's holder: `rfa`
    :param path: the collection under `/api/v1`
    :param type_codes: correspondence types that are kept in this register
    :param statuses: workflow state to correspondence status code; `*` stands for the recipient's role
    """

    name: str
    path: str
    entity_type: str
    workflow_code: str
    type_codes: frozenset[str]
    statuses: Mapping[str, str]
    create: str
    edit: str
    cancel_after_issue: bool = True

    def status_code(self, state: str, recipient_role: str | None) -> str:
        """This will give the code of `correspondence_status` that a workflow state shows."""
        return self.statuses[state].replace("*", _ROLE_SUFFIX.get(recipient_role or "", "OTH"))

    def status_codes(self, state: str) -> frozenset[str]:
        """This will give every code that the state may show, whoever the recipient is."""
        pattern = self.statuses[state]
        return frozenset(pattern.replace("*", suffix) for suffix in (*_ROLE_SUFFIX.values(), "OTH"))
