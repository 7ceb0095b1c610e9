"""
JavaScript's ideas of truth, number, text, equality and order (ECMAScript 7.1 and 7.2), as JSON Logic needs them.

Whatever takes longer for a longer text or list spends from the budget.
"""

import math
import re
from types import NoneType

from saraban.kit.json import Json
from saraban.workflow.language.logic.budget import NESTING, Budget, BudgetExceeded

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
    """Return JSON Logic's truth: as JavaScript has it ("0" is true, NaN false), but an empty list is false."""
    if value is True or value is False:
        return bool(value)
    if isinstance(value, float):
        return value == value and value != 0  # noqa: PLR0124 - NaN is the value that does not equal itself
    return True if isinstance(value, dict) else bool(value)


def number(value: Json, budget: Budget) -> float:
    """Return `Number(value)`."""
    if isinstance(value, float):
        return value
    if isinstance(value, int):
        return _widened(value)
    if value is None:
        return 0.0
    if isinstance(value, str):
        return _read_number(value, budget)
    return number(text(value, budget), budget) if isinstance(value, list) else NAN


def parse_float(value: Json, budget: Budget) -> float:
    """Return `parseFloat(value)`: the number that a text begins with."""
    if isinstance(value, float):
        return value
    if type(value) is int:
        return _widened(value)
    whole = text(value, budget)
    budget.spend(len(whole) >> 6)
    found = _DECIMAL.match(whole.lstrip(_BLANK))
    return _spelled(found[0]) if found else NAN


def text(value: Json, budget: Budget, depth: int = 0) -> str:
    """Return `String(value)`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -EXACT < value < EXACT else decimal(_widened(value))
    if isinstance(value, float):
        return decimal(value)
    return _joined(value, budget, depth) if isinstance(value, list) else "[object Object]"


def decimal(value: float) -> str:
    """Print a number as JavaScript does (ECMAScript 6.1.6.1.20): no exponent from 1e-6 up to 1e21."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _shortest(abs(value))
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if count > 1 else ''}{digits[1:]}e{point - 1:+d}"


def plain(value: float) -> float | int:
    """Return a whole number as an integer, so that results look as they were written; -0 stays what it is."""
    if value.is_integer() and -EXACT < value < EXACT and (value != 0 or math.copysign(1, value) > 0):
        return int(value)
    return value


def strictly_equal(left: Json, right: Json) -> bool:
    """Return `left === right`; lists and objects are equal to themselves only."""
    kind = _KINDS.get(type(left), "object")
    if kind != _KINDS.get(type(right), "object"):
        return False
    return left is right if kind == "object" else bool(left == right)


def loosely_equal(left: Json, right: Json, budget: Budget) -> bool:
    """Return `left == right`."""
    first, second = _KINDS.get(type(left), "object"), _KINDS.get(type(right), "object")
    if first == second:
        return left is right if first == "object" else bool(left == right)
    if first == "null" or second == "null":
        return False
    if first == "object" or second == "object":
        return loosely_equal(_primitive(left, budget), _primitive(right, budget), budget)
    return number(left, budget) == number(right, budget)


def less(left: Json, right: Json, budget: Budget) -> bool:
    """Return `left < right`: two texts by their characters, everything else as numbers."""
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        return bool(left < right)  # type: ignore[operator]
    first, second = _primitive(left, budget), _primitive(right, budget)
    if isinstance(first, str) and isinstance(second, str):
        return first < second
    return number(first, budget) < number(second, budget)


def less_or_equal(left: Json, right: Json, budget: Budget) -> bool:
    """Return `left <= right`."""
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        return bool(left <= right)  # type: ignore[operator]
    first, second = _primitive(left, budget), _primitive(right, budget)
    if isinstance(first, str) and isinstance(second, str):
        return first <= second
    return number(first, budget) <= number(second, budget)


def _primitive(value: Json, budget: Budget) -> Json:
    return value if type(value) in _KINDS else text(value, budget)


def _widened(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _read_number(whole: str, budget: Budget) -> float:
    budget.spend(len(whole) >> 6)
    trimmed = whole.strip(_BLANK)
    if not trimmed:
        return 0.0
    if _RADIX.fullmatch(trimmed):
        return _widened(int(trimmed[2:], {"x": 16, "o": 8, "b": 2}[trimmed[1].lower()]))
    return _spelled(trimmed) if _DECIMAL.fullmatch(trimmed) else NAN


def _spelled(digits: str) -> float:
    return float(digits.replace("Infinity", "inf"))


def _joined(values: list[Json], budget: Budget, depth: int) -> str:
    if depth > DEEPEST:
        raise BudgetExceeded(NESTING)
    budget.spend(len(values))
    whole = ",".join("" if part is None else text(part, budget, depth + 1) for part in values)
    budget.spend(len(whole) >> 6)
    return whole


def _shortest(value: float) -> tuple[str, int]:
    """The fewest digits that read back as the same number, and where among them the point stands."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    zeros = len(whole + fraction) - len(digits)
    return digits.rstrip("0"), len(whole) - zeros + int(exponent or 0)
