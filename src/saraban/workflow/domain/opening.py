"""
Looks for facts under which a condition holds, so that publishing can refuse an exit that never opens (ruling W5).

Whether a rule can hold cannot be decided in general. What people write compares facts with constants, so the facts that
matter are those constants and their neighbours, within what the context's schema allows; these are tried, the likeliest
first, up to a bound. Finding none proves nothing by itself: where `proof` cannot say either that there are none, and where
the paths are computed or the rule is too large to try, it is given the benefit of the doubt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from saraban.workflow.domain import proof
from saraban.workflow.domain.condition import Condition
from saraban.workflow.domain.logic import compile  # noqa: A004 - as the libraries of this language call it
from saraban.workflow.domain.logic.compiler import ANYTHING
from saraban.workflow.domain.schema import ContextSchema

TRIES = 4_000
WORK = 500_000  # steps for one condition: a tenth of a second
CODE = "responseCode"
_MOST = 24  # values tried for one path
_PATHS = 40  # of clauses that hang together; of more no search comes to an end
# What a try costs besides the condition's own steps, in steps: itself, each of its paths, each part of the context.
_TRY, _PATH, _PART = 20, 15, 25
_USUAL: tuple[Any, ...] = (None, True, False, 1, 0, -1, "a", "", ["a"], [])
_LOGICAL = frozenset({"and", "or", "!", "!!", "if", "?:"})


@dataclass(frozen=True, slots=True)
class Opening:
    """
    :param facts: some under which the condition holds; None when none were found
    :param tried: some under which it does not hold: what its paths were
    :param sure: when none were found, whether it is proved that there are none
    :param count: evaluations that it took
    :param work: steps that these took, for whoever has only so many
    """

    facts: Mapping[str, Any] | None
    tried: Mapping[str, Any] = field(default_factory=dict)
    sure: bool = True
    count: int = 0
    work: int = 0

    @property
    def may_open(self) -> bool:
        return self.facts is not None or not self.sure


def opening(
    condition: Condition,
    schema: ContextSchema | None,
    *,
    tries: int = TRIES,
    work: int = WORK,
    codes: Sequence[str | None] = (None,),
) -> Opening:
    """
    This will look for facts under which the condition holds, in at most `tries` evaluations of `work` steps in all.

    Clauses of an `and` that share no path are looked at apart: one that never holds is enough to know.

    :param codes: what `responseCode` can be
    """
    if ANYTHING in condition.logic.variables:
        return Opening(None, sure=False)
    given: dict[str, Any] = {}
    sure, count, spent = True, 0, 0
    for clauses in _apart(condition.logic.rule):
        part = (
            condition if len(clauses) == 1 and clauses[0] is condition.logic.rule else Condition(compile(_all(clauses)))
        )
        found = _search(part, schema, tries, work - spent, codes)
        count, spent = count + found.count, spent + found.work
        if found.facts is None and found.sure:
            return replace(found, count=count, work=spent)
        sure &= found.sure
        given |= found.facts or {}
    facts = _facts(given, _base(schema))
    if condition.holds(facts) and (
        schema is None or _checking(schema) is None or not schema.problems(facts["context"])
    ):
        return Opening(facts, count=count, work=spent)
    if not sure:
        return Opening(None, given, sure=False, count=count, work=spent)
    # Apart they hold, together the schema does not allow them, or a path means several things.
    whole = _search(condition, schema, tries, work - spent, codes)
    facts = {} if whole.facts is None else _facts(whole.facts, _base(schema))
    return replace(whole, facts=None if whole.facts is None else facts, work=spent + whole.work)


def _search(
    condition: Condition, schema: ContextSchema | None, tries: int, work: int, codes: Sequence[str | None]
) -> Opening:
    """The facts of what this gives are values by path."""
    paths = sorted(condition.logic.variables)
    if len(paths) > _PATHS:
        return Opening(None, sure=False)
    told = _Told()
    told.hear(condition.logic.rule, frozenset(paths))
    base = _base(schema)
    checked = _checking(schema)
    values = [list(codes) if path == CODE else _values(path, told, schema) for path in paths]
    first: dict[str, Any] = {}
    count = spent = 0
    each_costs = _TRY + _PATH * len(paths) + _PART * _parts(base)
    for count, chosen in enumerate(_by_rank([len(each) for each in values])):
        if count >= tries or spent >= work:
            return Opening(None, first, sure=False, count=count, work=spent)
        spent += each_costs
        given = {path: values[place][rank] for place, (path, rank) in enumerate(zip(paths, chosen, strict=True))}
        facts = _facts(given, base)
        if checked is not None and checked.problems(facts["context"]):
            continue
        holds, steps = condition.tried(facts)
        spent += steps
        if holds:
            return Opening(given, count=count + 1, work=spent)
        first = first or given
    never = proof.never_holds(condition.logic, schema, codes)
    return Opening(None, first, sure=never, count=count + 1, work=spent)


def _base(schema: ContextSchema | None) -> Any:
    return _least(schema.raw) if schema else {}


def _checking(schema: ContextSchema | None) -> ContextSchema | None:
    """The schema, where we can make a context that fits it at all; a pattern, say, cannot be guessed."""
    return schema if schema is not None and not schema.problems(_least(schema.raw)) else None


def _apart(rule: Any) -> list[list[Any]]:
    """The clauses of an `and`, those that share a path together."""
    clauses = rule["and"] if isinstance(rule, Mapping) and isinstance(rule.get("and"), list) else [rule]
    groups: list[tuple[set[str], list[Any]]] = []
    for clause in clauses:
        paths = set(_paths(clause))
        joined = [group for group in groups if group[0] & paths]
        groups = [group for group in groups if not group[0] & paths]
        together = [one for _, inside in joined for one in inside]
        groups.append((paths.union(*(names for names, _ in joined)), [*together, clause]))
    return [inside for _, inside in groups]


def _all(clauses: Sequence[Any]) -> Any:
    return clauses[0] if len(clauses) == 1 else {"and": list(clauses)}


class _Told:
    """What a rule says of its own paths: the constants each is compared with, and what the items of its lists have."""

    def __init__(self) -> None:
        self.constants: dict[str, list[Any]] = {}
        self.others: list[Any] = []
        self.inner: set[str] = set()

    def hear(self, rule: Any, paths: frozenset[str]) -> None:
        if isinstance(rule, list):
            for each in rule:
                self.hear(each, paths)
        if not isinstance(rule, Mapping):
            return
        ((operator, given),) = rule.items()
        arguments = given if isinstance(given, list) else [given]
        if operator == "var":
            path = str(arguments[0]) if arguments else ""
            self.inner |= {path} - paths
            return
        if operator in ("missing", "missing_some"):
            return
        self.hear(arguments, paths)
        if operator in _LOGICAL:
            return
        near = [path for each in arguments for path in _paths(each)]
        beside = [value for each in arguments for value in _constants(each)][:_MOST]
        self.others += beside[: max(_MOST - len(self.others), 0)]
        for path in near:
            known = self.constants.setdefault(path, [])
            known += beside[: max(_MOST - len(known), 0)]


def _paths(rule: Any) -> Iterator[str]:
    """Paths read anywhere below, but not below a further comparison's own constants."""
    if isinstance(rule, list):
        for each in rule:
            yield from _paths(each)
    elif isinstance(rule, Mapping):
        ((operator, given),) = rule.items()
        if operator == "var":
            yield str(given[0] if isinstance(given, list) and given else given)
        else:
            yield from _paths(given)


