"""The values of steps; one stays until an action whose `fields` name it brings another."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import orjson

from saraban.kit.errors import FieldProblem, Invalid, Text, invalid
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language.definition import Definition, Transition
from saraban.workflow.language.faults import below
from saraban.workflow.language.schema import payload_nulls

PAYLOAD = "payload"
MAX_BYTES = 64_000  # of all values together; each step may bring 16,000

NOT_TAKEN = Text("การดำเนินการนี้ไม่รับค่านี้", "This action does not take this value.")
STATED = Text("มีผู้ระบุค่านี้ไว้แล้ว การดำเนินการนี้เปลี่ยนไม่ได้", "This value was given before, and this action does not change it.")


def remembered(context: JsonObject) -> JsonObject:
    values = context.get(PAYLOAD)
    return values if isinstance(values, Mapping) else {}


def check(definition: Definition, transition: Transition, context: JsonObject, payload: JsonObject) -> None:
    """:raises Invalid: at each value that the action does not take, and for more than `MAX_BYTES` in all"""
    if not payload or not definition.merges:
        return
    problems = list(_find_problems(transition, remembered(context), payload))
    if problems:
        raise Invalid(f"{problems[0].pointer}: {problems[0].text.en}", fields=problems)
    if len(orjson.dumps(remembered(after(definition, context, payload)))) > MAX_BYTES:
        th, en = "ค่าทั้งหมดรวมกันต้องไม่เกิน {most} ไบต์", "All values together may have at most {most} bytes."
        raise invalid(f"/{PAYLOAD}", "too_large", th, en, most=MAX_BYTES)


def _find_problems(transition: Transition, values: JsonObject, payload: JsonObject) -> Iterator[FieldProblem]:
    for name, value in payload.items():
        pointer = below(f"/{PAYLOAD}", name)
        if transition.fields is not None:
            if name not in transition.fields:
                yield FieldProblem(pointer, "not_taken", NOT_TAKEN)
        elif name in values and not same(values[name], value):
            yield FieldProblem(pointer, "stated", STATED)


def same(left: Json, right: Json) -> bool:
    """Return whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(*pair) for pair in zip(left, right, strict=True))
    return bool(left == right)


def after(definition: Definition, context: JsonObject, payload: JsonObject) -> dict[str, Json]:
    """
    Return what an instance remembers after a step.

    `null` removes a value, unless the schema allows null for it. A version that does not merge values replaces the payload.
    """
    if not payload:
        return dict(context)
    if not definition.merges:
        return {**context, PAYLOAD: dict(payload)}
    merged = {**remembered(context), **payload}
    if None in payload.values():
        schema = definition.context_schema
        kept = payload_nulls(schema.raw) if schema is not None else frozenset()
        merged = {name: value for name, value in merged.items() if value is not None or name in kept}
    return {**context, PAYLOAD: merged}


def check_context(definition: Definition, context: JsonObject) -> None:
    """:raises Invalid: with a fault for each field; those of the payload are under `/payload`"""
    if definition.context_schema is None:
        return
    problems = definition.context_schema.problems(dict(context))
    if problems:
        fields = [replace(each, pointer=_request_pointer(each.pointer)) for each in problems]
        raise Invalid(f"{fields[0].pointer}: {fields[0].text.say('en', fields[0].values)}", fields=fields)


def _request_pointer(pointer: str) -> str:
    return pointer if pointer.split("/")[1:2] == [PAYLOAD] else f"/context{pointer}"
