"""Where in a JSON text each part stands, so that a fault can be named by its line."""

import json
import re
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r"[^,\]}\s]+")
_DECODER = json.JSONDecoder()
_ROOM = 5_000_000  # characters of all pointers together: those of deep parts are long


class NotJson(ValueError):
    """The text is no JSON; `line` and `column` count from 1."""

    def __init__(self, fault: json.JSONDecodeError) -> None:
        super().__init__(fault.msg)
        self.line, self.column = fault.lineno, fault.colno


class TooDeep(ValueError):
    """The text is nested so deeply that nobody reads it."""


def read(text: str) -> tuple[Any, dict[str, int]]:
    """
    This will read a JSON text, and tell the line of every part by its JSON pointer.

    :returns: the value, and pointer to line, counted from 1
    :raises NotJson: where it is none
    :raises TooDeep: where it is too deep to be read
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as fault:
        raise NotJson(fault) from fault
    except RecursionError as fault:
        raise TooDeep from fault
    return value, _Places(text).found()


class _Places:
    """Walks over a text that is known to be JSON, without recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(end.end() for end in re.finditer("\n", text))]
        self._line = 1

    def found(self) -> dict[str, int]:
        """This will give the places in their order, as far as there is room for them."""
        places: dict[str, int] = {}
        room = _ROOM
        # Each entry is an open object or list: its pointer, and the next index of a list or None.
        open_: list[tuple[str, int | None]] = []
        at, pointer = self._skip(0), ""
        while True:
            room -= len(pointer)
            if room < 0:
                return places
            places[pointer] = self._line_of(at)
            mark = self._text[at]
            if mark in "{[":
                open_.append((pointer, 0 if mark == "[" else None))
                at = self._skip(at + 1)
            else:
                at = self._skip(self._after(at))
            while open_ and self._text[at] in "}]":
                open_.pop()
                at = self._skip(at + 1)
            if not open_:
                return places
            if self._text[at] == ",":
                at = self._skip(at + 1)
            at, pointer = self._next(at, open_)

    def _next(self, at: int, open_: list[tuple[str, int | None]]) -> tuple[int, str]:
        above, index = open_[-1]
        if index is not None:
            open_[-1] = (above, index + 1)
            return at, f"{above}/{index}"
        key, end = _DECODER.raw_decode(self._text, at)
        at = self._skip(self._skip(end) + 1)  # over the colon
        return at, f"{above}/{str(key)[:60].replace('~', '~0').replace('/', '~1')}"

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
