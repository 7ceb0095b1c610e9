"""
Between which numbers a calculation lies when what it reads lies between the bounds of a schema.

So it is known of some comparisons that they hold, or do not, whatever the facts are; of all others nothing is said.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from saraban.workflow.domain.vocabulary import World

_DEEPEST = 60
_COMPARED = frozenset({"<", "<=", ">", ">=", "==", "===", "!=", "!=="})
_BOTH = frozenset({True, False})


@dataclass(frozen=True, slots=True)
class Range:
    """
    :param nan: it can be no number at all
    :param null: it can be missing: nothing to some operators, no number to others
    """

    low: float
    high: float
    nan: bool = False
    null: bool = False

    @property
    def counted(self) -> "Range":
        """As most operators count it: what is missing is nothing."""
        return Range(min(self.low, 0.0), max(self.high, 0.0), self.nan) if self.null else self

    @property
    def read(self) -> "Range":
        """As sums and products read it: what is missing is no number."""
        return replace(self, nan=self.nan or self.null, null=False)


def truths(rule: Any, world: World) -> frozenset[bool]:
    """Return what a comparison can come to: one of both only where that is certain."""
    if not isinstance(rule, Mapping):
        return _BOTH
    ((operator, given),) = rule.items()
    if operator not in _COMPARED or not isinstance(given, list):
        return _BOTH
    sides = [_range(each, world, 0) for each in given]
    known = [each for each in sides if each is not None]
    if len(known) < len(sides):
        return _BOTH
    pairs = list(pairwise(known))
    answers = [_truths(operator, left, right) for left, right in pairs]
    if any(each == {False} for each in answers):
        return frozenset({False})
    return frozenset({True}) if all(each == {True} for each in answers) else _BOTH


def _truths(operator: str, left: Range, right: Range) -> frozenset[bool]:
    if operator in ("!=", "!=="):
        return frozenset(not each for each in _truths("==", left, right))
    if operator in ("==", "==="):
        # What is missing equals nothing but what is missing too.
        apart = left.high < right.low or right.high < left.low
        return frozenset({False}) if apart and not (left.null and right.null) else _BOTH
    if operator in (">", ">="):
        return _truths({">": "<", ">=": "<="}[operator], right, left)
    left, right = left.counted, right.counted
    if operator == "<":
        never, ever = left.low >= right.high, left.high < right.low
    else:
        never, ever = left.low > right.high, left.high <= right.low
    if never:
        return frozenset({False})
    return frozenset({True}) if ever and not (left.nan or right.nan) else _BOTH


def _range(rule: Any, world: World, depth: int) -> Range | None:
    if isinstance(rule, bool) or depth > _DEEPEST:
        return None
    if isinstance(rule, int | float):
        return Range(float(rule), float(rule)) if abs(rule) < 2**53 else None
    if not isinstance(rule, Mapping):
        return None
    ((operator, given),) = rule.items()
    arguments = given if isinstance(given, list) else [given]
    if operator == "var":
        return _of(arguments, world)
    if operator in ("if", "?:"):
        return _one_of([*arguments[1::2], *(arguments[-1:] if len(arguments) % 2 else [])], arguments, world, depth)
    if operator not in _CALCULATED or not arguments:
        return None
    ranges = [_range(each, world, depth + 1) for each in arguments]
    known = [each for each in ranges if each is not None]
    return _CALCULATED[operator](known) if len(known) == len(ranges) else None


def _of(arguments: Sequence[Any], world: World) -> Range | None:
    if len(arguments) != 1 or not isinstance(arguments[0], str) or not arguments[0]:
        return None
    place = world.at(arguments[0])
    if place.never:
        return Range(math.inf, -math.inf, null=True)
    if place.choices is not None:
        numbers = [each for each in place.choices if isinstance(each, int | float) and not isinstance(each, bool)]
        if not numbers or any(each is not None and each not in numbers for each in place.choices):
            return None
        return Range(float(min(numbers)), float(max(numbers)), null=not place.always or None in place.choices)
    said = [one for one in place.schemas if isinstance(one, Mapping)]
    kinds = [set(one["type"] if isinstance(one["type"], list) else [one["type"]]) for one in said if "type" in one]
    kind = set.intersection(*kinds) if kinds else set()
    if not kind or not kind <= {"number", "integer", "null"}:
        return None
    low = max((one[key] for one in said for key in ("minimum", "exclusiveMinimum") if key in one), default=-math.inf)
    high = min((one[key] for one in said for key in ("maximum", "exclusiveMaximum") if key in one), default=math.inf)
    if any(math.isfinite(each) and abs(each) >= 2**53 for each in (low, high)):
        return None
    return Range(float(low), float(high), null=not place.always or "null" in kind)


def _one_of(outcomes: Sequence[Any], arguments: Sequence[Any], world: World, depth: int) -> Range | None:
    """Whichever of them it is; without an `else` it can be missing."""
    ranges = [_range(each, world, depth + 1) for each in outcomes]
    known = [each for each in ranges if each is not None]
    if not known or len(known) < len(ranges):
        return None
    missing = len(arguments) % 2 == 0 or any(each.null for each in known)
    return Range(
        min(each.low for each in known), max(each.high for each in known), any(each.nan for each in known), missing
    )


def _bounded(values: Sequence[float], *parts: Range) -> Range:
    """Of numbers without bounds some come to no number, as infinity less infinity."""
    wide = any(not math.isfinite(each) for part in parts for each in (part.low, part.high))
    finite = [0.0 if math.isnan(each) else each for each in values]
    return Range(min(finite), max(finite), wide or any(each.nan for each in parts) or any(map(math.isinf, finite)))


def _sum(parts: Sequence[Range]) -> Range:
    total = Range(0.0, 0.0)
    for each in (one.read for one in parts):
        total = _bounded([total.low + each.low, total.high + each.high], total, each)
    return total


def _product(parts: Sequence[Range]) -> Range:
    if len(parts) == 1:
        return parts[0]
    total = parts[0].read
    for each in (one.read for one in parts[1:]):
        corners = [left * right for left in (total.low, total.high) for right in (each.low, each.high)]
        total = _bounded(corners, total, each)
    return total


def _difference(parts: Sequence[Range]) -> Range | None:
    if len(parts) > 2:
        return None
    left, right = (Range(0.0, 0.0), parts[0].counted) if len(parts) == 1 else (parts[0].counted, parts[1].counted)
    return _bounded([left.low - right.high, left.high - right.low], left, right)


def _quotient(parts: Sequence[Range]) -> Range | None:
    above, below = (each.counted for each in parts)
    if below.low <= 0 <= below.high:
        return None
    corners = [left / right for left in (above.low, above.high) for right in (below.low, below.high)]
    return _bounded(corners, above, below)


def _extreme(pick: Callable[[Sequence[float]], float]) -> Callable[[Sequence[Range]], Range]:
    def choose(parts: Sequence[Range]) -> Range:
        counted = [each.counted for each in parts]
        return Range(
            pick([each.low for each in counted]),
            pick([each.high for each in counted]),
            any(each.nan for each in counted),
        )

    return choose


_CALCULATED: Mapping[str, Callable[[Sequence[Range]], Range | None]] = {
    "+": _sum,
    "*": _product,
    "-": _difference,
    "/": _quotient,
    "max": _extreme(max),
    "min": _extreme(min),
}
