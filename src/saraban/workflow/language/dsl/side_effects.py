"""The `events` of an action or a verdict: who is told, which webhook, who is in charge next, what the engine does by itself."""

from collections.abc import Callable, Mapping

from saraban.kit.json import Json
from saraban.workflow.language.dsl import words
from saraban.workflow.language.dsl.known import Known, user_id
from saraban.workflow.language.faults import Faults

MAX_EVENTS = 20
NOTIFIED = frozenset({"originator", "recipient", "assignee", "submitter"})
SUBMITTER = "submitter"


def read(raw: Json, at: str, known: Known, found: Faults) -> tuple[dict[str, str], ...]:
    events = []
    for index, each in enumerate(found.list_of(raw, at, most=MAX_EVENTS, least=0)):
        place = f"{at}/{index}"
        kind = each.get("type") if isinstance(each, Mapping) else None
        reader = _KINDS.get(kind) if isinstance(kind, str) else None
        key = "action" if kind == "auto_action" else "target"
        part = found.keys(each, place, needed={"type", key}, allowed=set())
        if part is None:
            continue
        if reader is None:
            choices = ", ".join(_KINDS)
            th, en = "ต้องเป็นหนึ่งใน {choices}", "This must be one of {choices}."
            found.add(f"{place}/type", "choice", th, en, choices=choices)
        else:
            reader(part[key], f"{place}/{key}", known, found)
        events.append({name: str(value) for name, value in part.items()})
    _one_in_charge(events, at, found)
    return tuple(events)


def _notify(target: Json, at: str, _known: Known, found: Faults) -> None:
    if not isinstance(target, str) or target not in NOTIFIED:
        choices = ", ".join(sorted(NOTIFIED))
        found.add(at, "choice", "ต้องเป็นหนึ่งใน {choices}", "This must be one of {choices}.", choices=choices)


def _webhook(target: Json, at: str, _known: Known, found: Faults) -> None:
    words.name(target, at, words.TOPIC, found)


def _assign(target: Json, at: str, known: Known, found: Faults) -> None:
    if target == SUBMITTER:
        return
    key = user_id(target)
    if key is None:
        th, en = "ต้องเป็น submitter หรือ publicId ของผู้ใช้", "This must be `submitter` or the publicId of a user."
        found.add(at, "choice", th, en)
    elif known.users is not None and key not in known.users:
        th, en = "ไม่มีผู้ใช้นี้ หรือบัญชีถูกปิดแล้ว", "There is no such user, or the account is closed."
        found.add(at, "unknown", th, en)


def _automatic(action: Json, at: str, _known: Known, found: Faults) -> None:
    words.name(action, at, words.ACTION, found)


def _one_in_charge(events: list[dict[str, str]], at: str, found: Faults) -> None:
    places = [place for place, event in enumerate(events) if event.get("type") == "assign"]
    for place in places[1:]:
        th, en = "มอบหมายได้เพียงคนเดียว", "A step can be assigned to one person only."
        found.add(f"{at}/{place}", "duplicate", th, en)


_KINDS: Mapping[str, Callable[[Json, str, Known, Faults], None]] = {
    "notify": _notify,
    "webhook": _webhook,
    "assign": _assign,
    "auto_action": _automatic,
}
