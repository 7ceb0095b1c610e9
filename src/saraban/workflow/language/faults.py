"""Collects what is wrong with a definition while it is read, each fault under its JSON pointer."""

from collections.abc import Collection, Iterable, Mapping

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json, JsonObject

MOST = 100


class Faults:
    """
    The faults so far; adding more than 100 changes nothing.

    :param root: pointer under which the definition stands in the request
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self.problems: list[FieldProblem] = []

    def add(self, at: str, code: str, th: str, en: str, **values: object) -> None:
        if len(self.problems) < MOST:
            self.problems.append(FieldProblem(self._root + at, code, Text(th, en), values))

    def extend(self, at: str, problems: Iterable[FieldProblem]) -> None:
        """Add faults whose pointers are counted from `at`."""
        for problem in problems:
            self.add(at + problem.pointer, problem.code, problem.text.th, problem.text.en, **problem.values)

    @staticmethod
    def below(at: str, key: str) -> str:
        """Return the pointer of `key` under `at`, escaped after RFC 6901."""
        return f"{at}/{key[:60].replace('~', '~0').replace('/', '~1')}"

    def keys(self, raw: Json, at: str, *, needed: set[str], allowed: set[str]) -> JsonObject | None:
        """Return `raw` when it is an object, after naming the keys that are absent or unknown."""
        if not isinstance(raw, Mapping):
            self.add(at, "type", "ต้องเป็นออบเจกต์", "This must be an object.")
            return None
        for key in sorted(needed - set(raw)):
            self.add(self.below(at, key), "required", "จำเป็นต้องระบุ", "Required")
        for key in raw:
            if key not in needed | allowed:
                self.add(self.below(at, str(key)), "unknown_key", "ไม่รู้จักคีย์นี้", "This key is not known.")
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
        """Return the names listed under `key`, after naming those that are not in `known`."""
        if key not in part:
            return frozenset()
        listed = self.list_of(part[key], f"{at}/{key}", most=50)
        for index, name in enumerate(listed):
            if not isinstance(name, str):
                self.add(f"{at}/{key}/{index}", "type", "ต้องเป็นข้อความ", "This must be text.")
            elif known is not None and name not in known:
                th, en = "ไม่รู้จัก “{name}”", "“{name}” is not known."
                self.add(f"{at}/{key}/{index}", "unknown", th, en, name=name[:100])
        return frozenset(name for name in listed if isinstance(name, str))
