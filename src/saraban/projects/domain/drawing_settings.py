"""Settings of a register of drawings: revision scheme and form of numbers."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Self

from saraban.kit.errors import FieldProblem, Invalid, Text, invalid
from saraban.projects.domain.revision_scheme import RevisionScheme

CONTRACT_REGISTER: Final = "contract"  # the one that may take addenda
_CLASSES: Final = {"#": "[0-9]", "@": "[A-Z]", "*": "[^-/]+"}
_MOST_RUNS: Final = 6

_OTHERWISE: Final = Text(
    "เลขที่ “{value}” ไม่ตรงรูปแบบของโครงการ ({pattern})",
    "The number “{value}” does not have the project's form ({pattern}).",
)


@dataclass(frozen=True, slots=True)
class NumberPattern:
    """`#` is a digit, `@` a letter A-Z, `*` a text without `-` and `/`, as in `LP3-*-@@-###`."""

    text: str

    @classmethod
    def parse(cls, text: str, *, pointer: str = "/numberPattern") -> Self:
        """:raises Invalid: for one that would take any number, or has `**`"""
        if not text.strip("*-/ ") or "**" in text or text.count("*") > _MOST_RUNS:
            raise invalid(
                pointer,
                "malformed",
                "รูปแบบเลขที่ใช้ # แทนตัวเลข @ แทนตัวอักษร และ * แทนข้อความระหว่างขีด เช่น LP3-*-@@-###",
                "Write # for a figure, @ for a letter and * for a text between dashes, as in LP3-*-@@-###.",
            )
        return cls(text)

    def require(self, number: str, *, pointer: str = "/drawingNumber") -> None:
        """:raises Invalid:"""
        form = "".join(_CLASSES.get(character) or re.escape(character) for character in self.text)
        if re.fullmatch(form, number) is None:
            values = {"value": number, "pattern": self.text}
            raise Invalid(fields=[FieldProblem(pointer, "not_in_pattern", _OTHERWISE, values)])


@dataclass(frozen=True, slots=True)
class DrawingSettings:
    """`pattern` None takes any number; the defaults are not `is_decided`."""

    scheme: RevisionScheme
    pattern: NumberPattern | None = None
    addenda: bool = False
    own_workflow: bool = False
    is_decided: bool = True

    def scheme_of(self, labels: Collection[str | None]) -> RevisionScheme:
        """Return the scheme; undecided, a history in letters keeps letters (REQ-NUM-06)."""
        goes_by_letters = self.scheme.latest(labels) is None and _LETTERS.latest(labels) is not None
        return _LETTERS if goes_by_letters and not self.is_decided else self.scheme


DEFAULT_SCHEME: Final = "0"
_LETTERS: Final = RevisionScheme.parse("A-Z")
DEFAULTS: Final = DrawingSettings(RevisionScheme.parse(DEFAULT_SCHEME), is_decided=False)
