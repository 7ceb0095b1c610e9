"""A workflow of which every end has an outcome."""

import copy
from typing import Any

from tests.definitions import RFA

WORDS = {"th": "คำ", "en": "Word"}

ENDS = {
    "accepted": ("1A", "approved"),
    "approved_as_built": ("1N", "approved_with_comments"),
    "turned_down": ("4X", "rejected"),
    "once_more": ("3R", "revise_resubmit"),
    "no_matter": ("5N", "closed"),
}


def own(**without: str) -> dict[str, Any]:
    """An RFA's path with names of its own: the consultant checks, the owner ends it in one of five ways."""
    raw = copy.deepcopy(RFA)
    draft, checking, deciding = raw["states"][:3]
    draft["on"]["submit"]["to"] = "checking"
    draft["on"]["give-up"] = {"label": WORDS, "to": "dropped", "require": draft["on"]["submit"]["require"]}
    checking |= {"name": "checking", "on": {"pass-on": checking["on"]["approve"] | {"to": "deciding"}}}
    asks = deciding["on"]["approve"]["require"]
    ways = {name.replace("_", "-"): {"label": WORDS, "to": name, "require": asks} for name in ENDS}
    deciding |= {"name": "deciding", "on": ways}
    ends = [(name, outcome) for name, (_, outcome) in ENDS.items()] + [("dropped", "withdrawn")]
    raw["states"] = [
        draft,
        checking,
        deciding,
        *({"name": name, "label": WORDS, "terminal": True, "outcome": outcome} for name, outcome in ends),
    ]
    return raw
