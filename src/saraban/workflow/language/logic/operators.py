"""Operators with JavaScript's semantics (ECMAScript 7.1, 7.2). Long values cost budget."""

import math
import operator
import re
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, cast

from saraban.kit.json import Json
from saraban.workflow.language.logic.grammar import Budget, BudgetExceeded

NAN = math.nan
EXACT = 2**53
DEEPEST = 32

_BLANK = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
# `[0-9]`, since `\d` takes Thai digits too, which JavaScript does not.
_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_KINDS = {NoneType: "null", bool: "boolean", int: "number", float: "number", str: "string"}
_NUMBERS = frozenset({int, float})


def truthy(value: Json) -> bool:
    """Like JavaScript ("0" is true, NaN false), but an empty list is false."""
    if value is True or value is False:
        return bool(value)
    if isinstance(value, float):
        return value == value and value != 0  # noqa: PLR0124 - NaN is the value that does not equal itself
    return True if isinstance(value, dict) else bool(value)


def number(value: Json, budget: Budget) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, int):
        return _to_float(value)
    if value is None:
        return 0.0
    if isinstance(value, str):
        return _read_number(value, budget)
    return number(text(value, budget), budget) if isinstance(value, list) else NAN


def parse_float(value: Json, budget: Budget) -> float:
    if isinstance(value, float):
        return value
    if type(value) is int:
        return _to_float(value)
    full_text = text(value, budget)
    budget.spend(len(full_text) >> 6)
    match = _DECIMAL.match(full_text.lstrip(_BLANK))
    return _parse_decimal(match[0]) if match else NAN


def text(value: Json, budget: Budget, depth: int = 0) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -EXACT < value < EXACT else decimal(_to_float(value))
    if isinstance(value, float):
        return decimal(value)
    return _join_list(value, budget, depth) if isinstance(value, list) else "[object Object]"


