"""
What publishing asks of the graph (ruling W5): one way in, every state on a way from it to an end, no way out of an end.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from saraban.workflow.domain import automatic, giving
from saraban.workflow.domain.definition import ENDS, Definition, State, Transition
from saraban.workflow.domain.faults import Faults
from saraban.workflow.domain.opening import CODE, WORK, Opening, opening
from saraban.workflow.domain.schema import ContextSchema

MOST_WORK = 1_500_000  # steps for all conditions of a definition; beyond them they have the benefit of the doubt
# What `engine.conditional_facts` gives to conditions; `*` is a path that the condition itself computes.
READABLE = frozenset({"state", "comment", "context", "document", "payload", "actor", CODE, "*"})


def check_names(states: Sequence[State], found: Faults) -> None:
    """This will refuse two states of one name, and any number of initial states but one."""
    seen: set[str] = set()
    for index, state in enumerate(states):
        if state.name in seen:
            th, en = "มีสถานะชื่อ “{name}” ซ้ำกัน", "There are two states named “{name}”."
            found.add(f"/states/{index}/name", "duplicate", th, en, name=state.name)
        seen.add(state.name)
    initial = [index for index, state in enumerate(states) if state.initial]
    if not initial:
        found.add("/states", "no_initial_state", "DSL ไม่มีการกำหนด Initial State", "No state is the initial one.")
    for index in initial[1:]:
        found.add(
            f"/states/{index}/initial",
            "multiple_initial_states",
            "DSL มี Initial State หลายค่า แต่ละ Workflow ต้องมีเพียง Initial State เดียว",
            "There is more than one initial state.",
        )


def check(definition: Definition, found: Faults) -> None:
    """This will check the edges of a definition whose names are already sound."""
    _ends(definition, found)
    if not _targets(definition, found):
        return
    _names(definition, found)
    _terms(definition, found)
    _given(definition, found)
    giving.check_fields(definition, found)
    _start(definition, found)
    automatic.check(definition, found)
    places = {name: index for index, name in enumerate(definition.states)}
    closed = _closed(definition, found)
    forwards = {
        name: [
            target
            for action, step in state.on.items()
            for code, target in step.outcomes
            if (name, action, code) not in closed
        ]
        + list(state.review.targets if state.review else ())
        for name, state in definition.states.items()
    }
    backwards: dict[str, list[str]] = {name: [] for name in definition.states}
    for name, targets in forwards.items():
        for target in targets:
            backwards[target].append(name)
    reached = _spread([definition.initial], forwards)
    finishing = _spread([name for name, state in definition.states.items() if state.terminal], backwards)
    for name, index in places.items():
        if name not in reached:
            th, en = "ไม่มีทางมาถึงสถานะ “{name}” จากจุดเริ่มต้น", "The state “{name}” cannot be reached from the start."
            found.add(f"/states/{index}", "unreachable", th, en, name=name)
        if name not in finishing and not definition.states[name].terminal:
            th, en = (
                "จากสถานะ “{name}” ไม่มีทางไปถึงสถานะสุดท้าย",
                "From the state “{name}” no terminal state can be reached.",
            )
            found.add(f"/states/{index}", "dead_end", th, en, name=name)


def _closed(definition: Definition, found: Faults) -> set[tuple[str, str, str | None]]:
    """The exits (state, action, response code) that no facts open: each is named, with facts under which it stays closed."""
    closed = set()
    left = MOST_WORK
    known: dict[tuple[str, str | None], Opening] = {}
    for index, (name, state) in enumerate(definition.states.items()):
        for action, step in state.on.items():
            if step.condition is None:
                continue
            rule = json.dumps(step.condition.logic.rule, sort_keys=True)
            shut = []
            for code in _asked(step):
                if (rule, code) not in known:
                    work = min(WORK, left)
                    looked = opening(step.condition, definition.context_schema, work=work, codes=(code,))
                    left = max(left - looked.work, 0)
                    known[rule, code] = looked
                if not known[rule, code].may_open:
                    shut.append((code, known[rule, code]))
            closed |= _shut(step, name, found.below(f"/states/{index}/on", action), shut, found)
    return closed


def _asked(step: Transition) -> Sequence[str | None]:
    """The codes for which a condition may differ: one stands for all when it does not read them."""
    codes = [code for code, _ in step.outcomes]
    return codes if step.condition is not None and CODE in step.condition.logic.variables else codes[:1]


def _shut(
    step: Transition, state: str, at: str, shut: Sequence[tuple[str | None, Opening]], found: Faults
) -> set[tuple[str, str, str | None]]:
    codes = [code for code, _ in step.outcomes]
    if shut and len(shut) == len(_asked(step)):
        th = "เงื่อนไขนี้ไม่มีวันเป็นจริง ลองแล้วเช่น {example}"
        en = "This condition never holds: not with {example}, nor with anything else that was tried."
        example = json.dumps(shut[0][1].tried, ensure_ascii=False)[:300]
        found.add(f"{at}/condition/rule", "never_holds", th, en, example=example)
        return {(state, step.action, code) for code in codes}
    for code, _ in shut:
        place = found.below(f"{at}/responses", str(code))
        th, en = "เงื่อนไขไม่มีวันเป็นจริงกับรหัสนี้", "With this code the condition never holds."
        found.add(place, "never_holds", th, en)
    return {(state, step.action, code) for code, _ in shut}


def _names(definition: Definition, found: Faults) -> None:
    """A misspelt name is null for ever: whatever a condition reads must be able to be there."""
    schema = definition.context_schema
    for index, state in enumerate(definition.states.values()):
        for action, step in state.on.items():
            for path in sorted(step.condition.logic.variables) if step.condition else ():
                if not _readable(path, schema):
                    at = found.below(f"/states/{index}/on", action) + "/condition/rule"
                    th, en = "เงื่อนไขอ่าน “{path}” ซึ่งไม่มีอยู่", "The condition reads “{path}”, which is never there."
                    found.add(at, "unknown_name", th, en, path=path[:100])


def _readable(path: str, schema: ContextSchema | None) -> bool:
    top, *below = path.split(".")
    if top != "context":
        return top in READABLE
    # Instances start with an empty context, and steps put nothing but their payload into it.
    return not below or (below[0] == "payload" and (schema is None or schema.may_hold(below)))


def _given(definition: Definition, found: Faults) -> None:
    """Whoever a state is given to must find an action there that can be his: an end and a bare review have none."""
    for index, state in enumerate(definition.states.values()):
        for way in state.ways:
            if any(definition.states[target].on for target in way.targets):
                continue
            for place, event in enumerate(way.events):
                if event["type"] == "assign":
                    at = automatic.way_at(index, way, found)
                    th = "มอบหมายไม่ได้ เพราะ {names} ไม่มีการดำเนินการให้ผู้ใดทำ"
                    en = "This gives nobody anything to do: there is no action in {names}."
                    found.add(f"{at}/events/{place}", "idle_assign", th, en, names=", ".join(way.targets)[:300])


def _start(definition: Definition, found: Faults) -> None:
    """Every document starts with an empty context, so the schema must take one."""
    schema = definition.context_schema
    for problem in schema.problems({}) if schema is not None else ():
        th = "เอกสารทุกฉบับเริ่มด้วย context ว่าง ({}) ซึ่งสคีมานี้ไม่ยอมรับ ที่ {place}"
        en = "Every document starts with an empty context ({}), which this schema refuses at {place}."
        found.add("/context_schema", "no_start", th, en, place=problem.pointer or "/")


def _ends(definition: Definition, found: Faults) -> None:
    terminal = [state for state in definition.states.values() if state.terminal]
    if not terminal:
        found.add(
            "/states", "no_terminal_state", "ต้องมีสถานะสุดท้ายอย่างน้อยหนึ่งสถานะ", "At least one state must be terminal."
        )
    for index, state in enumerate(definition.states.values()):
        if state.name in ENDS and not state.terminal:
            th = "ชื่อ “{name}” เป็นจุดสิ้นสุดของทุกสายงาน สถานะชื่อนี้จึงต้องเป็นสถานะสุดท้าย"
            en = "“{name}” is where every workflow can end, so a state of that name is terminal."
            found.add(f"/states/{index}/name", "reserved_name", th, en, name=state.name)
        if state.terminal and state.on:
            th, en = "สถานะสุดท้ายต้องไม่มีการดำเนินการต่อ", "A terminal state has no actions."
            found.add(f"/states/{index}/on", "exit_from_terminal", th, en)
        if state.terminal and state.review is not None:
            th, en = "สถานะสุดท้ายไม่มีการพิจารณา", "In a terminal state nobody is asked."
            found.add(f"/states/{index}/review", "exit_from_terminal", th, en)
        if state.terminal and state.editable:
            th, en = "เอกสารในสถานะสุดท้ายแก้ไขไม่ได้", "In a terminal state nothing can be edited."
            found.add(f"/states/{index}/editable", "editable_terminal", th, en)


def _terms(definition: Definition, found: Faults) -> None:
    for index, state in enumerate(definition.states.values()):
        if state.terminal and state.due_days is not None:
            th, en = "สถานะสุดท้ายไม่มีกำหนดวัน", "Nothing is due in a terminal state."
            found.add(f"/states/{index}/due", "due_in_terminal", th, en)


def _targets(definition: Definition, found: Faults) -> bool:
    sound = True
    named = set[str]()
    for index, state in enumerate(definition.states.values()):
        for action, step in state.on.items():
            for code, target in step.outcomes:
                if target not in definition.states:
                    at = found.below(f"/states/{index}/on", action)
                    own = code is not None and not step.responses[code].inherits
                    at = found.below(f"{at}/responses", str(code)) + "/to" if own else f"{at}/to"
                    th, en = "DSL อ้างอิง State ที่ไม่พบ: “{name}”", "There is no state “{name}”."
                    if at not in named:
                        found.add(at, "unknown_state", th, en, name=target)
                    named.add(at)
                    sound = False
        for way, target in state.review.then.items() if state.review else ():
            if target not in definition.states:
                th, en = "DSL อ้างอิง State ที่ไม่พบ: “{name}”", "There is no state “{name}”."
                found.add(f"/states/{index}/review/then/{way}/to", "unknown_state", th, en, name=target)
                sound = False
    return sound


def _spread(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    reached, waiting = set(start), list(start)
    while waiting:
        for target in edges[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached
