"""
Values that are likely to make a part of a condition hold: its own constants and what lies beside them, what the schema names,
and where a calculation or a text has to come to a constant, what solves it.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice, pairwise
from typing import Any

from saraban.workflow.domain import logic
from saraban.workflow.domain.logic.lookup import NOWHERE, follow
from saraban.workflow.domain.schema import sample
from saraban.workflow.domain.vocabulary import Place, World

MOST = 40
LOGICAL = frozenset({"and", "or", "!", "!!", "if", "?:", "log"})
_COMPARED = frozenset({"<", "<=", ">", ">=", "==", "===", "!=", "!=="})
_CALCULATED = frozenset({"+", "-", "*", "/", "%", "min", "max", "if", "?:", "reduce"})
_TEXTUAL = frozenset({"cat", "substr"})
_USUAL: tuple[Any, ...] = (True, False, 1, 0, -1, "a", "", ["a"], [])
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_WORD = re.compile(r"[^\W_]+")
_ROUNDS = 12

Evaluated = Callable[[logic.Compiled, Any], Any]


class Candidates:
    """The values to be tried for the paths of one rule; what it says of a path counts wherever it says it."""

    def __init__(self, rule: Any, variables: frozenset[str], world: World) -> None:
        self._world = world
        self._told: dict[str, list[Any]] = {path: [] for path in variables}
        self._others: list[Any] = []
        self._inner: set[str] = set()
        self._places: dict[str, tuple[Place, Callable[[Any], bool], list[Any]]] = {}
        self._hear(rule)

    def place(self, path: str) -> Place:
        return self._at(path)[0]

    def of(self, path: str, atom: Any = None, solved: Iterable[Any] = ()) -> list[Any]:
        """Return what to try at a path, the likeliest first; None where it is missing."""
        place, fits, named = self._at(path)
        missing = [] if place.always else [None]
        if place.never:
            return [None]
        if place.choices is not None:
            return each_once([*(each for each in place.choices if fits(each)), *missing])[:MOST]
        near = [*_constants_in(atom), *self._told.get(path, ())]
        if path == "actor.roles":
            proposed: list[Any] = list(_role_lists(near, place))
        elif path.startswith("actor.is"):
            proposed = [True, False]
        else:
            beside = [other for value in near for other in _around(value)]
            proposed = [*solved, *beside, *self._remainders(near, atom), *named, *self._lists(), *_USUAL]
        found = (each for each in each_once(proposed) if each is not None and fits(each))
        made = list(islice(found, MOST - 1))
        return [*made[:3], *missing, *made[3:]]

    def corners(self, path: str) -> tuple[Any, Any]:
        """Return the highest and the lowest number to try at a path, where there are any."""
        values = self.of(path)
        numbers = [each for each in values if type(each) in (int, float)]
        return (max(numbers), min(numbers)) if numbers else (values[0], values[-1]) if values else (None, None)

    def _at(self, path: str) -> tuple[Place, Callable[[Any], bool], list[Any]]:
        if path not in self._places:
            place = self._world.at(path)
            raw = self._world.raw
            named = [*self._examples(path), *sample.samples(place.schemas, raw)]
            self._places[path] = (place, sample.fitting(place.schemas, raw), named)
        return self._places[path]

    def _examples(self, path: str) -> Iterator[Any]:
        """What the schema's examples of something larger have at a path."""
        keys = path.split(".")
        for depth in range(1, len(keys)):
            for one in self._world.at(".".join(keys[:depth])).schemas:
                for example in one.get("examples", ()) if isinstance(one, Mapping) else ():
                    value = follow(example, keys[depth:])
                    if value is not NOWHERE:
                        yield value

    def _hear(self, rule: Any) -> None:
        waiting = [rule]
        while waiting:
            node = waiting.pop()
            if isinstance(node, list):
                waiting += node
            if not isinstance(node, Mapping):
                continue
            ((operator, given),) = node.items()
            arguments = given if isinstance(given, list) else [given]
            if operator == "var":
                self._inner |= {str(arguments[0]) if arguments else ""} - self._told.keys()
                continue
            if operator not in ("missing", "missing_some"):
                waiting += arguments
            if operator not in LOGICAL:
                self._note(arguments)

    def _note(self, arguments: list[Any]) -> None:
        beside = list(islice(_constants(arguments), MOST))
        self._others += beside[: max(MOST - len(self._others), 0)]
        for path in set(_paths(arguments)) & self._told.keys():
            known = self._told[path]
            known += beside[: max(MOST - len(known), 0)]

    def _remainders(self, near: Sequence[Any], atom: Any) -> Iterator[Any]:
        """Numbers near the constants that leave one of the other constants over, where something is divided."""
        if "%" not in str(atom):
            return
        numbers = [each for each in near if type(each) in (int, float)][:6]
        for step in (each for each in numbers if each > 0):
            for rest in numbers:
                for start in (0, *numbers):
                    base = math.floor(start / step) * step + rest
                    yield from (sample.plain(base), sample.plain(base + step))

    def _lists(self) -> list[Any]:
        """Lists for loops: one item and two, each made of the rule's own constants."""
        if not self._inner:
            return []
        constants = each_once([other for value in self._others for other in _around(value)])[:8] or [1]
        items: list[Any] = list(constants)
        inner = sorted(self._inner - {"", "accumulator"})
        inner = [path.removeprefix("current.") for path in inner if path != "current"]
        if inner:
            items = [
                nested(dict(zip(inner, constants * len(inner), strict=False))),
                *(nested(dict.fromkeys(inner, value)) for value in constants),
                *items,
            ]
        return [[items[0]], *([item] for item in items[1:]), items[:2], [items[0]] * 2, [items[0]] * 3]


