"""File names: what is kept of the one that was sent."""

import re

from saraban.kit.text import control_character, fold

MAX_NAME = 255


class UnacceptableName(ValueError):
    """The name cannot be kept; `reason` is a code for the field problem."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def clean_name(sent: str) -> str:
    """
    Return the last part of a path, in the one spelling of `kit.text`.

    :raises UnfitName: `required`, `control_character` or `too_long`
    """
    name = fold(re.split(r"[/\\]", sent)[-1]).strip().rstrip(".")
    if not name.strip("."):
        raise UnacceptableName("required")
    if control_character(name) is not None:
        raise UnacceptableName("control_character")
    if len(name) > MAX_NAME:
        raise UnacceptableName("too_long")
    return name
