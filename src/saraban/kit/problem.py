"""Problem responses (RFC 9457), and pydantic's errors as field problems, without I/O."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from saraban.kit.errors import REQUIRED, DomainError, ErrorKind, FieldProblem, Invalid, Text
from saraban.kit.json import Json
from saraban.kit.schema import TOO_DEEP

Checked = TypeVar("Checked", bound=BaseModel)

MEDIA_TYPE = "application/problem+json"
TYPE_ROOT = "/docs/errors#"

STATUS: dict[ErrorKind, int] = {
    ErrorKind.INVALID: 422,
    ErrorKind.UNAUTHENTICATED: 401,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.CONFLICT: 409,
    ErrorKind.GONE: 410,
    ErrorKind.STALE: 412,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.UNSUPPORTED: 415,
    ErrorKind.BEYOND: 416,
    ErrorKind.TIMEOUT: 408,
    ErrorKind.THROTTLED: 429,
    ErrorKind.BUSY: 503,
    ErrorKind.BROKEN: 500,
    ErrorKind.FULL: 507,
}

# Names of RFC 9110; Python has older ones.
_TITLES = {413: "Content Too Large", 416: "Range Not Satisfiable", 422: "Unprocessable Content"}


def status_of(error: DomainError) -> int:
    return STATUS[error.kind]


def to_problem(error: DomainError, *, language: str, trace_id: str) -> dict[str, Json]:
    status = status_of(error)
    return {
        "type": TYPE_ROOT + error.code.lower(),
        "title": _TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": error.detail,
        "code": error.code,
        "userMessage": error.words.say(language, error.values),
        "recovery": [step.say(language, error.values) for step in error.recovery],
        "errors": [
            {
                "pointer": field.pointer,
                "code": field.code,
                "detail": field.text.say("en", field.values),
                "message": field.text.say(language, field.values),
            }
            for field in error.fields
        ],
        "traceId": trace_id,
    }


_TOO_LONG = Text("ยาวเกินไป (สูงสุด {max_length} ตัวอักษร)", "This is too long (at most {max_length} characters).")
_TOO_SHORT = Text("สั้นเกินไป (อย่างน้อย {min_length} ตัวอักษร)", "This is too short (at least {min_length} characters).")
_LARGE = Text("มากเกินไป (สูงสุด {limit})", "This is too large (at most {limit}).")
_SMALL = Text("น้อยเกินไป (อย่างน้อย {limit})", "This is too small (at least {limit}).")
_TEXT = Text("ต้องเป็นข้อความ", "This must be text.")
_WHOLE = Text("ต้องเป็นจำนวนเต็ม", "This must be a whole number.")
_NUMBER = Text("ต้องเป็นตัวเลข", "This must be a number.")
_CHOICE = Text("ต้องเป็นค่าใดค่าหนึ่งต่อไปนี้: {expected}", "This must be one of: {expected}.")
_LIST = Text("ต้องเป็นรายการ", "This must be a list.")
_OBJECT = Text("ต้องเป็นออบเจ็กต์", "This must be an object.")
_TRUTH = Text("ต้องเป็น true หรือ false", "This must be true or false.")
_UUID = Text("ต้องเป็นรหัส UUID", "This must be a UUID.")
_DATE = Text("ต้องเป็นวันที่ เช่น 2026-01-31", "This must be a date such as 2026-01-31.")
_MOMENT = Text("ต้องเป็นวันเวลาตาม ISO 8601", "This must be a date and time in ISO 8601.")
_JSON = Text("เนื้อหาไม่ใช่ JSON ที่ถูกต้อง", "The body is not valid JSON.")
_MALFORMED = Text("รูปแบบไม่ถูกต้อง", "The format is not valid.")

_WORDS: dict[str, tuple[str, Text]] = {
    "missing": ("required", REQUIRED),
    "extra_forbidden": ("unknown_field", Text("ไม่รู้จักฟิลด์นี้", "Unknown field.")),
    "string_too_long": ("too_long", _TOO_LONG),
    "bytes_too_long": ("too_long", _TOO_LONG),
    "too_long": (
        "too_long",
        Text("มีรายการมากเกินไป (สูงสุด {max_length})", "There are too many items (at most {max_length})."),
    ),
    "string_too_short": ("too_short", _TOO_SHORT),
    "bytes_too_short": ("too_short", _TOO_SHORT),
    "too_short": (
        "too_short",
        Text("มีรายการน้อยเกินไป (อย่างน้อย {min_length})", "There are too few items (at least {min_length})."),
    ),
    "string_type": ("wrong_type", _TEXT),
    "string_sub_type": ("wrong_type", _TEXT),
    "string_unicode": ("malformed", Text("มีอักขระที่ไม่ใช่ Unicode ที่ถูกต้อง", "This is not valid Unicode text.")),
    "string_pattern_mismatch": ("malformed", _MALFORMED),
    "int_type": ("wrong_type", _WHOLE),
    "int_parsing": ("wrong_type", _WHOLE),
    "int_parsing_size": ("too_large", Text("ตัวเลขใหญ่เกินไป", "This number is too large.")),
    "int_from_float": ("wrong_type", _WHOLE),
    "float_type": ("wrong_type", _NUMBER),
    "float_parsing": ("wrong_type", _NUMBER),
    "finite_number": ("malformed", _NUMBER),
    "bool_type": ("wrong_type", _TRUTH),
    "bool_parsing": ("wrong_type", _TRUTH),
    "list_type": ("wrong_type", _LIST),
    "set_type": ("wrong_type", _LIST),
    "frozen_set_type": ("wrong_type", _LIST),
    "tuple_type": ("wrong_type", _LIST),
    "dict_type": ("wrong_type", _OBJECT),
    "model_type": ("wrong_type", _OBJECT),
    "model_attributes_type": ("wrong_type", _OBJECT),
    "none_required": ("wrong_type", Text("ต้องเป็นค่าว่าง (null)", "This must be null.")),
    "literal_error": ("not_in_list", _CHOICE),
    "enum": ("not_in_list", _CHOICE),
    "union_tag_invalid": ("not_in_list", _MALFORMED),
    "uuid_type": ("wrong_type", _UUID),
    "uuid_parsing": ("malformed", _UUID),
    "uuid_version": ("malformed", _UUID),
    "date_type": ("wrong_type", _DATE),
    "date_parsing": ("malformed", _DATE),
    "date_from_datetime_parsing": ("malformed", _DATE),
    "date_from_datetime_inexact": ("malformed", Text("ต้องเป็นวันที่ที่ไม่มีเวลา", "This must be a date without a time.")),
    "datetime_type": ("wrong_type", _MOMENT),
    "datetime_parsing": ("malformed", _MOMENT),
    "datetime_from_date_parsing": ("malformed", _MOMENT),
    "timezone_aware": ("malformed", Text("ต้องระบุเขตเวลา", "This date and time needs a time zone.")),
    "greater_than": ("too_small", Text("ต้องมากกว่า {limit}", "This must be more than {limit}.")),
    "greater_than_equal": ("too_small", _SMALL),
    "less_than": ("too_large", Text("ต้องน้อยกว่า {limit}", "This must be less than {limit}.")),
    "less_than_equal": ("too_large", _LARGE),
    "json_invalid": ("malformed", _JSON),
    "json_type": ("wrong_type", _JSON),
    # Parsed JSON has no loops: pydantic raises this for deep nesting.
    "recursion_loop": ("too_large", TOO_DEEP),
    "value_error": ("malformed", _MALFORMED),
    "assertion_error": ("malformed", _MALFORMED),
}
_MORE = Text("และอีก {count} ข้อที่ไม่ได้แสดง", "{count} further problems are not listed.")
MOST_PROBLEMS = 20
_LIMITS = {"le": "limit", "lt": "limit", "ge": "limit", "gt": "limit"}
_BLANKABLE = {"string_too_short", "too_short", "bytes_too_short"}


def checked_values(schema: type[Checked], values: Mapping[str, object]) -> Checked:
    """:raises Invalid:"""
    try:
        return schema.model_validate(dict(values))
    except ValidationError as error:
        problems = field_problems([{**entry, "loc": ("body", *entry["loc"])} for entry in error.errors()])
        raise Invalid("Some fields are not valid.", fields=problems) from error


def field_problems(errors: Sequence[ErrorDetails]) -> list[FieldProblem]:
    """Return the first `MOST_PROBLEMS` errors, and the count of the others."""
    problems: dict[tuple[str, str], FieldProblem] = {}
    for position, error in enumerate(errors):
        if len(problems) == MOST_PROBLEMS:
            return [*problems.values(), FieldProblem("", "more_problems", _MORE, {"count": len(errors) - position})]
        problem = _problem(error)
        problems.setdefault((problem.pointer, problem.code), problem)
    return list(problems.values())


def _problem(error: ErrorDetails) -> FieldProblem:
    kind, context = error["type"], error.get("ctx") or {}
    pointer = pointer_of(error["loc"], is_json=kind != "json_invalid")
    if "th" in context:  # a rule of this project, with both messages
        return FieldProblem(pointer, kind, Text(context["th"], error["msg"]))
    if kind in _BLANKABLE and context.get("min_length") == 1:
        return FieldProblem(pointer, "required", REQUIRED)
    code, text = _WORDS.get(kind, ("malformed", _MALFORMED))
    return FieldProblem(pointer, code, text, _values(context))


def _values(context: Mapping[str, object]) -> dict[str, object]:
    """Return the limits for the message. It must never contain the input."""
    values = {_LIMITS.get(name, name): value for name, value in context.items()}
    if "expected" in values:
        values["expected"] = str(values["expected"]).replace("'", "").replace(" or ", ", ")
    return {name: values[name] for name in ("limit", "max_length", "min_length", "expected") if name in values}


def pointer_of(location: Sequence[int | str], *, is_json: bool = True) -> str:
    """Return the JSON pointer (RFC 6901) into the body, or `query:limit`, `header:If-Match`, …"""
    origin, *path = location or ("body",)
    if origin == "body":
        return "".join(f"/{escape_pointer(part)}" for part in path) if is_json else ""
    name = ".".join(str(part) for part in path)
    return f"{origin}:{header_name(name) if origin == 'header' else name}"


def escape_pointer(part: int | str) -> str:
    return str(part)[:100].replace("~", "~0").replace("/", "~1")


def header_name(name: str) -> str:
    return "-".join(word.capitalize() for word in name.replace("_", "-").split("-"))
