"""
YAML of project files, read with line numbers and written.

Scalars stay text: a code `NO` is not a boolean, and `011` keeps its zero. Anchors, tags and repeated keys are refused,
because a short file could expand without bound or contradict itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text
from saraban.kit.json import Json, JsonObject
from saraban.kit.problem import field_problems, pointer_of
from saraban.kit.schema import STORED
from saraban.setup.domain.project_file import ProjectFile

LARGEST: Final = 1_000_000
DEEPEST: Final = 12
MOST_FAULTS: Final = 100
YamlPath = tuple[str | int, ...]
# libyaml is ten times as fast, but not installed everywhere.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# YAML refuses these characters without naming a key, so they are replaced by one that every text field refuses.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_REFUSED: Final = "\ue000"

_NO_KEYS: Final = Text(
    "ไฟล์ต้องประกอบด้วยคีย์ที่ตามด้วย “:” เช่น `project:`", "The file must consist of keys, each with a colon: `project:`."
)
_TABS: Final = Text("ใช้ช่องว่างแทนแท็บในการย่อหน้า", "Indent with blanks instead of tabs.")
_QUOTED: Final = Text(
    "ใส่เครื่องหมายคำพูด ' ' คร่อมข้อความที่มี “: ” หรือ “#” หรือขึ้นต้นด้วย @ % `",
    "Put quotes ' ' around text that contains “: ” or “#”, or begins with @ % `.",
)
_INDENTED: Final = Text(
    "ย่อหน้าให้ตรงกับรายการเดียวกันที่อยู่เหนือขึ้นไป และใส่ “:” หลังคีย์ทุกตัว",
    "Give this line the same indentation as its neighbours of one level, and every key its colon.",
)
_COLON: Final = Text("ใส่ “: ” หลังคีย์ในบรรทัดนี้", "Put a colon and a blank after the key in this line.")
_BRACKET: Final = Text(
    "ปิดวงเล็บที่เปิดในบรรทัดนี้ และคั่นรายการด้วยจุลภาค",
    "Close the bracket that is opened in this line, and put commas between its items.",
)
_QUOTE: Final = Text("ปิดเครื่องหมายคำพูดที่เปิดในบรรทัดนี้", "Close the quote that is opened in this line.")
_ESCAPE: Final = Text("ใช้เครื่องหมายคำพูดเดี่ยว ' ' คร่อมข้อความที่มี \\", "Put single quotes ' ' around text that contains \\.")
# Part of the parser's message, the cure, and whether to report the line where the unfinished part begins.
_MALFORMED: Final[tuple[tuple[str, Text, bool], ...]] = (
    ("tab character", _TABS, False),
    ("cannot start any token", _QUOTED, False),
    ("mapping values are not allowed", _QUOTED, False),
    ("expected ':'", _COLON, True),
    ("expected ',' or", _BRACKET, True),
    ("unexpected end of stream", _QUOTE, True),
    ("escape", _ESCAPE, False),
)


class ProjectFileTooLarge(DomainError):
    """The project file is larger than 1 MB."""

    kind, code = ErrorKind.TOO_LARGE, "PROJECT_FILE_TOO_LARGE"
    says = Text("ไฟล์โครงการใหญ่เกิน 1 MB", "The project file has more than 1 MB.")
    recovery = (Text("แบ่งไฟล์ออกเป็นส่วน", "Divide the file: what a file leaves out stays as it is."),)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """:param lines: line of every key and item by path; empty for generated data"""

    file: ProjectFile
    lines: Mapping[YamlPath, int]

    def fault(self, at: YamlPath, code: str, th: str, en: str, **values: object) -> FieldProblem:
        return add_line(self.lines, FieldProblem(pointer_of(("body", *at)), code, Text(th, en), values), at)


def read_file(content: bytes) -> ReadFile:
    """:raises ProjectFileTooLarge, Invalid: naming line and key of the first hundred faults"""
    if len(content) > LARGEST:
        raise ProjectFileTooLarge
    reading = _YamlParser()
    try:
        text = _UNPRINTABLE.sub(_REFUSED, content.decode("utf-8-sig"))
        events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
        data = reading.read(events)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _invalid_file([_fault((), line, "encoding", "ไฟล์ต้องเป็น UTF-8", "The file must be UTF-8.")]) from None
    except yaml.YAMLError as error:
        raise _invalid_file([_syntax_fault(error, content)]) from None
    if reading.faults:
        raise _invalid_file(reading.faults)
    if data is None:
        raise _invalid_file([FieldProblem("", "empty", Text("ไฟล์ว่างเปล่า", "The file is empty."), {"line": 1})])
    if not isinstance(data, dict):
        line = reading.lines[()]
        raise _invalid_file([_fault((), line, "wrong_type", _NO_KEYS.th, _NO_KEYS.en)])
    return ReadFile(_validate(data, reading.lines), reading.lines)


def plain_data(text: str) -> dict[str, Any]:
    return read_file(text.encode()).file.model_dump(mode="json", by_alias=True, exclude_none=True)


def _syntax_fault(error: yaml.YAMLError, content: bytes) -> FieldProblem:
    problem, mark = str(getattr(error, "problem", "")), getattr(error, "problem_mark", None)
    context = getattr(error, "context_mark", None)
    lines = content.decode("utf-8-sig").split("\n")
    text = lines[mark.line] if mark and mark.line < len(lines) else ""
    cure, at_start = next(
        ((cure, at_start) for part, cure, at_start in _MALFORMED if part in problem), (_INDENTED, False)
    )
    if "\t" in text[: len(text) - len(text.lstrip())] and not at_start:
        cure = _TABS
    elif cure is _QUOTED and text.count(": ") + text.endswith(":") < 2:
        cure = _INDENTED
    place = context if at_start and context else mark
    line = min(place.line + 1, content.count(b"\n") + 1) if place else 1
    return _fault((), line, "yaml", cure.th, cure.en)


def _validate(data: Json, lines: Mapping[YamlPath, int]) -> ProjectFile:
    from pydantic import ValidationError

    try:
        return ProjectFile.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    faults = []
    for detail in errors:
        (problem,) = field_problems([{**detail, "loc": ("body", *detail["loc"])}])
        faults.append(add_line(lines, problem, detail["loc"]))
    raise _invalid_file(faults)


def add_line(lines: Mapping[YamlPath, int], problem: FieldProblem, at: YamlPath) -> FieldProblem:
    """Put the line of the key, or of the nearest key around it, before the problem."""
    if not lines:
        return problem
    line = next((lines[at[:end]] for end in range(len(at), -1, -1) if at[:end] in lines), 1)
    text = Text(f"บรรทัด {{line}}: {problem.text.th}", f"Line {{line}}: {problem.text.en}")
    return FieldProblem(problem.pointer, problem.code, text, {**problem.values, "line": line})


def _fault(at: YamlPath, line: int, code: str, th: str, en: str, **values: object) -> FieldProblem:
    return add_line({(): line}, FieldProblem(pointer_of(("body", *at)), code, Text(th, en), values), ())


def _invalid_file(faults: list[FieldProblem]) -> Invalid:
    return Invalid("The project file has faults.", fields=faults[:MOST_FAULTS])


@dataclass
class _YamlParser:
    lines: dict[YamlPath, int] = field(default_factory=dict)
    faults: list[FieldProblem] = field(default_factory=list)

    def read(self, events: Iterator[yaml.Event]) -> Json:
        data: Json = None
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

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], at: YamlPath) -> Json:
        self.lines.setdefault(at, _line(event))
        if isinstance(event, yaml.NodeEvent):
            self._check(event, at)
        if isinstance(event, yaml.ScalarEvent):
            empty = event.implicit[0] and event.value in {"", "~", "null"}
            return None if empty else event.value
        if len(at) > DEEPEST:
            self._add(at, event, "too_deep", "ข้อมูลซ้อนกันลึกเกินไป", "This is nested too deep.")
            raise _invalid_file(self.faults)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(events, at)
        return self._map(events, at) if isinstance(event, yaml.MappingStartEvent) else None

    def _list(self, events: Iterator[yaml.Event], at: YamlPath) -> list[Json]:
        items: list[Json] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self._value(event, events, (*at, len(items))))
        return items

    def _map(self, events: Iterator[yaml.Event], at: YamlPath) -> dict[str, Json]:
        values: dict[str, Json] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self._add(at, event, "key", "คีย์ต้องเป็นข้อความ", "A key must be text.")
                raise _invalid_file(self.faults)
            key = (*at, event.value[:60])
            self._check(event, key)
            if event.value in values:
                self._add(key, event, "duplicate_key", "คีย์นี้ซ้ำ", "This key stands twice.")
            self.lines[key] = _line(event)
            values[event.value] = self._value(next(events), events, key)
        return values

    def _check(self, event: yaml.NodeEvent, at: YamlPath) -> None:
        if event.anchor is not None:
            th, en = "ใช้ anchor หรือ alias ของ YAML ไม่ได้", "Anchors and aliases cannot be used."
            self._add(at, event, "anchor", th, en)
        if getattr(event, "tag", None) is not None and not isinstance(event, yaml.AliasEvent):
            self._add(at, event, "tag", "ใช้ tag ของ YAML ไม่ได้", "Tags cannot be used.")

    def _add(self, at: YamlPath, event: yaml.Event, code: str, th: str, en: str) -> None:
        self.faults.append(_fault(at, _line(event), code, th, en))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _PlainDumper(_DUMPER):  # type: ignore[misc]
    def ignore_aliases(self, _data: object) -> bool:
        return True


def yaml_text(data: JsonObject) -> str:
    file = ProjectFile.model_validate(data, context=STORED)
    ordered = file.model_dump(mode="json", by_alias=True, exclude_none=True)
    text: str = yaml.dump(
        ordered, Dumper=_PlainDumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=10_000
    )
    return text
