"""Which events one dispatcher looks after."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lane:
    """
    The events that one dispatcher looks after, so that a slow receiver outside never holds up what happens in here.

    :param names: events that have a sender
    :param outside: those, or all others
    """

    names: frozenset[str]
    outside: bool
