"""What publishing asks of the `fields` of actions: each can be given, and what is required can become complete."""

from collections.abc import Collection

from saraban.workflow.engine.step_data import PAYLOAD
from saraban.workflow.language.definition import Definition, Transition
from saraban.workflow.language.faults import Faults, below
from saraban.workflow.language.schema import payload_fields


def check(definition: Definition, found: Faults) -> None:
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
            at = below(f"/states/{index}/on", action)
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
