"""
Decides: may this action happen here, for this person, and what comes of it. Saves nothing, calls nobody.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """What a transition does: the instance leaves `state` by `action` and stands in `next_state`."""

    state: str
    action: str
    next_state: str
    terminal: bool
    events: tuple[dict[str, Any], ...] = ()
    comment: str | None = None
