"""Checks of a definition's graph, values, automatic actions and outcomes (REQ-WFL-09)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from graphlib import CycleError, TopologicalSorter

from saraban.kit.errors import FieldProblem
from saraban.kit.json import Json
from saraban.workflow.engine.step_data import PAYLOAD
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import ENDS, Definition, Transition, Way
from saraban.workflow.language.dsl import Known, WorkflowNotValid
from saraban.workflow.language.faults import Faults, below
from saraban.workflow.language.outcome import BY_NAME, Outcome
from saraban.workflow.language.registers import ACTOR, ALL_TYPES, DOCUMENT, KINDS, PRIORITIES, TOP, unsayable
from saraban.workflow.language.schema import ContextSchema, payload_fields
from saraban.workflow.verification import reachability

Place = tuple[str, str]  # state, action
MOST_IN_A_ROW = 20  # all in one transaction
# Outcomes allowed for a state with a well-known name; `completed` allows any.
_YES: tuple[Outcome, ...] = ("approved", "approved_with_comments")
_NO: tuple[Outcome, ...] = ("revise_resubmit", "rejected")
_SAME: Mapping[Outcome | None, tuple[Outcome, ...]] = {**dict.fromkeys(_YES, _YES), **dict.fromkeys(_NO, _NO)}


def verify(raw: Json, *, known: Known | None = None, root: str = "/dsl") -> Definition:
    """:raises WorkflowNotValid: with at most 100 faults"""
    definition = dsl.read(raw, known=known, root=root)
    faults = Faults(root, known)
    check(definition, faults)
    _check_outcomes(definition, faults)
    if faults.problems:
        raise WorkflowNotValid(fields=faults.problems)
    return definition


def problems(raw: Json, *, known: Known, root: str = "/dsl") -> tuple[FieldProblem, ...]:
    try:
        verify(raw, known=known, root=root)
    except WorkflowNotValid as fault:
        return fault.fields
    return ()


def check(definition: Definition, faults: Faults) -> None:
    _check_ends(definition, faults)
    if not _check_targets(definition, faults):
        return
    _check_names(definition, faults)
    _check_assignments(definition, faults)
    _check_fields(definition, faults)
    _check_start(definition, faults)
    _check_automatic(definition, faults)
    reachability.check(definition, faults)


def _check_names(definition: Definition, faults: Faults) -> None:
    """A misspelt name reads as null, and a misspelt value never matches."""
    schema, roles = definition.context_schema, faults.known.roles
    closed = {
        "document.priority": PRIORITIES,
        "document.kind": KINDS,
        "document.documentType": ALL_TYPES,
        "state": tuple(definition.states),
        **({"actor.roles": tuple(sorted(roles))} if roles is not None else {}),
    }
    for at, _, step in definition.steps:
        if step.condition is None:
            continue
        for path in sorted(step.condition.logic.variables):
            valid_names = _valid_alternatives(path, schema)
            if valid_names is not None:
                th, en = "เงื่อนไขอ่าน “{path}” ซึ่งไม่มีอยู่", "The condition reads “{path}”, which is never there."
                if valid_names:
                    th, en = f"{th} มีเฉพาะ {{known}}", f"{en} There is {{known}}."
                faults.add(
                    f"{at}/condition/rule", "unknown_name", th, en, path=path[:100], known=", ".join(valid_names)
                )
        for path, value in dict.fromkeys(_unknown_values(step.condition.logic.rule, closed)):
            th = "“{path}” ไม่มีค่า “{value}” มีเฉพาะ {known}"
            en = "“{path}” is never “{value}”. There is {known}."
            faults.add(
                f"{at}/condition/rule",
                "unknown_value",
                th,
                en,
                path=path,
                value=value[:100],
                known=", ".join(closed[path])[:500],
            )


def _valid_alternatives(path: str, schema: ContextSchema | None) -> Sequence[str] | None:
    """Return None for a possible path."""
    top, *below = path.split(".")
    if top not in TOP:
        return None if top == "*" else TOP
    for name, names in (("document", tuple(DOCUMENT)), ("actor", ACTOR)):
        if top == name:
            return names if below and below[0] not in names else None
    if top == "context" and below and below[0] != "payload":
        # The context contains only the payloads of steps.
        return ("context.payload",)
    inside = below if top == "context" else ["payload", *below] if top == "payload" else []
    never = unsayable(path) or (inside and schema is not None and not schema.may_hold(inside))
    return () if never else None


def _unknown_values(rule: Json, closed: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    if isinstance(rule, list):
        for value in rule:
            yield from _unknown_values(value, closed)
    if not isinstance(rule, Mapping):
        return
    ((operator, operands),) = rule.items()
    arguments = operands if isinstance(operands, list) else [operands]
    yield from _unknown_values(arguments, closed)
    if operator not in ("==", "===", "!=", "!==", "in") or len(arguments) != 2:
        return
    for left, right in (arguments, arguments[::-1]):
        path = left.get("var") if isinstance(left, Mapping) else None
        path = path[0] if isinstance(path, list) and path else path
        if isinstance(path, str) and path in closed:
            compared = right if isinstance(right, list) else [right]
            yield from ((path, value) for value in compared if isinstance(value, str) and value not in closed[path])


def _check_assignments(definition: Definition, faults: Faults) -> None:
    """An assignee needs an action: final states and plain reviews have none."""
    for index, state in enumerate(definition.states.values()):
        for way in state.ways:
            if any(definition.states[target].on for target in way.targets):
                continue
            for place, event in enumerate(way.events):
                if event["type"] == "assign":
                    at = way_at(index, way)
                    th = "มอบหมายไม่ได้ เพราะ {names} ไม่มีการดำเนินการให้ผู้ใดทำ"
                    en = "This gives nobody anything to do: there is no action in {names}."
                    faults.add(f"{at}/events/{place}", "idle_assign", th, en, names=", ".join(way.targets)[:300])


def _check_start(definition: Definition, faults: Faults) -> None:
    """Every document starts with an empty context, so the schema must accept it."""
    schema = definition.context_schema
    for problem in schema.problems({}) if schema is not None else ():
        th = "เอกสารทุกฉบับเริ่มด้วย context ว่าง ({}) ซึ่งสคีมานี้ไม่ยอมรับ ที่ {place}"
        en = "Every document starts with an empty context ({}), which this schema refuses at {place}."
        faults.add("/context_schema", "no_start", th, en, place=problem.pointer or "/")


def _check_ends(definition: Definition, faults: Faults) -> None:
    terminal = [state for state in definition.states.values() if state.terminal]
    if not terminal:
        faults.add(
            "/states",
            "no_terminal_state",
            "ต้องมีสถานะสุดท้ายอย่างน้อยหนึ่งสถานะ",
            "At least one status must be final (terminal).",
        )
    for index, state in enumerate(definition.states.values()):
        if state.name in ENDS and not state.terminal:
            th = "ชื่อ “{name}” เป็นจุดสิ้นสุดของทุกกระบวนงาน สถานะชื่อนี้จึงต้องเป็นสถานะสุดท้าย"
            en = "“{name}” is where every workflow can end, so a state of that name is terminal."
            faults.add(f"/states/{index}/name", "reserved_name", th, en, name=state.name)
        if state.terminal and state.on:
            th, en = "สถานะสุดท้ายต้องไม่มีการดำเนินการต่อ", "A final status has no actions."
            faults.add(f"/states/{index}/on", "exit_from_terminal", th, en)
        if state.terminal and state.review is not None:
            th, en = "สถานะสุดท้ายไม่มีการพิจารณา", "A final status has no review."
            faults.add(f"/states/{index}/review", "exit_from_terminal", th, en)
        if state.terminal and state.editable:
            th, en = "เอกสารในสถานะสุดท้ายแก้ไขไม่ได้", "Documents cannot be edited in a final status."
            faults.add(f"/states/{index}/editable", "editable_terminal", th, en)
        if state.terminal and state.due_days is not None:
            th, en = "สถานะสุดท้ายไม่มีกำหนดวัน", "A final status has no due date."
            faults.add(f"/states/{index}/due", "due_in_terminal", th, en)


def _check_targets(definition: Definition, faults: Faults) -> bool:
    target_by_pointer: dict[str, str] = {}
    for at, _, step in definition.steps:
        for code, target in step.outcomes:
            has_own_target = code is not None and not step.responses[code].inherits
            target_by_pointer[below(f"{at}/responses", code) + "/to" if has_own_target else f"{at}/to"] = target
    for index, state in enumerate(definition.states.values()):
        for way, target in state.review.then.items() if state.review else ():
            target_by_pointer[f"/states/{index}/review/then/{way}/to"] = target
    unknown = {at: target for at, target in target_by_pointer.items() if target not in definition.states}
    for at, target in unknown.items():
        th, en = "ไม่พบสถานะ “{name}”", "There is no status “{name}”."
        faults.add(at, "unknown_state", th, en, name=target)
    return not unknown


def _check_outcomes(definition: Definition, faults: Faults) -> None:
    """Refuse an `outcome` of a state that is not final, or that its name contradicts."""
    for index, state in enumerate(definition.states.values()):
        at, can = f"/states/{index}/outcome", _SAME.get(BY_NAME.get(state.name))
        if state.outcome is not None and not state.terminal:
            th, en = "ระบุผลได้เฉพาะสถานะสุดท้าย", "Only a terminal state has an outcome."
            faults.add(at, "outcome_before_end", th, en)
        elif state.outcome is not None and state.name in ENDS and state.outcome != BY_NAME.get(state.name):
            th = "“{name}” มีความหมายแน่นอนอยู่แล้ว จึงกำหนดผลนี้ไม่ได้"
            en = "What “{name}” means is settled: it cannot have this outcome."
            faults.add(at, "reserved_outcome", th, en, name=state.name)
        elif state.outcome is not None and can is not None and state.outcome not in can:
            th = "ชื่อ “{name}” บอกผลอยู่แล้ว outcome จึงเป็นได้เฉพาะ {choices} หากต้องการผลอื่น ให้ใช้ชื่อสถานะอื่น"
            en = "The name “{name}” says already what it means: `outcome` can be {choices}. For another one use another name."
            faults.add(at, "outcome_contradicts", th, en, name=state.name, choices=", ".join(can))


def _check_fields(definition: Definition, faults: Faults) -> None:
    """Refuse unknown `fields`, and required values that nobody can state."""
    schema = definition.context_schema
    schema_fields = payload_fields(schema.raw) if schema is not None else ()
    names = {name.name for name in schema_fields}
    paths_without = {name.name: _paths_without(definition, name.name) for name in schema_fields if name.required}
    steps = [step for _, _, step in definition.steps]
    accepted = (
        None if any(step.fields is None for step in steps) else {name for step in steps for name in step.fields or ()}
    )
    for at, state, step in definition.steps:
        for place, name in enumerate(step.fields or ()):
            if name not in names:
                th = "context_schema ไม่มี “{name}” ใน properties ของ payload"
                en = "The context_schema names no “{name}” among the properties of the payload."
                faults.add(f"{at}/fields/{place}", "unknown", th, en, name=name[:100])
        _check_condition_fields(step, accepted, at, faults)
        for name in paths_without if step.fields else ():
            if not step.takes(name) and state.name in paths_without[name]:
                th = "ต้องมี “{name}” แต่มีทางมาถึงขั้นตอนนี้ที่ไม่มีผู้ใดระบุได้: {way}"
                en = "“{name}” is required, but it cannot be given here nor on this way to it: {way}."
                way = " → ".join(paths_without[name][state.name])
                faults.add(f"{at}/fields", "never_complete", th, en, name=name[:100], way=way[:300])


def _check_condition_fields(step: Transition, accepted: Collection[str] | None, at: str, faults: Faults) -> None:
    """A value that no action accepts always reads null."""
    for path in sorted(step.condition.logic.variables) if step.condition is not None else ():
        top, *inside = path.split(".")
        if top == PAYLOAD and inside and not step.takes(inside[0]):
            th = "เงื่อนไขอ่าน “{path}” ซึ่ง fields ของการดำเนินการนี้ไม่รับ ค่าที่ระบุไว้ก่อนหน้าอ่านได้ที่ context.{path}"
            en = "The condition reads “{path}”, which is not among its `fields`; what came before is “context.{path}”."
            faults.add(f"{at}/condition/rule", "unknown_name", th, en, path=path[:100])
        elif (
            accepted is not None
            and [top, *inside[:1]] == ["context", PAYLOAD]
            and inside[1:2]
            and inside[1] not in accepted
        ):
            th = "เงื่อนไขอ่าน “{path}” ซึ่งไม่มี fields ของการดำเนินการใดรับ"
            en = "The condition reads “{path}”, which is among the `fields` of no action."
            faults.add(f"{at}/condition/rule", "unknown_name", th, en, path=path[:100])


def _paths_without(definition: Definition, name: str) -> dict[str, tuple[str, ...]]:
    """Return the states reachable without stating a value, with a shortest path."""
    ways: dict[str, tuple[str, ...]] = {definition.initial: (definition.initial,)}
    waiting = [definition.initial]
    for place in waiting:  # grows during the loop
        state = definition.states[place]
        ahead = [target for step in state.on.values() if not step.takes(name) for target in step.targets]
        for target in [*ahead, *(state.review.targets if state.review else ())]:
            if target not in ways:
                ways[target] = (*ways[place], target)
                waiting.append(target)
    return ways


def _check_automatic(definition: Definition, faults: Faults) -> None:
    """Automatic actions must be possible, need no input, and end."""
    follows: dict[Place, tuple[Place, ...]] = {}
    pointers: dict[Place, str] = {}
    for index, (name, state) in enumerate(definition.states.items()):
        for way in state.ways:
            pointers[name, way.name] = at = way_at(index, way)
            _check_possible(definition, way, f"{at}/events", faults)
            follows[name, way.name] = tuple(_following_actions(definition, way))
    try:
        order = [*TopologicalSorter(follows).static_order()]
    except CycleError as endless:
        _report_cycle(endless.args[1], pointers, faults)
        return
    length: dict[Place, int] = {}
    for place in order:
        length[place] = max((length[next_place] + 1 for next_place in follows[place]), default=0)
        if length[place] == MOST_IN_A_ROW + 1:
            th = "การดำเนินการอัตโนมัติต่อกันได้ไม่เกิน {most} ขั้นตอน"
            en = "At most {most} automatic actions can follow one another."
            faults.add(f"{pointers[place]}/events", "automatic_chain", th, en, most=MOST_IN_A_ROW)


def _report_cycle(circle: Sequence[Place], pointers: Mapping[Place, str], faults: Faults) -> None:
    """:param circle: each before its predecessor, the first again at the end"""
    walk = list(circle[:0:-1])
    first = next(place for place in pointers if place in walk)
    walk = [*walk[walk.index(first) :], *walk[: walk.index(first)], first]
    ways = " → ".join(f"{state}.{action}" for state, action in walk)
    th, en = "การดำเนินการอัตโนมัติวนไม่รู้จบ: {ways}", "These automatic actions never end: {ways}."
    faults.add(f"{pointers[first]}/events", "automatic_cycle", th, en, ways=ways[:300])


def way_at(index: int, way: Way) -> str:
    return reduce(below, way.place, f"/states/{index}")


def _following_actions(definition: Definition, way: Way) -> Iterator[Place]:
    for target in way.targets:
        for action in way.automatic:
            if action in definition.states[target].on:
                yield target, action


def _check_possible(definition: Definition, way: Way, at: str, faults: Faults) -> None:
    for place, event in enumerate(way.events):
        if event["type"] != "auto_action":
            continue
        pointer = f"{at}/{place}/action"
        for target in way.targets:
            step = definition.states[target].on.get(event["action"])
            if step is None:
                th, en = "สถานะ “{state}” ไม่มีการดำเนินการนี้", "The status “{state}” has no such action."
                faults.add(pointer, "unknown_action", th, en, state=target)
            elif step.comment_required or step.attachments_required or step.responses:
                th = "ในสถานะ “{state}” การดำเนินการนี้ต้องมีความเห็น ไฟล์ หรือรหัสคำตอบ ระบบจึงทำเองไม่ได้"
                en = "In the state “{state}” this action needs a comment, a file or a response code, so nobody is there to give it."
                faults.add(pointer, "needs_a_person", th, en, state=target)
