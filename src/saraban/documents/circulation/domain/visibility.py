"""
Who may see a circulation sheet: the people of its organization who hold the right to, there or in its project.

`may_see` is the rule in plain words; `documents.circulation.repository` says the same in SQL, and a test holds the two
against each other.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from saraban.identity.domain.permission import EVERYTHING, Grant, Scope, allows

VIEW = "circulation.view"


@dataclass(frozen=True, slots=True)
class CirculationReach:
    """
    Whose sheets a caller may see.

    :param organizations: the caller's own, in which the right counts for every project
    :param projects: those in which it counts for the sheets of all of `member_of`
    """

    everything: bool
    organizations: frozenset[int]
    projects: frozenset[int]
    member_of: frozenset[int]


def reach_of(grants: Iterable[Grant], member_of: frozenset[int]) -> CirculationReach:
    useful = [grant for grant in grants if grant.gives(VIEW)]
    own = frozenset(one for one in member_of if allows(useful, VIEW, Scope(frozenset({one}))))
    projects = frozenset(grant.project for grant in useful if grant.project and not grant.organization)
    return CirculationReach(allows(useful, EVERYTHING, Scope()), own, projects, member_of)


def may_see(reach: CirculationReach, *, organization: int, project: int) -> bool:
    in_project = organization in reach.member_of and project in reach.projects
    return reach.everything or organization in reach.organizations or in_project
