"""
YAML as project files use it: maps, lists and text, each with the line where it stands.

Scalars stay text, so that a code `NO` is no truth value and a number `011` keeps its zero; what a value must be is the
schema's business. Anchors, aliases, tags and repeated keys are refused: a file of a few lines could grow without bound,
or say two things at once.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from saraban.kit.errors import DomainError, FieldProblem, Invalid, Kind, Text
from saraban.kit.faults import field_problems, pointer_of
from saraban.setup.domain.project_file import ProjectFile

LARGEST: Final = 1_000_000
DEEPEST: Final = 12
MOST_FAULTS: Final = 100
Path = tuple[str | int, ...]
# With libyaml where it is there: ten times as fast.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What YAML itself refuses without naming a key is read as a character that every text field refuses.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_REFUSED: Final = "\u200b"


class ProjectFileTooLarge(DomainError):
    """A project file has at most 1 MB."""

    kind, code = Kind.TOO_LARGE, "PROJECT_FILE_TOO_LARGE"
    says = Text("ไฟล์โครงการใหญ่เกิน 1 MB", "The project file has more than 1 MB.")
    recovery = (Text("แบ่งไฟล์ออกเป็นส่วน", "Divide the file: what a file leaves out stays as it is."),)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """:param lines: of every key and item, by its path"""

    file: ProjectFile
    lines: Mapping[Path, int]

    def fault(self, at: Path, code: str, th: str, en: str, **values: object) -> FieldProblem:
        return located(self.lines, FieldProblem(pointer_of(("body", *at)), code, Text(th, en), values), at)


def read_file(content: bytes) -> ReadFile:
    """
    Read a project file.

    :raises ProjectFileTooLarge: over 1 MB
    :raises Invalid: naming line and key of every fault, a hundred at most
    """
    if len(content) > LARGEST:
        raise ProjectFileTooLarge
    reading = _Reading()
    try:
        text = _UNPRINTABLE.sub(_REFUSED, content.decode("utf-8-sig"))
        events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        data = reading.read(events)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refused([_fault((), line, "encoding", "ไฟล์ต้องเป็น UTF-8", "The file must be UTF-8.")]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        words = str(getattr(error, "problem", None) or "malformed").split("\n")[0][:200]
        th, en = "รูปแบบ YAML ไม่ถูกต้อง ({why})", "This is not valid YAML ({why})."
        line = min(mark.line + 1, content.count(b"\n") + 1) if mark else 1
        raise _refused([_fault((), line, "yaml", th, en, why=words)]) from None
    if reading.faults:
        raise _refused(reading.faults)
    return ReadFile(_checked(data, reading.lines), reading.lines)


def _checked(data: Any, lines: Mapping[Path, int]) -> ProjectFile:
    from pydantic import ValidationError

    try:
        return ProjectFile.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    faults = []
    for one in errors:
        (problem,) = field_problems([{**one, "loc": ("body", *one["loc"])}])
        faults.append(located(lines, problem, one["loc"]))
    raise _refused(faults)


def located(lines: Mapping[Path, int], problem: FieldProblem, at: Path) -> FieldProblem:
    """Put the line before the sentence of a fault: of its key, or of the nearest one around it."""
    line = next((lines[at[:end]] for end in range(len(at), -1, -1) if at[:end] in lines), 1)
    text = Text(f"บรรทัด {{line}}: {problem.text.th}", f"Line {{line}}: {problem.text.en}")
    return FieldProblem(problem.pointer, problem.code, text, {**problem.values, "line": line})


def _fault(at: Path, line: int, code: str, th: str, en: str, **values: object) -> FieldProblem:
    return located({(): line}, FieldProblem(pointer_of(("body", *at)), code, Text(th, en), values), ())


def _refused(faults: list[FieldProblem]) -> Invalid:
    return Invalid("The project file has faults.", fields=faults[:MOST_FAULTS])


@dataclass
class _Reading:
    """Builds maps and lists of the parser's events, and notes where they stand."""

    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[FieldProblem] = field(default_factory=list)

    def read(self, events: Iterator[Any]) -> Any:
        data: Any = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._add((), event, "documents", "ไฟล์ต้องมีเอกสาร YAML เดียว", "The file must be one YAML document.")
                    return None
            elif isinstance(event, yaml.NodeEvent):
                data = self._value(event, events, ())
        return data

    def _value(self, event: Any, events: Iterator[Any], at: Path) -> Any:
        self.lines.setdefault(at, _line(event))
        self._check(event, at)
        if isinstance(event, yaml.ScalarEvent):
            empty = event.implicit[0] and event.value in {"", "~", "null"}
            return None if empty else event.value
        if len(at) > DEEPEST:
            self._add(at, event, "too_deep", "ข้อมูลซ้อนกันลึกเกินไป", "This is nested too deep.")
            raise _refused(self.faults)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(events, at)
        return self._map(events, at) if isinstance(event, yaml.MappingStartEvent) else None

    def _list(self, events: Iterator[Any], at: Path) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self._value(event, events, (*at, len(items))))
        return items

    def _map(self, events: Iterator[Any], at: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self._add(at, event, "key", "คีย์ต้องเป็นข้อความ", "A key must be text.")
                raise _refused(self.faults)
            key = (*at, event.value[:60])
            self._check(event, key)
            if event.value in found:
                self._add(key, event, "duplicate_key", "คีย์นี้ซ้ำ", "This key stands twice.")
            self.lines[key] = _line(event)
            found[event.value] = self._value(next(events), events, key)
        return found

    def _check(self, event: Any, at: Path) -> None:
        if event.anchor is not None:
            th, en = "ใช้ anchor หรือ alias ของ YAML ไม่ได้", "Anchors and aliases cannot be used."
            self._add(at, event, "anchor", th, en)
        if getattr(event, "tag", None) is not None and not isinstance(event, yaml.AliasEvent):
            self._add(at, event, "tag", "ใช้ tag ของ YAML ไม่ได้", "Tags cannot be used.")

    def _add(self, at: Path, event: Any, code: str, th: str, en: str) -> None:
        self.faults.append(_fault(at, _line(event), code, th, en))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
