"""`If-Match` after RFC 9110: compared strongly, so a weak tag names no version, whatever its number."""

ANY = "*"


def tags_in(if_match: str) -> frozenset[str]:
    """Return the tags of the header as they were written, their quotes and `W/` with them."""
    return frozenset(part.strip() for part in if_match.split(","))


def is_weak(tag: str) -> bool:
    return tag.startswith("W/")


def matches(if_match: str, present: str) -> bool:
    """Return whether the header names the present version, or any."""
    return not tags_in(if_match).isdisjoint({present, ANY})
