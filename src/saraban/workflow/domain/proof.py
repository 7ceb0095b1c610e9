"""
Proves of conditions that nothing whatever makes them hold.

What compares single facts with constants changes its answer only at its constants, so a fact has as many faces as there are
constants and gaps between them, and all are tried. Calculations are known by their bounds (`ranges`). Anything else counts
as a switch that may stand either way, the same question always the same way. Facts are taken as free of each other, and of
a schema only what bounds one value counts: that allows more than there is, so what does not hold even then never holds.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

from saraban.workflow.domain import logic, ranges
from saraban.workflow.domain.logic.budget import Budget
from saraban.workflow.domain.logic.coercion import number
from saraban.workflow.domain.schema import sample
from saraban.workflow.domain.vocabulary import Place, World

MOST_FACES = 200
MOST_FACTS = 12
MOST_WORK = 200_000  # steps, as in `opening`
_TRY, _ASKED = 20, 5  # what a try costs besides the rule's own parts, and a question to one fact
ROLES = "actor.roles"
_JOINING = frozenset({"and", "or", "!", "!!", "if", "?:"})
_EQUAL, _ORDER = frozenset({"==", "===", "!=", "!=="}), frozenset({"<", "<=", ">", ">="})
# What a schema says of one value by itself, and of a whole range of values at once; whatever else it says only forbids more.
_BOUNDING = ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_EXACT = 2**53


class _NotSimple(Exception):
    """This part of a rule is more than a fact beside constants."""


@dataclass(slots=True)
class _Fact:
    """What is asked of the value at one path."""

    constants: list[Any] = field(default_factory=list)
    order: bool = False  # whether a text is compared with a text by `<` and its like
    asked: list[Any] = field(default_factory=list)


def never_holds(rule: Any, world: World, *, most: int = MOST_WORK) -> tuple[bool, int]:
    """
    Return whether it is certain that no facts make a condition hold, and how many steps it took to know.

    :param most: steps that it may take; where they are not enough nothing is certain
    """
    proof = _Proof(world, most)
    return proof.never(rule), most - max(proof.left, 0)


class _Proof:
    def __init__(self, world: World, most: int) -> None:
        self._world, self.left = world, most

    def never(self, rule: Any) -> bool:
        try:
            return self._never(rule)
        except (_NotSimple, logic.BudgetExceeded, logic.RuleRefused):
            return False

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _NotSimple

    def _never(self, rule: Any) -> bool:
        read = _Reader(self._world, self._spend)
        plain = read.truth(rule)
        if len(read.facts) + len(read.switches) > MOST_FACTS or _nested(read.facts):
            return False
        faces = {path: self._faces(path, fact) for path, fact in sorted(read.facts.items())}
        faces |= {name: [True, False] for name in read.switches.values()}
        choices = math.prod(len(each) for each in faces.values())
        self._spend(choices * (read.parts + _TRY))
        condition = logic.compile(plain)
        return not any(_holds(condition, dict(zip(faces, chosen, strict=True))) for chosen in product(*faces.values()))

    def _faces(self, path: str, fact: _Fact) -> list[Any]:
        """One value for each answer that everything asked of a fact can give together."""
        self._spend(_TRY * len(fact.asked))
        asked = [logic.compile(rule) for rule in fact.asked]
        found: dict[tuple[bool, ...], Any] = {}
        for value in _possible(fact, self._world.at(path), self._world):
            self._spend(_TRY + _ASKED * len(asked))
            facts = _laid_out({path: value})
            found.setdefault(tuple(logic.truthy(each.evaluate(facts)) for each in asked), value)
        return list(found.values())


class _Reader:
    """Makes a rule plain: what is not a fact beside constants becomes true, false, or a switch."""

    def __init__(self, world: World, spend: Callable[[int], None]) -> None:
        self.world, self._spend = world, spend
        self.parts = 0
        self.facts: dict[str, _Fact] = {}
        self.switches: dict[str, str] = {}

    def truth(self, rule: Any) -> Any:
        """Where only the truth of a value counts."""
        self.parts += 4  # with the few below a comparison
        self._spend(_TRY)
        if not isinstance(rule, Mapping):
            return logic.truthy(rule)
        ((operator, given),) = rule.items()
        arguments = given if isinstance(given, list) else [given]
        if operator in ("if", "?:") and not arguments:
            return False
        if operator in _JOINING:
            return {operator: [self.truth(each) for each in arguments]}
        if operator == "log":
            return self.truth(arguments[0])
        try:
            return self._asked(operator, arguments, rule)
        except _NotSimple:
            return self._switch(rule)

    def _asked(self, operator: str, arguments: list[Any], rule: Any) -> Any:
        if operator == "var":
            self.facts.setdefault(_path(rule), _Fact()).asked.append(rule)
            return rule
        if operator == "in" and arguments[1] == {"var": ROLES} and isinstance(arguments[0], str):
            return self._role(arguments[0], rule)
        path, constants = _compared(operator, arguments)
        order = operator in _ORDER and any(isinstance(each, str) for each in constants)
        fact = self.facts.setdefault(path, _Fact())
        if (order or fact.order) and any(not isinstance(each, str) for each in [*fact.constants, *constants]):
            raise _NotSimple  # a text can then be asked both as a number and by its letters
        fact.constants += constants
        fact.order |= order
        fact.asked.append(rule)
        return rule

    def _role(self, name: str, rule: Any) -> Any:
        for one in self.world.at(ROLES).schemas:
            if name not in one.get("items", {}).get("enum", (name,)):
                return False
            if one.get("contains") == {"enum": [name]}:
                return True
        return self._switch(rule)

    def _switch(self, rule: Any) -> Any:
        if not logic.compile(rule).variables:
            return logic.truthy(logic.compile(rule).evaluate({}))
        certain = ranges.truths(rule, self.world)
        if len(certain) == 1:
            return next(iter(certain))
        return {"var": self.switches.setdefault(json.dumps(rule, sort_keys=True), f"?{len(self.switches)}")}


def _compared(operator: str, arguments: list[Any]) -> tuple[str, list[Any]]:
    """The one fact that is compared, and with what."""
    paths = [_path(each) for each in arguments if isinstance(each, Mapping)]
    constants = [each for each in arguments if not isinstance(each, Mapping)]
    if operator == "in" and len(paths) == 1 and isinstance(arguments[1], list):
        constants = arguments[1]
    elif operator not in _EQUAL | _ORDER:
        raise _NotSimple
    if len(paths) != 1 or any(isinstance(each, list | Mapping) for each in constants):
        raise _NotSimple
    return paths[0], constants


def _path(rule: Any) -> str:
    ((operator, given),) = rule.items()
    arguments = given if isinstance(given, list) else [given]
    if operator != "var" or len(arguments) != 1 or not isinstance(arguments[0], str) or not arguments[0]:
        raise _NotSimple
    return arguments[0]


def _nested(paths: Iterable[str]) -> bool:
    """Whether one of them leads into another, so that both are not free."""
    ways = [path.split(".") for path in paths]
    return any(one != other and one == other[: len(one)] for one in ways for other in ways)


def _possible(fact: _Fact, place: Place, world: World) -> Iterator[Any]:
    """A value that stands for itself alone meets the whole schema, one that stands for others only what bounds them all."""
    fits = sample.fitting(place.schemas, world.raw)
    if not place.always or fits(None):
        yield None
    if place.choices is not None:
        yield from (each for each in place.choices if fits(each))
        return
    yield from (each for each in [*fact.constants, ""] if each is not None and fits(each))
    bounds = _bounds(place)
    within = _within(bounds, world)
    alone = {(type(each), each) for each in [*fact.constants, ""]}
    for value in _values(fact, bounds):
        stands_alone = not isinstance(value, list | dict) and (type(value), value) in alone
        if value is not None and not stands_alone and within(value):
            yield value


def _bounds(place: Place) -> list[Any]:
    return [
        {key: one[key] for key in _BOUNDING if key in one} if isinstance(one, Mapping) else one for one in place.schemas
    ]


def _within(bounds: Sequence[Any], world: World) -> Callable[[Any], bool]:
    return sample.fitting([each for each in bounds if each != {}], world.raw)


def _values(fact: _Fact, bounds: Sequence[Any]) -> Iterator[Any]:
    limits = [one[key] for one in bounds if isinstance(one, Mapping) for key in _BOUNDING[3:] if key in one]
    numbers = list(_numbers([*fact.constants, *limits, 0]))
    texts = {each for each in fact.constants if isinstance(each, str)}
    if len(numbers) + len(texts) > MOST_FACES:
        raise _NotSimple
    if fact.order:
        # Between a text and the next one lies, if anything, the text with the least letter after it.
        words = [*texts, *(each + "\0" for each in texts), "", "\0"]
    else:
        words = [*texts, "", _other("?", texts), *(_other(repr(each), texts) for each in numbers)]
    yield from (True, False)
    yield from numbers
    yield from words
    # A list stands for its text in every comparison but `===`, and so does an object.
    yield from ([], *([each] for each in words), {})


def _numbers(constants: Sequence[Any]) -> Iterator[float]:
    """Each bound, and whatever lies between two of them: a whole number if there is one, and one that is none."""
    budget = Budget(logic.Limits(), 0)
    bounds = sorted({each for each in (number(each, budget) for each in constants) if not math.isnan(each)})
    if any(abs(each) > _EXACT for each in bounds):
        raise _NotSimple
    ends = [math.floor(bounds[0]) - 1.0, *bounds, math.floor(bounds[-1]) + 1.0]
    yield from (_plain(each) for each in ends)
    yield from (ends[0] + 0.5, ends[-1] + 0.5)
    for lower, upper in zip(ends, islice(ends, 1, None), strict=False):
        yield from (_plain(each) for each in ((lower + upper) / 2, math.floor(lower) + 1.0) if lower < each < upper)


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value


def _other(text: str, texts: set[str]) -> str:
    """The same to a comparison of numbers, but none of the texts."""
    while text in texts:
        text = f" {text}"
    return text


def _holds(rule: logic.Compiled, given: Mapping[str, Any]) -> bool:
    return logic.truthy(rule.evaluate(_laid_out(given)))


def _laid_out(given: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for path, value in given.items():
        *above, last = path.split(".")
        place = facts
        for key in above:
            place = place.setdefault(key, {})
        place[last] = value
    return facts
