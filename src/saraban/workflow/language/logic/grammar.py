"""
Which rules may be compiled: the operators, how many values each takes, and how large a rule may be.

Reads without recursion, so that a rule that is deep, cyclic or huge costs no more than its limit.
"""

import math
from collections.abc import Iterator

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json
from saraban.workflow.language.logic.budget import Limits

MANY = 1_000_000
MOST_FAULTS = 20

ARITY: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("if", "?:", "missing", "merge"), (0, MANY)),
    **dict.fromkeys(("and", "or", "max", "min", "+", "*", "cat"), (1, MANY)),
    **dict.fromkeys(("==", "===", "!=", "!==", ">", ">=", "/", "%", "in", "missing_some"), (2, 2)),
    **dict.fromkeys(("map", "filter", "all", "none", "some"), (2, 2)),
    **dict.fromkeys(("<", "<=", "substr", "reduce"), (2, 3)),
    **dict.fromkeys(("!", "!!", "log"), (1, 1)),
    "-": (1, 2),
    "var": (0, 2),
}

UNKNOWN = Text("ไม่มีตัวดำเนินการ “{operator}”", "There is no operator “{operator}”.")
EXACTLY = Text(
    "“{operator}” รับ {least} ค่า แต่มี {given} ค่า", "The number of values for “{operator}” is {least}, not {given}."
)
BETWEEN = Text(
    "“{operator}” รับ {least} ถึง {most} ค่า แต่มี {given} ค่า",
    "The number of values for “{operator}” is {least} to {most}, not {given}.",
)
ONE = Text("ออบเจกต์ในเงื่อนไขต้องมีตัวดำเนินการเดียว", "An object in a condition has exactly one operator.")
NOT_JSON = Text("ค่านี้ไม่ใช่ JSON", "This is not a JSON value.")
DEEP = Text("เงื่อนไขซ้อนลึกเกิน {most} ชั้น", "The condition is nested deeper than {most} levels.")
LARGE = Text("เงื่อนไขมีเกิน {most} ส่วน", "The condition has more than {most} parts.")
LONG = Text(
    "ข้อความในเงื่อนไขยาวรวมกันเกิน {most} ตัวอักษร", "The texts of the condition have more than {most} characters in all."
)


class RuleRefused(Exception):
    """A rule cannot be compiled; `problems` say where and why, each pointer counted from the rule."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        first = problems[0]
        super().__init__(f"{first.pointer or '/'}: {first.text.say('en', first.values)}")
        self.problems = problems


def faults(rule: Json, limits: Limits) -> tuple[FieldProblem, ...]:
    """List what is wrong with a rule, at most 20 faults in the order of the text; a size alone, since it ends the reading."""
    found: list[FieldProblem] = []
    parts, characters = 1, 0
    waiting: list[tuple[Json, str, int]] = [(rule, "", 1)]
    while waiting:
        node, at, depth = waiting.pop()
        if depth > limits.depth:
            return (FieldProblem(at, "too_deep", DEEP, {"most": limits.depth}),)
        parts += len(node) if isinstance(node, list | dict) else 0
        if parts > limits.parts:
            return (FieldProblem("", "too_large", LARGE, {"most": limits.parts}),)
        characters += _length(node)
        if characters > limits.characters:
            return (FieldProblem("", "too_long", LONG, {"most": limits.characters}),)
        if len(found) < MOST_FAULTS:
            found += _own_faults(node, at, limits)
        waiting += [(below, f"{at}/{key}", depth + 1) for key, below in reversed(list(_below(node)))]
    return tuple(found[:MOST_FAULTS])


def _below(node: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield escaped(str(key)), value
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield str(index), value


def escaped(key: str) -> str:
    """Return a key as a JSON pointer writes it (RFC 6901); of a long one the beginning."""
    return key[:60].replace("~", "~0").replace("/", "~1")


def _length(node: Json) -> int:
    if isinstance(node, str):
        return len(node)
    if isinstance(node, dict):
        return sum(len(key) for key in node if isinstance(key, str))
    # As many digits as it would have had in the text, or fewer.
    return node.bit_length() >> 2 if isinstance(node, int) else 0


def _own_faults(node: Json, at: str, limits: Limits) -> Iterator[FieldProblem]:
    if isinstance(node, dict):
        yield from _operator_faults(node, at, limits)
    elif not isinstance(node, list | str | int | float | None) or (isinstance(node, float) and not math.isfinite(node)):
        yield FieldProblem(at, "not_json", NOT_JSON)


def _operator_faults(node: dict[Json, Json], at: str, limits: Limits) -> Iterator[FieldProblem]:
    if len(node) != 1:
        yield FieldProblem(at, "one_operator", ONE)
        return
    ((operator, given),) = node.items()
    if not isinstance(operator, str):
        yield FieldProblem(at, "not_json", NOT_JSON)
        return
    place = f"{at}/{escaped(operator)}"
    if operator not in ARITY:
        yield FieldProblem(place, "unknown_operator", UNKNOWN, {"operator": operator[:40]})
        return
    count = len(given) if isinstance(given, list) else 1
    least, most = ARITY[operator][0], min(ARITY[operator][1], limits.arguments)
    if not least <= count <= most:
        values = {"operator": operator, "least": least, "most": most, "given": count}
        yield FieldProblem(place, "arguments", EXACTLY if least == most else BETWEEN, values)
