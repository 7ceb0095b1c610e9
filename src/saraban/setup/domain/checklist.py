"""What a project needs until its first number that another organization answers, in the order in which it is done."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

# Of a document that goes from one organization to another.
LEAST_PARTIES: Final = 2
CREATES: Final = frozenset({"correspondence.create", "rfa.create", "transmittal.create"})
REVIEWS: Final = "workflow.action_review"


class Missing(StrEnum):
    ORGANIZATIONS = "organizations"
    CONTRACTS = "contracts"
    DISCIPLINES = "disciplines"
    TYPES = "types"
    FORMATS = "formats"
    PEOPLE = "people"
    WORKFLOWS = "workflows"


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """
    What there is of a project; closed things do not count.

    :param contract_parties: of each contract, how many organizations are its parties
    :param rights: permissions that people other than Super Admins have here, by the organization they act for
    :param workflows: codes of workflows that documents start on
    :param in_force: codes of workflows with a version in force
    :param roles: the parts that organizations have in the project and its contracts
    :param asked: of each step of the RFA's workflow the parts that it waits for, any of which is enough
    """

    members: int
    contract_parties: Collection[int]
    disciplines: int
    rfa_types: int
    formats: int
    rights: Mapping[int, frozenset[str]]
    workflows: frozenset[str]
    in_force: frozenset[str]
    roles: Mapping[int, frozenset[str]] = field(default_factory=dict)
    asked: Collection[frozenset[str]] = ()


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    kind: Missing
    done: bool


def checklist(facts: ProjectFacts) -> list[ChecklistItem]:
    done = {
        Missing.ORGANIZATIONS: facts.members >= LEAST_PARTIES,
        Missing.CONTRACTS: max(facts.contract_parties, default=0) >= LEAST_PARTIES,
        Missing.DISCIPLINES: facts.disciplines > 0,
        Missing.TYPES: facts.rfa_types > 0,
        Missing.FORMATS: facts.formats > 0,
        Missing.PEOPLE: _two_sides(facts.rights) and _all_answer(facts),
        Missing.WORKFLOWS: facts.workflows <= facts.in_force,
    }
    return [ChecklistItem(kind, done[kind]) for kind in Missing]


def _two_sides(rights: Mapping[int, frozenset[str]]) -> bool:
    """Somebody may create, and somebody of another organization reviews what they send."""
    authors = {organization for organization, held in rights.items() if held & CREATES}
    reviewers = {organization for organization, held in rights.items() if REVIEWS in held}
    return bool(authors and reviewers) and len(authors | reviewers) >= LEAST_PARTIES


def _all_answer(facts: ProjectFacts) -> bool:
    """Whatever step an RFA comes to, somebody of an organization that it waits for decides there."""
    there = [
        facts.roles.get(organization, frozenset()) for organization, held in facts.rights.items() if REVIEWS in held
    ]
    deciding = frozenset[str]().union(*there)
    return all(asked & deciding for asked in facts.asked)
