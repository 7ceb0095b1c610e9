"""
JSON Logic (jsonlogic.com) with JavaScript's coercions, compiled once and evaluated within a budget (REQ-WFL-06).

A part costs one step, a loop its body per round. The cost is charged in advance, so it depends on the sizes of the
data and not on their order. Intended differences from the reference implementation:

* an object has exactly one operator, and each operator its number of values; `compile` refuses others; * `var` finds
keys, indexes and `length`, but no methods of JavaScript's prototypes; * names that `missing` takes from the facts are
names, never rules; * texts are counted, cut and ordered by code points, not UTF-16 units; integers beyond 2**53 stay
exact in comparisons.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from saraban.kit.json import Json
from saraban.workflow.language.faults import PartRefused
from saraban.workflow.language.logic.grammar import Budget, BudgetExceeded, Limits, faults
from saraban.workflow.language.logic.operators import (
    BINARY,
    NOWHERE,
    VARIADIC,
    fetch,
    follow,
    missing,
    missing_some,
    truthy,
)

__all__ = ["BudgetExceeded", "Compiled", "Limits", "compile", "truthy"]

Run = Callable[[Json, Budget], Json]
# Paths that a part reads from the facts; None in a loop's body, where paths start at the item.
Reads = set[str] | None
ANYTHING = "*"
USUAL = Limits()
MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class _Part:
    run: Run
    cost: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """
    A compiled rule, safe to share between threads.
    :param variables: paths read from the facts, as `document.priority`; `*` for all or a computed path
    """

    rule: Json
    variables: frozenset[str]
    limits: Limits
    _part: _Part = field(repr=False, compare=False)

    def evaluate(self, context: Json) -> Json:
        """
        Return the rule's value, which may share parts with rule and facts.
        :raises BudgetExceeded:
        """
        part = self._part
        return part.run(context, Budget(self.limits, part.cost))


def compile(rule: Json, *, limits: Limits = USUAL) -> Compiled:  # noqa: A001 - as the libraries of this language call it
    """:raises PartRefused: with at most 20 faults"""
    problems = tuple(islice(faults(rule, limits), MOST_FAULTS))
    if problems:
        raise PartRefused(problems)
    reads: set[str] = set()
    part = _part(rule, reads)
    return Compiled(rule, frozenset(reads), limits, part)


def _part(rule: Json, reads: Reads) -> _Part:
    if isinstance(rule, list):
        return _list(rule, reads)
    if not isinstance(rule, dict):
        return _constant(rule)
    ((operator, given),) = rule.items()
    arguments = given if isinstance(given, list) else [given]
    return _operation(operator, arguments, reads)


def _operation(operator: str, arguments: list[Json], reads: Reads) -> _Part:
    if operator in _LOOPS:
        return _loop(operator, arguments, reads)
    if operator in _LOOKUPS:
        return _LOOKUPS[operator](arguments, reads)
    parts = [_part(argument, reads) for argument in arguments]
    cost = 1 + sum(part.cost for part in parts)
    if operator in _CHOICES:
        return _Part(_CHOICES[operator]([part.run for part in parts]), cost)
    if operator in BINARY:
        return _Part(_binary(BINARY[operator], parts[0].run, parts[1].run), cost)
    return _Part(_variadic(VARIADIC[operator], [part.run for part in parts]), cost)


def _constant(value: Json) -> _Part:
    return _Part(lambda _facts, _budget: value, 1)


def _list(rule: list[Json], reads: Reads) -> _Part:
    parts = [_part(each, reads) for each in rule]
    cost = 1 + sum(part.cost for part in parts)
    runs = [part.run for part in parts]
    return _Part(lambda facts, budget: [run(facts, budget) for run in runs], cost)


def _binary(apply: Callable[[Json, Json, Budget], Json], left: Run, right: Run) -> Run:
    return lambda facts, budget: apply(left(facts, budget), right(facts, budget), budget)


def _variadic(apply: Callable[[list[Json], Budget], Json], runs: list[Run]) -> Run:
    return lambda facts, budget: apply([run(facts, budget) for run in runs], budget)


def _short_circuit(*, stops: bool) -> Callable[[list[Run]], Run]:
    """`and` stops at the first false value, `or` at the first true one; both return that value."""

    def choice(runs: list[Run]) -> Run:
        def choose(facts: Json, budget: Budget) -> Json:
            value = None
            for run in runs:
                value = run(facts, budget)
                if truthy(value) is stops:
                    break
            return value

        return choose

    return choice


def _if(runs: list[Run]) -> Run:
    pairs = list(zip(runs[::2], runs[1::2], strict=False))
    otherwise: Run = runs[-1] if len(runs) % 2 else lambda _facts, _budget: None

    def choose(facts: Json, budget: Budget) -> Json:
        for condition, outcome in pairs:
            if truthy(condition(facts, budget)):
                return outcome(facts, budget)
        return otherwise(facts, budget)

    return choose


_CHOICES: dict[str, Callable[[list[Run]], Run]] = {
    "if": _if,
    "?:": _if,
    "and": _short_circuit(stops=False),
    "or": _short_circuit(stops=True),
    "!": lambda runs: lambda facts, budget: not truthy(runs[0](facts, budget)),
    "!!": lambda runs: lambda facts, budget: truthy(runs[0](facts, budget)),
    "log": lambda runs: runs[0],
}


def _var(arguments: list[Json], reads: Reads) -> _Part:
    default = _part(arguments[1], reads) if len(arguments) > 1 else _constant(None)
    path = arguments[0] if arguments else None
    keys = path.split(".") if isinstance(path, str) and path else []
    _record_path(reads, str(path) if keys or type(path) is int else ANYTHING)
    computed = _part(path, reads)

    def run(facts: Json, budget: Budget) -> Json:
        value = follow(facts, keys) if keys else fetch(computed.run(facts, budget), facts, budget)
        return default.run(facts, budget) if value is NOWHERE else value

    return _Part(run, 1 + default.cost + (0 if keys else computed.cost))


def _missing(arguments: list[Json], reads: Reads) -> _Part:
    names = arguments[0] if arguments and isinstance(arguments[0], list) else arguments
    return _absence(missing, arguments, names, reads)


def _missing_some(arguments: list[Json], reads: Reads) -> _Part:
    return _absence(missing_some, arguments, arguments[1], reads)


def _absence(
    apply: Callable[[list[Json], Json, Budget], Json], arguments: list[Json], names: Json, reads: Reads
) -> _Part:
    for name in names if isinstance(names, list) else [names]:
        _record_path(reads, name if isinstance(name, str) and name else ANYTHING)
    parts = [_part(argument, reads) for argument in arguments]
    runs = [part.run for part in parts]

    def run(facts: Json, budget: Budget) -> Json:
        return apply([each(facts, budget) for each in runs], facts, budget)

    return _Part(run, 1 + sum(part.cost for part in parts))


_LOOKUPS: dict[str, Callable[[list[Json], Reads], _Part]] = {
    "var": _var,
    "missing": _missing,
    "missing_some": _missing_some,
}


def _record_path(reads: Reads, path: str) -> None:
    if reads is not None:
        reads.add(path)


def _loop(operator: str, arguments: list[Json], reads: Reads) -> _Part:
    source, body = _part(arguments[0], reads), _part(arguments[1], None)
    start = _part(arguments[2], reads) if len(arguments) > 2 else _constant(None)
    each = body.cost + 1
    rounds = _LOOPS[operator]

    def run(facts: Json, budget: Budget) -> Json:
        items = source.run(facts, budget)
        elements = items if isinstance(items, list) else []
        budget.spend(len(elements) * each)
        return rounds(elements, body.run, start.run(facts, budget), budget)

    return _Part(run, 1 + source.cost + start.cost)


def _reduce(items: list[Json], body: Run, start: Json, budget: Budget) -> Json:
    total = start
    for item in items:
        total = body({"current": item, "accumulator": total}, budget)
    return total


_LOOPS: dict[str, Callable[[list[Json], Run, Json, Budget], Json]] = {
    "map": lambda items, body, _start, budget: [body(item, budget) for item in items],
    "filter": lambda items, body, _start, budget: [item for item in items if truthy(body(item, budget))],
    "all": lambda items, body, _start, budget: bool(items) and all(truthy(body(item, budget)) for item in items),
    "none": lambda items, body, _start, budget: not any(truthy(body(item, budget)) for item in items),
    "some": lambda items, body, _start, budget: any(truthy(body(item, budget)) for item in items),
    "reduce": _reduce,
}
