"""
Reads one action of a state: where it leads, who may take it and when, what has to come with it, and its `events`: who is told,
which webhook, who is in charge next, what the engine does by itself.
"""

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


def read_events(raw: Json, at: str, found: Faults) -> tuple[dict[str, str], ...]:
    events = []
    for index, each in enumerate(found.list_of(raw, at, most=MAX_EVENTS, least=0)):
        place = f"{at}/{index}"
        kind = each.get("type") if isinstance(each, Mapping) else None
        reader = _KINDS.get(kind) if isinstance(kind, str) else None
        key = "action" if kind == "auto_action" else "target"
        part = found.keys(each, place, needed={"type", key})
        if part is None:
            continue
        if reader is None:
            parts.choice(kind, f"{place}/type", _KINDS, found)
        else:
            reader(part[key], f"{place}/{key}", found)
        events.append({name: str(value) for name, value in part.items()})
    _one_in_charge(events, at, found)
    return tuple(events)


def _assign(target: Json, at: str, found: Faults) -> None:
    if target != SUBMITTER and parts.user_id(target) is None:
        th, en = "ต้องเป็น submitter หรือ publicId ของผู้ใช้", "This must be `submitter` or the publicId of a user."
        found.add(at, "choice", th, en)
    elif target != SUBMITTER:
        parts.person(target, at, found)


def _one_in_charge(events: list[dict[str, str]], at: str, found: Faults) -> None:
    places = [place for place, event in enumerate(events) if event.get("type") == "assign"]
    for place in places[1:]:
        th, en = "มอบหมายได้เพียงคนเดียว", "A step can be assigned to one person only."
        found.add(f"{at}/{place}", "duplicate", th, en)


_KINDS: Mapping[str, Callable[[Json, str, Faults], object]] = {
    "notify": lambda target, at, found: parts.choice(target, at, sorted(NOTIFIED), found),
    "webhook": lambda target, at, found: parts.name(target, at, parts.TOPIC, found),
    "assign": _assign,
    "auto_action": lambda action, at, found: parts.name(action, at, parts.ACTION, found),
}


def read(action: str, raw: Json, at: str, found: Faults) -> Transition | None:
    part = found.keys(raw, at, needed={"label"}, allowed=ALLOWED)
    if part is None:
        return None
    parts.name(action, at, parts.ACTION, found)
    to, responses, usual = _outcomes(part, at, found)
    label = parts.label(part["label"], f"{at}/label", found)
    taken, needed = _attachments(part.get("attachments", True), f"{at}/attachments", found)
    read_action = Transition(
        action=action,
        to=to,
        label=label or Text("", ""),
        require=_require(part.get("require", {}), f"{at}/require", found),
        comment_required=parts.comment(part, at, found),
        attachments=taken,
        condition=_condition(part.get("condition"), f"{at}/condition", found),
        events=read_events(part.get("events", []), f"{at}/events", found),
        optional=parts.flag(part, "optional", at, found),
        attachments_required=needed,
        responses=responses,
        help=parts.help_text(part, at, found),
        fields=parts.fields(part, at, found),
        usual=usual,
    )
    return read_action if label is not None and (to is not None or responses) else None


def _outcomes(part: JsonObject, at: str, found: Faults) -> tuple[str | None, dict[str, Response], str | None]:
    """Where it leads; or what each code leads to, and the code that counts where none is given."""
    to = parts.name(part["to"], f"{at}/to", parts.STATE, found) if "to" in part else None
    if "responses" in part:
        return None, *_responses(part["responses"], f"{at}/responses", to, found)
    if "to" not in part:
        th, en = "จำเป็นต้องระบุ to หรือ responses", "Required, or give `responses` instead."
        found.add(f"{at}/to", "required", th, en)
    return to, {}, None


def _responses(raw: Json, at: str, usually: str | None, found: Faults) -> tuple[dict[str, Response], str | None]:
    """
    :param usually: where codes lead that do not say it themselves
    """
    given = found.object_of(raw, at, most=MAX_RESPONSES)
    if isinstance(raw, Mapping) and not raw:
        th, en = "ต้องมีอย่างน้อยหนึ่งรหัส", "There must be at least one code."
        found.add(at, "length", th, en)
    responses = {}
    defaults: list[str] = []
    for code, body in given.items():
        place = below(at, code)
        parts.name(code, place, parts.RESPONSE, found)
        needed = set() if usually is not None else {"to"}
        part = found.keys(body, place, needed=needed, allowed={"to", "comment", "label", "default"})
        if part is None:
            continue
        if parts.flag(part, "default", place, found):
            defaults.append(code)
        to = parts.name(part["to"], f"{place}/to", parts.STATE, found) if "to" in part else usually
        label = parts.label(part["label"], f"{place}/label", found) if "label" in part else None
        if to is not None:
            responses[code] = Response(to, parts.comment(part, place, found), label, inherits="to" not in part)
    if usually is not None and responses and not any(one.inherits for one in responses.values()):
        th, en = (
            "ทุกรหัสมี to ของตนเองแล้ว การดำเนินการจึงไม่ต้องมี to",
            "Every code has a `to` of its own, so the action has none.",
        )
        found.add(at, "one_of", th, en)
    for code in defaults[1:]:
        th, en = "รหัสตั้งต้นมีได้เพียงรหัสเดียว", "Only one code can be the default."
        found.add(f"{below(at, code)}/default", "one_default", th, en)
    return responses, (defaults[0] if defaults else None)


def _attachments(raw: Json, at: str, found: Faults) -> tuple[bool, bool]:
    """Whether files are taken, and whether there must be some."""
    if raw == "required":
        return True, True
    if type(raw) is not bool:
        th, en = "ต้องเป็น true, false หรือ required", "This must be true, false or `required`."
        found.add(at, "type", th, en)
        return True, False
    return raw, False


def _require(raw: Json, at: str, found: Faults) -> Require:
    allowed = {"roles", "permissions", "organizationRoles", "party", "user", "notSubmitter"}
    part = found.keys(raw, at, allowed=allowed)
    if part is None:
        return Require()
    return Require(
        roles=found.names(part, "roles", at, found.known.roles),
        permissions=found.names(part, "permissions", at, found.known.permissions),
        organization_roles=found.names(part, "organizationRoles", at, ORGANIZATION_ROLES),
        party=found.names(part, "party", at, PARTIES),
        user=parts.person(part["user"], f"{at}/user", found) if part.get("user") is not None else None,
        not_submitter=parts.flag(part, "notSubmitter", at, found),
    )


def _condition(raw: Json, at: str, found: Faults) -> Condition | None:
    if raw is None:
        return None
    part = found.keys(raw, at, needed={"type", "rule"}, allowed={"message"})
    if part is None:
        return None
    message = parts.label(part["message"], f"{at}/message", found) if "message" in part else None
    if part.get("type") != "json-logic":
        found.add(f"{at}/type", "choice", "เงื่อนไขต้องเป็น json-logic", "A condition must be of the type `json-logic`.")
    try:
        return Condition(logic.compile(part.get("rule")), message)
    except PartRefused as refused:
        found.extend(f"{at}/rule", refused.problems)
    return None
