"""
Permissions, the scopes they are granted in, and the one question: is it allowed here?

An assignment of a role is a `Grant`; what is acted on has a `Scope`. The widest grant wins.
"""

from collections.abc import Iterable
from dataclasses import dataclass

EVERYTHING = "system.manage_all"


@dataclass(frozen=True, slots=True)
class Scope:
    """
    Where something stands: the organizations it concerns, its project and its contract.

    A document of a contract carries the project too, so that a grant on the project covers its contracts.
    """

    organizations: frozenset[int] = frozenset()
    project: int | None = None
    contract: int | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A role in one organization, one project or one contract, or everywhere when none is set."""

    role: str
    permissions: frozenset[str]
    organization: int | None = None
    project: int | None = None
    contract: int | None = None

    @property
    def is_global(self) -> bool:
        return self.organization is None and self.project is None and self.contract is None

    def covers(self, scope: Scope) -> bool:
        if self.is_global:
            return True
        if self.organization is not None:
            return self.organization in scope.organizations
        if self.project is not None:
            return self.project == scope.project
        return self.contract == scope.contract

    def gives(self, permission: str) -> bool:
        return permission in self.permissions or EVERYTHING in self.permissions


def allows(grants: Iterable[Grant], permission: str, scope: Scope) -> bool:
    """Return whether one of `grants` gives `permission` and covers `scope`; `system.manage_all` gives each."""
    return any(grant.gives(permission) and grant.covers(scope) for grant in grants)


def allows_somewhere(grants: Iterable[Grant], permission: str) -> bool:
    """Return whether `permission` is given in any scope; it opens a door, it does not decide about a thing."""
    return any(grant.gives(permission) for grant in grants)