def decimal(value: float) -> str:
    """Format a number like ECMAScript 6.1.6.1.20: no exponent from 1e-6 up to 1e21."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _shortest_digits(abs(value))
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if count > 1 else ''}{digits[1:]}e{point - 1:+d}"


def plain(value: float) -> float | int:
    """Return a whole number as an integer, except -0."""
    if value.is_integer() and -EXACT < value < EXACT and (value != 0 or math.copysign(1, value) > 0):
        return int(value)
    return value


def strictly_equal(left: Json, right: Json) -> bool:
    kind = _KINDS.get(type(left), "object")
    if kind != _KINDS.get(type(right), "object"):
        return False
    return left is right if kind == "object" else bool(left == right)


def loosely_equal(left: Json, right: Json, budget: Budget) -> bool:
    first, second = _KINDS.get(type(left), "object"), _KINDS.get(type(right), "object")
    if first == second or "null" in (first, second):
        return strictly_equal(left, right)
    if "object" in (first, second):
        return loosely_equal(_primitive(left, budget), _primitive(right, budget), budget)
    return number(left, budget) == number(right, budget)


def _comparison(holds: Callable[[Any, Any], bool]) -> Callable[[Json, Json, Budget], bool]:
    """Compare two texts by code points, everything else as numbers."""

    def compare(left: Json, right: Json, budget: Budget) -> bool:
        if type(left) in _NUMBERS and type(right) in _NUMBERS:
            return holds(left, right)
        first, second = _primitive(left, budget), _primitive(right, budget)
        if isinstance(first, str) and isinstance(second, str):
            return holds(first, second)
        return holds(number(first, budget), number(second, budget))

    return compare


less, less_or_equal = _comparison(operator.lt), _comparison(operator.le)


def _primitive(value: Json, budget: Budget) -> Json:
    return value if type(value) in _KINDS else text(value, budget)


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _read_number(full_text: str, budget: Budget) -> float:
    budget.spend(len(full_text) >> 6)
    trimmed = full_text.strip(_BLANK)
    if not trimmed:
        return 0.0
    if _RADIX.fullmatch(trimmed):
        return _to_float(int(trimmed[2:], {"x": 16, "o": 8, "b": 2}[trimmed[1].lower()]))
    return _parse_decimal(trimmed) if _DECIMAL.fullmatch(trimmed) else NAN


def _parse_decimal(digits: str) -> float:
    return float(digits.replace("Infinity", "inf"))


def _join_list(values: list[Json], budget: Budget, depth: int) -> str:
    if depth > DEEPEST:
        raise BudgetExceeded("What the condition reads is too deeply nested.")
    budget.spend(len(values))
    joined = ",".join("" if part is None else text(part, budget, depth + 1) for part in values)
    budget.spend(len(joined) >> 6)
    return joined


def _shortest_digits(value: float) -> tuple[str, int]:
    """Return the fewest digits that read back as the same number."""
    mantissa, _, exponent = repr(value).partition("e")
    integer, _, fraction = mantissa.partition(".")
    digits = (integer + fraction).lstrip("0")
    zeros = len(integer + fraction) - len(digits)
    return digits.rstrip("0"), len(integer) - zeros + int(exponent or 0)


# The value of a path that does not exist, unlike null.
NOWHERE = cast("Json", object())


def step(place: Json, key: str) -> Json:
    if isinstance(place, dict):
        return place.get(key, NOWHERE)
    if not isinstance(place, list | str):
        return NOWHERE
    if key == "length":
        return len(place)
    if not (key.isascii() and key.isdigit() and len(key) < 10) or (key[0] == "0" and key != "0"):
        return NOWHERE
    return place[int(key)] if int(key) < len(place) else NOWHERE


def follow(place: Json, keys: Sequence[str]) -> Json:
    for key in keys:
        place = step(place, key)
        if place is NOWHERE:
            return NOWHERE
    return place


def fetch(path: Json, facts: Json, budget: Budget) -> Json:
    """Follow a computed path; the empty path is the facts."""
    if path is None or path == "":
        return facts
    keys = text(path, budget).split(".")
    budget.spend(len(keys))
    return follow(facts, keys)


def missing(names: list[Json], facts: Json, budget: Budget) -> list[Json]:
    names_to_check = names[0] if names and isinstance(names[0], list) else names
    budget.spend(len(names_to_check))
    return [name for name in names_to_check if _is_missing(name, facts, budget)]


def missing_some(names: list[Json], facts: Json, budget: Budget) -> list[Json]:
    """Return none if at least `names[0]` of `names[1]` exist."""
    needed, options = names
    names_to_check = options if isinstance(options, list) else [options]
    absent = missing(names_to_check, facts, budget)
    return [] if len(names_to_check) - len(absent) >= number(needed, budget) else absent


def _is_missing(name: Json, facts: Json, budget: Budget) -> bool:
    default = None
    if isinstance(name, list):
        name, default = [*name, None, None][:2]
    value = fetch(name, facts, budget)
    if value is NOWHERE:
        value = default
    return value is None or (isinstance(value, str) and not value)


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
    return any(strictly_equal(needle, item) for item in stack)


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


def _compare_in_order(test: Callable[[Json, Json, Budget], bool]) -> Callable[[Values, Budget], bool]:
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
        raise BudgetExceeded("The condition makes a text that is too long.")
    budget.spend(length >> 6)
    return "".join(pieces)


def _to_integer(value: float) -> int:
    """`ToIntegerOrInfinity`, with a large number for the infinities."""
    return 0 if math.isnan(value) else int(max(-float(EXACT), min(value, float(EXACT))))


def _substring(values: Values, budget: Budget) -> str:
    source, start = text(values[0], budget), _to_integer(number(values[1], budget))
    rest = source[max(start + len(source), 0) :] if start < 0 else source[start:]
    if len(values) == 3:
        rest = rest[: _substring_length(values[2], len(rest), budget)]
    budget.spend(len(rest) >> 6)
    return rest


def _substring_length(end: Json, length: int, budget: Budget) -> int:
    requested = number(end, budget)
    if not requested < 0:
        return _to_integer(requested)
    # The reference adds the end to the length, and JavaScript's `+` with a text is no number.
    return 0 if isinstance(end, str | list) else max(_to_integer(length + requested), 0)


def _merge(values: Values, budget: Budget) -> list[Json]:
    merged: list[Json] = []
    for value in values:
        added = len(value) if isinstance(value, list) else 1
        budget.spend(added)
        if len(merged) + added > budget.limits.items:
            raise BudgetExceeded("The condition makes a list that is too long.")
        merged += value if isinstance(value, list) else [value]
    return merged


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
    "<": _compare_in_order(less),
    "<=": _compare_in_order(less_or_equal),
    "max": _extreme(max),
    "min": _extreme(min),
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "cat": _concatenate,
    "substr": _substring,
    "merge": _merge,
}
