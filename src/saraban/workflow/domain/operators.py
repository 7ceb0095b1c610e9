"""
The operators of JSON Logic. Each spends from the run's budget, so that no rule can take long or grow without end.
"""

import math
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

from saraban.workflow.domain.coercion import (
    NAN,
    ConditionError,
    loosely_equal,
    number,
    ordered,
    parse_float,
    plain,
    strictly_equal,
    text,
    truthy,
)

MAX_DEPTH = 64
MAX_TEXT = 10_000


class Run:
    """One evaluation: how many steps are left, and how deep it is."""

    def __init__(self, steps: int, apply: Callable[["Run", Any, Any], Any]) -> None:
        self._steps = steps
        self._depth = 0
        self._apply = apply

    def spend(self, steps: int = 1) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise ConditionError("the condition takes too many steps")

    def value(self, rule: Any, data: Any) -> Any:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError("the condition is too deep")
        try:
            return self._apply(self, rule, data)
        finally:
            self._depth -= 1


def _at(values: list[Any], index: int) -> Any:
    return values[index] if len(values) > index else None


def _fetch(run: Run, path: Any, data: Any) -> tuple[bool, Any]:
    if path is None or path == "":
        return True, data
    place = data
    for part in text(path).split("."):
        run.spend()
        if isinstance(place, dict) and part in place:
            place = place[part]
        elif isinstance(place, list | str) and part.isdecimal() and int(part) < len(place):
            place = place[int(part)]
        else:
            return False, None
    return place is not None, place


def _missing(run: Run, names: list[Any], data: Any) -> list[Any]:
    wanted = names[0] if names and isinstance(names[0], list) else names
    return [name for name in wanted if _fetch(run, name, data)[1] in (None, "")]


def lookup(run: Run, operator: str, values: list[Any], data: Any) -> Any:
    """`var`, `missing` and `missing_some`: the operators that look at the facts."""
    if operator == "var":
        found, value = _fetch(run, _at(values, 0), data)
        return value if found else _at(values, 1)
    if operator == "missing":
        return _missing(run, values, data)
    wanted = _at(values, 1)
    if not isinstance(wanted, list):
        return []
    absent = _missing(run, [wanted], data)
    return [] if len(wanted) - len(absent) >= number(_at(values, 0)) else absent


def _if(run: Run, parts: list[Any], data: Any) -> Any:
    for index in range(0, len(parts) - 1, 2):
        if truthy(run.value(parts[index], data)):
            return run.value(parts[index + 1], data)
    return run.value(parts[-1], data) if len(parts) % 2 else None


def _and(run: Run, parts: list[Any], data: Any) -> Any:
    value = None
    for part in parts:
        value = run.value(part, data)
        if not truthy(value):
            return value
    return value


def _or(run: Run, parts: list[Any], data: Any) -> Any:
    value = None
    for part in parts:
        value = run.value(part, data)
        if truthy(value):
            return value
    return value


def _list(run: Run, parts: list[Any], data: Any) -> list[Any]:
    values = run.value(_at(parts, 0), data)
    return values if isinstance(values, list) else []


def _map(run: Run, parts: list[Any], data: Any) -> Any:
    return [run.value(_at(parts, 1), each) for each in _list(run, parts, data)]


def _filter(run: Run, parts: list[Any], data: Any) -> Any:
    return [each for each in _list(run, parts, data) if truthy(run.value(_at(parts, 1), each))]


def _reduce(run: Run, parts: list[Any], data: Any) -> Any:
    total = run.value(_at(parts, 2), data)
    for each in _list(run, parts, data):
        total = run.value(_at(parts, 1), {"current": each, "accumulator": total})
    return total


def _all(run: Run, parts: list[Any], data: Any) -> bool:
    values = _list(run, parts, data)
    return bool(values) and all(truthy(run.value(_at(parts, 1), each)) for each in values)


def _none(run: Run, parts: list[Any], data: Any) -> bool:
    return not _some(run, parts, data)


def _some(run: Run, parts: list[Any], data: Any) -> bool:
    return any(truthy(run.value(_at(parts, 1), each)) for each in _list(run, parts, data))


