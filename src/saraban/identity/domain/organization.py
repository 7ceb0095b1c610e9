"""The role that an organization has in a project, as documents see it."""

from enum import StrEnum


class PartyRole(StrEnum):
    """In the order in which people name them."""

    OWNER = "OWNER"
    DESIGNER = "DESIGNER"
    CONSULTANT = "CONSULTANT"
    CONTRACTOR = "CONTRACTOR"
    OTHER = "OTHER"


def party_role(role_name: str | None) -> PartyRole:
    """Return the role for its name; third parties, guests and free text are OTHER."""
    try:
        return PartyRole((role_name or "").strip().upper())
    except ValueError:
        return PartyRole.OTHER


def role_names_of(role: str) -> tuple[str, ...]:
    """Return the role names that count as `role`."""
    return ("OTHER", "THIRD PARTY", "GUEST") if party_role(role) is PartyRole.OTHER else (role,)
