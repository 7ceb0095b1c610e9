"""
The values that people bring with their steps: which of them an action takes, and what an instance remembers after it.

What somebody stated stays as it was stated, until an action whose `fields` name the value brings another one.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from saraban.kit.errors import FieldProblem, Invalid, Text, invalid
from saraban.workflow.domain.definition import Definition, Transition
from saraban.workflow.domain.faults import Faults
from saraban.workflow.domain.schema import payload_fields, payload_nulls
from saraban.workflow.domain.schema.size import below

PAYLOAD = "payload"
MOST = 64_000  # bytes of all values together: each step may bring 16,000

NOT_TAKEN = Text("การดำเนินการนี้ไม่รับค่านี้", "This action does not take this value.")
STATED = Text("มีผู้ระบุค่านี้ไว้แล้ว การดำเนินการนี้เปลี่ยนไม่ได้", "This value was given before, and this action does not change it.")


def remembered(context: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that came with the steps so far."""
    found = context.get(PAYLOAD)
    return found if isinstance(found, Mapping) else {}


def check(
    definition: Definition, transition: Transition, context: Mapping[str, Any], payload: Mapping[str, Any]
) -> None:
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


def _refused(transition: Transition, known: Mapping[str, Any], payload: Mapping[str, Any]) -> Iterator[FieldProblem]:
    for name, value in payload.items():
        at = below(f"/{PAYLOAD}", name)
        if transition.fields is not None:
            if name not in transition.fields:
                yield FieldProblem(at, "not_taken", NOT_TAKEN)
        elif name in known and not same(known[name], value):
            yield FieldProblem(at, "stated", STATED)


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


def after(definition: Definition, context: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
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


def check_context(definition: Definition, context: Mapping[str, Any]) -> None:
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


def check_fields(definition: Definition, found: Faults) -> None:
    """Refuse `fields` that can never be brought: unknown ones, and those of a payload that cannot become complete."""
    schema = definition.context_schema
    known = payload_fields(schema.raw) if schema is not None else ()
    names = {one.name for one in known}
    without = {one.name: _ways_without(definition, one.name) for one in known if one.required}
    steps = [step for state in definition.states.values() for step in state.on.values()]
    stated = (
        None if any(step.fields is None for step in steps) else {one for step in steps for one in step.fields or ()}
    )
    for index, (name, state) in enumerate(definition.states.items()):
        for action, step in state.on.items():
            at = found.below(f"/states/{index}/on", action)
            for place, one in enumerate(step.fields or ()):
                if one not in names:
                    th = "context_schema ไม่มี “{name}” ใน properties ของ payload"
                    en = "The context_schema names no “{name}” among the properties of the payload."
                    found.add(f"{at}/fields/{place}", "unknown", th, en, name=one[:100])
            _read(step, stated, at, found)
            for one in without if step.fields else ():
                if not step.takes(one) and name in without[one]:
                    th = "ต้องมี “{name}” แต่มีทางมาถึงขั้นตอนนี้ที่ไม่มีผู้ใดระบุได้: {way}"
                    en = "“{name}” is required, but it cannot be given here nor on this way to it: {way}."
                    way = " → ".join(without[one][name])
                    found.add(f"{at}/fields", "never_complete", th, en, name=one[:100], way=way[:300])


def _read(step: Transition, stated: Collection[str] | None, at: str, found: Faults) -> None:
    """
    A condition that reads what never comes with its action, or what nobody can state, reads null for ever.

    :param stated: all that any action takes; None for everything
    """
    for path in sorted(step.condition.logic.variables) if step.condition is not None else ():
        top, *inside = path.split(".")
        if top == PAYLOAD and inside and not step.takes(inside[0]):
            th = "เงื่อนไขอ่าน “{path}” ซึ่ง fields ของการดำเนินการนี้ไม่รับ ค่าที่ระบุไว้ก่อนหน้าอ่านได้ที่ context.{path}"
            en = "The condition reads “{path}”, which is not among its `fields`; what came before is “context.{path}”."
            found.add(f"{at}/condition/rule", "unknown_name", th, en, path=path[:100])
        elif (
            stated is not None
            and [top, *inside[:1]] == ["context", PAYLOAD]
            and inside[1:2]
            and inside[1] not in stated
        ):
            th = "เงื่อนไขอ่าน “{path}” ซึ่งไม่มี fields ของการดำเนินการใดรับ"
            en = "The condition reads “{path}”, which is among the `fields` of no action."
            found.add(f"{at}/condition/rule", "unknown_name", th, en, path=path[:100])


def _ways_without(definition: Definition, name: str) -> dict[str, tuple[str, ...]]:
    """The states that can be reached though nobody could give a value, each by a shortest way."""
    ways: dict[str, tuple[str, ...]] = {definition.initial: (definition.initial,)}
    waiting = [definition.initial]
    for place in waiting:  # grows while it is walked
        state = definition.states[place]
        ahead = [target for step in state.on.values() if not step.takes(name) for target in step.targets]
        for target in [*ahead, *(state.review.targets if state.review else ())]:
            if target not in ways:
                ways[target] = (*ways[place], target)
                waiting.append(target)
    return ways