def _between(or_equal: bool) -> Callable[[Run, list[Any]], bool]:
    def compare(_run: Run, values: list[Any]) -> bool:
        first = ordered(_at(values, 0), _at(values, 1), or_equal=or_equal)
        return first and (len(values) < 3 or ordered(values[1], values[2], or_equal=or_equal))

    return compare


def _minus(_run: Run, values: list[Any]) -> float | int:
    if len(values) == 1:
        return plain(-number(values[0]))
    return plain(number(_at(values, 0)) - number(_at(values, 1)))


def _divide(_run: Run, values: list[Any]) -> float | int:
    above, below = number(_at(values, 0)), number(_at(values, 1))
    if below == 0:
        return NAN if above == 0 or math.isnan(above) else math.copysign(math.inf, above) * math.copysign(1, below)
    return plain(above / below)


def _remainder(_run: Run, values: list[Any]) -> float | int:
    left, right = number(_at(values, 0)), number(_at(values, 1))
    if right == 0 or not math.isfinite(left) or math.isnan(right):
        return NAN
    return plain(math.fmod(left, right))


def _extreme(pick: Callable[[list[float]], float], nothing: float) -> Callable[[Run, list[Any]], float | int]:
    def choose(_run: Run, values: list[Any]) -> float | int:
        numbers = [number(value) for value in values]
        if any(math.isnan(value) for value in numbers):
            return NAN
        return plain(pick(numbers)) if numbers else nothing

    return choose


def _cat(run: Run, values: list[Any]) -> str:
    whole = "".join(text(value) if value is not None else "" for value in values)
    run.spend(len(whole) // 100)
    if len(whole) > MAX_TEXT:
        raise ConditionError("the condition makes a text that is too long")
    return whole


def _in(run: Run, values: list[Any]) -> bool:
    needle, stack = _at(values, 0), _at(values, 1)
    if isinstance(stack, str):
        return text(needle) in stack
    if not isinstance(stack, list):
        return False
    run.spend(len(stack))
    return any(strictly_equal(needle, each) for each in stack)


def _substr(_run: Run, values: list[Any]) -> str:
    whole, start = text(_at(values, 0)), int(number(_at(values, 1)))
    rest = whole[max(start + len(whole), 0) :] if start < 0 else whole[start:]
    if len(values) < 3:
        return rest
    length = int(number(values[2]))
    return rest[:length] if length >= 0 else rest[: max(len(rest) + length, 0)]


def _merge(run: Run, values: list[Any]) -> list[Any]:
    whole: list[Any] = []
    for value in values:
        whole += value if isinstance(value, list) else [value]
        run.spend(len(whole))
    return whole


LAZY: dict[str, Callable[[Run, list[Any], Any], Any]] = {
    "if": _if,
    "?:": _if,
    "and": _and,
    "or": _or,
    "map": _map,
    "filter": _filter,
    "reduce": _reduce,
    "all": _all,
    "none": _none,
    "some": _some,
}

OPERATORS: dict[str, Callable[[Run, list[Any]], Any]] = {
    "==": lambda _run, values: loosely_equal(_at(values, 0), _at(values, 1)),
    "!=": lambda _run, values: not loosely_equal(_at(values, 0), _at(values, 1)),
    "===": lambda _run, values: strictly_equal(_at(values, 0), _at(values, 1)),
    "!==": lambda _run, values: not strictly_equal(_at(values, 0), _at(values, 1)),
    "!": lambda _run, values: not truthy(_at(values, 0)),
    "!!": lambda _run, values: truthy(_at(values, 0)),
    "<": _between(or_equal=False),
    "<=": _between(or_equal=True),
    ">": lambda _run, values: ordered(_at(values, 1), _at(values, 0), or_equal=False),
    ">=": lambda _run, values: ordered(_at(values, 1), _at(values, 0), or_equal=True),
    "max": _extreme(max, -math.inf),
    "min": _extreme(min, math.inf),
    "+": lambda _run, values: plain(reduce(add, map(parse_float, values), 0.0)),
    "-": _minus,
    "*": lambda _run, values: plain(math.prod(parse_float(value) for value in values)),
    "/": _divide,
    "%": _remainder,
    "in": _in,
    "cat": _cat,
    "substr": _substr,
    "merge": _merge,
}
