"""Keywords, references, patterns and formats that schemas may use."""

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import jsonschema_rs

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json, as_list, as_object
from saraban.kit.text import control_character
from saraban.workflow.language.faults import below

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAPS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLE = frozenset({"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames"})
PLAIN = frozenset(
    [
        "$schema",
        "$ref",
        "$comment",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "type",
        "enum",
        "const",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
        "required",
        "dependentRequired",
    ]
)
# Keywords of this project: bilingual texts for pages, while `title` and `description` have one language.
OWN = {"label": 100, "help": 500}
KEYWORDS = MAPS | LISTS | SINGLE | PLAIN | OWN.keys()
FORMATS = ("date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid")
ROOT_ONLY = frozenset({"$schema", "$defs"})

MAX_PATTERN = 300
MAX_PATTERNS = 50
MAX_CHAIN = 32
MAX_EXPANDED = 20_000
# Bytes of a compiled pattern: `a{1000}` fits, `(a{1000}){1000}` does not.
PATTERNS = jsonschema_rs.RegexOptions(size_limit=1 << 18, dfa_size_limit=1 << 18)

KEYWORD = Text("คีย์เวิร์ด “{keyword}” ใช้ที่นี่ไม่ได้", "The keyword “{keyword}” cannot be used here.")
DRAFT = Text("รองรับเฉพาะ JSON Schema draft 2020-12", "Only draft 2020-12 of JSON Schema is supported.")
OBJECT = Text("context เป็นออบเจกต์เสมอ type จึงต้องเป็น object", "The context is an object, so the type here is “object”.")
REFERENCE = Text(
    "“$ref” ต้องชี้ไปยัง “#/$defs/…” ที่มีอยู่ในสคีมานี้เท่านั้น", "A “$ref” points to a “#/$defs/…” of this schema and nowhere else."
)
RECURSIVE = Text("“$ref” อ้างอิงวนกลับมาที่ตัวเอง", "This refers to itself by “$ref”.")
EXPANDED = Text(
    "“$ref” ทำให้สคีมาใหญ่หรือซ้อนลึกเกินไป", "With what its “$ref”s stand for, the schema is too large or too deeply nested."
)
PATTERN = Text(
    "รูปแบบนี้ใช้ไม่ได้: เขียนผิด ใหญ่เกินไป หรือใช้ lookaround หรือ backreference ซึ่งไม่รองรับ",
    "This pattern cannot be used: it is malformed, too large, or uses look-around or back references, which are not supported.",
)
LONG_PATTERN = Text("รูปแบบยาวเกิน {most} ตัวอักษร", "This pattern is longer than {most} characters.")
MANY_PATTERNS = Text("มีรูปแบบเกิน {most} รายการ", "There are more than {most} patterns.")
BOTH = Text(
    "ต้องมี th และ en เป็นข้อความ 1-{most} ตัวอักษร และไม่มีอย่างอื่น",
    "This has “th” and “en”, each a text of 1 to {most} characters, and nothing else.",
)
FORMAT = Text("ไม่รู้จักรูปแบบ “{format}” ใช้ได้เฉพาะ {choices}", "The format “{format}” is not known; there are {choices}.")


def faults(raw: dict[str, Json]) -> Iterator[FieldProblem]:
    """Yield the faults of a valid JSON Schema."""
    if str(raw.get("$schema", DIALECT)).rstrip("#") != DIALECT:
        yield FieldProblem("/$schema", "dialect", DRAFT)
    if raw.get("type", "object") != "object":
        yield FieldProblem("/type", "type", OBJECT)
    has_valid_references = True
    for at, schema in subschemas(raw):
        yield from _keywords(schema, at)
        yield from _words(schema, at)
        yield from _formats(schema, at)
        for problem in _references(schema, at, raw):
            has_valid_references = False
            yield problem
    yield from _patterns(raw)
    if has_valid_references:
        yield from _expansion_faults(raw)


