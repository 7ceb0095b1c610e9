"""Parse a definition, and report every fault with its JSON pointer in both languages."""

from collections.abc import Mapping, Sequence

from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language import schema
from saraban.workflow.language.definition import Definition, State, Transition, TransitionExample
from saraban.workflow.language.dsl import actions, parts, review
from saraban.workflow.language.dsl.parts import assigned, user_id
from saraban.workflow.language.faults import Faults, Known, PartRefused, below
from saraban.workflow.language.outcome import OUTCOMES
from saraban.workflow.language.registers import ACTOR

__all__ = ["Known", "WorkflowNotValid", "assigned", "read"]

OPTIONAL = {"version", "description", "context_schema", "examples"}
MAX_STATES = 200
MAX_SIZE = 1_000_000
MAX_PARTS = 50_000
MAX_DEPTH = 64
MAX_ACTIONS = 50
MAX_EXAMPLES = 50
MOST_DAYS = 365
_OF_A_STATE = frozenset({"initial", "terminal", "editable", "on", "help", "due", "review", "outcome"})
OBJECTS = ("context", "document", "payload", "actor")
TEXTS = ("comment", "responseCode")


class WorkflowNotValid(DomainError):
    """The definition is not valid. `fields` contains each fault with its position."""

    kind, code = ErrorKind.INVALID, "INVALID_WORKFLOW_DSL"
    says = Text("Workflow DSL ไม่ถูกต้อง กรุณาตรวจสอบโครงสร้าง", "The workflow definition is not valid.")
    recovery = (Text("แก้ไขตามตำแหน่งที่ระบุ แล้วตรวจสอบอีกครั้ง", "Correct the errors shown and validate again."),)


def read(raw: Json, *, known: Known | None = None, root: str = "/dsl") -> Definition:
    """
    Parse a definition by its form alone.
    :param root: pointer of the definition in the request
    :raises WorkflowNotValid: with at most 100 faults
    """
    faults = Faults(root, known)
    definition = _definition(raw, faults) if _check_size(raw, faults) else None
    if faults.problems or definition is None:
        raise WorkflowNotValid(fields=faults.problems)
    return definition


def _check_size(raw: Json, faults: Faults) -> bool:
    """Measure without recursion, so that a deep or huge definition costs little."""
    size = parts = 0
    waiting = [(raw, 1)]
    while waiting:
        part, depth = waiting.pop()
        parts += 1
        size += len(part.encode("utf-8", "replace")) if isinstance(part, str) else 2
        if size > MAX_SIZE or parts > MAX_PARTS or depth > MAX_DEPTH:
            faults.add("", "too_large", "นิยามใหญ่หรือซ้อนลึกเกินไป", "The definition is too large or too deeply nested.")
            return False
        if isinstance(part, Mapping):
            waiting += [(key, depth) for key in part]
            waiting += [(below, depth + 1) for below in part.values()]
        elif isinstance(part, list):
            waiting += [(below, depth + 1) for below in part]
    return True


def _definition(raw: Json, faults: Faults) -> Definition | None:
    top = faults.keys(raw, "", needed={"workflow", "states"}, allowed=OPTIONAL)
    if top is None:
        return None
    code = parts.name(top.get("workflow"), "/workflow", parts.CODE, faults)
    raw_description = top.get("description")
    description = parts.description(raw_description, "/description", faults) if raw_description is not None else None
    if "version" in top and type(top["version"]) is not int:
        faults.add("/version", "type", "ต้องเป็นจำนวนเต็ม", "This must be a whole number.")
    context_schema = _context_schema(top["context_schema"], faults) if "context_schema" in top else None
    raw_states = faults.list_of(top.get("states"), "/states", most=MAX_STATES)
    states_or_none = [_state(each, f"/states/{index}", faults) for index, each in enumerate(raw_states)]
    read_states = [state for state in states_or_none if state is not None]
    examples = _examples(top.get("examples", []), "/examples", faults)
    if code is None or len(read_states) != len(raw_states):
        return None
    _check_names(read_states, faults)
    initial = next((state.name for state in read_states if state.initial), "")
    by_name = {state.name: state for state in read_states}
    return Definition(code, description, initial, by_name, context_schema, examples=examples)


def _check_names(states: Sequence[State], faults: Faults) -> None:
    seen: set[str] = set()
    for index, state in enumerate(states):
        if state.name in seen:
            th, en = "มีสถานะชื่อ “{name}” ซ้ำกัน", "There are two statuses named “{name}”."
            faults.add(f"/states/{index}/name", "duplicate", th, en, name=state.name)
        seen.add(state.name)
    initial = [index for index, state in enumerate(states) if state.initial]
    if not initial:
        faults.add("/states", "no_initial_state", "DSL ไม่มีการกำหนด Initial State", "There is no initial status.")
    for index in initial[1:]:
        faults.add(
            f"/states/{index}/initial",
            "multiple_initial_states",
            "DSL มี Initial State หลายค่า แต่ละ Workflow ต้องมีเพียง Initial State เดียว",
            "There is more than one initial status.",
        )


