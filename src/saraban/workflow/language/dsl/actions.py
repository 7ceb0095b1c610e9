"""Parse an action of a state, with its requirements, response codes and events."""

from collections.abc import Callable, Mapping

from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language import logic
from saraban.workflow.language.definition import Condition, Require, Response, Transition
from saraban.workflow.language.dsl import parts
from saraban.workflow.language.faults import Faults, PartRefused, below

MAX_RESPONSES = 30
PARTIES = frozenset({"originator", "recipient", "assignee"})
ORGANIZATION_ROLES = frozenset({"OWNER", "DESIGNER", "CONSULTANT", "CONTRACTOR", "OTHER"})
ALLOWED = frozenset(
    {"to", "responses", "help", "comment", "attachments", "require", "condition", "events", "optional", "fields"}
)
MAX_EVENTS = 20
NOTIFIED = frozenset({"originator", "recipient", "assignee", "submitter"})
SUBMITTER = "submitter"


def read_events(raw: Json, at: str, faults: Faults) -> tuple[dict[str, str], ...]:
    events = []
    for index, each in enumerate(faults.list_of(raw, at, most=MAX_EVENTS, least=0)):
        place = f"{at}/{index}"
        kind = each.get("type") if isinstance(each, Mapping) else None
        reader = _KINDS.get(kind) if isinstance(kind, str) else None
        key = "action" if kind == "auto_action" else "target"
        part = faults.keys(each, place, needed={"type", key})
        if part is None:
            continue
        if reader is None:
            parts.choice(kind, f"{place}/type", _KINDS, faults)
        else:
            reader(part[key], f"{place}/{key}", faults)
        events.append({name: str(value) for name, value in part.items()})
    _check_single_assignee(events, at, faults)
    return tuple(events)


def _assign(target: Json, at: str, faults: Faults) -> None:
    if target != SUBMITTER and parts.user_id(target) is None:
        th, en = "ต้องเป็น submitter หรือ publicId ของผู้ใช้", "This must be `submitter` or the publicId of a user."
        faults.add(at, "choice", th, en)
    elif target != SUBMITTER:
        parts.person(target, at, faults)


def _check_single_assignee(events: list[dict[str, str]], at: str, faults: Faults) -> None:
    places = [place for place, event in enumerate(events) if event.get("type") == "assign"]
    for place in places[1:]:
        th, en = "มอบหมายได้เพียงคนเดียว", "A step can be assigned to one person only."
        faults.add(f"{at}/{place}", "duplicate", th, en)


_KINDS: Mapping[str, Callable[[Json, str, Faults], object]] = {
    "notify": lambda target, at, faults: parts.choice(target, at, sorted(NOTIFIED), faults),
    "webhook": lambda target, at, faults: parts.name(target, at, parts.TOPIC, faults),
    "assign": _assign,
    "auto_action": lambda action, at, faults: parts.name(action, at, parts.ACTION, faults),
}


def read(action: str, raw: Json, at: str, faults: Faults) -> Transition | None:
    part = faults.keys(raw, at, needed={"label"}, allowed=ALLOWED)
    if part is None:
        return None
    parts.name(action, at, parts.ACTION, faults)
    to, responses, usual = _outcomes(part, at, faults)
    label = parts.label(part["label"], f"{at}/label", faults)
    accepts_files, requires_files = _attachments(part.get("attachments", True), f"{at}/attachments", faults)
    read_action = Transition(
        action=action,
        to=to,
        label=label or Text("", ""),
        require=_require(part.get("require", {}), f"{at}/require", faults),
        comment_required=parts.comment(part, at, faults),
        attachments=accepts_files,
        condition=_condition(part.get("condition"), f"{at}/condition", faults),
        events=read_events(part.get("events", []), f"{at}/events", faults),
        optional=parts.flag(part, "optional", at, faults),
        attachments_required=requires_files,
        responses=responses,
        help=parts.help_text(part, at, faults),
        fields=parts.fields(part, at, faults),
        usual=usual,
    )
    return read_action if label is not None and (to is not None or responses) else None