def _constants(rule: Any) -> Iterator[Any]:
    if isinstance(rule, list):
        if not any(isinstance(each, Mapping | list) for each in rule):
            yield rule
        for each in rule:
            yield from _constants(each)
    elif isinstance(rule, Mapping):
        ((operator, given),) = rule.items()
        if operator != "var":
            yield from _constants(given)
    else:
        yield rule


def _values(path: str, told: _Told, schema: ContextSchema | None) -> list[Any]:
    """What to try at a path: what it is compared with, its neighbours, what the schema names, then a little of everything."""
    top, *below = path.split(".")
    named = list(_named(schema.raw, below)) if schema is not None and top == "context" else []
    near = [other for value in told.constants.get(path, []) for other in _around(value)]
    if path in ("actor.isSubmitter", "actor.isAssignee"):
        return [True, False]
    if path == "actor.roles":
        roles = [value for value in told.others if isinstance(value, str)]
        return _each_once([roles, *([role] for role in roles), []])[:_MOST]
    lists = _lists(told) if told.inner else []
    return _each_once([*near, *named, *lists, *_USUAL])[:_MOST]


def _around(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value + 1
        yield value - 1
    if isinstance(value, str):
        yield [value]
        yield value + "a"
    if isinstance(value, list):
        yield from value


def _lists(told: _Told) -> list[Any]:
    """Lists for loops: one item and two, each made of the rule's own constants."""
    constants = _each_once([other for value in told.others for other in _around(value)])[:8] or [1]
    items: list[Any] = list(constants)
    inner = sorted(told.inner - {"", "accumulator"})
    if inner:
        items += [_nested(dict.fromkeys(inner, value)) for value in constants]
        items += [_nested(dict(zip(inner, constants * len(inner), strict=False)))]
    return [[item] for item in items] + [items[:2]]


def _named(schema: Any, path: Sequence[str]) -> Iterator[Any]:
    """The values that a schema itself names for a place."""
    place = schema
    for key in path:
        place = place.get("properties", {}).get(key) if isinstance(place, Mapping) else None
    if not isinstance(place, Mapping):
        return
    yield from place.get("enum", ())
    for key in ("const", "default", "minimum", "maximum"):
        if key in place:
            yield from _around(place[key])
    yield _least(place)


def _least(schema: Any) -> Any:
    """The least that a schema may be content with; what it cannot guess, a pattern say, the schema then refuses."""
    if not isinstance(schema, Mapping):
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _least(properties.get(name, {"type": "string"})) for name in schema.get("required", ())}
    if kind in ("integer", "number"):
        return _least_number(schema)
    if kind == "array":
        return [_least(schema.get("items", {"type": "string"}))] * min(int(schema.get("minItems", 0)), 10)
    return {"string": "a" * min(int(schema.get("minLength", 1)), 100), "boolean": False}.get(str(kind))


