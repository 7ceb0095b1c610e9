"""
The JSON Schema of a workflow's context: checked when a definition is published, asked at every transition (REQ-WFL-06).

The keywords are those of draft 2020-12 that say something about a value; what reaches outside the schema, refers to
itself or names a vocabulary is refused. Patterns run on Rust's regular expressions, which take linear time whatever
they are given, and are refused when they need more than that (look-around, back references) or grow too large.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import jsonschema_rs

from saraban.kit.errors import REQUIRED, FieldProblem, Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language.faults import NOT_JSON, PartRefused, Size, below, parts
from saraban.workflow.language.schema import grammar
from saraban.workflow.language.schema.fields import Field, payload_fields, payload_nulls

__all__ = ["ContextSchema", "Field", "payload_fields", "payload_nulls", "read"]

SCHEMA_SIZE = Size(depth=32, parts=2_000, characters=50_000)
CONTEXT_SIZE = Size(depth=32, parts=20_000, characters=1_000_000)
MOST = 20
# Keywords that may say more about a property than `properties` does.
OPEN = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})

NO_OBJECT = Text("สคีมาต้องเป็นออบเจกต์", "A schema here is an object.")
UNUSABLE = Text("สคีมานี้ใช้ไม่ได้: {fault}", "This schema cannot be used: {fault}")
META = jsonschema_rs.Draft202012Validator({"$ref": grammar.DIALECT}, offline=True)


@dataclass(frozen=True, slots=True)
class ContextSchema:
    """A schema that was accepted, ready to be asked any number of times."""

    raw: JsonObject
    _validator: jsonschema_rs.Draft202012Validator = field(repr=False, compare=False)

    def problems(self, context: Json) -> tuple[FieldProblem, ...]:
        """List what is wrong with a context, at most 20 faults; empty when it fits."""
        try:
            return tuple(islice(_no_json(context, CONTEXT_SIZE), MOST)) or _listed(self._validator.iter_errors(context))
        except PartRefused as too_much:
            return too_much.problems

    def may_hold(self, path: Sequence[str]) -> bool:
        """Return whether a context that fits can have something at a path; where the schema leaves it open, it can."""
        place: Json = self.raw
        for key in path:
            if not isinstance(place, dict) or not place.keys().isdisjoint(OPEN):
                return place is not False
            properties = place.get("properties", {})
            if key not in properties:
                # A list has indexes and a length, a text too; only a closed object has nothing but its properties.
                return place.get("type") != "object" or place.get("additionalProperties") is not False
            place = properties[key]
        return place is not False


def read(raw: Json) -> ContextSchema:
    """
    Check a schema before it is published.

    :raises PartRefused: with what is wrong, at most 20 faults, in both languages
    """
    wrong = tuple(islice(_faults(raw), MOST))
    if wrong or not isinstance(raw, dict):
        raise PartRefused(wrong)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            raw, pattern_options=grammar.PATTERNS, validate_formats=True, offline=True
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as fault:
        # Nothing that passed the grammar is known to come here; if something does, it is refused and not an accident.
        raise PartRefused((FieldProblem("", "schema", UNUSABLE, {"fault": str(fault)[:200]}),)) from fault
    return ContextSchema(raw, validator)


def _faults(raw: Json) -> Iterator[FieldProblem]:
    """Each step relies on the one before: size, shape, then what the schema says."""
    no_json = tuple(_no_json(raw, SCHEMA_SIZE))
    if no_json or not isinstance(raw, dict):
        yield from no_json or (FieldProblem("", "type", NO_OBJECT),)
        return
    misshapen = _listed(META.iter_errors(raw))
    yield from misshapen or grammar.faults(raw)


def _no_json(raw: Json, most: Size) -> Iterator[FieldProblem]:
    """:raises PartRefused: when it is too large or too deep"""
    return (FieldProblem(at, "not_json", NOT_JSON) for at, node in parts(raw, most) if not _is_json(node))


def _is_json(node: Json) -> bool:
    if isinstance(node, dict):
        return all(isinstance(key, str) and _is_text(key) for key in node)
    if isinstance(node, str):
        return _is_text(node)
    return isinstance(node, list | int | None) or (isinstance(node, float) and math.isfinite(node))


def _is_text(text: str) -> bool:
    """Half of a surrogate pair can be written as `\\ud800` in JSON, but is no character."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _listed(errors: Iterable[jsonschema_rs.ValidationError]) -> tuple[FieldProblem, ...]:
    """One fault of a kind at a place: alternatives of the same schema say the same again and again."""
    found = {
        (problem.pointer, problem.code): problem for error in islice(errors, 10 * MOST) for problem in problems(error)
    }
    return tuple(islice(found.values(), MOST))


UNKNOWN_KEY = Text("ไม่รู้จักคีย์นี้", "This key is not known.")
OTHER = Text("ค่านี้ไม่เป็นไปตามสคีมา", "This does not fit the schema.")

