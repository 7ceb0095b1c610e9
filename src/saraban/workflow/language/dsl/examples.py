"""Reads the examples of a definition: facts with which an action whose condition they meet can be taken."""

from collections.abc import Mapping

from saraban.kit.json import Json, JsonObject
from saraban.workflow.language.definition import TransitionExample
from saraban.workflow.language.dsl import words
from saraban.workflow.language.dsl.known import Known, user_id
from saraban.workflow.language.faults import Faults

MAX_EXAMPLES = 50
OBJECTS = ("context", "document", "payload", "actor")
TEXTS = ("comment", "responseCode")


def read(raw: Json, at: str, known: Known, found: Faults) -> tuple[TransitionExample, ...]:
    listed = found.list_of(raw, at, most=MAX_EXAMPLES, least=0)
    read_examples = [_example(each, f"{at}/{index}", known, found) for index, each in enumerate(listed)]
    return tuple(example for example in read_examples if example is not None)


def _example(raw: Json, at: str, known: Known, found: Faults) -> TransitionExample | None:
    part = found.keys(raw, at, needed={"state", "action", "facts"}, allowed=set())
    if part is None:
        return None
    state = words.name(part["state"], f"{at}/state", words.STATE, found)
    action = words.name(part["action"], f"{at}/action", words.ACTION, found)
    facts = found.keys(part["facts"], f"{at}/facts", needed=set(), allowed={*OBJECTS, *TEXTS})
    if state is None or action is None or facts is None or not _shaped(facts, f"{at}/facts", known, found):
        return None
    return TransitionExample(state, action, facts)


def _shaped(facts: JsonObject, at: str, known: Known, found: Faults) -> bool:
    before = len(found.problems)
    for name, value in facts.items():
        if name in OBJECTS and not isinstance(value, Mapping):
            found.add(f"{at}/{name}", "type", "ต้องเป็นออบเจกต์", "This must be an object.")
        if name in TEXTS and not isinstance(value, str):
            found.add(f"{at}/{name}", "type", "ต้องเป็นข้อความ", "This must be text.")
    actor = facts.get("actor")
    if isinstance(actor, Mapping):
        allowed = {"publicId", "roles", "isSubmitter", "isAssignee"}
        found.keys(actor, f"{at}/actor", needed=set(), allowed=allowed)
        found.names(actor, "roles", f"{at}/actor", known.roles)
        for name in ("isSubmitter", "isAssignee"):
            words.flag(actor, name, f"{at}/actor", found)
        if "publicId" in actor and user_id(actor["publicId"]) is None:
            found.add(f"{at}/actor/publicId", "uuid", "ต้องเป็น publicId ของผู้ใช้", "This must be the publicId of a user.")
    return len(found.problems) == before