def _outcomes(part: JsonObject, at: str, faults: Faults) -> tuple[str | None, dict[str, Response], str | None]:
    """Return the next state, or the response codes and the default code."""
    to = parts.name(part["to"], f"{at}/to", parts.STATE, faults) if "to" in part else None
    if "responses" in part:
        return None, *_responses(part["responses"], f"{at}/responses", to, faults)
    if "to" not in part:
        th, en = "จำเป็นต้องระบุ to หรือ responses", "Required, or give `responses` instead."
        faults.add(f"{at}/to", "required", th, en)
    return to, {}, None


def _responses(raw: Json, at: str, default_state: str | None, faults: Faults) -> tuple[dict[str, Response], str | None]:
    """:param usually: next state of codes without `to`"""
    bodies = faults.object_of(raw, at, most=MAX_RESPONSES)
    if isinstance(raw, Mapping) and not raw:
        th, en = "ต้องมีอย่างน้อยหนึ่งรหัส", "There must be at least one code."
        faults.add(at, "length", th, en)
    responses = {}
    defaults: list[str] = []
    for code, body in bodies.items():
        place = below(at, code)
        parts.name(code, place, parts.RESPONSE, faults)
        needed = set() if default_state is not None else {"to"}
        part = faults.keys(body, place, needed=needed, allowed={"to", "comment", "label", "default"})
        if part is None:
            continue
        if parts.flag(part, "default", place, faults):
            defaults.append(code)
        to = parts.name(part["to"], f"{place}/to", parts.STATE, faults) if "to" in part else default_state
        label = parts.label(part["label"], f"{place}/label", faults) if "label" in part else None
        if to is not None:
            responses[code] = Response(to, parts.comment(part, place, faults), label, inherits="to" not in part)
    if default_state is not None and responses and not any(response.inherits for response in responses.values()):
        th, en = (
            "ทุกรหัสมี to ของตนเองแล้ว การดำเนินการจึงไม่ต้องมี to",
            "Every code has a `to` of its own, so the action has none.",
        )
        faults.add(at, "one_of", th, en)
    for code in defaults[1:]:
        th, en = "รหัสตั้งต้นมีได้เพียงรหัสเดียว", "Only one code can be the default."
        faults.add(f"{below(at, code)}/default", "one_default", th, en)
    return responses, (defaults[0] if defaults else None)


def _attachments(raw: Json, at: str, faults: Faults) -> tuple[bool, bool]:
    """Return whether files are accepted, and whether they are required."""
    if raw == "required":
        return True, True
    if type(raw) is not bool:
        th, en = "ต้องเป็น true, false หรือ required", "This must be true, false or `required`."
        faults.add(at, "type", th, en)
        return True, False
    return raw, False


def _require(raw: Json, at: str, faults: Faults) -> Require:
    allowed = {"roles", "permissions", "organizationRoles", "party", "user", "notSubmitter"}
    part = faults.keys(raw, at, allowed=allowed)
    if part is None:
        return Require()
    return Require(
        roles=faults.names(part, "roles", at, faults.known.roles),
        permissions=faults.names(part, "permissions", at, faults.known.permissions),
        organization_roles=faults.names(part, "organizationRoles", at, ORGANIZATION_ROLES),
        party=faults.names(part, "party", at, PARTIES),
        user=parts.person(part["user"], f"{at}/user", faults) if part.get("user") is not None else None,
        not_submitter=parts.flag(part, "notSubmitter", at, faults),
    )


def _condition(raw: Json, at: str, faults: Faults) -> Condition | None:
    if raw is None:
        return None
    part = faults.keys(raw, at, needed={"type", "rule"}, allowed={"message"})
    if part is None:
        return None
    message = parts.label(part["message"], f"{at}/message", faults) if "message" in part else None
    if part.get("type") != "json-logic":
        faults.add(f"{at}/type", "choice", "เงื่อนไขต้องเป็น json-logic", "A condition must be of the type `json-logic`.")
    try:
        return Condition(logic.compile(part.get("rule")), message)
    except PartRefused as refused:
        faults.extend(f"{at}/rule", refused.problems)
    return None
