"""The values of a step in a form: what each field shows, and what was typed turned into the payload that it stands for."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.web.forms import text
from saraban.workflow.domain import lines
from saraban.workflow.domain.schema.fields import NO, YES, Field, figure, written
from saraban.workflow.service.values import Values

PREFIX: Final = "payload."
# A dialog is no place for more; what has so many is sent by a program.
MOST: Final = 60
TICKED: Final = "true"
_MOST_TYPED: Final = 16_000
_EXAMPLES: Final = {
    "date-time": "2026-11-21T14:30:00+07:00",
    "time": "14:30:00+07:00",
    "duration": "P3D",
    "email": "name@example.com",
    "uri": "https://example.com",
}

NOT_JSON: Final = Text(
    "ไม่ใช่ JSON ที่บรรทัด {line} ตัวอักษรที่ {column}", "This is no JSON at line {line}, character {column}."
)
TOO_DEEP: Final = Text("ข้อมูลซ้อนลึกเกินไป", "This is too deeply nested.")


@dataclass(frozen=True, slots=True)
class Row:
    """One field as the page shows it: with what was typed, before that what the document remembers."""

    field: Field
    typed: str

    @property
    def name(self) -> str:
        return PREFIX + self.field.name

    @property
    def at(self) -> str:
        """How its faults are found: of a long name they have the beginning."""
        return place_of(self.field.name)

    @property
    def label(self) -> Text:
        return self.field.label or Text(self.field.name, self.field.name)

    @property
    def said(self) -> Text:
        """The value in words, for who only reads it."""
        named = {option.typed: option.label for option in self.field.options}
        if self.field.kind == "boolean":
            named = {"true": YES, "false": NO}
        return named.get(self.typed) or Text(self.typed, self.typed)

    @property
    def day(self) -> date | None:
        try:
            return date.fromisoformat(self.typed) if self.field.kind == "date" else None
        except ValueError:
            return None

    @property
    def pattern(self) -> str:
        """For the browser, as far as it reads it as the server does; it knows whole matches only."""
        told = self.field.pattern
        plain = told is not None and not any(part in told for part in ("(?", "\\p", "\\P", "[[", "&&"))
        return f".*(?:{told}).*" if plain else ""

    @property
    def example(self) -> str:
        return _EXAMPLES.get(self.field.format or "", "")


@dataclass(frozen=True, slots=True)
class Asked:
    """
    What the form of one action asks for.

    :param judged: a condition reads it, so that it must come now
    :param too_many: nothing is asked, because there are too many to be shown
    """

    rows: Sequence[Row] = ()
    judged: bool = False
    remembered: str = ""
    too_many: bool = False

    @property
    def names(self) -> list[str]:
        return [row.at for row in self.rows]

    @property
    def folded(self) -> bool:
        """What came before still counts, and nothing asks for it anew."""
        return bool(self.remembered) and not self.judged


def asked(values: Values, form: Mapping[str, Any], action: str) -> Asked:
    """This will give the fields of an action's form, filled in as they were when it was refused."""
    if len(values.fields) > MOST:
        return Asked(too_many=True)
    again = form.get("action") == action
    rows = [Row(one, _shown(one, values.remembered, form if again else None)) for one in values.fields]
    remembered = json.dumps(values.remembered, ensure_ascii=False) if values.remembered else ""
    return Asked(rows, action in values.judged, remembered)


def payload_in(values: Values, form: Any) -> dict[str, Any]:
    """
    This will give the payload that a form stands for, and nothing where it says what the document remembers anyway.

    It depends on nothing but the form and the definition, so that a form that is sent twice says the same twice.

    :raises Invalid: at each value that is no JSON where it must be, or does not fit the schema
    """
    if not values.fields or len(values.fields) > MOST:
        return {}
    judged, before = form.get("judged") == "1", _remembered(form)
    given, wrong = _typed(values.fields, form)
    if wrong:
        raise Invalid(f"{wrong[0].pointer}: this is no JSON.", fields=wrong)
    names = {one.name for one in values.fields}
    # No field can say null, except in JSON; an empty one leaves it as it was.
    rest = {name: value for name, value in before.items() if name not in names or value is None}
    boxes = {one.name: False for one in values.fields if one.kind == "boolean" and one.name not in given}
    payload = rest | given | (boxes if given or before or judged else {})
    if not judged and payload == before | {name: False for name in boxes if before and name not in before}:
        return {}
    values.check(payload)
    return payload


def place_of(name: str) -> str:
    return PREFIX + name[:60]


def read_json(typed: str, pointer: str) -> tuple[Any, FieldProblem | None]:
    """This will read what somebody typed as JSON, or say where it is none."""
    try:
        return lines.read(typed)[0], None
    except lines.NotJson as fault:
        return None, FieldProblem(pointer, "not_json", NOT_JSON, {"line": fault.line, "column": fault.column})
    except lines.TooDeep:
        return None, FieldProblem(pointer, "too_deep", TOO_DEEP)


def _shown(one: Field, remembered: Mapping[str, Any], form: Mapping[str, Any] | None) -> str:
    if form is not None:
        return str(form.get(PREFIX + one.name, ""))
    value, as_json = remembered.get(one.name), one.kind in {"choice", "json"}
    if one.name not in remembered or (value is None and not as_json):
        return ""
    return json.dumps(value, ensure_ascii=False) if as_json else written(value)


def _typed(fields: Sequence[Field], form: Any) -> tuple[dict[str, Any], list[FieldProblem]]:
    found: dict[str, Any] = {}
    wrong: list[FieldProblem] = []
    for one, typed in _filled(fields, form):
        match one.kind:
            case "number" | "integer":
                found[one.name] = figure(typed)
            case "boolean":
                found[one.name] = typed == TICKED
            case "choice" | "json":
                value, fault = read_json(typed, f"/payload/{_escaped(one.name)}")
                found[one.name] = value
                wrong += [fault] if fault else []
            case _:
                found[one.name] = typed
    return found, wrong


def _filled(fields: Sequence[Field], form: Any) -> Iterator[tuple[Field, str]]:
    for one in fields:
        typed = text(form, PREFIX + one.name)
        if typed is not None:
            yield one, typed


def _escaped(name: str) -> str:
    return name[:60].replace("~", "~0").replace("/", "~1")


def _remembered(form: Any) -> dict[str, Any]:
    """What the document remembered when the form was made; nobody types it, so what cannot be read is nothing."""
    typed = form.get("remembered")
    if not isinstance(typed, str) or len(typed) > _MOST_TYPED:
        return {}
    value, _ = read_json(typed, "")
    return value if isinstance(value, dict) else {}
