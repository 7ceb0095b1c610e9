"""
JavaScript's ideas of truth, number, text and equality, as JSON Logic needs them.
"""

import math
import re
from typing import Any

_NUMBER = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")
NAN = math.nan


class ConditionError(Exception):
    """A rule cannot be evaluated; whoever asked decides what that means."""


def truthy(value: Any) -> bool:
    """JSON Logic's truth: as JavaScript, but an empty list is false."""
    if isinstance(value, float) and math.isnan(value):
        return False
    if isinstance(value, dict):
        return True
    return bool(value)


def number(value: Any) -> float:
    """`Number(value)`."""
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, list):
        return number(text(value))
    if not isinstance(value, str):
        return NAN
    trimmed = value.strip()
    if not trimmed:
        return 0.0
    if _HEXADECIMAL.fullmatch(trimmed):
        return float(int(trimmed, 16))
    return float(trimmed.replace("Infinity", "inf")) if _NUMBER.fullmatch(trimmed) else NAN


def parse_float(value: Any) -> float:
    """`parseFloat(value)`: the number a text begins with."""
    found = _NUMBER.match(text(value).lstrip())
    return float(found[0].replace("Infinity", "inf")) if found else NAN


def text(value: Any) -> str:
    """`String(value)`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _decimal(value)
    if isinstance(value, list):
        return ",".join("" if part is None else text(part) for part in value)
    return "[object Object]" if isinstance(value, dict) else str(value)


def _decimal(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


def plain(value: float) -> float | int:
    """This will give a whole number as an integer, so that results look as they were written."""
    return int(value) if math.isfinite(value) and value.is_integer() and abs(value) < 2**53 else value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "object"


def strictly_equal(left: Any, right: Any) -> bool:
    """`left === right`; lists and objects are equal to themselves only."""
    if _kind(left) != _kind(right):
        return False
    return left is right if _kind(left) == "object" else bool(left == right)


def loosely_equal(left: Any, right: Any) -> bool:
    """`left == right`."""
    kinds = _kind(left), _kind(right)
    if kinds[0] == kinds[1]:
        return strictly_equal(left, right)
    if "null" in kinds:
        return False
    if kinds[0] == "object" or kinds[1] == "object":
        return loosely_equal(_primitive(left), _primitive(right))
    return number(left) == number(right)


def _primitive(value: Any) -> Any:
    return text(value) if isinstance(value, list | dict) else value


def ordered(left: Any, right: Any, *, or_equal: bool) -> bool:
    """`left < right`, or `left <= right`: two texts by their characters, everything else as numbers."""
    first, second = _primitive(left), _primitive(right)
    if isinstance(first, str) and isinstance(second, str):
        return first <= second if or_equal else first < second
    low, high = number(first), number(second)
    return low <= high if or_equal else low < high
