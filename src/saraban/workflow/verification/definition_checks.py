"""
What publishing asks of the graph (REQ-WFL-09): one way in, every state on a way from it to an end, no way out of an end; of the
values and the automatic actions of its steps; and of what its ends say that they mean.
"""

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
# What an end may say of itself beside a name that has always meant something; `completed` says neither yes nor no.
_YES: tuple[Outcome, ...] = ("approved", "approved_with_comments")
_NO: tuple[Outcome, ...] = ("revise_resubmit", "rejected")
_SAME: Mapping[Outcome | None, tuple[Outcome, ...]] = {**dict.fromkeys(_YES, _YES), **dict.fromkeys(_NO, _NO)}


def verify(raw: Json, *, known: Known | None = None, root: str = "/dsl") -> Definition:
    """
    Read a definition that is to be published, and check what publishing asks.

    :param root: pointer under which the definition stands in the request
    :raises WorkflowNotValid: with every fault that was found, at most 100
    """
    definition = dsl.read(raw, known=known, root=root)
    found = Faults(root, known)
    check(definition, found)
    _outcomes(definition, found)
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


def check(definition: Definition, found: Faults) -> None:
    """Check the edges of a definition whose names are already sound."""
    _ends(definition, found)
    if not _targets(definition, found):
        return
    _names(definition, found)
    _given(definition, found)
    _action_fields(definition, found)
    _start(definition, found)
    _automatic(definition, found)
    reachability.check(definition, found)


