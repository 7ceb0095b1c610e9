"""The operators whose values are all known before they are applied: comparing, counting, texts and lists."""

import math
from collections.abc import Callable

from saraban.kit.json import Json
from saraban.workflow.language.logic.budget import ITEMS, LENGTH, Budget, BudgetExceeded
from saraban.workflow.language.logic.coercion import (
    EXACT,
    NAN,
    less,
    less_or_equal,
    loosely_equal,
    number,
    parse_float,
    plain,
    strictly_equal,
    text,
)

Values = list[Json]


def _contains(needle: Json, stack: Json, budget: Budget) -> bool:
    if isinstance(stack, str):
        budget.spend(len(stack) >> 8)
        return bool(stack) and text(needle, budget) in stack
    if not isinstance(stack, list):
        return False
    budget.spend(len(stack) >> 2)
    if needle is None or isinstance(needle, str):
        return needle in stack
    return any(strictly_equal(needle, each) for each in stack)


def _divide(above: Json, below: Json, budget: Budget) -> float | int:
    left, right = number(above, budget), number(below, budget)
    if right != 0:
        return plain(left / right)
    if left == 0 or math.isnan(left):
        return NAN
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _remainder(above: Json, below: Json, budget: Budget) -> float | int:
    left, right = number(above, budget), number(below, budget)
    if right == 0 or not math.isfinite(left) or math.isnan(right):
        return NAN
    return plain(math.fmod(left, right))


def _ascending(test: Callable[[Json, Json, Budget], bool]) -> Callable[[Values, Budget], bool]:
    def holds(values: Values, budget: Budget) -> bool:
        return test(values[0], values[1], budget) and (len(values) < 3 or test(values[1], values[2], budget))

    return holds


def _extreme(pick: Callable[[list[float]], float]) -> Callable[[Values, Budget], float | int]:
    def choose(values: Values, budget: Budget) -> float | int:
        numbers = [number(value, budget) for value in values]
        return NAN if any(math.isnan(each) for each in numbers) else plain(pick(numbers))

    return choose


def _add(values: Values, budget: Budget) -> float | int:
    # Not `sum`, which compensates rounding from Python 3.12 on and then differs from JavaScript.
    total = 0.0
    for value in values:
        total += parse_float(value, budget)
    return plain(total)


def _multiply(values: Values, budget: Budget) -> Json:
    if len(values) == 1:
        return values[0]
    product = parse_float(values[0], budget)
    for value in values[1:]:
        product *= parse_float(value, budget)
    return plain(product)


def _subtract(values: Values, budget: Budget) -> float | int:
    if len(values) == 1:
        return plain(-number(values[0], budget))
    return plain(number(values[0], budget) - number(values[1], budget))


def _concatenate(values: Values, budget: Budget) -> str:
    pieces = ["" if value is None else text(value, budget) for value in values]
    length = sum(len(piece) for piece in pieces)
    if length > budget.limits.text:
        raise BudgetExceeded(LENGTH)
    budget.spend(length >> 6)
    return "".join(pieces)


def _whole(value: float) -> int:
    """`ToIntegerOrInfinity`, with a number that no length reaches for the infinities."""
    return 0 if math.isnan(value) else int(max(-float(EXACT), min(value, float(EXACT))))


def _cut(values: Values, budget: Budget) -> str:
    source, start = text(values[0], budget), _whole(number(values[1], budget))
    rest = source[max(start + len(source), 0) :] if start < 0 else source[start:]
    if len(values) == 3:
        rest = rest[: _cut_length(values[2], len(rest), budget)]
    budget.spend(len(rest) >> 6)
    return rest


def _cut_length(end: Json, length: int, budget: Budget) -> int:
    wanted = number(end, budget)
    if not wanted < 0:
        return _whole(wanted)
    # The reference adds the end to the length, and JavaScript's `+` with a text makes a text that is no number.
    return 0 if isinstance(end, str | list) else max(_whole(length + wanted), 0)


def _merge(values: Values, budget: Budget) -> list[Json]:
    whole: list[Json] = []
    for value in values:
        added = len(value) if isinstance(value, list) else 1
        budget.spend(added)
        if len(whole) + added > budget.limits.items:
            raise BudgetExceeded(ITEMS)
        whole += value if isinstance(value, list) else [value]
    return whole


BINARY: dict[str, Callable[[Json, Json, Budget], Json]] = {
    "==": loosely_equal,
    "!=": lambda left, right, budget: not loosely_equal(left, right, budget),
    "===": lambda left, right, _budget: strictly_equal(left, right),
    "!==": lambda left, right, _budget: not strictly_equal(left, right),
    ">": lambda left, right, budget: less(right, left, budget),
    ">=": lambda left, right, budget: less_or_equal(right, left, budget),
    "/": _divide,
    "%": _remainder,
    "in": _contains,
}

VARIADIC: dict[str, Callable[[Values, Budget], Json]] = {
    "<": _ascending(less),
    "<=": _ascending(less_or_equal),
    "max": _extreme(max),
    "min": _extreme(min),
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "cat": _concatenate,
    "substr": _cut,
    "merge": _merge,
}
