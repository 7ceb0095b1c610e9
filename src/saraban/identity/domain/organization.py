"""The part an organization plays in a project, as documents see it."""

from typing import Final, Literal

Part = Literal["OWNER", "DESIGNER", "CONSULTANT", "CONTRACTOR", "OTHER"]
PARTS: Final[tuple[Part, ...]] = ("OWNER", "DESIGNER", "CONSULTANT", "CONTRACTOR", "OTHER")

_PARTS: dict[str, Part] = {
    "OWNER": "OWNER",
    "DESIGNER": "DESIGNER",
    "CONSULTANT": "CONSULTANT",
    "CONTRACTOR": "CONTRACTOR",
}


def part_of(role_name: str | None) -> Part:
    """Return the part for the name of a role; third parties, guests and free text are OTHER."""
    return _PARTS.get((role_name or "").strip().upper(), "OTHER")


def role_names_of(part: str) -> tuple[str, ...]:
    """Return the role names that count as `part`."""
    return (part,) if part in _PARTS else ("OTHER", "THIRD PARTY", "GUEST")
