"""
What stands at a place of a schema, and values that it is likely to take: what it names itself comes first.

A value is a proposal: whether it fits is for the schema to say.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import jsonschema_rs

from saraban.workflow.domain.schema.grammar import PATTERNS
from saraban.workflow.domain.schema.pattern import texts

MOST = 24
_DEEPEST = 8
_FORMATS = {
    "date": ["2026-01-15", "2027-06-30", "2020-01-01"],
    "date-time": ["2026-01-15T09:00:00Z"],
    "time": ["09:00:00Z"],
    "duration": ["P1D"],
    "email": ["somebody@example.org"],
    "hostname": ["example.org"],
    "ipv4": ["192.0.2.1"],
    "ipv6": ["2001:db8::1"],
    "uri": ["https://example.org/"],
    "uuid": ["00000000-0000-4000-8000-000000000001"],
}


def layers(schema: Any, root: Mapping[str, Any]) -> Iterator[Any]:
    """Return what must hold together at a place: itself, what it refers to, and each of its `allOf`."""
    yield schema
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield from layers(root.get("$defs", {}).get(schema["$ref"].removeprefix("#/$defs/"), {}), root)
        for one in schema.get("allOf", ()):
            yield from layers(one, root)


def place(root: Mapping[str, Any], path: Sequence[str]) -> tuple[list[Any], bool]:
    """
    Return the schemas that a value at a path must meet, and whether there always is one.

    They say no more than is certain; where the way leads through something that need not be an object, nothing is.
    """
    here, always = list(layers(root, root)), True
    for key in path:
        said = [one for one in here if isinstance(one, Mapping)]
        if False in here:
            return [False], False
        if not any(one.get("type") == "object" for one in said):
            return _part(said, key), False
        always &= any(key in one.get("required", ()) for one in said)
        here = [deeper for one in said for deeper in layers(_inside(one, key), root)]
    return [one for one in here if one is not True and one != {}], always


def _part(said: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """A text and a list have a length; nothing else is known of what is in them."""
    if key == "length" and any(one.get("type") in ("string", "array") for one in said):
        return [{"type": "integer", "minimum": 0}]
    return []


def _inside(schema: Mapping[str, Any], key: str) -> Any:
    if key in schema.get("properties", {}):
        return schema["properties"][key]
    return {} if "patternProperties" in schema else schema.get("additionalProperties", {})


def fitting(here: Sequence[Any], root: Mapping[str, Any]) -> Callable[[Any], bool]:
    """Return the question whether a value meets all these schemas."""
    if not here:
        return lambda _value: True
    whole = {"$defs": root.get("$defs", {}), "allOf": list(here)}
    return jsonschema_rs.Draft202012Validator(
        whole, pattern_options=PATTERNS, validate_formats=True, offline=True
    ).is_valid


def samples(here: Sequence[Any], root: Mapping[str, Any]) -> list[Any]:
    """Propose values for a place, at most 24; none where nothing is said of it."""
    return list(islice(_values(list(here), root, 0), MOST))


def whole(value: Any, here: Sequence[Any], root: Mapping[str, Any], *, depth: int = 0) -> Any:
    """Return an object with what it needs and does not have yet."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return value
    said = [one for each in here for one in layers(each, root) if isinstance(one, Mapping)]
    made = dict(value)
    for name in _needed(said, made):
        inner = [_inside(one, name) for one in said]
        if name in made:
            made[name] = whole(made[name], inner, root, depth=depth + 1)
        else:
            made[name] = next(iter(samples(inner, root)), "a")
    return made


def _needed(said: Sequence[Mapping[str, Any]], made: Mapping[str, Any]) -> list[str]:
    needed = [name for one in said for name in one.get("required", ())]
    needed += [
        other
        for one in said
        for name, others in one.get("dependentRequired", {}).items()
        if name in made
        for other in others
    ]
    return list(dict.fromkeys([*needed, *made]))


