"""Parse names, bilingual texts, flags and people of a definition."""

import re
from collections.abc import Collection, Mapping
from uuid import UUID

from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject
from saraban.kit.text import control_character, fold
from saraban.workflow.language.faults import Faults

MOST_LABEL = 100
MOST_HELP = 500
MOST_DESCRIPTION = 2000
MOST_FIELDS = 100

CODE = re.compile(r"[A-Z][A-Z0-9_]{0,49}")
STATE = re.compile(r"[a-z][a-z0-9_]{0,49}")
ACTION = re.compile(r"[a-z][a-z0-9_-]{0,49}")
RESPONSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+*-]{0,19}")
TOPIC = re.compile(r"[a-z][a-z0-9_-]{0,39}(\.[a-z0-9_-]{1,40}){0,4}")


def assigned(raw: Json) -> frozenset[UUID]:
    """Return every text of an unparsed definition that can be a `publicId` of a user."""
    user_ids: set[UUID] = set()
    waiting = [raw]
    while waiting:
        part = waiting.pop()
        key = user_id(part)
        if key is not None:
            user_ids.add(key)
        elif isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(user_ids)


def user_id(raw: Json) -> UUID | None:
    try:
        return UUID(raw) if isinstance(raw, str) else None
    except ValueError:
        return None


def name(raw: Json, at: str, pattern: re.Pattern[str], faults: Faults) -> str | None:
    if isinstance(raw, str) and pattern.fullmatch(raw):
        return raw
    th, en = "ชื่อต้องเป็นไปตามรูปแบบ {pattern}", "A name here matches {pattern}."
    faults.add(at, "name", th, en, pattern=pattern.pattern)
    return None


def choice(raw: Json, at: str, choices: Collection[str], faults: Faults) -> str | None:
    if isinstance(raw, str) and raw in choices:
        return raw
    th, en = "ต้องเป็นหนึ่งใน {choices}", "This must be one of {choices}."
    faults.add(at, "choice", th, en, choices=", ".join(choices))
    return None


def comment(part: JsonObject, at: str, faults: Faults) -> bool:
    return choice(part.get("comment", "optional"), f"{at}/comment", ("required", "optional"), faults) == "required"


def person(raw: Json, at: str, faults: Faults) -> UUID | None:
    key = user_id(raw)
    if key is None:
        faults.add(at, "uuid", "ต้องเป็น publicId ของผู้ใช้", "This must be the publicId of a user.")
    elif faults.known.users is not None and key not in faults.known.users:
        th, en = "ไม่มีผู้ใช้นี้ หรือบัญชีถูกปิดแล้ว", "There is no such user, or the account is closed."
        faults.add(at, "unknown", th, en)
    return key


def label(raw: Json, at: str, faults: Faults) -> Text | None:
    """Parse `{"th": …, "en": …}`, one line each."""
    return _bilingual_text(raw, at, faults, "label", MOST_LABEL)


def description(raw: Json, at: str, faults: Faults) -> Text | None:
    """Parse `{"th": …, "en": …}`, or one text for both languages."""
    if isinstance(raw, Mapping):
        return _bilingual_text(raw, at, faults, "text", MOST_DESCRIPTION, several_lines=True)
    if not isinstance(raw, str) or len(raw) > MOST_DESCRIPTION or control_character(raw, multiline=True) is not None:
        th = "ต้องเป็นข้อความไม่เกิน {most} ตัวอักษร หรือ {shape}"
        en = "This must be text of at most {most} characters, or {shape}."
        faults.add(at, "text", th, en, most=MOST_DESCRIPTION, shape='{"th": …, "en": …}')
        return None
    return Text(fold(raw, at), fold(raw, at))


def help_text(part: JsonObject, at: str, faults: Faults) -> Text | None:
    if "help" not in part:
        return None
    return _bilingual_text(part["help"], f"{at}/help", faults, "help", MOST_HELP, several_lines=True)


def _bilingual_text(
    raw: Json, at: str, faults: Faults, code: str, most: int, *, several_lines: bool = False
) -> Text | None:
    part = faults.keys(raw, at, needed={"th", "en"})
    if part is None:
        return None
    texts = []
    for language in ("th", "en"):
        words = part[language]
        if (
            not isinstance(words, str)
            or not 0 < len(words.strip()) <= most
            or control_character(words, multiline=several_lines) is not None
        ):
            th, en = "ต้องเป็นข้อความ 1-{most} ตัวอักษร", "This must be text of 1 to {most} characters."
            faults.add(f"{at}/{language}", code, th, en, most=most)
            return None
        texts.append(fold(words, f"{at}/{language}").strip())
    return Text(*texts)


def flag(part: JsonObject, key: str, at: str, faults: Faults) -> bool:
    value = part.get(key, False)
    if type(value) is not bool:
        faults.add(f"{at}/{key}", "type", "ต้องเป็น true หรือ false", "This must be true or false.")
        return False
    return value


def fields(part: JsonObject, at: str, faults: Faults) -> tuple[str, ...] | None:
    """Parse `fields`; `verification` compares the names with the schema."""
    if "fields" not in part:
        return None
    names: dict[str, None] = {}
    for index, entry in enumerate(faults.list_of(part["fields"], f"{at}/fields", most=MOST_FIELDS, least=0)):
        if not isinstance(entry, str):
            faults.add(f"{at}/fields/{index}", "type", "ต้องเป็นข้อความ", "This must be text.")
        elif entry in names:
            th, en = "ระบุ “{name}” ซ้ำ", "“{name}” is there twice."
            faults.add(f"{at}/fields/{index}", "duplicate", th, en, name=entry[:100])
        else:
            names[entry] = None
    return tuple(names)
