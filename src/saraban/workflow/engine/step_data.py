"""
The values that people bring with their steps: which of them an action takes, and what an instance remembers after it.

What somebody stated stays as it was stated, until an action whose `fields` name the value brings another one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import orjson

from saraban.kit.errors import FieldProblem, Invalid, Text, invalid
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language.definition import Definition, Transition
from saraban.workflow.language.faults import below
from saraban.workflow.language.schema import payload_nulls

PAYLOAD = "payload"
MOST = 64_000  # bytes of all values together: each step may bring 16,000

NOT_TAKEN = Text("การดำเนินการนี้ไม่รับค่านี้", "This action does not take this value.")
STATED = Text("มีผู้ระบุค่านี้ไว้แล้ว การดำเนินการนี้เปลี่ยนไม่ได้", "This value was given before, and this action does not change it.")


def remembered(context: JsonObject) -> JsonObject:
    """Return the values that came with the steps so far."""
    found = context.get(PAYLOAD)
    return found if isinstance(found, Mapping) else {}


def check(definition: Definition, transition: Transition, context: JsonObject, payload: JsonObject) -> None:
    """
    Hold what comes with an action against what it takes.

    :raises Invalid: at each value that it does not take
    """
    if not payload or not definition.merges:
        return
    problems = list(_refused(transition, remembered(context), payload))
    if problems:
        raise Invalid(f"{problems[0].pointer}: {problems[0].text.en}", fields=problems)
    if len(orjson.dumps(remembered(after(definition, context, payload)))) > MOST:
        th, en = "ค่าทั้งหมดรวมกันต้องไม่เกิน {most} ไบต์", "All values together may have at most {most} bytes."
        raise invalid(f"/{PAYLOAD}", "too_large", th, en, most=MOST)


def _refused(transition: Transition, known: JsonObject, payload: JsonObject) -> Iterator[FieldProblem]:
    for name, value in payload.items():
        at = below(f"/{PAYLOAD}", name)
        if transition.fields is not None:
            if name not in transition.fields:
                yield FieldProblem(at, "not_taken", NOT_TAKEN)
        elif name in known and not same(known[name], value):
            yield FieldProblem(at, "stated", STATED)


def same(one: Json, other: Json) -> bool:
    """Return whether two JSON values are the same: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


def after(definition: Definition, context: JsonObject, payload: JsonObject) -> dict[str, Json]:
    """
    Return what an instance remembers after a step: each value as it came last.

    `null` takes a value back, unless it is among the values that the schema names for it. Under a version from before
    values were kept one by one, the latest payload replaces the one before.
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
    """
    Compare what an instance is to remember with the definition's `context_schema`.

    :raises Invalid: with a fault for each field; those of the payload stand under `/payload`, as in the request
    """
    if definition.context_schema is None:
        return
    problems = definition.context_schema.problems(dict(context))
    if problems:
        fields = [replace(each, pointer=_asked(each.pointer)) for each in problems]
        raise Invalid(f"{fields[0].pointer}: {fields[0].text.say('en', fields[0].values)}", fields=fields)


def _asked(pointer: str) -> str:
    """Where the client reads of it: what it sent itself, or what the instance remembers."""
    return pointer if pointer.split("/")[1:2] == [PAYLOAD] else f"/context{pointer}"