def subschemas(raw: Json, *, definitions: bool = True) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield each schema with its pointer, except `true` and `false`."""
    waiting: list[tuple[str, Json]] = [("", raw)]
    while waiting:
        at, schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        yield at, schema
        inner: list[tuple[str, Json]] = []
        for keyword, value in schema.items():
            place = below(at, keyword)
            if keyword in MAPS and (definitions or keyword != "$defs"):
                inner += [(below(place, name), each) for name, each in as_object(value).items()]
            elif keyword in LISTS:
                inner += [(below(place, index), each) for index, each in enumerate(as_list(value))]
            elif keyword in SINGLE:
                inner.append((place, value))
        waiting += reversed(inner)


def _keywords(schema: dict[str, Json], at: str) -> Iterator[FieldProblem]:
    for keyword in schema:
        if keyword not in KEYWORDS or (at and keyword in ROOT_ONLY):
            yield FieldProblem(below(at, keyword), "unknown_keyword", KEYWORD, {"keyword": keyword[:40]})


def _words(schema: dict[str, Json], at: str) -> Iterator[FieldProblem]:
    for keyword, most in OWN.items():
        if keyword in schema and not _is_bilingual(schema[keyword], most):
            yield FieldProblem(below(at, keyword), "words", BOTH, {"most": most})


def _is_bilingual(texts: Json, most: int) -> bool:
    return (
        isinstance(texts, dict)
        and texts.keys() == {"th", "en"}
        and all(isinstance(text, str) and text.strip() and len(text) <= most for text in texts.values())
        and all(control_character(text, multiline=True) is None for text in texts.values())
    )


def _formats(schema: dict[str, Json], at: str) -> Iterator[FieldProblem]:
    if "format" in schema and schema["format"] not in FORMATS:
        values = {"format": str(schema["format"])[:40], "choices": ", ".join(FORMATS)}
        yield FieldProblem(below(at, "format"), "unknown_format", FORMAT, values)


def _references(schema: dict[str, Json], at: str, raw: dict[str, Json]) -> Iterator[FieldProblem]:
    if "$ref" in schema and _target(schema["$ref"]) not in as_object(raw.get("$defs")):
        yield FieldProblem(below(at, "$ref"), "reference", REFERENCE)


def _target(reference: Json) -> str | None:
    name = str(reference).removeprefix("#/$defs/")
    is_plain = name != str(reference) and not set(name) & set("/~%")
    return name if is_plain else None


def _patterns(raw: dict[str, Json]) -> Iterator[FieldProblem]:
    patterns = [
        (below(at, "pattern"), str(schema["pattern"])) for at, schema in subschemas(raw) if "pattern" in schema
    ] + [
        (below(below(at, "patternProperties"), pattern), pattern)
        for at, schema in subschemas(raw)
        for pattern in as_object(schema.get("patternProperties"))
    ]
    if len(patterns) > MAX_PATTERNS:
        yield FieldProblem("", "too_many_patterns", MANY_PATTERNS, {"most": MAX_PATTERNS})
        return
    for at, pattern in patterns:
        if len(pattern) > MAX_PATTERN:
            yield FieldProblem(at, "too_long", LONG_PATTERN, {"most": MAX_PATTERN})
        elif not _compiles(pattern):
            yield FieldProblem(at, "pattern", PATTERN)


def _compiles(pattern: str) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=PATTERNS, offline=True)
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def _expansion_faults(raw: dict[str, Json]) -> Iterator[FieldProblem]:
    """Limit the size of a schema with its references: twenty definitions that each use the previous one twice are a million schemas."""
    definitions = as_object(raw.get("$defs"))
    uses = {name: _reference_counts(schema) for name, schema in definitions.items()}
    sizes = {name: (len(list(subschemas(schema))), 1) for name, schema in definitions.items()}
    totals: dict[str, tuple[int, int]] = {}
    try:
        for name in TopologicalSorter(uses).static_order():
            totals[name] = _total_size(sizes[name], uses[name], totals)
    except CycleError as circle:
        for name in dict.fromkeys(circle.args[1]):
            yield FieldProblem(below("/$defs", name), "recursive", RECURSIVE)
        return
    own_size = len(list(subschemas(raw, definitions=False)))
    size, chain = _total_size((own_size, 1), _reference_counts(raw, definitions=False), totals)
    if size > MAX_EXPANDED or chain > MAX_CHAIN:
        yield FieldProblem("", "too_large", EXPANDED)


def _reference_counts(schema: Json, *, definitions: bool = True) -> Counter[str]:
    return Counter(
        _target(each["$ref"]) or "" for _, each in subschemas(schema, definitions=definitions) if "$ref" in each
    )


def _total_size(own_total: tuple[int, int], uses: Counter[str], totals: dict[str, tuple[int, int]]) -> tuple[int, int]:
    size = own_total[0] + sum(times * totals[name][0] for name, times in uses.items())
    return min(size, MAX_EXPANDED + 1), own_total[1] + max((totals[name][1] for name in uses), default=0)
