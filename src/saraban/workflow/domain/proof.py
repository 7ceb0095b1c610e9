"""
Proves of simple conditions that nothing whatever makes them hold; of all others it proves nothing.

Simple is what compares single facts with constants, joined by `and`, `or`, `!` and `if`. Such a comparison changes its
answer only at its constants, so a fact has as many faces as there are constants and gaps between them, and all are tried.
Facts are taken as free of each other, and of a schema only what bounds one value counts: that allows more than there is,
so what does not hold even then never holds.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

from saraban.workflow.domain import logic
from saraban.workflow.domain import schema as schemas
from saraban.workflow.domain.logic.budget import Budget
from saraban.workflow.domain.logic.coercion import number

MOST_FACES, MOST_CHOICES = 200, 2_000
MOST_FACTS = 10  # with two faces each they are more than the choices: known before their faces are looked for
_JOINING = frozenset({"and", "or", "!", "!!", "if", "?:"})
_EQUAL, _ORDER = frozenset({"==", "===", "!=", "!=="}), frozenset({"<", "<=", ">", ">="})
# What a schema says of one value by itself; whatever else it says only forbids more.
_BOUNDING = ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_EXACT = 2**53


class _NotSimple(Exception):
    """The rule has a part about which nothing is proved here."""


@dataclass(slots=True)
class _Fact:
    """What is asked of the value at one path."""

    constants: list[Any] = field(default_factory=list)
    order: bool = False  # whether a text is compared with a text by `<` and its like
    asked: list[Any] = field(default_factory=list)


def never_holds(condition: logic.Compiled, schema: schemas.ContextSchema | None, codes: Sequence[str | None]) -> bool:
    """
    This will say whether it is certain that no facts make a condition hold; False when that is not known.

    :param codes: what `responseCode` can be
    """
    facts: dict[str, _Fact] = {}
    try:
        if not condition.variables:
            return not _holds(condition, {})
        _read(condition.rule, facts)
        if facts.keys() != condition.variables or len(facts) > MOST_FACTS or _nested(facts):
            return False
        faces = [_faces(path, fact, schema, codes) for path, fact in sorted(facts.items())]
    except (_NotSimple, logic.BudgetExceeded):
        return False
    if math.prod(len(each) for each in faces) > MOST_CHOICES:
        return False
    return not any(_holds(condition, dict(zip(sorted(facts), chosen, strict=True))) for chosen in product(*faces))


def _read(rule: Any, facts: dict[str, _Fact]) -> None:
    """Where only the truth of a value counts."""
    if not isinstance(rule, Mapping):
        return
    ((operator, given),) = rule.items()
    arguments = given if isinstance(given, list) else [given]
    if operator in _JOINING:
        for each in arguments:
            _read(each, facts)
    elif operator == "var":
        facts.setdefault(_path(rule), _Fact()).asked.append(rule)
    else:
        _compared(operator, arguments, rule, facts)


def _compared(operator: str, arguments: list[Any], rule: Any, facts: dict[str, _Fact]) -> None:
    paths = [_path(each) for each in arguments if isinstance(each, Mapping)]
    constants = [each for each in arguments if not isinstance(each, Mapping)]
    if operator == "in" and len(paths) == 1 and isinstance(arguments[1], list):
        constants = arguments[1]
    elif operator not in _EQUAL | _ORDER:
        raise _NotSimple
    if len(paths) != 1 or any(isinstance(each, list | Mapping) for each in constants):
        raise _NotSimple
    fact = facts.setdefault(paths[0], _Fact())
    fact.constants += constants
    fact.order |= operator in _ORDER and any(isinstance(each, str) for each in constants)
    fact.asked.append(rule)


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


def _faces(path: str, fact: _Fact, schema: schemas.ContextSchema | None, codes: Sequence[str | None]) -> list[Any]:
    """One value for each answer that everything asked of a fact can give together."""
    if path == "responseCode":
        return list(codes)
    bounds = _bounds(path, schema)
    fits = schemas.read({"properties": {"it": bounds}})
    asked = [logic.compile(rule) for rule in fact.asked]
    found: dict[tuple[bool, ...], Any] = {}
    for value in _values(fact, bounds):
        if value is None or not fits.problems({"it": value}):
            found.setdefault(tuple(_holds(each, {path: value}) for each in asked), value)
    return list(found.values())


def _bounds(path: str, schema: schemas.ContextSchema | None) -> dict[str, Any]:
    """What the schema says of the value itself, where the way to it leads through objects only."""
    top, *below = path.split(".")
    if schema is None or top != "context" or not below:
        return {}
    place: Any = {**schema.raw, "type": "object"}
    for key in below:
        if not isinstance(place, Mapping) or place.get("type") != "object":
            return {}
        place = place.get("properties", {}).get(key)
    return {key: place[key] for key in _BOUNDING if key in place} if isinstance(place, Mapping) else {}


def _values(fact: _Fact, bounds: Mapping[str, Any]) -> Iterator[Any]:
    limits = [bounds[key] for key in _BOUNDING[3:] if key in bounds]
    numbers = list(_numbers([*fact.constants, *limits, 0]))
    texts = {each for each in fact.constants if isinstance(each, str)}
    if len(numbers) + len(texts) > MOST_FACES:
        raise _NotSimple
    if fact.order:
        if any(not isinstance(each, str) for each in fact.constants):
            raise _NotSimple  # a text can then be asked both as a number and by its letters
        # Between a text and the next one lies, if anything, the text with the least letter after it.
        words = [*texts, *(each + "\0" for each in texts), ""]
    else:
        words = [*texts, "", _other("?", texts), *(_other(repr(each), texts) for each in numbers)]
    yield from (None, True, False)
    yield from numbers
    yield from words
    # A list stands for its text in every comparison but `===`, and so does an object.
    yield from ([], *([each] for each in words), {})
    yield from bounds.get("enum", ())
    if "const" in bounds:
        yield bounds["const"]


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
