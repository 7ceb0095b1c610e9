"""Form fields for the payload of a step. The schema validates, so a field may be plainer."""

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
    """:param step: between valid numbers, counted from zero"""

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
    payload = _properties(raw, raw).get(PAYLOAD)
    if not isinstance(payload, dict):
        return ()
    required = {name for layer in _layers(payload, raw) for name in as_list(layer.get("required"))}
    properties = _properties(payload, raw)
    return tuple(
        _field(name, schema, name in required, raw) for name, schema in properties.items() if schema is not False
    )


def payload_nulls(raw: JsonObject) -> frozenset[str]:
    payload = _properties(raw, raw).get(PAYLOAD)
    properties = _properties(payload, raw) if isinstance(payload, dict) else {}
    return frozenset(
        name for name, schema in properties.items() if any(_allows_null(layer) for layer in _layers(schema, raw))
    )


def _allows_null(layer: JsonObject) -> bool:
    types = layer.get("type")
    options = [
        *as_list(layer.get("enum")),
        *(as_object(option).get("const", 0) for option in as_list(layer.get("oneOf"))),
    ]
    return "null" in (types if isinstance(types, list) else [types]) or None in options or layer.get("const", 0) is None


def field_text(field: Field, value: Json) -> Text:
    option_label = next(
        (option.label for option in field.options if type(option.value) is type(value) and option.value == value), None
    )
    if option_label is not None:
        return option_label
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, int | float):
        return Text(f"{value:,}", f"{value:,}")
    day = _day(value) if field.kind == "date" else None
    if day is not None:
        return Text(date_in_words(day, "th"), date_in_words(day, "en"))
    return Text(written(value), written(value)) if value is not None else Text("–", "–")


def _day(value: Json) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def figure(typed: str) -> int | float | str:
    if _WHOLE.fullmatch(typed):
        return int(typed)
    number = float(typed) if _NUMBER.fullmatch(typed) else math.inf
    return number if math.isfinite(number) else typed


def _layers(schema: Json, root: JsonObject) -> Iterator[JsonObject]:
    """Yield a schema and those that it refers to; references have no cycles."""
    if not isinstance(schema, dict):
        return
    yield schema
    if "$ref" in schema:
        yield from _layers(as_object(root["$defs"])[str(schema["$ref"]).removeprefix("#/$defs/")], root)
    for part in as_list(schema.get("allOf")):
        yield from _layers(part, root)


def _properties(schema: Json, root: JsonObject) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    for layer in _layers(schema, root):
        for name, property_schema in as_object(layer.get("properties")).items():
            properties.setdefault(name, property_schema)
    return properties


def _field(name: str, schema: Json, required: bool, root: JsonObject) -> Field:
    merged: dict[str, Json] = {}
    for layer in _layers(schema, root):
        merged = {**layer, **merged}
    options = _options(merged)
    kind = "choice" if options else _kind(merged)
    lowest, highest, step = (
        _bounds(merged, is_integer=kind == "integer") if kind in {"number", "integer"} else (None,) * 3
    )
    return Field(
        name,
        kind,
        required,
        _words(merged, "label", "title"),
        _words(merged, "help", "description"),
        options,
        as_text(merged.get("format")) if merged.get("format") in _PLAIN_FORMATS else None,
        as_text(merged.get("pattern")),
        as_number(merged.get("maxLength")),
        lowest,
        highest,
        step,
    )


def _words(layer: JsonObject, bilingual_keyword: str, single_keyword: str) -> Text | None:
    if bilingual_keyword in layer:
        words = as_object(layer[bilingual_keyword])
        return Text(str(words["th"]), str(words["en"]))
    word = as_text(layer.get(single_keyword)) or ""
    return Text(word, word) if word.strip() else None


def _options(layer: JsonObject) -> tuple[Option, ...]:
    if "const" in layer:
        return (_option(layer["const"]),)
    if "enum" in layer:
        return tuple(_option(value) for value in as_list(layer["enum"]))
    named_options = [as_object(option) for option in as_list(layer.get("oneOf") or layer.get("anyOf"))]
    if named_options and all("const" in option for option in named_options):
        return tuple(
            Option(option["const"], _words(option, "label", "title") or _option(option["const"]).label)
            for option in named_options
        )
    return ()


def _option(value: Json) -> Option:
    if isinstance(value, bool):
        return Option(value, YES if value else NO)
    return Option(value, Text(written(value), written(value)))


def _kind(layer: JsonObject) -> Kind:
    type_name = layer.get("type")
    types = [name for name in (type_name if isinstance(type_name, list) else [type_name]) if name != "null"]
    match types:
        case ["string"] if layer.get("format") == "date":
            return "date"
        case ["string"]:
            return "lines" if (as_number(layer.get("maxLength")) or 0) > LONG else "line"
        case ["number"]:
            return "number"
        case ["integer"]:
            return "integer"
        case ["boolean"]:
            return "boolean"
        case ["integer", "number"] | ["number", "integer"]:
            return "number"
    return "json"


def _bounds(
    layer: JsonObject, *, is_integer: bool
) -> tuple[int | float | None, int | float | None, int | float | None]:
    """An exclusive bound is exact for whole numbers only."""
    lowest, highest = as_number(layer.get("minimum")), as_number(layer.get("maximum"))
    above, below = as_number(layer.get("exclusiveMinimum")), as_number(layer.get("exclusiveMaximum"))
    if is_integer:
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
    step = as_number(layer.get("multipleOf", 1 if is_integer else None))
    # Browsers count steps from the lowest value, the schema from zero.
    if step is not None and lowest is not None and Decimal(str(lowest)) % Decimal(str(step)):
        step = 1 if is_integer else None
    return lowest, highest, step


__all__ = ["NO", "YES", "Field", "Option", "field_text", "figure", "payload_fields", "payload_nulls", "written"]
