"""An entry is visible to a reader who has one of its keys."""

from dataclasses import dataclass
from typing import Final

DOCUMENT: Final = "d"
SHEET: Final = "s"


def reach_key(what: str, project: int, reader_kind: int, reader: int) -> str:
    """:param what: `DOCUMENT`, or `SHEET` for a circulation"""
    return f"{what}{project}.{reader_kind}.{reader}"


def written_key(project: int, organization: int, contract: int) -> str:
    """For an organization's own documents in a contract."""
    return f"w{project}.{organization}.{contract}"


def drawing_key(project: int) -> str:
    """For readers of all drawings of a project."""
    return f"p{project}"


def audience_key(project: int, kind: int, key: int) -> str:
    return f"a{project}.{kind}.{key}"


def home_keys(originator: int, contract: int) -> list[str]:
    """For readers who see a newer draft instead."""
    return [f"o{originator}", f"c{contract}.{originator}"]


@dataclass(frozen=True, slots=True)
class SearchReach:
    """:param hidden: entries with one of these are replaced by a newer draft"""

    keys: frozenset[str]
    hidden: frozenset[str] = frozenset()
