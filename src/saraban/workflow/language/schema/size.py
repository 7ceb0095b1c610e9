"""How large and how deep a schema or a context may be, measured without recursion before anything else is done."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json

DEEP = Text("ซ้อนลึกเกิน {most} ชั้น", "This is nested deeper than {most} levels.")
LARGE = Text("มีเกิน {most} ส่วน", "This has more than {most} parts.")
LONG = Text("ข้อความยาวรวมกันเกิน {most} ตัวอักษร", "The texts have more than {most} characters in all.")
NOT_JSON = Text("ค่านี้ไม่ใช่ JSON", "This is not a JSON value.")


@dataclass(frozen=True, slots=True)
class Size:
    depth: int
    parts: int
    characters: int


def below(at: str, key: object) -> str:
    """Return the pointer of a key or an index, escaped after RFC 6901; of a long key the beginning."""
    return f"{at}/{str(key)[:60].replace('~', '~0').replace('/', '~1')}"


def excess(raw: Json, most: Size) -> FieldProblem | None:
    """Return the first thing that is too much, or no JSON; None when all is well."""
    parts, characters = 1, 0
    waiting: list[tuple[Json, str, int]] = [(raw, "", 1)]
    while waiting:
        node, at, depth = waiting.pop()
        if depth > most.depth:
            return FieldProblem(at, "too_deep", DEEP, {"most": most.depth})
        parts += len(node) if isinstance(node, list | dict) else 0
        if parts > most.parts:
            return FieldProblem("", "too_large", LARGE, {"most": most.parts})
        if not _is_json(node):
            return FieldProblem(at, "not_json", NOT_JSON)
        characters += _length(node)
        if characters > most.characters:
            return FieldProblem("", "too_long", LONG, {"most": most.characters})
        waiting += [(inner, below(at, key), depth + 1) for key, inner in _inside(node)]
    return None


def _inside(node: Json) -> Iterator[tuple[object, Json]]:
    if isinstance(node, dict):
        yield from node.items()
    elif isinstance(node, list):
        yield from enumerate(node)


def _length(node: Json) -> int:
    if isinstance(node, str):
        return len(node)
    if isinstance(node, dict):
        return sum(len(key) for key in node)
    return node.bit_length() >> 2 if isinstance(node, int) else 0


def _is_json(node: Json) -> bool:
    if isinstance(node, dict):
        return all(isinstance(key, str) and _is_text(key) for key in node)
    if isinstance(node, str):
        return _is_text(node)
    return isinstance(node, list | int | None) or (isinstance(node, float) and math.isfinite(node))


def _is_text(text: str) -> bool:
    """Half of a surrogate pair can be written as `\\ud800` in JSON, but is no character."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
