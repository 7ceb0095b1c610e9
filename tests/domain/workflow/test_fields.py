"""What a schema says of a payload, as fields: their kinds, bounds and words, and what stands behind references."""

from typing import Any

import pytest

from saraban.kit.errors import Text
from saraban.workflow.language.schema import PartRefused, payload_fields, read
from saraban.workflow.language.schema.fields import Field, figure


def fields(properties: dict[str, Any], **more: Any) -> dict[str, Field]:
    definitions = more.pop("definitions", {})
    payload = {"type": "object", "properties": properties, **more}
    schema = {"type": "object", "properties": {"payload": payload}, "$defs": definitions}
    return {one.name: one for one in payload_fields(read(schema).raw)}


def field(schema: Any, **more: Any) -> Field:
    return fields({"it": schema}, **more)["it"]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "line"),
        ({"type": "string", "maxLength": 5000}, "lines"),
        ({"type": ["string", "null"], "format": "date"}, "date"),
        ({"type": "number"}, "number"),
        ({"type": ["integer", "number"]}, "number"),
        ({"type": "integer"}, "integer"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "boolean", "const": True}, "choice"),
        ({"enum": ["A", 1, None]}, "choice"),
        ({"oneOf": [{"const": "A"}, {"const": "B", "title": "Bee"}]}, "choice"),
        ({"oneOf": [{"const": "A"}, {"type": "string"}]}, "json"),
        ({"type": "object"}, "json"),
        ({"type": "array", "items": {"type": "string"}}, "json"),
        ({"type": ["string", "number"]}, "json"),
        ({}, "json"),
        (True, "json"),
    ],
)
def test_have_a_kind_that_people_can_fill_in(schema: Any, kind: str) -> None:
    assert field(schema).kind == kind


@pytest.mark.parametrize(
    ("schema", "bounds"),
    [
        ({"type": "integer"}, (None, None, 1)),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9.5}, (1, 9, 1)),
        ({"type": "integer", "minimum": 1, "multipleOf": 5}, (1, None, 1)),
        ({"type": "integer", "minimum": 10, "multipleOf": 5}, (10, None, 5)),
        ({"type": "number", "minimum": 0.5, "maximum": 2}, (0.5, 2, None)),
        ({"type": "number", "minimum": 1, "multipleOf": 0.01}, (1, None, 0.01)),
        ({"type": "number", "exclusiveMinimum": 0}, (0, None, None)),
    ],
)
def test_have_bounds_that_forbid_nothing_the_schema_allows(schema: Any, bounds: tuple[Any, ...]) -> None:
    found = field(schema)

    assert (found.lowest, found.highest, found.step) == bounds


def test_keep_their_order_and_say_which_are_needed() -> None:
    found = fields({"b": {"type": "string"}, "a": {"type": "string"}, "no": False}, required=["a"])

    assert [(one.name, one.required) for one in found.values()] == [("b", False), ("a", True)]


def test_are_found_behind_references() -> None:
    found = field(
        {"$ref": "#/$defs/money", "label": {"th": "วงเงิน", "en": "Limit"}},
        definitions={"money": {"type": "number", "minimum": 1, "title": "Money", "description": "In baht"}},
    )

    assert (found.kind, found.lowest) == ("number", 1)
    assert (found.label, found.help) == (Text("วงเงิน", "Limit"), Text("In baht", "In baht"))


def test_are_gathered_from_what_holds_together() -> None:
    found = fields({"a": {"type": "string"}}, allOf=[{"properties": {"b": {"type": "boolean"}}, "required": ["b"]}])

    assert [(one.name, one.kind, one.required) for one in found.values()] == [
        ("a", "line", False),
        ("b", "boolean", True),
    ]


@pytest.mark.parametrize(
    "raw", [{}, {"properties": {"payload": True}}, {"properties": {"payload": {"type": "object"}}}]
)
def test_are_none_where_the_schema_names_none(raw: dict[str, Any]) -> None:
    assert payload_fields(read(raw).raw) == ()


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ({"th": "ก", "en": "a"}, True),
        ({"th": "ก"}, False),
        ({"th": "ก", "en": " "}, False),
        ({"th": "ก", "en": "a", "de": "a"}, False),
        ({"th": "ก", "en": "a\u0000"}, False),
        ({"th": "ก", "en": "a" * 101}, False),
        ("Amount", False),
    ],
)
def test_have_words_in_both_languages_or_none(words: Any, fits: bool) -> None:
    if fits:
        assert field({"type": "number", "label": words}).label == Text("ก", "a")
        return
    with pytest.raises(PartRefused) as refused:
        field({"type": "number", "label": words})
    assert [(one.pointer, one.code) for one in refused.value.problems] == [
        ("/properties/payload/properties/it/label", "words")
    ]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("12", 12),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("1,000", "1,000"),
        ("๑", "๑"),
        ("nan", "nan"),
        ("9" * 400, "9" * 400),
    ],
)
def test_read_figures_and_leave_the_rest_to_the_schema(typed: str, value: Any) -> None:
    assert figure(typed) == value
    assert type(figure(typed)) is type(value)
