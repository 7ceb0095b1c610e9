"""Where in a JSON text each part stands, so that a fault can be named by its line."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r"[^,\]}\s]+")
_DECODER = json.JSONDecoder()
_MOST_REPEATS = 20
_ROOM = 5_000_000  # characters of all pointers together: those of deep parts are long


class InvalidJson(ValueError):
    """The text is no JSON; `line` and `column` count from 1."""

    def __init__(self, fault: json.JSONDecodeError) -> None:
        super().__init__(fault.msg)
        self.line, self.column = fault.lineno, fault.colno


class JsonTooDeep(ValueError):
    """The text is nested so deeply that nobody reads it."""


TWICE = Text(
    "เขียน “{key}” ไว้สองครั้งในออบเจกต์เดียวกัน (บรรทัด {first} และ {second}) ค่าแรกจะหายไปโดยไม่มีใครรู้",
    "“{key}” appears twice in the same object, on line {first} and on line {second}; the first would be lost.",
)


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A key that an object has twice: JSON readers keep the last one and say nothing."""

    pointer: str
    key: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class JsonText:
    """
    A JSON text that was read.

    :param places: pointer to line, counted from 1
    """

    value: Json
    places: Mapping[str, int]
    repeats: Sequence[RepeatedKey] = ()

    def twice(self, root: str = "") -> tuple[FieldProblem, ...]:
        """Name each key that stands twice in its object, at its second place."""
        return tuple(
            FieldProblem(
                root + one.pointer,
                "duplicate_key",
                TWICE,
                {"key": one.key[:60], "first": one.first, "second": one.second},
            )
            for one in self.repeats
        )


def read(text: str) -> tuple[Json, Mapping[str, int]]:
    """
    Read a JSON text, and tell the line of every part by its JSON pointer.

    :returns: the value, and pointer to line, counted from 1
    :raises InvalidJson: where it is none
    :raises JsonTooDeep: where it is too deep to be read
    """
    found = written(text)
    return found.value, found.places


def written(text: str) -> JsonText:
    """
    Read a JSON text as `read` does, and name what it says twice.

    :raises InvalidJson: where it is none
    :raises JsonTooDeep: where it is too deep to be read
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as fault:
        raise InvalidJson(fault) from fault
    except RecursionError as fault:
        raise JsonTooDeep from fault
    places, repeats = _Places(text).found()
    return JsonText(value, places, repeats)


def twice_in(body: bytes) -> tuple[FieldProblem, ...]:
    """Name what stands twice in a body that was read as JSON before, or would not be read again."""
    lost = 0

    def count(pairs: list[tuple[str, Json]]) -> None:
        nonlocal lost
        lost += len(pairs) - len({key for key, _ in pairs})

    try:
        text = body.decode(json.detect_encoding(body))
        json.loads(text, object_pairs_hook=count)
        return written(text).twice() if lost else ()
    except (ValueError, RecursionError):
        return ()


@dataclass(slots=True)
class _Open:
    """
    An object or a list whose end has not come yet.

    :param name: its key or index in what is around it
    :param index: of the next part of a list; None in an object
    :param keys: the lines of an object's keys so far
    """

    pointer: str
    name: str
    index: int | None
    keys: dict[str, int] = field(default_factory=dict)


class _Places:
    """Walks over a text that is known to be JSON, without recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(end.end() for end in re.finditer("\n", text))]
        self._line = 1
        self._room = _ROOM
        self._open: list[_Open] = []
        self._repeats: list[RepeatedKey] = []

    def found(self) -> tuple[dict[str, int], list[RepeatedKey]]:
        """Return the places in their order as far as there is room for them, and the keys that stand twice."""
        places: dict[str, int] = {}
        at, pointer, name = self._skip(0), "", ""
        while True:
            self._room -= len(pointer)
            if self._room >= 0:
                places[pointer] = self._line_of(at)
            mark = self._text[at]
            if mark in "{[":
                self._open.append(_Open(pointer, name, 0 if mark == "[" else None))
                at = self._skip(at + 1)
            else:
                at = self._skip(self._after(at))
            while self._open and self._text[at] in "}]":
                self._open.pop()
                at = self._skip(at + 1)
            if not self._open:
                return places, self._repeats
            if self._text[at] == ",":
                at = self._skip(at + 1)
            at, name = self._next(at)
            # Without room the pointers are not made: only what stands twice is still looked for.
            pointer = f"{self._open[-1].pointer}/{name}" if self._room > 0 else ""

    def _next(self, at: int) -> tuple[int, str]:
        above = self._open[-1]
        if above.index is not None:
            above.index += 1
            return at, str(above.index - 1)
        key, end = _DECODER.raw_decode(self._text, at)
        name = _escaped(str(key))
        line = self._line_of(at)
        if key in above.keys and len(self._repeats) < _MOST_REPEATS:
            way = "".join(f"/{one.name}" for one in self._open[1:])
            self._repeats.append(RepeatedKey(f"{way}/{name}", str(key), above.keys[key], line))
        above.keys[key] = line
        at = self._skip(self._skip(end) + 1)  # over the colon
        return at, name

    def _after(self, at: int) -> int:
        if self._text[at] == '"':
            return _DECODER.raw_decode(self._text, at)[1]
        found = _PLAIN.match(self._text, at)
        return found.end() if found else len(self._text)

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _line_of(self, at: int) -> int:
        while self._line < len(self._starts) and self._starts[self._line] <= at:
            self._line += 1
        return self._line


def _escaped(key: str) -> str:
    return key[:60].replace("~", "~0").replace("/", "~1")
