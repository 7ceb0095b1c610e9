"""
Conditions as data: JSON Logic with JavaScript's coercions, evaluated within a budget (ruling W4).

Nothing is executed but the operators in `operators.py`; a rule that is too deep, too large or too long is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saraban.kit.errors import Text
from saraban.workflow.domain.coercion import ConditionError, truthy
from saraban.workflow.domain.operators import LAZY, OPERATORS, Run, lookup

MAX_DEPTH = 32
MAX_NODES = 1_000
MAX_STEPS = 10_000
MAX_ARGUMENTS = 100
LOOKUPS = frozenset({"var", "missing", "missing_some"})


@dataclass(frozen=True, slots=True)
class Condition:
    """
    :param reads_payload: it asks what the client sends with the action, so it cannot be judged before
    :param message: said when it does not hold; `{name}` places are filled from `document`
    """

    rule: Any
    reads_payload: bool = False
    message: Text | None = None

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """This will say whether the condition is met; a rule that fails on these facts is not."""
        try:
            return truthy(evaluate(self.rule, facts))
        except ConditionError:
            return False


def evaluate(rule: Any, data: Any, *, steps: int = MAX_STEPS) -> Any:
    """
    This will give the value of a JSON Logic rule.

    :raises ConditionError: for an unknown operator, a value that no coercion fits, or a budget that is spent
    """
    try:
        return Run(steps, apply).value(rule, data)
    except (OverflowError, RecursionError, ValueError, TypeError) as fault:
        raise ConditionError(f"the condition cannot be evaluated: {fault}") from fault


def apply(run: Run, rule: Any, data: Any) -> Any:
    """This will evaluate one node; `run` calls it again for the nodes below."""
    run.spend()
    if isinstance(rule, list):
        return [run.value(part, data) for part in rule]
    if not isinstance(rule, dict) or len(rule) != 1:
        return rule
    ((operator, given),) = rule.items()
    arguments = given if isinstance(given, list) else [given]
    if operator in LAZY:
        return LAZY[operator](run, arguments, data)
    values = [run.value(argument, data) for argument in arguments]
    if operator in LOOKUPS:
        return lookup(run, operator, values, data)
    if operator not in OPERATORS:
        raise ConditionError(f"there is no operator “{operator}”")
    return OPERATORS[operator](run, values)


def faults(rule: Any) -> list[str]:
    """This will list what is wrong with a rule before it is ever run: operators, depth, size. English, for developers."""
    found: list[str] = []
    nodes, waiting = 0, [(rule, 1)]
    while waiting:
        node, depth = waiting.pop()
        nodes += 1
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            return [f"the rule is deeper than {MAX_DEPTH} or larger than {MAX_NODES} parts"]
        if isinstance(node, dict):
            found += _operator_faults(node)
            waiting += [(below, depth + 1) for below in node.values()]
        elif isinstance(node, list):
            waiting += [(below, depth + 1) for below in node]
    return found


def _operator_faults(node: dict[str, Any]) -> list[str]:
    if len(node) != 1:
        return ["a rule is an object with exactly one operator"]
    (operator,) = node
    if operator not in OPERATORS and operator not in LAZY and operator not in LOOKUPS:
        return [f"there is no operator “{operator[:40]}”"]
    return []


def never_holds(rule: Any) -> bool:
    """This will say whether a rule that looks nothing up, and so gives the same every time, does not hold."""
    if _looks_up(rule):
        return False
    try:
        return not truthy(evaluate(rule, {}))
    except ConditionError:
        return True


def _looks_up(rule: Any) -> bool:
    if isinstance(rule, list):
        return any(_looks_up(part) for part in rule)
    if not isinstance(rule, dict):
        return False
    return any(operator in LOOKUPS or _looks_up(given) for operator, given in rule.items())


def reads(rule: Any) -> frozenset[str]:
    """This will give the top-level names that a rule looks up; `*` stands for a name that is itself computed."""
    if isinstance(rule, list):
        return frozenset[str]().union(*(reads(part) for part in rule))
    if not isinstance(rule, dict):
        return frozenset()
    names: set[str] = set()
    for operator, given in rule.items():
        names |= reads(given)
        if operator == "var":
            path = given[0] if isinstance(given, list) and given else given
            names.add(path.partition(".")[0] if isinstance(path, str) and path else "*")
        elif operator in {"missing", "missing_some"}:
            names |= _names_in(given)
    return frozenset(names)


def _names_in(given: Any) -> set[str]:
    if isinstance(given, str):
        return {given.partition(".")[0]}
    return set().union(*(_names_in(part) for part in given)) if isinstance(given, list) else set()
