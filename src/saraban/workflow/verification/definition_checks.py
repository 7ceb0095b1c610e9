"""
What publishing asks of the graph (REQ-WFL-09): one way in, every state on a way from it to an end, no way out of an end.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from saraban.kit.errors import FieldProblem
from saraban.kit.json import Json
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import ENDS, Definition
from saraban.workflow.language.dsl import Known, WorkflowNotValid
from saraban.workflow.language.faults import Faults, below
from saraban.workflow.language.registers import ACTOR, ALL_TYPES, DOCUMENT, KINDS, PRIORITIES, TOP, unsayable
from saraban.workflow.language.schema import ContextSchema
from saraban.workflow.verification import action_fields, automatic_actions, final_states, reachability


def verify(raw: Json, *, known: Known | None = None, root: str = "/dsl") -> Definition:
    """
    Read a definition that is to be published, and check what publishing asks.

    :param root: pointer under which the definition stands in the request
    :raises WorkflowNotValid: with every fault that was found, at most 100
    """
    definition = dsl.read(raw, known=known, root=root)
    found = Faults(root)
    check(definition, found, roles=(known or Known()).roles)
    final_states.check(definition, found)
    if found.problems:
        raise WorkflowNotValid(fields=found.problems)
    return definition


def problems(raw: Json, *, known: Known, root: str = "/dsl") -> tuple[FieldProblem, ...]:
    """List what `verify` would refuse; empty when it would accept."""
    try:
        verify(raw, known=known, root=root)
    except WorkflowNotValid as fault:
        return fault.fields
    return ()


def check(definition: Definition, found: Faults, *, roles: Collection[str] | None = None) -> None:
    """
    Check the edges of a definition whose names are already sound.

    :param roles: all that there are; None when that is not known
    """
    _ends(definition, found)
    if not _targets(definition, found):
        return
    _names(definition, found, roles)
    _terms(definition, found)
    _given(definition, found)
    action_fields.check(definition, found)
    _start(definition, found)
    automatic_actions.check(definition, found)
    reachability.check(definition, found)


def _names(definition: Definition, found: Faults, roles: Collection[str] | None) -> None:
    """A misspelt name is null for ever, and a misspelt value never met: whatever a condition reads must be able to be there."""
    schema = definition.context_schema
    closed = {
        "document.priority": PRIORITIES,
        "document.kind": KINDS,
        "document.documentType": ALL_TYPES,
        "state": tuple(definition.states),
        **({"actor.roles": tuple(sorted(roles))} if roles is not None else {}),
    }
    for index, state in enumerate(definition.states.values()):
        for action, step in state.on.items():
            if step.condition is None:
                continue
            at = below(f"/states/{index}/on", action) + "/condition/rule"
            for path in sorted(step.condition.logic.variables):
                known = _instead(path, schema)
                if known is not None:
                    th, en = "เงื่อนไขอ่าน “{path}” ซึ่งไม่มีอยู่", "The condition reads “{path}”, which is never there."
                    if known:
                        th, en = f"{th} มีเฉพาะ {{known}}", f"{en} There is {{known}}."
                    found.add(at, "unknown_name", th, en, path=path[:100], known=", ".join(known))
            for path, value in dict.fromkeys(_values(step.condition.logic.rule, closed)):
                th = "“{path}” ไม่มีค่า “{value}” มีเฉพาะ {known}"
                en = "“{path}” is never “{value}”. There is {known}."
                found.add(
                    at, "unknown_value", th, en, path=path, value=value[:100], known=", ".join(closed[path])[:500]
                )


def _instead(path: str, schema: ContextSchema | None) -> Sequence[str] | None:
    """None for what can be there; else the names that there are instead, as far as they are known."""
    top, *below = path.split(".")
    if top not in TOP:
        return None if top == "*" else TOP
    for name, names in (("document", tuple(DOCUMENT)), ("actor", ACTOR)):
        if top == name:
            return names if below and below[0] not in names else None
    if top == "context" and below and below[0] != "payload":
        # Instances start with an empty context, and steps put nothing but their payload into it.
        return ("context.payload",)
    inside = below if top == "context" else ["payload", *below] if top == "payload" else []
    never = unsayable(path) or (inside and schema is not None and not schema.may_hold(inside))
    return () if never else None


def _values(rule: Json, closed: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """The texts with which a rule compares something that has only known values, and that are none of these."""
    if isinstance(rule, list):
        for each in rule:
            yield from _values(each, closed)
    if not isinstance(rule, Mapping):
        return
    ((operator, given),) = rule.items()
    arguments = given if isinstance(given, list) else [given]
    yield from _values(arguments, closed)
    if operator not in ("==", "===", "!=", "!==", "in") or len(arguments) != 2:
        return
    for one, other in (arguments, arguments[::-1]):
        path = one.get("var") if isinstance(one, Mapping) else None
        path = path[0] if isinstance(path, list) and path else path
        if isinstance(path, str) and path in closed:
            beside = other if isinstance(other, list) else [other]
            yield from ((path, each) for each in beside if isinstance(each, str) and each not in closed[path])


def _given(definition: Definition, found: Faults) -> None:
    """Whoever a state is given to must find an action there that can be theirs: an end and a bare review have none."""
    for index, state in enumerate(definition.states.values()):
        for way in state.ways:
            if any(definition.states[target].on for target in way.targets):
                continue
            for place, event in enumerate(way.events):
                if event["type"] == "assign":
                    at = automatic_actions.way_at(index, way)
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
            "/states",
            "no_terminal_state",
            "ต้องมีสถานะสุดท้ายอย่างน้อยหนึ่งสถานะ",
            "At least one status must be final (terminal).",
        )
    for index, state in enumerate(definition.states.values()):
        if state.name in ENDS and not state.terminal:
            th = "ชื่อ “{name}” เป็นจุดสิ้นสุดของทุกกระบวนงาน สถานะชื่อนี้จึงต้องเป็นสถานะสุดท้าย"
            en = "“{name}” is where every workflow can end, so a state of that name is terminal."
            found.add(f"/states/{index}/name", "reserved_name", th, en, name=state.name)
        if state.terminal and state.on:
            th, en = "สถานะสุดท้ายต้องไม่มีการดำเนินการต่อ", "A final status has no actions."
            found.add(f"/states/{index}/on", "exit_from_terminal", th, en)
        if state.terminal and state.review is not None:
            th, en = "สถานะสุดท้ายไม่มีการพิจารณา", "A final status has no review."
            found.add(f"/states/{index}/review", "exit_from_terminal", th, en)
        if state.terminal and state.editable:
            th, en = "เอกสารในสถานะสุดท้ายแก้ไขไม่ได้", "Documents cannot be edited in a final status."
            found.add(f"/states/{index}/editable", "editable_terminal", th, en)


def _terms(definition: Definition, found: Faults) -> None:
    for index, state in enumerate(definition.states.values()):
        if state.terminal and state.due_days is not None:
            th, en = "สถานะสุดท้ายไม่มีกำหนดวัน", "A final status has no due date."
            found.add(f"/states/{index}/due", "due_in_terminal", th, en)


def _targets(definition: Definition, found: Faults) -> bool:
    sound = True
    named = set[str]()
    for index, state in enumerate(definition.states.values()):
        for action, step in state.on.items():
            for code, target in step.outcomes:
                if target not in definition.states:
                    at = below(f"/states/{index}/on", action)
                    own = code is not None and not step.responses[code].inherits
                    at = below(f"{at}/responses", str(code)) + "/to" if own else f"{at}/to"
                    th, en = "DSL อ้างอิง State ที่ไม่พบ: “{name}”", "There is no status “{name}”."
                    if at not in named:
                        found.add(at, "unknown_state", th, en, name=target)
                    named.add(at)
                    sound = False
        for way, target in state.review.then.items() if state.review else ():
            if target not in definition.states:
                th, en = "DSL อ้างอิง State ที่ไม่พบ: “{name}”", "There is no status “{name}”."
                found.add(f"/states/{index}/review/then/{way}/to", "unknown_state", th, en, name=target)
                sound = False
    return sound