def solutions(atom: Any, path: str, evaluate: Evaluated) -> Iterator[Any]:
    """
    Return values for the one path of a part that is still open, so that a calculation or a text in it comes out right.

    :param evaluate: gives the value of a rule when the path has a value
    """
    for operator, left, right in _comparisons(atom):
        told = {operator for side in (left, right) for operator, _ in _operations(side)}
        if operator in _COMPARED and told & _CALCULATED:
            yield from _numbers(logic.compile({"-": [left, right]}), evaluate)
        if told & _TEXTUAL:
            for side, other in ((left, right), (right, left)):
                yield from _texts(side, other, evaluate)
        others = [side for side in (left, right) if path not in _paths([side])]
        for value in (evaluate(logic.compile(side), None) for side in others):
            yield from _around(value)


def _comparisons(rule: Any) -> Iterator[tuple[str, Any, Any]]:
    waiting = [rule]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            ((operator, given),) = node.items()
            if (operator in _COMPARED or operator == "in") and isinstance(given, list):
                yield from ((operator, *pair) for pair in pairwise(given))
            if operator not in ("map", "filter", "all", "some", "none", "reduce"):
                waiting += given if isinstance(given, list) else [given]


def _operations(rule: Any) -> Iterator[tuple[str, Any]]:
    """Every operator in a rule with what it is given."""
    waiting = [rule]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, Mapping):
            ((operator, given),) = node.items()
            yield operator, given
            waiting.append(given)


def _numbers(difference: logic.Compiled, evaluate: Evaluated) -> Iterator[Any]:
    """Where the sides meet, by the secant through two guesses again and again; with what lies beside it."""

    def at(value: float) -> float:
        found = evaluate(difference, sample.plain(value))
        return float(found) if type(found) in (int, float) else math.nan

    for start in (1.0, 100.0, -10.0):
        one, other = start, start * 2 + 1
        first, second = at(one), at(other)
        for _ in range(_ROUNDS):
            if not math.isfinite(first + second) or second in (first, 0.0):
                break
            one, other, first = other, other - second * (other - one) / (second - first), second
            if not abs(other) < 2**53:
                break
            second = at(other)
        if math.isfinite(other) and abs(other) < 2**53 and math.isfinite(second):
            near = round(other)
            yield from (
                near,
                sample.plain(other),
                near + 1,
                near - 1,
                sample.plain(other + 0.5),
                sample.plain(other - 0.5),
            )


