"""
Who may put a document into a contract. It is shown to all parties of the contract from then on, so it is not for
strangers to that contract to write there.
"""

from collections.abc import Mapping

# These stand above the single contracts of a project: what they write may concern any of them.
ABOVE = ("OWNER", "CONSULTANT")


def may_write_in(
    organization: int, *, of_contract: Mapping[str, frozenset[int]], of_project: Mapping[str, frozenset[int]]
) -> bool:
    """Return whether an organization writes documents that belong to a contract."""
    if any(organization in members for members in of_contract.values()):
        return True
    return any(organization in of_project.get(role, frozenset()) for role in ABOVE)