def _state(raw: Json, at: str, faults: Faults) -> State | None:
    part = faults.keys(raw, at, needed={"name", "label"}, allowed=_OF_A_STATE)
    if part is None:
        return None
    name = parts.name(part.get("name"), f"{at}/name", parts.STATE, faults)
    label = parts.label(part.get("label"), f"{at}/label", faults)
    initial, terminal, editable = (parts.flag(part, key, at, faults) for key in ("initial", "terminal", "editable"))
    on: dict[str, Transition] = {}
    for action, body in faults.object_of(part.get("on", {}), f"{at}/on", most=MAX_ACTIONS).items():
        step = actions.read(action, body, below(f"{at}/on", action), faults)
        if step is not None:
            on[action] = step
    help_text = parts.help_text(part, at, faults)
    days = _due(part["due"], f"{at}/due", faults) if "due" in part else None
    parsed_review = review.read(part["review"], f"{at}/review", faults) if "review" in part else None
    outcome = None
    if "outcome" in part:
        outcome_name = parts.choice(part["outcome"], f"{at}/outcome", OUTCOMES, faults)
        outcome = next((outcome_option for outcome_option in OUTCOMES if outcome_option == outcome_name), None)
    if name is None or label is None:
        return None
    return State(
        name,
        label,
        initial,
        terminal,
        editable,
        on,
        help=help_text,
        due_days=days,
        review=parsed_review,
        outcome=outcome,
    )


def _due(raw: Json, at: str, faults: Faults) -> int | None:
    part = faults.keys(raw, at, needed={"workingDays"})
    if part is None:
        return None
    days = part["workingDays"]
    if type(days) is not int or not 1 <= days <= MOST_DAYS:
        th, en = "ต้องเป็นจำนวนเต็ม 1-{most}", "This must be a whole number from 1 to {most}."
        faults.add(f"{at}/workingDays", "range", th, en, most=MOST_DAYS)
        return None
    return days


def _examples(raw: Json, at: str, faults: Faults) -> tuple[TransitionExample, ...]:
    raw_examples = faults.list_of(raw, at, most=MAX_EXAMPLES, least=0)
    read_examples = [_example(each, f"{at}/{index}", faults) for index, each in enumerate(raw_examples)]
    return tuple(example for example in read_examples if example is not None)


def _example(raw: Json, at: str, faults: Faults) -> TransitionExample | None:
    part = faults.keys(raw, at, needed={"state", "action", "facts"})
    if part is None:
        return None
    state = parts.name(part["state"], f"{at}/state", parts.STATE, faults)
    action = parts.name(part["action"], f"{at}/action", parts.ACTION, faults)
    facts = faults.keys(part["facts"], f"{at}/facts", allowed={*OBJECTS, *TEXTS})
    if state is None or action is None or facts is None or not _check_facts(facts, f"{at}/facts", faults):
        return None
    return TransitionExample(state, action, facts)


def _check_facts(facts: JsonObject, at: str, faults: Faults) -> bool:
    before = len(faults.problems)
    for name, value in facts.items():
        if name in OBJECTS and not isinstance(value, Mapping):
            faults.add(f"{at}/{name}", "type", "ต้องเป็นออบเจกต์", "This must be an object.")
        if name in TEXTS and not isinstance(value, str):
            faults.add(f"{at}/{name}", "type", "ต้องเป็นข้อความ", "This must be text.")
    actor = facts.get("actor")
    if isinstance(actor, Mapping):
        faults.keys(actor, f"{at}/actor", allowed=frozenset(ACTOR))
        faults.names(actor, "roles", f"{at}/actor", faults.known.roles)
        for name in ("isSubmitter", "isAssignee"):
            parts.flag(actor, name, f"{at}/actor", faults)
        if "publicId" in actor and user_id(actor["publicId"]) is None:
            faults.add(f"{at}/actor/publicId", "uuid", "ต้องเป็น publicId ของผู้ใช้", "This must be the publicId of a user.")
    return len(faults.problems) == before


def _context_schema(raw: Json, faults: Faults) -> schema.ContextSchema | None:
    try:
        return schema.read(raw)
    except PartRefused as refused:
        faults.extend("/context_schema", refused.problems)
    return None


def described(raw: JsonObject) -> Text | None:
    return said_of(raw.get("description"))


def said_of(description: Json) -> Text | None:
    return parts.description(description, "", Faults("")) if description else None
