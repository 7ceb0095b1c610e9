"""Operators of rules, their numbers of values, and the limits of size and cost."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json
from saraban.workflow.language.faults import NOT_JSON, Size, below, parts

MANY = 1_000_000
RULE = Size(depth=64, parts=1_000, characters=50_000)

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


@dataclass(frozen=True, slots=True)
class Limits:
    """
    :param steps: evaluated parts; each round of a loop costs its body
    :param arguments: values of one operator
    :param text: length of a text from `cat`
    :param items: length of a list from `merge`
    """

    rule: Size = RULE
    arguments: int = 100
    steps: int = 20_000
    text: int = 10_000
    items: int = 10_000


class BudgetExceeded(Exception):
    """The evaluation was stopped; the caller decides what that means."""


def faults(rule: Json, limits: Limits) -> Iterator[FieldProblem]:
    """
    Yield the faults of a rule in the order of its text.
    :raises PartRefused: for a rule that is too large
    """
    for at, node in parts(rule, limits.rule):
        yield from _node_faults(node, at, limits)


def _node_faults(node: Json, at: str, limits: Limits) -> Iterator[FieldProblem]:
    if isinstance(node, dict):
        yield from _operator_faults(node, at, limits)
    elif not isinstance(node, list | str | int | float | None) or (isinstance(node, float) and not math.isfinite(node)):
        yield FieldProblem(at, "not_json", NOT_JSON)


def _operator_faults(node: dict[Json, Json], at: str, limits: Limits) -> Iterator[FieldProblem]:
    if len(node) != 1:
        yield FieldProblem(at, "one_operator", ONE)
        return
    ((operator, arguments),) = node.items()
    if not isinstance(operator, str):
        yield FieldProblem(at, "not_json", NOT_JSON)
        return
    place = below(at, operator)
    if operator not in ARITY:
        yield FieldProblem(place, "unknown_operator", UNKNOWN, {"operator": operator[:40]})
        return
    count = len(arguments) if isinstance(arguments, list) else 1
    least, most = ARITY[operator][0], min(ARITY[operator][1], limits.arguments)
    if not least <= count <= most:
        values = {"operator": operator, "least": least, "most": most, "given": count}
        yield FieldProblem(place, "arguments", EXACTLY if least == most else BETWEEN, values)


class Budget:
    __slots__ = ("_left", "limits")

    def __init__(self, limits: Limits, spent: int) -> None:
        self.limits = limits
        self._left = limits.steps
        self.spend(spent)

    def spend(self, steps: int) -> None:
        """:raises BudgetExceeded:"""
        self._left -= steps
        if self._left < 0:
            raise BudgetExceeded("Evaluating the condition takes too many steps.")
