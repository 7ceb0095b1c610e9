"""Who is asking: one signed-in person or program, with what it may do."""

from dataclasses import dataclass
from uuid import UUID

from saraban.identity.domain.permission import Grant, Scope, allows, allows_somewhere
from saraban.kit.errors import FieldProblem, Forbidden, Text


class NotYourOrganization(Forbidden):
    """The originator is an organization that the caller does not act for."""

    code = "NOT_YOUR_ORGANIZATION"
    says = Text("คุณไม่ได้ปฏิบัติงานแทนองค์กรนี้", "You do not act for this organization.")
    recovery = (Text("เลือกองค์กรของคุณ", "Choose an organization of your own."),)

    @classmethod
    def at(cls, pointer: str) -> "NotYourOrganization":
        """Return the error with the field that names the organization."""
        return cls(fields=[FieldProblem(pointer, "not_yours", cls.says)])


@dataclass(frozen=True, slots=True)
class Caller:
    """
    Loaded anew for each request, so a changed role counts at once.

    :param organization_id: the organization the user mainly works for, None for the system itself
    :param organization_ids: that one and each in which the user has a role: what the caller may act for
    :param draws_per_minute: its own limit of numbers; None for everybody's, 0 for none at all
    """

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

    def may(self, permission: str, scope: Scope) -> bool:
        return allows(self.grants, permission, scope)

    def may_anywhere(self, permission: str) -> bool:
        return allows_somewhere(self.grants, permission)

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(grant.role for grant in self.grants)

    @property
    def permissions(self) -> frozenset[str]:
        return frozenset(name for grant in self.grants for name in grant.permissions)

    def require(self, permission: str, scope: Scope) -> None:
        """
        :raises Forbidden: when `permission` is not given in `scope`
        """
        if not self.may(permission, scope):
            raise Forbidden(f"The permission {permission} is needed here.")

    def require_somewhere(self, permission: str) -> None:
        """
        :raises Forbidden: when no role of the caller gives `permission`
        """
        if not self.may_anywhere(permission):
            raise Forbidden(f"The permission {permission} is needed.")
