"""
Reads a definition from JSON. Every fault is found in one pass and named by its JSON pointer, in Thai and English.

Who may publish and where versions are kept is the service's business; what publishing asks of the whole is `checks`' business.
"""

from collections.abc import Mapping, Sequence

from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language import schema
from saraban.workflow.language.definition import Definition, State
from saraban.workflow.language.dsl import examples, states, words
from saraban.workflow.language.dsl.known import Known, assigned
from saraban.workflow.language.faults import Faults

__all__ = ["Known", "WorkflowNotValid", "assigned", "read"]

OPTIONAL = {"version", "description", "context_schema", "examples"}
MAX_STATES = 200
MAX_SIZE = 1_000_000
MAX_PARTS = 50_000
MAX_DEPTH = 64


class WorkflowNotValid(DomainError):
    """The definition cannot be published; `fields` says where and why."""

    kind, code = ErrorKind.INVALID, "INVALID_WORKFLOW_DSL"
    says = Text("Workflow DSL ไม่ถูกต้อง กรุณาตรวจสอบโครงสร้าง", "The workflow definition is not valid.")
    recovery = (Text("แก้ไขตามตำแหน่งที่ระบุ แล้วตรวจสอบอีกครั้ง", "Correct the errors shown and validate again."),)


def read(raw: Json, *, known: Known | None = None, root: str = "/dsl") -> Definition:
    """
    Turn the JSON of a definition into a `Definition`, by its shape alone.

    :param root: pointer under which the definition stands in the request
    :raises WorkflowNotValid: with every fault that was found, at most 100
    """
    found = Faults(root)
    definition = None
    if _fits(raw, found):
        definition = _definition(raw, known or Known(), found)
    if found.problems or definition is None:
        raise WorkflowNotValid(fields=found.problems)
    return definition


def _fits(raw: Json, found: Faults) -> bool:
    """Measures without recursion, so that neither a huge nor a deep definition costs anything."""
    size = parts = 0
    waiting = [(raw, 1)]
    while waiting:
        part, depth = waiting.pop()
        parts += 1
        size += len(part.encode("utf-8", "replace")) if isinstance(part, str) else 2
        if size > MAX_SIZE or parts > MAX_PARTS or depth > MAX_DEPTH:
            found.add("", "too_large", "นิยามใหญ่หรือซ้อนลึกเกินไป", "The definition is too large or too deeply nested.")
            return False
        if isinstance(part, Mapping):
            waiting += [(key, depth) for key in part]
            waiting += [(below, depth + 1) for below in part.values()]
        elif isinstance(part, list):
            waiting += [(below, depth + 1) for below in part]
    return True


def _definition(raw: Json, known: Known, found: Faults) -> Definition | None:
    top = found.keys(raw, "", needed={"workflow", "states"}, allowed=OPTIONAL)
    if top is None:
        return None
    code = words.name(top.get("workflow"), "/workflow", words.CODE, found)
    said = top.get("description")
    description = words.description(said, "/description", found) if said is not None else None
    if "version" in top and type(top["version"]) is not int:
        found.add("/version", "type", "ต้องเป็นจำนวนเต็ม", "This must be a whole number.")
    context_schema = _context_schema(top["context_schema"], found) if "context_schema" in top else None
    listed = found.list_of(top.get("states"), "/states", most=MAX_STATES)
    each_read = [states.read(each, f"/states/{index}", known, found) for index, each in enumerate(listed)]
    read_states = [state for state in each_read if state is not None]
    said_examples = examples.read(top.get("examples", []), "/examples", known, found)
    if code is None or len(read_states) != len(listed):
        return None
    _check_names(read_states, found)
    initial = next((state.name for state in read_states if state.initial), "")
    by_name = {state.name: state for state in read_states}
    return Definition(code, description, initial, by_name, context_schema, examples=said_examples)


def _check_names(states: Sequence[State], found: Faults) -> None:
    """Refuse two states of one name, and any number of initial states but one."""
    seen: set[str] = set()
    for index, state in enumerate(states):
        if state.name in seen:
            th, en = "มีสถานะชื่อ “{name}” ซ้ำกัน", "There are two statuses named “{name}”."
            found.add(f"/states/{index}/name", "duplicate", th, en, name=state.name)
        seen.add(state.name)
    initial = [index for index, state in enumerate(states) if state.initial]
    if not initial:
        found.add("/states", "no_initial_state", "DSL ไม่มีการกำหนด Initial State", "There is no initial status.")
    for index in initial[1:]:
        found.add(
            f"/states/{index}/initial",
            "multiple_initial_states",
            "DSL มี Initial State หลายค่า แต่ละ Workflow ต้องมีเพียง Initial State เดียว",
            "There is more than one initial status.",
        )


def _context_schema(raw: Json, found: Faults) -> schema.ContextSchema | None:
    try:
        return schema.read(raw)
    except schema.SchemaRefused as refused:
        found.extend("/context_schema", refused.problems)
    return None


def described(raw: JsonObject) -> Text | None:
    """Return what a stored definition says that it is for."""
    return said_of(raw.get("description"))


def said_of(description: Json) -> Text | None:
    """Return the same of its `description` alone."""
    return words.description(description, "", Faults("")) if description else None