def _texts(side: Any, other: Any, evaluate: Evaluated) -> Iterator[str]:
    """What a text has to be, or has to have in it, so that a side comes to the other."""
    if not isinstance(side, Mapping):
        return
    for wanted in _wanted(evaluate(logic.compile(other), None)):
        for start in _starts(side):
            yield "x" * max(start, 0) + wanted
        mark = "\ue000"
        made = evaluate(logic.compile(side), mark)
        if isinstance(made, str) and made.count(mark) == 1:
            before, _, after = made.partition(mark)
            if wanted.startswith(before) and wanted.endswith(after) and len(wanted) >= len(before) + len(after):
                yield wanted[len(before) : len(wanted) - len(after)]
        yield from _WORD.findall(wanted)


def _wanted(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)][:6]


def _starts(rule: Any) -> Iterator[int]:
    for operator, given in _operations(rule):
        if operator == "substr" and isinstance(given, list) and type(given[1]) is int:
            yield min(given[1], 1_000)


def _constants_in(atom: Any) -> list[Any]:
    return list(islice(_constants(atom), MOST)) if atom is not None else []


def _constants(rule: Any) -> Iterator[Any]:
    if isinstance(rule, list):
        if rule and not any(isinstance(each, Mapping | list) for each in rule):
            yield rule
        for each in rule:
            yield from _constants(each)
    elif isinstance(rule, Mapping):
        ((operator, given),) = rule.items()
        if operator != "var":
            yield from _constants(given)
    elif rule is not None:
        yield rule


def _paths(rule: Any) -> Iterator[str]:
    if isinstance(rule, list):
        for each in rule:
            yield from _paths(each)
    elif isinstance(rule, Mapping):
        ((operator, given),) = rule.items()
        if operator == "var":
            yield str(given[0] if isinstance(given, list) and given else given)
        else:
            yield from _paths(given)


def _around(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield from (value + 1, value - 1, value + 0.5, value - 0.5, str(value), str(value + 1))
    if isinstance(value, str):
        yield from _days(value)
        yield from ([value], value + "a", value[:-1], *_WORD.findall(value)[:4])
    if isinstance(value, list):
        yield from value


def _days(value: str) -> Iterator[str]:
    """The days beside one."""
    if not _DAY.match(value):
        return
    try:
        day = date.fromisoformat(value[:10])
        yield from ((day + timedelta(days=more)).isoformat() for more in (1, -1, 400, -400))
    except (ValueError, OverflowError):
        return


def _role_lists(near: Sequence[Any], place: Place) -> Iterator[list[str]]:
    """What somebody may hold: one role that is asked for, with those that the step needs, all together, none."""
    said = [one for one in place.schemas if isinstance(one, Mapping)]
    known = [name for one in said for name in one.get("items", {}).get("enum", ())]
    needed = [name for one in said for name in one.get("contains", {}).get("enum", ())]
    asked = [each for each in near if isinstance(each, str)]
    for one in needed or [None]:
        for other in [None, *asked, *known[:3]]:
            yield [name for name in dict.fromkeys((one, other)) if name is not None]
    yield each_once([*needed[:1], *asked])
    yield [*known[:1]]
    yield ["somebody"]


def nested(given: Mapping[str, Any]) -> dict[str, Any]:
    """Lay values out as the paths say; what is missing is left out, a length makes what is as long."""
    made: dict[str, Any] = {}
    for path, value in sorted(given.items(), key=lambda each: each[0].count(".")):
        if value is not None:
            _put(made, path.split("."), value)
    return made


def _put(place: dict[str, Any], way: Sequence[str], value: Any) -> None:
    *above, last = way
    for depth, key in enumerate(above):
        below = place.get(key)
        if depth == len(above) - 1 and last == "length" and not isinstance(below, dict) and type(value) is int:
            if below is None and 0 <= value <= 1_000:
                place[key] = "x" * value
            return
        if depth == len(above) - 1 and isinstance(below, list):
            return
        # What is laid in may be a value of the schema itself: it stays as it is.
        below = place[key] = dict(below) if isinstance(below, Mapping) else {}
        place = below
    place[last] = value


def each_once(values: Iterable[Any]) -> list[Any]:
    """In their order; `1`, `true` and `"1"` are different facts."""
    seen: dict[tuple[str, str], Any] = {}
    for value in values:
        seen.setdefault((type(value).__name__, repr(value)), value)
    return list(seen.values())
