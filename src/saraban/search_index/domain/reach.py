"""Keys of entries and readers: an entry is visible to a reader who has one of its keys."""

from dataclasses import dataclass
from typing import Final

DOCUMENT: Final = "d"
SHEET: Final = "s"


def reach_key(what: str, project: int, reader_kind: int, reader: int) -> str:
    """Return the key of a `document_reach` row; `what` is `DOCUMENT`, or `SHEET` for a circulation."""
    return f"{what}{project}.{reader_kind}.{reader}"


def written_key(project: int, organization: int, contract: int) -> str:
    """Return the key of an organization's own documents in a contract."""
    return f"w{project}.{organization}.{contract}"


def drawing_key(project: int) -> str:
    """Return the key of readers of all drawings of a project."""
    return f"p{project}"


def audience_key(project: int, kind: int, key: int) -> str:
    return f"a{project}.{kind}.{key}"


def home_keys(originator: int, contract: int) -> list[str]:
    """Return the keys of readers who see a newer draft instead of this entry."""
    return [f"o{originator}", f"c{contract}.{originator}"]


@dataclass(frozen=True, slots=True)
class SearchReach:
    """
    :param keys: an entry with one of these is visible
    :param hidden: except entries with one of these, whose newer draft is visible instead
    """

    keys: frozenset[str]
    hidden: frozenset[str] = frozenset()