TYPES = {
    "string": Text("ข้อความ", "text"),
    "number": Text("ตัวเลข", "a number"),
    "integer": Text("จำนวนเต็ม", "a whole number"),
    "boolean": Text("ค่าจริงหรือเท็จ (true/false)", "true or false"),
    "array": Text("รายการ", "a list"),
    "object": Text("ออบเจกต์", "an object"),
    "null": Text("ค่าว่าง (null)", "null"),
}

# By the name that the validator gives to a kind of error; `{limit}` and the like are its fields.
SENTENCES: dict[str, tuple[str, Text]] = {
    "Constant": ("const", Text("ต้องเป็น {expected_value}", "This must be {expected_value}.")),
    "Enum": ("enum", Text("ต้องเป็นหนึ่งใน {options}", "This must be one of {options}.")),
    "Minimum": ("minimum", Text("ต้องไม่น้อยกว่า {limit}", "This must be at least {limit}.")),
    "Maximum": ("maximum", Text("ต้องไม่มากกว่า {limit}", "This must be at most {limit}.")),
    "ExclusiveMinimum": ("exclusive_minimum", Text("ต้องมากกว่า {limit}", "This must be more than {limit}.")),
    "ExclusiveMaximum": ("exclusive_maximum", Text("ต้องน้อยกว่า {limit}", "This must be less than {limit}.")),
    "MultipleOf": ("multiple_of", Text("ต้องหารด้วย {multiple_of} ลงตัว", "This must be a multiple of {multiple_of}.")),
    "MinLength": ("min_length", Text("ต้องมีอย่างน้อย {limit} ตัวอักษร", "This must have at least {limit} characters.")),
    "MaxLength": ("max_length", Text("ต้องมีไม่เกิน {limit} ตัวอักษร", "This must have at most {limit} characters.")),
    "Pattern": ("pattern", Text("ต้องเป็นไปตามรูปแบบ {pattern}", "This must match {pattern}.")),
    "Format": ("format", Text("ต้องอยู่ในรูปแบบ {format}", "This must have the format {format}.")),
    "MinItems": ("min_items", Text("ต้องมีอย่างน้อย {limit} รายการ", "There must be at least {limit} of them.")),
    "MaxItems": ("max_items", Text("ต้องมีไม่เกิน {limit} รายการ", "There must be at most {limit} of them.")),
    "UniqueItems": ("unique_items", Text("รายการต้องไม่ซ้ำกัน", "No two of them may be the same.")),
    "Contains": ("contains", Text("จำนวนรายการที่ต้องการไม่ถูกต้อง", "Too few or too many of them are of the wanted kind.")),
    "MinProperties": ("min_properties", Text("ต้องมีอย่างน้อย {limit} คีย์", "There must be at least {limit} keys.")),
    "MaxProperties": ("max_properties", Text("ต้องมีไม่เกิน {limit} คีย์", "There must be at most {limit} keys.")),
    "PropertyNames": ("property_names", Text("มีชื่อคีย์ที่ใช้ไม่ได้", "A key has a name that is not allowed.")),
    "AnyOf": ("any_of", Text("ไม่ตรงกับทางเลือกใดเลย", "This fits none of the choices.")),
    "OneOfNotValid": ("one_of", Text("ไม่ตรงกับทางเลือกใดเลย", "This fits none of the choices.")),
    "OneOfMultipleValid": ("one_of", Text("ต้องตรงกับทางเลือกเดียวเท่านั้น", "This fits more than one of the choices.")),
    "Not": ("not", Text("ใช้ค่านี้ไม่ได้", "This value is not allowed.")),
    "FalseSchema": ("not_allowed", Text("ต้องไม่มีค่านี้", "There must be nothing here.")),
}


def problems(error: jsonschema_rs.ValidationError) -> Iterator[FieldProblem]:
    """Return what is wrong, at the key itself where one is absent or too much."""
    at = ""
    for key in error.instance_path:
        at = below(at, key)
    kind = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        yield FieldProblem(below(at, kind.property), "required", REQUIRED)
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        for key in kind.unexpected:
            yield FieldProblem(below(at, key), "unknown_key", UNKNOWN_KEY)
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.Type):
        yield FieldProblem(at, "type", _types(kind.types))
    else:
        code, text = SENTENCES.get(type(kind).__name__, ("schema", OTHER))
        yield FieldProblem(at, code, text, _values(kind.as_dict()))


def _types(names: list[str]) -> Text:
    wanted = [TYPES[name] for name in names]
    thai, english = (" หรือ".join(each.th for each in wanted), " or ".join(each.en for each in wanted))
    return Text(f"ต้องเป็น{thai}", f"This must be {english}.")


def _values(given: JsonObject) -> dict[str, object]:
    return {key: _shown(value) for key, value in given.items() if key not in {"context", "schema", "error"}}


def _shown(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(_shown(each) for each in value[:20])[:300]
    return json.dumps(value, ensure_ascii=False, default=str)[:300]
