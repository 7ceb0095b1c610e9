"""
Who may see a document. `may_see` is the rule in plain words; `documents.core.repository` says the same in SQL, and a
test holds the two against each other.

What was never issued belongs to the originator's people and to those who hold the right over the whole project. What
was issued is also open to its recipients, to the parties of its contract and to holders of the right at the contract.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from saraban.identity.domain.context import Caller, Grant

VIEW = "document.view"
EVERYTHING = "system.manage_all"


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a caller holds the right to view; `member_of` are the organizations the caller belongs to."""

    everything: bool
    projects: frozenset[int]
    contracts: frozenset[int]
    organizations: frozenset[int]
    member_of: frozenset[int]


@dataclass(frozen=True, slots=True)
class Placement:
    """What decides about one revision of a document; `parties` are those of its contract, empty without one."""

    project: int
    contract: int | None
    originator: int | None
    recipients: frozenset[int]
    parties: frozenset[int]
    issued: bool


def reach_of(grants: Iterable[Grant], member_of: frozenset[int]) -> Reach:
    """Sum up a caller's grants as far as they let documents be viewed."""
    useful = [grant for grant in grants if {VIEW, EVERYTHING} & grant.permissions]
    return Reach(
        everything=any(not (grant.organization or grant.project or grant.contract) for grant in useful),
        projects=frozenset(grant.project for grant in useful if grant.project),
        contracts=frozenset(grant.contract for grant in useful if grant.contract),
        organizations=frozenset(grant.organization for grant in useful if grant.organization),
        member_of=member_of,
    )


def reach(caller: Caller) -> Reach:
    return reach_of(caller.grants, caller.organization_ids)


def may_see(reach: Reach, place: Placement) -> bool:
    """Return whether a revision may be shown to the caller whose reach this is."""
    if reach.everything or place.project in reach.projects or place.originator in reach.organizations:
        return True
    at_contract = place.contract in reach.contracts
    if not place.issued:
        return at_contract and place.originator in reach.member_of
    return at_contract or bool(reach.organizations & (place.recipients | place.parties))