def _values(here: list[Any], root: Mapping[str, Any], depth: int) -> Iterator[Any]:
    if depth > _DEEPEST:
        return
    said: dict[str, Any] = {}
    flat = [one for each in here for one in layers(each, root) if isinstance(one, Mapping)]
    for one in flat:
        said = {**one, **said}
    yield from said.get("examples", ())
    if "const" in said:
        yield said["const"]
        return
    if "default" in said:
        yield said["default"]
    if "enum" in said:
        yield from said["enum"]
        return
    for choices in ("oneOf", "anyOf"):
        for one in said.get(choices, ())[:MOST]:
            rest = [{key: value for key, value in each.items() if key != choices} for each in flat]
            yield from islice(_values([one, *rest], root, depth + 1), 6)
    for kind in _kinds(said):
        yield from _of_kind(kind, said, flat, root, depth)


def _kinds(said: Mapping[str, Any]) -> Sequence[str]:
    if "type" in said:
        return said["type"] if isinstance(said["type"], list) else [said["type"]]
    for kind, signs in (
        ("object", {"properties", "required", "minProperties"}),
        ("number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
        ("string", {"minLength", "maxLength", "pattern", "format"}),
        ("array", {"items", "minItems", "maxItems", "contains", "prefixItems"}),
    ):
        if not said.keys().isdisjoint(signs):
            return [kind]
    return []


def _of_kind(
    kind: str, said: Mapping[str, Any], flat: Sequence[Mapping[str, Any]], root: Mapping[str, Any], depth: int
) -> Iterator[Any]:
    match kind:
        case "null":
            yield None
        case "boolean":
            yield from (True, False)
        case "integer" | "number":
            yield from _numbers(flat, integer=kind == "integer")
        case "string":
            yield from _texts(said)
        case "object":
            yield whole({}, flat, root, depth=depth + 1)
        case "array":
            yield from _lists(said, flat, root, depth)


def _numbers(flat: Sequence[Mapping[str, Any]], *, integer: bool) -> Iterator[Any]:
    def told(key: str) -> list[float]:
        return [one[key] for one in flat if key in one]

    lowest = max(
        [*told("minimum"), *(each + (1 if integer else 0.5) for each in told("exclusiveMinimum"))], default=None
    )
    highest = min(
        [*told("maximum"), *(each - (1 if integer else 0.5) for each in told("exclusiveMaximum"))], default=None
    )
    ends = [each for each in (lowest, highest) if each is not None]
    middle = sum(ends) / 2 if len(ends) == 2 else 0
    step = max(told("multipleOf"), default=1 if integer else None)
    for each in (*ends, middle, 0, 1, 10, 1_000, 1_000_000):
        if step:
            yield from (plain(math.ceil(each / step) * step), plain(math.floor(each / step) * step))
        yield plain(each)


def plain(value: float) -> int | float:
    """Return a whole number as one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _texts(said: Mapping[str, Any]) -> Iterator[str]:
    shortest = min(int(said.get("minLength", 0)), 1_000)
    yield from _FORMATS.get(str(said.get("format")), ())
    if "pattern" in said:
        yield from texts(said["pattern"], shortest=shortest)
    yield from ("a" * max(shortest, 1), "a" * shortest, "a" * (shortest + 10))


def _lists(
    said: Mapping[str, Any], flat: Sequence[Mapping[str, Any]], root: Mapping[str, Any], depth: int
) -> Iterator[list[Any]]:
    items = [one["items"] for one in flat if "items" in one]
    first = [next(_values([one], root, depth + 1), "a") for one in said.get("prefixItems", ())]
    wanted = [
        value for one in flat if "contains" in one for value in islice(_values([one["contains"]], root, depth + 1), 1)
    ]
    values = list(islice(_values(items, root, depth + 1), 6)) or ["a", 1]
    least = min(int(said.get("minItems", 0)), 30)
    for count in dict.fromkeys((least, max(least, 1), max(least, 2))):
        filled = [*first, *wanted]
        room = max(count - len(filled), 0)
        yield [*filled, *(values[place % len(values)] for place in range(room))]
        yield [*filled, *([values[0]] * room)]
