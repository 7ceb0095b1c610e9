"""The context of a request: caller, grants, scope and moment."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.kit.errors import FieldProblem, Forbidden, Text

EVERYTHING = "system.manage_all"


@dataclass(frozen=True, slots=True)
class Scope:
    """The place of an object; a contract's object has the project too."""

    organizations: frozenset[int] = frozenset()
    project: int | None = None
    contract: int | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A role in one place, or everywhere if none is set."""

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
    return any(grant.gives(permission) and grant.covers(scope) for grant in grants)


def allows_somewhere(grants: Iterable[Grant], permission: str) -> bool:
    """Return whether any grant gives it; this does not decide about an object."""
    return any(grant.gives(permission) for grant in grants)


class NotYourOrganization(Forbidden):
    """The originator is an organization that the caller does not act for."""

    code = "NOT_YOUR_ORGANIZATION"
    says = Text("คุณไม่ได้ปฏิบัติงานแทนองค์กรนี้", "You do not act for this organization.")
    recovery = (Text("เลือกองค์กรของคุณ", "Choose an organization of your own."),)

    @classmethod
    def at(cls, pointer: str) -> "NotYourOrganization":
        return cls(fields=[FieldProblem(pointer, "not_yours", cls.says)])


@dataclass(frozen=True, slots=True)
class Caller:
    """`organization_ids` are those the caller may act for; a limit of 0 means none."""

    user_id: int
    public_id: UUID
    username: str
    display_name: str
    organization_id: int | None
    organization_ids: frozenset[int]
    grants: tuple[Grant, ...]
    is_service: bool = False
    language: str = "th"
    draws_per_minute: int | None = None
    organization_public_id: UUID | None = None
    must_change_password: bool = False
    session: UUID | None = field(default=None, compare=False)

    def may(self, permission: str, scope: Scope) -> bool:
        return allows(self.grants, permission, scope)

    def may_anywhere(self, permission: str) -> bool:
        return allows_somewhere(self.grants, permission)

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(grant.role for grant in self.grants)

    @property
    def permissions(self) -> frozenset[str]:
        return frozenset().union(*(grant.permissions for grant in self.grants))

    def require(self, permission: str, scope: Scope) -> None:
        """:raises Forbidden:"""
        if not self.may(permission, scope):
            raise Forbidden(f"The permission {permission} is needed here.", values={"permission": permission})

    def require_somewhere(self, permission: str) -> None:
        """:raises Forbidden:"""
        if not self.may_anywhere(permission):
            raise Forbidden(f"The permission {permission} is needed.", values={"permission": permission})


@dataclass(frozen=True, slots=True)
class RequestContext:
    """`now` is the same for each attempt; `address` is empty outside of HTTP."""

    caller: Caller
    now: datetime
    zone: ZoneInfo
    address: str = ""
    key: str | None = None
    language: str = "th"

    def with_key(self, key: str | None) -> Self:
        return replace(self, key=key)
