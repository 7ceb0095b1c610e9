"""What is said of a value that breaks its schema: where, by which rule, in Thai and English."""

import json
from collections.abc import Iterator

import jsonschema_rs

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language.schema.size import below

REQUIRED = Text("จำเป็นต้องระบุ", "Required")
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
