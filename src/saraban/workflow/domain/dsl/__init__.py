"""
Reads a definition from JSON. Every fault is found in one pass and named by its JSON pointer, in Thai and English.

Who may publish and where versions are kept is the service's business; the shape of the graph is `checks`' business.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from saraban.kit.errors import DomainError, FieldProblem, Kind, Text
from saraban.kit.text import control_character, fold
from saraban.workflow.domain import checks, logic, schema
from saraban.workflow.domain.condition import Condition
from saraban.workflow.domain.definition import Definition, Require, State, Transition
from saraban.workflow.domain.faults import Faults

MAX_STATES = 200
MAX_ACTIONS = 50
MAX_EVENTS = 20
MAX_SIZE = 1_000_000
MAX_PARTS = 50_000
MAX_DEPTH = 64

CODE = re.compile(r"[A-Z][A-Z0-9_]{0,49}")
STATE = re.compile(r"[a-z][a-z0-9_]{0,49}")
ACTION = re.compile(r"[a-z][a-z0-9_-]{0,49}")
PARTIES = frozenset({"originator", "recipient", "assignee"})
NOTIFIED = frozenset({"originator", "recipient", "assignee", "submitter"})
ORGANIZATION_ROLES = frozenset({"OWNER", "DESIGNER", "CONSULTANT", "CONTRACTOR", "OTHER"})


class WorkflowNotValid(DomainError):
    """The definition cannot be published; `fields` says where and why."""

    kind, code = Kind.INVALID, "INVALID_WORKFLOW_DSL"
    says = Text("Workflow DSL ไม่ถูกต้อง กรุณาตรวจสอบโครงสร้าง", "The workflow definition is not valid.")
    recovery = (Text("แก้ไขตามตำแหน่งที่ระบุ แล้วตรวจสอบอีกครั้ง", "Correct the places that are named and validate again."),)


@dataclass(frozen=True, slots=True)
class Known:
    """The names a definition may use; None leaves them unchecked."""

    roles: Collection[str] | None = None
    permissions: Collection[str] | None = None


def read(raw: Any, *, known: Known | None = None, root: str = "/dsl") -> Definition:
    """
    This will turn the JSON of a definition into a `Definition` that may be published.

    :param root: pointer under which the definition stands in the request
    :raises WorkflowNotValid: with every fault that was found, at most 100
    """
    found = Faults(root)
    definition = None
    if _fits(raw, found):
        definition = _definition(raw, known or Known(), found)
    if definition is not None and not found.problems:
        checks.check(definition, found)
    if found.problems or definition is None:
        raise WorkflowNotValid(fields=found.problems)
    return definition


def problems(raw: Any, *, known: Known, root: str = "/dsl") -> tuple[FieldProblem, ...]:
    """This will list what `read` would refuse; empty when it would accept."""
    try:
        read(raw, known=known, root=root)
    except WorkflowNotValid as fault:
        return fault.fields
    return ()


def _fits(raw: Any, found: Faults) -> bool:
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


def _definition(raw: Any, known: Known, found: Faults) -> Definition | None:
    top = found.keys(raw, "", needed={"workflow", "states"}, allowed={"version", "description", "context_schema"})
    if top is None:
        return None
    code = _name(top.get("workflow"), "/workflow", CODE, found)
    description = _description(top.get("description"), found)
    if "version" in top and type(top["version"]) is not int:
        found.add("/version", "type", "ต้องเป็นจำนวนเต็ม", "This must be a whole number.")
    context_schema = _context_schema(top["context_schema"], found) if "context_schema" in top else None
    listed = found.list_of(top.get("states"), "/states", most=MAX_STATES)
    states = [_state(each, f"/states/{index}", known, found) for index, each in enumerate(listed)]
    read_states = [state for state in states if state is not None]
    if code is None or len(read_states) != len(listed):
        return None
    checks.check_names(read_states, found)
    initial = next((state.name for state in read_states if state.initial), "")
    return Definition(code, description, initial, {state.name: state for state in read_states}, context_schema)


def _context_schema(raw: Any, found: Faults) -> schema.ContextSchema | None:
    try:
        return schema.read(raw)
    except schema.SchemaRefused as refused:
        found.extend("/context_schema", refused.problems)
    return None


def _description(raw: Any, found: Faults) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str) or len(raw) > 2000 or control_character(raw, multiline=True) is not None:
        found.add(
            "/description", "text", "ต้องเป็นข้อความไม่เกิน 2000 ตัวอักษร", "This must be text of at most 2000 characters."
        )
        return None
    return fold(raw)


def _state(raw: Any, at: str, known: Known, found: Faults) -> State | None:
    part = found.keys(raw, at, needed={"name", "label"}, allowed={"initial", "terminal", "editable", "on"})
    if part is None:
        return None
    name = _name(part.get("name"), f"{at}/name", STATE, found)
    label = _label(part.get("label"), f"{at}/label", found)
    initial, terminal, editable = (_flag(part, key, at, found) for key in ("initial", "terminal", "editable"))
    actions = found.object_of(part.get("on", {}), f"{at}/on", most=MAX_ACTIONS)
    on: dict[str, Transition] = {}
    for action, body in actions.items():
        step = _transition(action, body, found.below(f"{at}/on", action), known, found)
        if step is not None:
            on[action] = step
    if name is None or label is None:
        return None
    return State(name, label, initial, terminal, editable, on)


def _transition(action: str, raw: Any, at: str, known: Known, found: Faults) -> Transition | None:
    allowed = {"comment", "attachments", "require", "condition", "events", "optional"}
    part = found.keys(raw, at, needed={"to", "label"}, allowed=allowed)
    if part is None:
        return None
    _name(action, at, ACTION, found)
    to = _name(part.get("to"), f"{at}/to", STATE, found)
    label = _label(part.get("label"), f"{at}/label", found)
    comment = part.get("comment", "optional")
    if comment not in ("required", "optional"):
        found.add(f"{at}/comment", "choice", "ต้องเป็น required หรือ optional", "This is `required` or `optional`.")
    require = _require(part.get("require", {}), f"{at}/require", known, found)
    condition = _condition(part.get("condition"), f"{at}/condition", found)
    events = _events(part.get("events", []), f"{at}/events", found)
    attachments = _flag({"attachments": True, **part}, "attachments", at, found)
    optional = _flag(part, "optional", at, found)
    if to is None or label is None:
        return None
    return Transition(action, to, label, require, comment == "required", attachments, condition, events, optional)


def _require(raw: Any, at: str, known: Known, found: Faults) -> Require:
    allowed = {"roles", "permissions", "organizationRoles", "party", "user", "notSubmitter"}
    part = found.keys(raw, at, needed=set(), allowed=allowed)
    if part is None:
        return Require()
    return Require(
        roles=found.names(part, "roles", at, known.roles),
        permissions=found.names(part, "permissions", at, known.permissions),
        organization_roles=found.names(part, "organizationRoles", at, ORGANIZATION_ROLES),
        party=found.names(part, "party", at, PARTIES),
        user=_user(part.get("user"), f"{at}/user", found),
        not_submitter=_flag(part, "notSubmitter", at, found),
    )


def _user(raw: Any, at: str, found: Faults) -> UUID | None:
    if raw is None:
        return None
    try:
        return UUID(raw)
    except (ValueError, AttributeError, TypeError):
        found.add(at, "uuid", "ต้องเป็น publicId ของผู้ใช้", "This must be the publicId of a user.")
        return None


def _condition(raw: Any, at: str, found: Faults) -> Condition | None:
    if raw is None:
        return None
    part = found.keys(raw, at, needed={"type", "rule"}, allowed={"message"})
    if part is None:
        return None
    message = _label(part["message"], f"{at}/message", found) if "message" in part else None
    if part.get("type") != "json-logic":
        found.add(f"{at}/type", "choice", "เงื่อนไขต้องเป็น json-logic", "A condition is of the type `json-logic`.")
    try:
        return Condition(logic.compile(part.get("rule")), message)
    except logic.RuleRefused as refused:
        found.extend(f"{at}/rule", refused.problems)
    return None


def _events(raw: Any, at: str, found: Faults) -> tuple[dict[str, Any], ...]:
    events = []
    for index, each in enumerate(found.list_of(raw, at, most=MAX_EVENTS, least=0)):
        place = f"{at}/{index}"
        part = found.keys(each, place, needed={"type", "target"}, allowed=set())
        if part is None:
            continue
        if part.get("type") != "notify":
            found.add(f"{place}/type", "choice", "รองรับเฉพาะ notify", "Only `notify` is supported.")
        if not isinstance(part.get("target"), str) or part["target"] not in NOTIFIED:
            choices = ", ".join(sorted(NOTIFIED))
            found.add(
                f"{place}/target", "choice", "ต้องเป็นหนึ่งใน {choices}", "This is one of {choices}.", choices=choices
            )
        events.append(dict(part))
    return tuple(events)


def _name(raw: Any, at: str, pattern: re.Pattern[str], found: Faults) -> str | None:
    if isinstance(raw, str) and pattern.fullmatch(raw):
        return raw
    found.add(
        at,
        "name",
        "ชื่อต้องเป็นไปตามรูปแบบ {pattern}",
        "A name here matches {pattern}.",
        pattern=pattern.pattern,
    )
    return None


def _label(raw: Any, at: str, found: Faults) -> Text | None:
    part = found.keys(raw, at, needed={"th", "en"}, allowed=set())
    if part is None:
        return None
    for language in ("th", "en"):
        words = part.get(language)
        if not isinstance(words, str) or not 0 < len(words.strip()) <= 100 or control_character(words) is not None:
            found.add(
                f"{at}/{language}", "label", "ต้องเป็นข้อความ 1-100 ตัวอักษร", "This must be text of 1 to 100 characters."
            )
            return None
    return Text(fold(part["th"]).strip(), fold(part["en"]).strip())


def _flag(part: Mapping[str, Any], key: str, at: str, found: Faults) -> bool:
    value = part.get(key, False)
    if type(value) is not bool:
        found.add(f"{at}/{key}", "type", "ต้องเป็น true หรือ false", "This must be true or false.")
        return False
    return value