def _least_number(schema: Mapping[str, Any]) -> float:
    if "minimum" in schema:
        return float(schema["minimum"]) if isinstance(schema["minimum"], float) else int(schema["minimum"])
    if "exclusiveMinimum" in schema:
        return int(schema["exclusiveMinimum"]) + 1
    return min(int(schema.get("maximum", 0)), 0)


def _facts(given: Mapping[str, Any], base: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"state": "", "comment": None, "context": {}, "document": {}, "payload": {}, "actor": {}}
    if isinstance(base, Mapping):
        facts["context"] = _copied(base)
    for path, value in given.items():
        if value is not None:  # a fact that is not there reads as null
            _put(facts, path.split("."), value)
    return facts


def _nested(given: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for path, value in given.items():
        _put(made, path.split("."), value)
    return made


def _put(place: dict[str, Any], way: Sequence[str], value: Any) -> None:
    *above, last = way
    for key in above:
        below = place.get(key)
        if not isinstance(below, dict):
            below = place[key] = {}
        place = below
    place[last] = value


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _parts(value: Any) -> int:
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return 1 + sum(_parts(each) for each in inside)


def _each_once(values: Sequence[Any]) -> list[Any]:
    """In their order; `1`, `true` and `"1"` are different facts."""
    seen: dict[tuple[str, str], Any] = {}
    for value in values:
        seen.setdefault((type(value).__name__, repr(value)), value)
    return list(seen.values())


def _by_rank(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every choice of one place in each list, those near the front of all lists first."""
    for rank in range(sum(size - 1 for size in sizes) + 1):
        yield from _of_rank(sizes, rank)


def _of_rank(sizes: Sequence[int], rank: int) -> Iterator[tuple[int, ...]]:
    if not sizes:
        if rank == 0:
            yield ()
        return
    most = sum(size - 1 for size in sizes[1:])
    for place in range(max(rank - most, 0), min(rank, sizes[0] - 1) + 1):
        for others in _of_rank(sizes[1:], rank - place):
            yield (place, *others)
