"""What callers saw of a series, and whether one order of its numbers explains it (linearizability)."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """One number: when it was asked for, when its caller had it, on the clock of one machine."""

    asked: float
    told: float
    sequence: int


def out_of_order(seen: Iterable[Seen]) -> list[tuple[Seen, int]]:
    """Return every draw that began after somebody had a higher number of its series already, and that number."""
    draws = list(seen)
    by_answer = iter(sorted(draws, key=lambda one: one.told))
    highest, following = 0, next(by_answer, None)
    wrong = []
    for draw in sorted(draws, key=lambda one: one.asked):
        while following is not None and following.told < draw.asked:
            highest, following = max(highest, following.sequence), next(by_answer, None)
        if draw.sequence <= highest:
            wrong.append((draw, highest))
    return wrong
