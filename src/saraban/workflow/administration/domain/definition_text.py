"""A definition as text: positions of its parts, layout, and differences between versions."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count, islice
from operator import itemgetter
from typing import Literal

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json, JsonObject, as_list
from saraban.workflow.language.faults import below, escaped

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_MOST_REPEATS = 10  # each needs another search in the text
_Way = tuple["_Way", tuple[str, bool]] | None


class InvalidJson(ValueError):
    """`line` and `column` count from 1."""

    def __init__(self, fault: json.JSONDecodeError) -> None:
        super().__init__(fault.msg)
        self.line, self.column = fault.lineno, fault.colno


class JsonTooDeep(ValueError):
    pass


TWICE = Text(
    "เขียน “{key}” ไว้สองครั้งในออบเจกต์เดียวกัน (บรรทัด {first} และ {second}) ค่าแรกจะหายไปโดยไม่มีใครรู้",
    "“{key}” appears twice in the same object, on line {first} and on line {second}; the first would be lost.",
)


@dataclass(frozen=True, slots=True)
class JsonText:
    text: str
    value: Json

    def line(self, pointer: str) -> int:
        """Return the line from 1 of a part, or of its nearest parent in the text."""
        at = _skip(self.text, 0)
        for name in pointer.split("/")[1:]:
            inside = next((value for key, _, value in _members(self.text, at) if escaped(key) == name), None)
            if inside is None:
                break
            at = inside
        return self._line_of(at)

    def twice(self, root: str = "") -> tuple[FieldProblem, ...]:
        """
        Report each duplicate key, at its last position.
        :raises JsonTooDeep:
        """
        try:
            problems = [
                self._duplicate_fault(way, key, root)
                for way, key in _find_duplicates(_loads(self.text, _RepeatingObject))
            ]
        except RecursionError as fault:
            raise JsonTooDeep from fault
        return tuple(problem for _, problem in sorted(problems, key=itemgetter(0)))

    def _duplicate_fault(self, way: Sequence[tuple[str, bool]], key: str, root: str) -> tuple[int, FieldProblem]:
        """Return the position of the last value, and the fault."""
        at = _skip(self.text, 0)
        for name, repeated in way:
            inside = (value for each, _, value in _members(self.text, at) if each == name)
            # For a single key, do not read the rest.
            at = [*inside][-1] if repeated else next(inside)
        first, *_, last = [place for each, place, _ in _members(self.text, at) if each == key]
        values = {"key": key[:60], "first": self._line_of(first), "second": self._line_of(last)}
        pointer = reduce(below, (*(name for name, _ in way), key), root)
        return last, FieldProblem(pointer, "duplicate_key", TWICE, values)

    def _line_of(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1


def read(text: str) -> JsonText:
    """
    :raises InvalidJson:
    :raises JsonTooDeep:
    """
    return JsonText(text, _loads(text))


def twice_in(body: bytes) -> tuple[FieldProblem, ...]:
    """Return none for a body that is no JSON."""
    try:
        return read(body.decode(json.detect_encoding(body))).twice()
    except ValueError:
        return ()


class _RepeatingObject(dict[str, Json]):
    """An object with its duplicate keys, of which JSON parsers keep the last."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs) if len(pairs) > len(self) else {}
        self.repeated = dict.fromkeys(key for key, count in counts.items() if count > 1)


def _loads(text: str, make: Callable[[list[tuple[str, Json]]], Json] | None = None) -> Json:
    try:
        value: Json = json.loads(text, object_pairs_hook=make)
    except json.JSONDecodeError as fault:
        raise InvalidJson(fault) from fault
    except RecursionError as fault:
        raise JsonTooDeep from fault
    return value


def _find_duplicates(tree: Json) -> list[tuple[list[tuple[str, bool]], str]]:
    duplicates: list[tuple[list[tuple[str, bool]], str]] = []
    waiting: list[tuple[Json, _Way]] = [(tree, None)]
    while waiting and len(duplicates) < _MOST_REPEATS:
        node, way = waiting.pop()
        repeated = node.repeated if isinstance(node, _RepeatingObject) else {}
        duplicates += [(_path_keys(way), key) for key in islice(repeated, _MOST_REPEATS - len(duplicates))]
        children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        waiting += [(value, (way, (str(key), key in repeated))) for key, value in children]
    return duplicates


def _path_keys(way: _Way) -> list[tuple[str, bool]]:
    names = []
    while way is not None:
        way, step = way
        names.append(step)
    return names[::-1]


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    if text[at] not in "{[":
        return
    is_object, at = text[at] == "{", _skip(text, at + 1)
    for index in count():
        if text[at] in "}]":
            return
        name, value = str(index), at
        if is_object:
            name, end = _DECODER.raw_decode(text, at)
            value = _skip(text, _skip(text, end) + 1)  # over the colon
        yield name, at, value
        at = _skip(text, _DECODER.raw_decode(text, value)[1])
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


WIDTH = 100
_INDENT = "  "


def formatted(raw: Json, *, depth: int = 0, room: int = WIDTH) -> str:
    """
    What fits on a line stays on it.
    :param room: characters left on the first line
    """
    short = json.dumps(raw, ensure_ascii=False)
    if len(short) <= room or not isinstance(raw, Mapping | list) or not raw:
        return short
    inner, end = _INDENT * (depth + 1), _INDENT * depth
    if isinstance(raw, list):
        parts = [inner + formatted(item, depth=depth + 1, room=WIDTH - len(inner)) for item in raw]
        return "[\n" + ",\n".join(parts) + f"\n{end}]"
    parts = []
    for key, value in raw.items():
        name = f"{inner}{json.dumps(key, ensure_ascii=False)}: "
        parts.append(name + formatted(value, depth=depth + 1, room=WIDTH - len(name)))
    return "{\n" + ",\n".join(parts) + f"\n{end}}}"


What = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """:param place: JSON pointer with state names, as `/states/draft/on/submit/require/roles`"""

    place: str
    what: What
    before: Json
    after: Json


def difference(before: JsonObject, after: JsonObject) -> list[DefinitionChange]:
    """
    Compare in the order of the newer definition; removed parts come last.
    States are compared by name. A moved state is no change, but the timeline's order is.
    """
    changes = list(_changes("", _by_name(before), _by_name(after)))
    orders = [[_name(state) for state in as_list(raw.get("states"))] for raw in (before, after)]
    common_orders = [[name for name in order if name in orders[1 - place]] for place, order in enumerate(orders)]
    if common_orders[0] != common_orders[1]:
        changes.append(DefinitionChange("/states", "changed", orders[0], orders[1]))
    return changes


def _by_name(raw: JsonObject) -> dict[str, Json]:
    states = {_name(state): state for state in as_list(raw.get("states"))}
    return {**raw, "states": states} | {"version": None}  # a different version number is no change


def _name(state: Json) -> str:
    return str(state.get("name")) if isinstance(state, Mapping) else str(state)


def _changes(place: str, before: Json, after: Json) -> Iterator[DefinitionChange]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*after, *(key for key in before if key not in after)]:
            at = below(place, key)
            if key not in before:
                yield DefinitionChange(at, "added", None, after[key])
            elif key not in after:
                yield DefinitionChange(at, "removed", before[key], None)
            else:
                yield from _changes(at, before[key], after[key])
    elif before != after or type(before) is not type(after):
        yield DefinitionChange(place, "changed", before, after)
