"""Reads one state: its names, how long it may take, and its actions."""

from saraban.kit.json import Json
from saraban.workflow.language.definition import State, Transition
from saraban.workflow.language.dsl import actions, review, words
from saraban.workflow.language.dsl.known import Known
from saraban.workflow.language.faults import Faults
from saraban.workflow.language.outcome import OUTCOMES, Outcome

MAX_ACTIONS = 50
MOST_DAYS = 365
ALLOWED = frozenset({"initial", "terminal", "editable", "on", "help", "due", "review", "outcome"})


def read(raw: Json, at: str, known: Known, found: Faults) -> State | None:
    part = found.keys(raw, at, needed={"name", "label"}, allowed=set(ALLOWED))
    if part is None:
        return None
    name = words.name(part.get("name"), f"{at}/name", words.STATE, found)
    label = words.label(part.get("label"), f"{at}/label", found)
    initial, terminal, editable = (words.flag(part, key, at, found) for key in ("initial", "terminal", "editable"))
    on: dict[str, Transition] = {}
    for action, body in found.object_of(part.get("on", {}), f"{at}/on", most=MAX_ACTIONS).items():
        step = actions.read(action, body, found.below(f"{at}/on", action), known, found)
        if step is not None:
            on[action] = step
    help_text = words.help_text(part, at, found)
    days = _due(part["due"], f"{at}/due", found) if "due" in part else None
    asked = review.read(part["review"], f"{at}/review", known, found) if "review" in part else None
    outcome = _outcome(part["outcome"], f"{at}/outcome", found) if "outcome" in part else None
    if name is None or label is None:
        return None
    return State(
        name, label, initial, terminal, editable, on, help=help_text, due_days=days, review=asked, outcome=outcome
    )


def _outcome(raw: Json, at: str, found: Faults) -> Outcome | None:
    """What an end means."""
    if raw not in OUTCOMES:
        th, en = "ต้องเป็นหนึ่งใน {choices}", "This is one of {choices}."
        found.add(at, "choice", th, en, choices=", ".join(OUTCOMES))
        return None
    return raw


def _due(raw: Json, at: str, found: Faults) -> int | None:
    """The working days within which somebody is to act."""
    part = found.keys(raw, at, needed={"workingDays"}, allowed=set())
    if part is None:
        return None
    days = part["workingDays"]
    if type(days) is not int or not 1 <= days <= MOST_DAYS:
        th, en = "ต้องเป็นจำนวนเต็ม 1-{most}", "This must be a whole number from 1 to {most}."
        found.add(f"{at}/workingDays", "range", th, en, most=MOST_DAYS)
        return None
    return days
