"""Faults of a definition with their JSON pointers, and size limits."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from uuid import UUID

from saraban.kit.errors import REQUIRED, FieldProblem, Text
from saraban.kit.json import Json, JsonObject

MOST = 100

DEEP = Text("ซ้อนลึกเกิน {most} ชั้น", "This is nested deeper than {most} levels.")
LARGE = Text("มีเกิน {most} ส่วน", "This has more than {most} parts.")
LONG = Text("ข้อความยาวรวมกันเกิน {most} ตัวอักษร", "The texts have more than {most} characters in all.")
NOT_JSON = Text("ค่านี้ไม่ใช่ JSON", "This is not a JSON value.")


@dataclass(frozen=True, slots=True)
class Known:
    """
    Names that a definition may use; None disables the check.
    :param users: active users among those the definition names
    """

    roles: Collection[str] | None = None
    permissions: Collection[str] | None = None
    users: Collection[UUID] | None = None


class Faults:
    """:param root: pointer of the definition in the request"""

    def __init__(self, root: str, known: Known | None = None) -> None:
        self._root = root
        self.known = known or Known()
        self.problems: list[FieldProblem] = []

    def add(self, at: str, code: str, th: str, en: str, **values: object) -> None:
        if len(self.problems) < MOST:
            self.problems.append(FieldProblem(self._root + at, code, Text(th, en), values))

    def extend(self, at: str, problems: Iterable[FieldProblem]) -> None:
        """Add faults with pointers relative to `at`."""
        for problem in problems:
            self.add(at + problem.pointer, problem.code, problem.text.th, problem.text.en, **problem.values)

    def keys(
        self, raw: Json, at: str, *, needed: AbstractSet[str] = frozenset(), allowed: AbstractSet[str] = frozenset()
    ) -> JsonObject | None:
        """Return an object with all needed keys, or None; report missing and unknown keys."""
        if not isinstance(raw, Mapping):
            self.add(at, "type", "ต้องเป็นออบเจกต์", "This must be an object.")
            return None
        for key in sorted(needed - set(raw)):
            self.add(below(at, key), "required", REQUIRED.th, REQUIRED.en)
        for key in raw:
            if key not in needed | allowed:
                self.add(below(at, key), "unknown_key", "ไม่รู้จักคีย์นี้", "This key is not known.")
        return raw if needed <= set(raw) else None

    def list_of(self, raw: Json, at: str, *, most: int, least: int = 1) -> list[Json]:
        if not isinstance(raw, list):
            self.add(at, "type", "ต้องเป็นรายการ", "This must be a list.")
            return []
        if not least <= len(raw) <= most:
            th, en = "ต้องมี {least} ถึง {most} รายการ", "There must be {least} to {most} of them."
            self.add(at, "length", th, en, least=least, most=most)
            return []
        return raw

    def object_of(self, raw: Json, at: str, *, most: int) -> JsonObject:
        if not isinstance(raw, Mapping):
            self.add(at, "type", "ต้องเป็นออบเจกต์", "This must be an object.")
            return {}
        if len(raw) > most:
            self.add(at, "length", "มีได้ไม่เกิน {most} รายการ", "There may be at most {most} of them.", most=most)
            return {}
        return raw

    def names(self, part: JsonObject, key: str, at: str, known: Collection[str] | None) -> frozenset[str]:
        """Return the names under `key`, and report unknown ones."""
        if key not in part:
            return frozenset()
        entries = self.list_of(part[key], f"{at}/{key}", most=50)
        for index, name in enumerate(entries):
            if not isinstance(name, str):
                self.add(f"{at}/{key}/{index}", "type", "ต้องเป็นข้อความ", "This must be text.")
            elif known is not None and name not in known:
                th, en = "ไม่รู้จัก “{name}”", "“{name}” is not known."
                self.add(f"{at}/{key}/{index}", "unknown", th, en, name=name[:100])
        return frozenset(name for name in entries if isinstance(name, str))


@dataclass(frozen=True, slots=True)
class Size:
    """
    Limits of a part of a definition, or of a value.
    :param depth: levels of objects and lists
    :param parts: values of any kind
    :param characters: total length of all texts
    """

    depth: int
    parts: int
    characters: int


class PartRefused(Exception):
    """`problems` have pointers relative to the refused part."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        first = problems[0]
        super().__init__(f"{first.pointer or '/'}: {first.text.say('en', first.values)}")
        self.problems = problems


def parts(raw: Json, most: Size) -> Iterator[tuple[str, Json]]:
    """
    Yield each part with its pointer, without recursion, which deep or cyclic input would exhaust.
    :raises PartRefused: at the first part beyond a limit
    """
    count, characters = 1, 0
    waiting: list[tuple[str, Json, int]] = [("", raw, 1)]
    while waiting:
        at, node, depth = waiting.pop()
        count += len(node) if isinstance(node, list | dict) else 0
        characters += _length(node)
        if depth > most.depth:
            raise PartRefused((FieldProblem(at, "too_deep", DEEP, {"most": most.depth}),))
        if count > most.parts:
            raise PartRefused((FieldProblem("", "too_large", LARGE, {"most": most.parts}),))
        if characters > most.characters:
            raise PartRefused((FieldProblem("", "too_long", LONG, {"most": most.characters}),))
        yield at, node
        inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        waiting += [(below(at, key), inner, depth + 1) for key, inner in reversed(list(inside))]


def _length(node: Json) -> int:
    if isinstance(node, str):
        return len(node)
    if isinstance(node, dict):
        return sum(len(key) for key in node if isinstance(key, str))
    # At most the number of digits in the text.
    return node.bit_length() >> 2 if isinstance(node, int) else 0


def escaped(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901), cut to 60 characters."""
    return key[:60].replace("~", "~0").replace("/", "~1")


def below(at: str, key: object) -> str:
    return f"{at}/{escaped(str(key))}"
