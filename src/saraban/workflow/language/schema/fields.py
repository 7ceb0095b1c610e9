"""
What a schema says of the payload of a step, as fields that a person can fill in.

A field proposes; whether what was filled in fits is judged by the schema itself, so what is not understood here is only shown
in a plainer way.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from saraban.kit.dates import date_in_words
from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject, as_list, as_number, as_object, as_text

Kind = Literal["line", "lines", "date", "number", "integer", "boolean", "choice", "json"]
PAYLOAD = "payload"
LONG = 200
YES, NO = Text("ใช่", "Yes"), Text("ไม่ใช่", "No")
_PLAIN_FORMATS = frozenset({"date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"})
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Option:
    value: Json
    label: Text

    @property
    def typed(self) -> str:
        return json.dumps(self.value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Field:
    """
    One property of a payload.

    :param required: a payload cannot do without it
    :param label: None where the schema gives it no name but its own
    :param step: between two numbers that can be meant, where counting begins at nothing
    """

    name: str
    kind: Kind
    required: bool = False
    label: Text | None = None
    help: Text | None = None
    options: tuple[Option, ...] = ()
    format: str | None = None
    pattern: str | None = None
    most_characters: int | float | None = None
    lowest: int | float | None = None
    highest: int | float | None = None
    step: int | float | None = None


def payload_fields(raw: JsonObject) -> tuple[Field, ...]:
    """Return the properties that the schema of a context names for the payload, in their order."""
    payload = _properties(raw, raw).get(PAYLOAD)
    if not isinstance(payload, dict):
        return ()
    required = {name for layer in _layers(payload, raw) for name in as_list(layer.get("required"))}
    found = _properties(payload, raw)
    return tuple(_field(name, one, name in required, raw) for name, one in found.items() if one is not False)


def payload_nulls(raw: JsonObject) -> frozenset[str]:
    """Return the properties of the payload for which `null` is a value like others."""
    payload = _properties(raw, raw).get(PAYLOAD)
    found = _properties(payload, raw) if isinstance(payload, dict) else {}
    return frozenset(name for name, one in found.items() if any(_names_null(layer) for layer in _layers(one, raw)))


def _names_null(said: JsonObject) -> bool:
    types = said.get("type")
    options = [*as_list(said.get("enum")), *(as_object(one).get("const", 0) for one in as_list(said.get("oneOf")))]
    return "null" in (types if isinstance(types, list) else [types]) or None in options or said.get("const", 0) is None


def said(one: Field, value: Json) -> Text:
    """Write a value as people read it, in both languages."""
    named = next(
        (option.label for option in one.options if type(option.value) is type(value) and option.value == value), None
    )
    if named is not None:
        return named
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, int | float):
        return Text(f"{value:,}", f"{value:,}")
    day = _day(value) if one.kind == "date" else None
    if day is not None:
        return Text(date_in_words(day, "th"), date_in_words(day, "en"))
    return Text(written(value), written(value)) if value is not None else Text("–", "–")


def _day(value: Json) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def written(value: Json) -> str:
    """Return a value as a field shows it again: text and numbers plainly, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def figure(typed: str) -> int | float | str:
    """Return what was typed as the number that it is, or as it was typed, for the schema to refuse."""
    if _WHOLE.fullmatch(typed):
        return int(typed)
    number = float(typed) if _NUMBER.fullmatch(typed) else math.inf
    return number if math.isfinite(number) else typed


def _layers(schema: Json, root: JsonObject) -> Iterator[JsonObject]:
    """What must hold of a value together: itself first, then what it refers to. References have no circles."""
    if not isinstance(schema, dict):
        return
    yield schema
    if "$ref" in schema:
        yield from _layers(as_object(root["$defs"])[str(schema["$ref"]).removeprefix("#/$defs/")], root)
    for one in as_list(schema.get("allOf")):
        yield from _layers(one, root)


def _properties(schema: Json, root: JsonObject) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for layer in _layers(schema, root):
        for name, one in as_object(layer.get("properties")).items():
            found.setdefault(name, one)
    return found


def _field(name: str, schema: Json, required: bool, root: JsonObject) -> Field:
    said: dict[str, Json] = {}
    for layer in _layers(schema, root):
        said = {**layer, **said}
    options = _options(said)
    kind = "choice" if options else _kind(said)
    lowest, highest, step = _bounds(said, whole=kind == "integer") if kind in {"number", "integer"} else (None,) * 3
    return Field(
        name,
        kind,
        required,
        _words(said, "label", "title"),
        _words(said, "help", "description"),
        options,
        as_text(said.get("format")) if said.get("format") in _PLAIN_FORMATS else None,
        as_text(said.get("pattern")),
        as_number(said.get("maxLength")),
        lowest,
        highest,
        step,
    )


def _words(said: JsonObject, both: str, one: str) -> Text | None:
    """In both languages where the schema has them; the standard's own words have but one."""
    if both in said:
        words = as_object(said[both])
        return Text(str(words["th"]), str(words["en"]))
    word = as_text(said.get(one)) or ""
    return Text(word, word) if word.strip() else None


def _options(said: JsonObject) -> tuple[Option, ...]:
    if "const" in said:
        return (_option(said["const"]),)
    if "enum" in said:
        return tuple(_option(value) for value in as_list(said["enum"]))
    named = [as_object(one) for one in as_list(said.get("oneOf") or said.get("anyOf"))]
    if named and all("const" in one for one in named):
        return tuple(
            Option(one["const"], _words(one, "label", "title") or _option(one["const"]).label) for one in named
        )
    return ()


def _option(value: Json) -> Option:
    if isinstance(value, bool):
        return Option(value, YES if value else NO)
    return Option(value, Text(written(value), written(value)))


def _kind(said: JsonObject) -> Kind:
    named = said.get("type")
    types = [one for one in (named if isinstance(named, list) else [named]) if one != "null"]
    match types:
        case ["string"] if said.get("format") == "date":
            return "date"
        case ["string"]:
            return "lines" if (as_number(said.get("maxLength")) or 0) > LONG else "line"
        case ["number"]:
            return "number"
        case ["integer"]:
            return "integer"
        case ["boolean"]:
            return "boolean"
        case ["integer", "number"] | ["number", "integer"]:
            return "number"
    return "json"


def _bounds(said: JsonObject, *, whole: bool) -> tuple[int | float | None, int | float | None, int | float | None]:
    """A bound that is not itself allowed is a bound of whole numbers only; of others the browser cannot say it."""
    lowest, highest = as_number(said.get("minimum")), as_number(said.get("maximum"))
    above, below = as_number(said.get("exclusiveMinimum")), as_number(said.get("exclusiveMaximum"))
    if whole:
        lows = [
            *([math.ceil(lowest)] if lowest is not None else ()),
            *([math.floor(above) + 1] if above is not None else ()),
        ]
        highs = [
            *([math.floor(highest)] if highest is not None else ()),
            *([math.ceil(below) - 1] if below is not None else ()),
        ]
        lowest, highest = max(lows, default=None), min(highs, default=None)
    else:
        lowest = above if lowest is None else lowest
        highest = below if highest is None else highest
    step = as_number(said.get("multipleOf", 1 if whole else None))
    # Browsers count steps from the lowest value, the schema from nothing.
    if step is not None and lowest is not None and Decimal(str(lowest)) % Decimal(str(step)):
        step = 1 if whole else None
    return lowest, highest, step


__all__ = ["NO", "YES", "Field", "Option", "figure", "payload_fields", "payload_nulls", "said", "written"]
