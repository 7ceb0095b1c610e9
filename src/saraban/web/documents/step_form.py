"""The fields of a workflow step in a dialog, and the payload from their values."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from saraban.kit.dates import parse_date
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.forms import SentForm, read_json, text, texts
from saraban.workflow.engine.step_data import same
from saraban.workflow.language.schema.fields import Field, figure, written
from saraban.workflow.language.subject import ValueOut
from saraban.workflow.runtime.schemas import TransitionIn
from saraban.workflow.runtime.service.step_data import StepData

STEP_PREFIX: Final = "payload."
TAKES: Final = "takes"  # names of the fields: a form that is sent again may be another action's
# More fields do not fit a dialog; programs send them.
MOST_STEP_FIELDS: Final = 60
TICKED: Final = "true"
_MOST_KEPT: Final = 100_000
_EXAMPLES: Final = {
    "date-time": "2026-11-21T14:30:00+07:00",
    "time": "14:30:00+07:00",
    "duration": "P3D",
    "email": "name@example.com",
    "uri": "https://example.com",
}


@dataclass(frozen=True, slots=True)
class StepField:
    """A field with its typed or remembered value."""

    field: Field
    typed: str

    @property
    def name(self) -> str:
        return STEP_PREFIX + self.field.name

    @property
    def at(self) -> str:
        """The id of its errors, with the start of a long name."""
        return field_id(self.field.name)

    @property
    def label(self) -> Text:
        return self.field.label or Text(self.field.name, self.field.name)

    @property
    def pattern(self) -> str:
        """For the browser, if it reads the pattern like the server; it matches whole values only."""
        regex = self.field.pattern
        is_plain = regex is not None and not any(part in regex for part in ("(?", "\\p", "\\P", "[[", "&&"))
        return f".*(?:{regex}).*" if is_plain else ""

    @property
    def example(self) -> str:
        return _EXAMPLES.get(self.field.format or "", "")


@dataclass(frozen=True, slots=True)
class StepForm:
    """
    :param stated: earlier values, for the person who decides
    :param judged: a condition reads the values, so they must be sent now
    :param folded: earlier values count, and need not be sent again
    :param too_many: the dialog shows no fields, because there are too many
    """

    rows: Sequence[StepField] = ()
    stated: Sequence[ValueOut] = ()
    judged: bool = False
    remembered: str = ""
    folded: bool = False
    too_many: bool = False

    @property
    def names(self) -> list[str]:
        return [row.at for row in self.rows]

    @property
    def takes(self) -> str:
        return json.dumps([row.field.name for row in self.rows], ensure_ascii=False)


def step_form(values: StepData, form: Mapping[str, Any], action: str) -> StepForm:
    fields = values.of(action)
    if len(fields) > MOST_STEP_FIELDS:
        return StepForm(stated=values.stated, too_many=True)
    again = form.get("action") == action
    rows = [StepField(field, _initial_text(field, values.remembered, form if again else None)) for field in fields]
    judged = action in values.judged
    return StepForm(
        rows,
        values.stated,
        judged,
        json.dumps(dict(values.remembered), ensure_ascii=False) if values.remembered else "",
        folded=not judged and any(field.name in values.remembered for field in fields),
    )


def payload_of_step(values: StepData, form: Any) -> dict[str, Any]:
    """
    Return the payload, without values that the document remembers.

    It depends only on the form and the definition, so a form sent twice has the same payload.
    :raises Invalid: for each value that is no JSON, or does not fit the schema
    """
    names = _read_hidden(form, TAKES)
    fields = [field for field in values.fields if isinstance(names, list) and field.name in names]
    if not fields or len(fields) > MOST_STEP_FIELDS:
        return {}
    typed, problems = _parse_fields(fields, form)
    if problems:
        raise Invalid(f"{problems[0].pointer}: this is no JSON.", fields=problems)
    remembered = _read_hidden(form, "remembered")
    judged, earlier = form.get("judged") == "1", remembered if isinstance(remembered, dict) else {}
    payload = (_changed_values if values.merges else _all_values)(fields, typed, earlier, judged=judged)
    if payload or judged:
        values.check(payload)
    return payload


def step_order(form: SentForm, values: StepData, *, items: Sequence[Mapping[str, object]] = ()) -> TransitionIn:
    """
    Return the transition of a dialog.
    :param items: answers to single items
    :raises Invalid:
    """
    payload = payload_of_step(values, form.values)
    payload_ = {
        "action": form.text("action") or "",
        "comment": form.text("comment"),
        "payload": {**payload, **({"itemResults": items} if items else {})},
        "attachmentPublicIds": texts(form.values, "attachment"),
        "responseCode": form.text("responseCode"),
        "clientVersionNo": version_in(form.values),
        "onBehalfOf": form.text("onBehalfOf"),
    }
    return form.order(TransitionIn, payload_)


def version_in(form: FormValues) -> int:
    """Treat an invalid version as outdated."""
    typed = text(form, "version")
    return int(typed) if typed and typed.isascii() and typed.isdigit() and len(typed) < 10 else 0


def _changed_values(
    fields: Sequence[Field], typed: Mapping[str, Any], earlier: Mapping[str, Any], *, judged: bool
) -> dict[str, Any]:
    """Return changes, or all values for a condition; emptied is null, unticked is false."""
    boxes = {field.name: False for field in fields if field.kind == "boolean" and field.name not in typed}
    emptied = [
        field.name for field in fields if field.name not in {**typed, **boxes} and earlier.get(field.name) is not None
    ]
    current = {**typed, **{name: no for name, no in boxes.items() if name in earlier}, **dict.fromkeys(emptied)}
    changes = {name: value for name, value in current.items() if name not in earlier or not same(earlier[name], value)}
    payload = {name: value for name, value in current.items() if judged or name in changes}
    return payload | {name: no for name, no in boxes.items() if name not in earlier} if changes or judged else {}


def _all_values(
    fields: Sequence[Field], typed: Mapping[str, Any], earlier: Mapping[str, Any], *, judged: bool
) -> dict[str, Any]:
    """Return all values, for definitions whose payload replaces the earlier one."""
    names = {field.name for field in fields}
    # A field other than JSON cannot be null; an empty one keeps its value.
    rest = {name: value for name, value in earlier.items() if name not in names or value is None}
    boxes = {field.name: False for field in fields if field.kind == "boolean" and field.name not in typed}
    payload = {**rest, **typed, **(boxes if typed or earlier or judged else {})}
    same_as_before = {**earlier, **{name: False for name in boxes if earlier and name not in earlier}}
    return {} if not judged and payload == same_as_before else payload


def field_id(name: str) -> str:
    return STEP_PREFIX + name[:60]


def _initial_text(field: Field, remembered: Mapping[str, Any], form: Mapping[str, Any] | None) -> str:
    if form is not None:
        return str(form.get(STEP_PREFIX + field.name, ""))
    value, as_json = remembered.get(field.name), field.kind in {"choice", "json"}
    if field.name not in remembered or (value is None and not as_json):
        return ""
    return json.dumps(value, ensure_ascii=False) if as_json else written(value)


def _parse_fields(fields: Sequence[Field], form: Any) -> tuple[dict[str, Any], list[FieldProblem]]:
    values: dict[str, object] = {}
    problems: list[FieldProblem] = []
    for field, typed in _filled_fields(fields, form):
        match field.kind:
            case "number" | "integer":
                values[field.name] = figure(typed)
            case "boolean":
                values[field.name] = typed == TICKED
            case "choice" | "json":
                value, fault = read_json(typed, f"/payload/{_escape(field.name)}")
                values[field.name] = value
                problems += [fault] if fault else []
            case "date":
                day = parse_date(typed)
                values[field.name] = day.isoformat() if day else typed
            case _:
                values[field.name] = typed
    return values, problems


def _filled_fields(fields: Sequence[Field], form: Any) -> Iterator[tuple[Field, str]]:
    for field in fields:
        typed = text(form, STEP_PREFIX + field.name)
        if typed is not None:
            yield field, typed


def _escape(name: str) -> str:
    return name[:60].replace("~", "~0").replace("/", "~1")


def _read_hidden(form: Any, name: str) -> Any:
    """Return JSON that the page itself put into the form, or None if it is unreadable."""
    typed = form.get(name)
    if not isinstance(typed, str) or len(typed) > _MOST_KEPT:
        return None
    return read_json(typed, "")[0]