def _names(definition: Definition, found: Faults) -> None:
    """A misspelt name is null for ever, and a misspelt value never met: whatever a condition reads must be able to be there."""
    schema, roles = definition.context_schema, found.known.roles
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
            known = _instead(path, schema)
            if known is not None:
                th, en = "เงื่อนไขอ่าน “{path}” ซึ่งไม่มีอยู่", "The condition reads “{path}”, which is never there."
                if known:
                    th, en = f"{th} มีเฉพาะ {{known}}", f"{en} There is {{known}}."
                found.add(f"{at}/condition/rule", "unknown_name", th, en, path=path[:100], known=", ".join(known))
        for path, value in dict.fromkeys(_values(step.condition.logic.rule, closed)):
            th = "“{path}” ไม่มีค่า “{value}” มีเฉพาะ {known}"
            en = "“{path}” is never “{value}”. There is {known}."
            found.add(
                f"{at}/condition/rule",
                "unknown_value",
                th,
                en,
                path=path,
                value=value[:100],
                known=", ".join(closed[path])[:500],
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
                    at = way_at(index, way)
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
        if state.terminal and state.due_days is not None:
            th, en = "สถานะสุดท้ายไม่มีกำหนดวัน", "A final status has no due date."
            found.add(f"/states/{index}/due", "due_in_terminal", th, en)


def _targets(definition: Definition, found: Faults) -> bool:
    named: dict[str, str] = {}
    for at, _, step in definition.steps:
        for code, target in step.outcomes:
            own = code is not None and not step.responses[code].inherits
            named[below(f"{at}/responses", code) + "/to" if own else f"{at}/to"] = target
    for index, state in enumerate(definition.states.values()):
        for way, target in state.review.then.items() if state.review else ():
            named[f"/states/{index}/review/then/{way}/to"] = target
    unknown = {at: target for at, target in named.items() if target not in definition.states}
    for at, target in unknown.items():
        th, en = "ไม่พบสถานะ “{name}”", "There is no status “{name}”."
        found.add(at, "unknown_state", th, en, name=target)
    return not unknown


def _outcomes(definition: Definition, found: Faults) -> None:
    """Refuse an `outcome` where nothing ends, and one that an end cannot have."""
    for index, state in enumerate(definition.states.values()):
        at, can = f"/states/{index}/outcome", _SAME.get(BY_NAME.get(state.name))
        if state.outcome is not None and not state.terminal:
            th, en = "ระบุผลได้เฉพาะสถานะสุดท้าย", "Only a terminal state has an outcome."
            found.add(at, "outcome_before_end", th, en)
        elif state.outcome is not None and state.name in ENDS and state.outcome != BY_NAME.get(state.name):
            th = "“{name}” มีความหมายแน่นอนอยู่แล้ว จึงกำหนดผลนี้ไม่ได้"
            en = "What “{name}” means is settled: it cannot have this outcome."
            found.add(at, "reserved_outcome", th, en, name=state.name)
        elif state.outcome is not None and can is not None and state.outcome not in can:
            th = "ชื่อ “{name}” บอกผลอยู่แล้ว outcome จึงเป็นได้เฉพาะ {choices} หากต้องการผลอื่น ให้ใช้ชื่อสถานะอื่น"
            en = "The name “{name}” says already what it means: `outcome` can be {choices}. For another one use another name."
            found.add(at, "outcome_contradicts", th, en, name=state.name, choices=", ".join(can))


def _action_fields(definition: Definition, found: Faults) -> None:
    """Refuse `fields` that can never be brought: unknown ones, and those of a payload that cannot become complete."""
    schema = definition.context_schema
    known = payload_fields(schema.raw) if schema is not None else ()
    names = {one.name for one in known}
    without = {one.name: _ways_without(definition, one.name) for one in known if one.required}
    steps = [step for _, _, step in definition.steps]
    stated = (
        None if any(step.fields is None for step in steps) else {one for step in steps for one in step.fields or ()}
    )
    for at, state, step in definition.steps:
        for place, one in enumerate(step.fields or ()):
            if one not in names:
                th = "context_schema ไม่มี “{name}” ใน properties ของ payload"
                en = "The context_schema names no “{name}” among the properties of the payload."
                found.add(f"{at}/fields/{place}", "unknown", th, en, name=one[:100])
        _fields_read(step, stated, at, found)
        for one in without if step.fields else ():
            if not step.takes(one) and state.name in without[one]:
                th = "ต้องมี “{name}” แต่มีทางมาถึงขั้นตอนนี้ที่ไม่มีผู้ใดระบุได้: {way}"
                en = "“{name}” is required, but it cannot be given here nor on this way to it: {way}."
                way = " → ".join(without[one][state.name])
                found.add(f"{at}/fields", "never_complete", th, en, name=one[:100], way=way[:300])


def _fields_read(step: Transition, stated: Collection[str] | None, at: str, found: Faults) -> None:
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


def _automatic(definition: Definition, found: Faults) -> None:
    """Each automatic action is possible where it is wanted, needs nobody's hand, and they come to an end."""
    follows: dict[Place, tuple[Place, ...]] = {}
    pointers: dict[Place, str] = {}
    for index, (name, state) in enumerate(definition.states.items()):
        for way in state.ways:
            pointers[name, way.name] = at = way_at(index, way)
            _possible(definition, way, f"{at}/events", found)
            follows[name, way.name] = tuple(_next(definition, way))
    try:
        order = [*TopologicalSorter(follows).static_order()]
    except CycleError as endless:
        _never_ends(endless.args[1], pointers, found)
        return
    length: dict[Place, int] = {}
    for place in order:
        length[place] = max((length[each] + 1 for each in follows[place]), default=0)
        if length[place] == MOST_IN_A_ROW + 1:
            th = "การดำเนินการอัตโนมัติต่อกันได้ไม่เกิน {most} ขั้นตอน"
            en = "At most {most} automatic actions can follow one another."
            found.add(f"{pointers[place]}/events", "automatic_chain", th, en, most=MOST_IN_A_ROW)


def _never_ends(circle: Sequence[Place], pointers: Mapping[Place, str], found: Faults) -> None:
    """:param circle: each before what leads to it, the first once more at the end"""
    walk = list(circle[:0:-1])
    first = next(place for place in pointers if place in walk)
    walk = [*walk[walk.index(first) :], *walk[: walk.index(first)], first]
    ways = " → ".join(f"{state}.{action}" for state, action in walk)
    th, en = "การดำเนินการอัตโนมัติวนไม่รู้จบ: {ways}", "These automatic actions never end: {ways}."
    found.add(f"{pointers[first]}/events", "automatic_cycle", th, en, ways=ways[:300])


def way_at(index: int, way: Way) -> str:
    """Return the pointer to an action or a verdict of a state."""
    return reduce(below, way.place, f"/states/{index}")


def _next(definition: Definition, way: Way) -> Iterator[Place]:
    for target in way.targets:
        for action in way.automatic:
            if action in definition.states[target].on:
                yield target, action


def _possible(definition: Definition, way: Way, at: str, found: Faults) -> None:
    for place, event in enumerate(way.events):
        if event["type"] != "auto_action":
            continue
        pointer = f"{at}/{place}/action"
        for target in way.targets:
            taken = definition.states[target].on.get(event["action"])
            if taken is None:
                th, en = "สถานะ “{state}” ไม่มีการดำเนินการนี้", "The status “{state}” has no such action."
                found.add(pointer, "unknown_action", th, en, state=target)
            elif taken.comment_required or taken.attachments_required or taken.responses:
                th = "ในสถานะ “{state}” การดำเนินการนี้ต้องมีความเห็น ไฟล์ หรือรหัสคำตอบ ระบบจึงทำเองไม่ได้"
                en = "In the state “{state}” this action needs a comment, a file or a response code, so nobody is there to give it."
                found.add(pointer, "needs_a_person", th, en, state=target)
