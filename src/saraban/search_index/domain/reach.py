"""Under which keys an entry of the index is found, and which keys a reader holds."""

from dataclasses import dataclass
from typing import Final

DOCUMENT: Final = "d"
SHEET: Final = "s"


def reach_key(what: str, project: int, reader_kind: int, reader: int) -> str:
    """Return the key of a row of `document_reach`. `what` is `DOCUMENT`, or `SHEET` for a circulation."""
    return f"{what}{project}.{reader_kind}.{reader}"


def written_key(project: int, organization: int, contract: int) -> str:
    """Return the key of what an organization wrote in a contract."""
    return f"w{project}.{organization}.{contract}"


def drawing_key(project: int) -> str:
    """Return the key of who reads all drawings of a project."""
    return f"p{project}"


def audience_key(project: int, kind: int, key: int) -> str:
    return f"a{project}.{kind}.{key}"


def home_keys(originator: int, contract: int) -> list[str]:
    """Return the keys of who is shown a newer draft instead."""
    return [f"o{originator}", f"c{contract}.{originator}"]


@dataclass(frozen=True, slots=True)
class SearchReach:
    """
    :param keys: an entry under one of them is found
    :param hidden: unless it has one of these: the reader is shown its newer draft
    """

    keys: frozenset[str]
    hidden: frozenset[str] = frozenset()
