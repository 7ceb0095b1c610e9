"""The steps that a project needs before its first number, in their order."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

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
    :param contract_parties: number of parties of each contract
    :param rights: permissions by organization, without those of Super Admins
    :param asked: for each step of the RFA workflow, the party roles of which one must decide
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
        Missing.PEOPLE: _has_author_and_reviewer(facts.rights) and _has_reviewer_for_each_step(facts),
        Missing.WORKFLOWS: facts.workflows <= facts.in_force,
    }
    return [ChecklistItem(kind, done[kind]) for kind in Missing]


def _has_author_and_reviewer(rights: Mapping[int, frozenset[str]]) -> bool:
    authors = {organization for organization, permissions in rights.items() if permissions & CREATES}
    reviewers = {organization for organization, permissions in rights.items() if REVIEWS in permissions}
    return bool(authors and reviewers) and len(authors | reviewers) >= LEAST_PARTIES


def _has_reviewer_for_each_step(facts: ProjectFacts) -> bool:
    reviewer_roles = [
        facts.roles.get(organization, frozenset())
        for organization, permissions in facts.rights.items()
        if REVIEWS in permissions
    ]
    deciding = frozenset[str]().union(*reviewer_roles)
    return all(roles & deciding for roles in facts.asked)
