"""
Who may put a document into a contract. It is shown to all parties of the contract from then on, so it is not for
strangers to that contract to write there.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

# These stand above the single contracts of a project: what they write may concern any of them.
ABOVE = ("OWNER", "CONSULTANT")


def may_write_in(
    organization: int, *, of_contract: Mapping[str, frozenset[int]], of_project: Mapping[str, frozenset[int]]
) -> bool:
    """Return whether an organization writes documents that belong to a contract."""
    if any(organization in members for members in of_contract.values()):
        return True
    return any(organization in of_project.get(role, frozenset()) for role in ABOVE)


@dataclass(frozen=True, slots=True)
class Correspondents:
    """Who wrote a document, and whom it is sent to, copies too."""

    originator: int
    recipients: Collection[int]


def is_reply(reply: Correspondents, original: Correspondents) -> bool:
    """Say whether a document that refers to another one is the answer to it, by who wrote to whom."""
    return reply.originator in original.recipients and original.originator in reply.recipients
