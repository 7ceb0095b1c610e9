"""The values that a step takes, as a dialog asks for them, and what was typed as the payload of a transition."""

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
TAKES: Final = "takes"  # names what a form asks for: it may be another action's by the time that it is sent again
# A dialog is no place for more; what has so many is sent by a program.
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
    """One field as the page shows it: with what was typed, before that what the document remembers."""

    field: Field
    typed: str

    @property
    def name(self) -> str:
        return STEP_PREFIX + self.field.name

    @property
    def at(self) -> str:
        """How its faults are found: of a long name they have the beginning."""
        return field_id(self.field.name)

    @property
    def label(self) -> Text:
        return self.field.label or Text(self.field.name, self.field.name)

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
class StepForm:
    """
    What the form of one action asks for.

    :param stated: what came before, for who decides about it, asked again or not
    :param judged: a condition reads it, so that it must come now
    :param folded: what came before still counts, and nothing asks for it anew
    :param too_many: nothing is asked, because there are too many to be shown
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
    """Return the fields of an action's form, filled in as they were when it was refused."""
    offered = values.of(action)
    if len(offered) > MOST_STEP_FIELDS:
        return StepForm(stated=values.stated, too_many=True)
    again = form.get("action") == action
    rows = [StepField(one, _shown(one, values.remembered, form if again else None)) for one in offered]
    judged = action in values.judged
    return StepForm(
        rows,
        values.stated,
        judged,
        json.dumps(dict(values.remembered), ensure_ascii=False) if values.remembered else "",
        folded=not judged and any(one.name in values.remembered for one in offered),
    )


def payload_of_step(values: StepData, form: Any) -> dict[str, Any]:
    """
    Return the payload that a form stands for, and nothing where it says what the document remembers anyway.

    It depends on nothing but the form and the definition, so that a form that is sent twice says the same twice.

    :raises Invalid: at each value that is no JSON where it must be, or does not fit the schema
    """
    asked_for = _sent(form, TAKES)
    offered = [one for one in values.fields if isinstance(asked_for, list) and one.name in asked_for]
    if not offered or len(offered) > MOST_STEP_FIELDS:
        return {}
    given, wrong = _typed_field(offered, form)
    if wrong:
        raise Invalid(f"{wrong[0].pointer}: this is no JSON.", fields=wrong)
    remembered = _sent(form, "remembered")
    judged, before = form.get("judged") == "1", remembered if isinstance(remembered, dict) else {}
    payload = (_changed if values.merges else _whole)(offered, given, before, judged=judged)
    if payload or judged:
        values.check(payload)
    return payload


def step_order(form: SentForm, values: StepData, *, items: Sequence[Mapping[str, object]] = ()) -> TransitionIn:
    """
    Return the step that a dialog asks for, by the version that its reader saw.

    :param items: answers to single items
    :raises Invalid: naming every field
    """
    payload = payload_of_step(values, form.values)
    said = {
        "action": form.text("action") or "",
        "comment": form.text("comment"),
        "payload": {**payload, **({"itemResults": items} if items else {})},
        "attachmentPublicIds": texts(form.values, "attachment"),
        "responseCode": form.text("responseCode"),
        "clientVersionNo": version_in(form.values),
        "onBehalfOf": form.text("onBehalfOf"),
    }
    return form.order(TransitionIn, said)


def version_in(form: FormValues) -> int:
    """What is no version is an old one: the reader is asked to look again."""
    shown = text(form, "version")
    return int(shown) if shown and shown.isascii() and shown.isdigit() and len(shown) < 10 else 0


def _changed(
    offered: Sequence[Field], given: Mapping[str, Any], before: Mapping[str, Any], *, judged: bool
) -> dict[str, Any]:
    """What is new; all of it for a condition. What was emptied is taken back, and a box that was not ticked says no."""
    boxes = {one.name: False for one in offered if one.kind == "boolean" and one.name not in given}
    emptied = [one.name for one in offered if one.name not in {**given, **boxes} and before.get(one.name) is not None]
    now = {**given, **{name: no for name, no in boxes.items() if name in before}, **dict.fromkeys(emptied)}
    new = {name: value for name, value in now.items() if name not in before or not same(before[name], value)}
    payload = {name: value for name, value in now.items() if judged or name in new}
    return payload | {name: no for name, no in boxes.items() if name not in before} if new or judged else {}


def _whole(
    offered: Sequence[Field], given: Mapping[str, Any], before: Mapping[str, Any], *, judged: bool
) -> dict[str, Any]:
    """All values, as versions want them in which a payload replaces the one before."""
    names = {one.name for one in offered}
    # No field can say null, except in JSON; an empty one leaves it as it was.
    rest = {name: value for name, value in before.items() if name not in names or value is None}
    boxes = {one.name: False for one in offered if one.kind == "boolean" and one.name not in given}
    payload = {**rest, **given, **(boxes if given or before or judged else {})}
    same_as_before = {**before, **{name: False for name in boxes if before and name not in before}}
    return {} if not judged and payload == same_as_before else payload


def field_id(name: str) -> str:
    return STEP_PREFIX + name[:60]


def _shown(one: Field, remembered: Mapping[str, Any], form: Mapping[str, Any] | None) -> str:
    if form is not None:
        return str(form.get(STEP_PREFIX + one.name, ""))
    value, as_json = remembered.get(one.name), one.kind in {"choice", "json"}
    if one.name not in remembered or (value is None and not as_json):
        return ""
    return json.dumps(value, ensure_ascii=False) if as_json else written(value)


def _typed_field(fields: Sequence[Field], form: Any) -> tuple[dict[str, Any], list[FieldProblem]]:
    found: dict[str, object] = {}
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
            case "date":
                day = parse_date(typed)
                found[one.name] = day.isoformat() if day else typed
            case _:
                found[one.name] = typed
    return found, wrong


def _filled(fields: Sequence[Field], form: Any) -> Iterator[tuple[Field, str]]:
    for one in fields:
        typed = text(form, STEP_PREFIX + one.name)
        if typed is not None:
            yield one, typed


def _escaped(name: str) -> str:
    return name[:60].replace("~", "~0").replace("/", "~1")


def _sent(form: Any, name: str) -> Any:
    """What the page itself put into the form as JSON; nobody types it, so what cannot be read is nothing."""
    typed = form.get(name)
    if not isinstance(typed, str) or len(typed) > _MOST_KEPT:
        return None
    return read_json(typed, "")[0]
