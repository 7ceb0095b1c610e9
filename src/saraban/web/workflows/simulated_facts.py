"""What a rehearsal supposes of the document: the facts that conditions read, and what it remembers from before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from fastapi import Request

from saraban.kit.dates import parse_date
from saraban.kit.errors import FieldProblem, Invalid, Text, invalid
from saraban.kit.schema import Schema
from saraban.web.shell.document_kinds import KINDS
from saraban.web.shell.forms import NOT_JSON, TOO_DEEP, number_or_text, text, validated
from saraban.web.shell.labels import PRIORITIES
from saraban.workflow.administration.domain import json_text
from saraban.workflow.engine import step_data
from saraban.workflow.language.definition import Definition
from saraban.workflow.runtime.schemas import Payload
from saraban.workflow.service import line_of

# Both are asked whatever the conditions read: they are what documents are told apart by.
ALWAYS: Final = ("priority", "dueDate")
NAMES: Final[dict[str, Text]] = {
    "priority": Text("ความเร่งด่วนของเอกสาร", "Priority of the document"),
    "dueDate": Text("กำหนดตอบ", "Due date"),
    "kind": Text("ทะเบียน", "Register"),
    "documentType": Text("รหัสประเภทเอกสาร", "Document type code"),
    "number": Text("เลขที่เอกสาร", "Document number"),
    "title": Text("เรื่อง", "Subject"),
    "projectCode": Text("รหัสโครงการ", "Project code"),
    "originatorCode": Text("รหัสหน่วยงานผู้ส่ง", "Originator code"),
    "revision": Text("ฉบับที่ (Rev.)", "Rev."),
    "discipline": Text("รหัสสาขางาน", "Discipline code"),
    "openRoutings": Text("จำนวนคำตอบที่ยังขาด", "Answers still missing"),
}
CHOICES: Final[dict[str, dict[str, Text]]] = {
    "priority": {code: name for code, (name, _) in PRIORITIES.items()},
    "kind": {kind.name: kind.plural for kind in KINDS.values()},
}
NO_OBJECT: Final = Text("ต้องเป็นออบเจกต์ เช่น {example}", "This must be an object, such as {example}.")
AT_LINE: Final = Text("บรรทัดที่ {line} ({place}): ", "Line {line} ({place}): ")
_EXAMPLES: Final = {"document": '{"discipline": "STR"}', "context": '{"payload": {"amount": 5}}'}


@dataclass(frozen=True, slots=True)
class SimulatedFacts:
    """What conditions read as `document.<name>` and as `context.<name>`."""

    document: Mapping[str, Any]
    context: Mapping[str, Any]


class _SimulatedFactsIn(Schema):
    document: Payload
    context: Payload


def facts_read(definition: Definition) -> list[str]:
    """Name the facts of a document that a form asks for: those that any condition reads, and the usual ones."""
    paths = {
        tuple(path.split(".")[:2])
        for state in definition.states.values()
        for step in state.on.values()
        for path in (step.condition.logic.variables if step.condition else ())
    }
    everything = ("*",) in paths or ("document",) in paths
    return [name for name in NAMES if everything or name in ALWAYS or ("document", name) in paths]


def typed_facts(form: Any) -> dict[str, str]:
    """Return what was typed, as the page shows it again."""
    return {name: text(form, name) or "" for name in (*NAMES, "document", "context")}


def simulated_facts(request: Request, definition: Definition, typed: Mapping[str, str]) -> SimulatedFacts:
    """
    Read what was typed; a field counts more than the same name in the text beside it.

    :raises Invalid: at a text that is no JSON or no object, and at one that the definition's schema refuses, by its line
    """
    document, _ = _object(typed, "document")
    context, places = _object(typed, "context")
    given = dict(_given(definition, typed))
    around: _SimulatedFactsIn = validated(
        request, _SimulatedFactsIn, {"document": document | given, "context": context}
    )
    try:
        step_data.check_context(definition, around.context)
    except Invalid as fault:
        raise Invalid(fault.detail, fields=[_placed(one, places) for one in fault.fields]) from fault
    return SimulatedFacts(around.document, around.context)


def _given(definition: Definition, typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name in facts_read(definition):
        value = typed.get(name, "")
        if name == "dueDate" and value:
            day = parse_date(value)
            if day is None:
                raise invalid("/dueDate", "date", "ต้องเป็นวันที่ เช่น 31/12/2569", "This must be a date such as 31/12/2026.")
            yield name, day.isoformat()
        elif value:
            yield name, number_or_text(value) if name == "openRoutings" else value


def _object(typed: Mapping[str, str], name: str) -> tuple[dict[str, Any], Mapping[str, int]]:
    if not typed.get(name):
        return {}, {}
    try:
        value, places = json_text.read(typed[name])
    except json_text.InvalidJson as fault:
        raise invalid(f"/{name}", "not_json", NOT_JSON.th, NOT_JSON.en, line=fault.line, column=fault.column) from fault
    except json_text.JsonTooDeep as fault:
        raise invalid(f"/{name}", "too_deep", TOO_DEEP.th, TOO_DEEP.en) from fault
    if not isinstance(value, dict):
        raise invalid(f"/{name}", "type", NO_OBJECT.th, NO_OBJECT.en, example=_EXAMPLES[name])
    return value, places


def _placed(fault: FieldProblem, places: Mapping[str, int]) -> FieldProblem:
    """A fault of what the document remembers, at its text, with the line and the name of the part."""
    inside = replace(fault, pointer=fault.pointer.removeprefix("/context"))
    words = Text(AT_LINE.th + fault.text.th, AT_LINE.en + fault.text.en)
    values = {**fault.values, "line": line_of(inside, places) or 1, "place": inside.pointer.removeprefix("/") or "{ }"}
    return FieldProblem("/context", fault.code, words, values)
