"""The part an organization plays in a project, as documents see it."""

from typing import Final, Literal

PartyRole = Literal["OWNER", "DESIGNER", "CONSULTANT", "CONTRACTOR", "OTHER"]
PARTY_ROLES: Final[tuple[PartyRole, ...]] = ("OWNER", "DESIGNER", "CONSULTANT", "CONTRACTOR", "OTHER")

_PARTS: dict[str, PartyRole] = {
    "OWNER": "OWNER",
    "DESIGNER": "DESIGNER",
    "CONSULTANT": "CONSULTANT",
    "CONTRACTOR": "CONTRACTOR",
}


def party_role(role_name: str | None) -> PartyRole:
    """Return the part for the name of a role; third parties, guests and free text are OTHER."""
    return _PARTS.get((role_name or "").strip().upper(), "OTHER")


def role_names_of(part: str) -> tuple[str, ...]:
    """Return the role names that count as `part`."""
    return (part,) if part in _PARTS else ("OTHER", "THIRD PARTY", "GUEST")
