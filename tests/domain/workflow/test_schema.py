"""Schemas of contexts: which may be published, what is said of contexts that do not fit, and what hostile ones cost."""

import json
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saraban.workflow.language import schema
from saraban.workflow.language.faults import PartRefused

ORDER: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "amount": {"type": "number", "minimum": 0, "maximum": 1_000_000},
        "currency": {"enum": ["THB", "USD"]},
        "project": {"$ref": "#/$defs/code"},
        "due": {"type": ["string", "null"], "format": "date"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/code"}, "uniqueItems": True, "maxItems": 3},
        "title": {"type": "string", "minLength": 2, "maxLength": 10},
    },
    "required": ["amount"],
    "additionalProperties": False,
    "$defs": {"code": {"type": "string", "pattern": "^[A-Zก-ฮ]{2,5}$"}},
}


def refusal(raw: Any) -> list[tuple[str, str]]:
    with pytest.raises(PartRefused) as refused:
        schema.read(raw)
    return [(problem.pointer, problem.code) for problem in refused.value.problems]


class TestRead:
    def test_accepts_a_schema_of_every_keyword(self) -> None:
        raw = {
            "title": "t", "description": "d", "default": {}, "examples": [{}], "$comment": "c", "type": "object",
            "properties": {"a": {"oneOf": [{"const": 1}, {"multipleOf": 5}], "not": {"enum": [2]}}, "b": True},
            "patternProperties": {"^x-": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
            "propertyNames": {"maxLength": 20}, "minProperties": 0, "maxProperties": 20,
            "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"required": ["a"]}},
            "if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"allOf": [{"maxProperties": 3}]},
            "additionalProperties": {
                "type": "array", "prefixItems": [{"exclusiveMinimum": 1}, {"exclusiveMaximum": 9}], "items": {"type": "string"},
                "contains": {"const": 2}, "minContains": 0, "maxContains": 2, "minItems": 0, "readOnly": True,
            },
        }  # fmt: skip

        accepted = schema.read(raw)

        assert accepted.problems({"a": 5, "b": 1, "x-y": 7, "z": [2, 3, "w"]}) == ()
        assert accepted.problems({"a": 2}) != ()

    @pytest.mark.parametrize(
        ("raw", "expected"),
        [
            (True, [("", "type")]),
            ([], [("", "type")]),
            ({"type": "text"}, [("/type", "any_of")]),
            ({"properties": {"a/b": {"minimum": "1"}}}, [("/properties/a~1b/minimum", "type")]),
            ({"properties": {"a": {"minLength": -1}}}, [("/properties/a/minLength", "minimum")]),
            ({"required": "a"}, [("/required", "type")]),
            ({"requierd": ["a"]}, [("/requierd", "unknown_keyword")]),
            ({"properties": {"a": {"$id": "http://example.test/x"}}}, [("/properties/a/$id", "unknown_keyword")]),
            ({"$dynamicRef": "#a"}, [("/$dynamicRef", "unknown_keyword")]),
            ({"$anchor": "a"}, [("/$anchor", "unknown_keyword")]),
            ({"properties": {"a": {"$defs": {}}}}, [("/properties/a/$defs", "unknown_keyword")]),
            ({"$schema": "http://json-schema.org/draft-07/schema#"}, [("/$schema", "dialect")]),
            ({"type": "string"}, [("/type", "type")]),
            ({"properties": {"a": {"format": "postcode"}}}, [("/properties/a/format", "unknown_format")]),
            ({"$ref": "http://example.test/x"}, [("/$ref", "reference")]),
            ({"$ref": "file:///etc/passwd"}, [("/$ref", "reference")]),
            ({"$ref": "#"}, [("/$ref", "reference")]),
            ({"$ref": "#/$defs/a"}, [("/$ref", "reference")]),
            ({"$ref": "#/$defs/a/not", "$defs": {"a": {"not": {}}}}, [("/$ref", "reference")]),
            ({"properties": {"a": {"pattern": "["}}}, [("/properties/a/pattern", "pattern")]),
            ({"patternProperties": {"(": {}}}, [("/patternProperties/(", "pattern")]),
            ({"properties": {"p": {"pattern": "(?=a)b"}}}, [("/properties/p/pattern", "pattern")]),
            ({"properties": {"p": {"pattern": r"(a)\1"}}}, [("/properties/p/pattern", "pattern")]),
            ({"properties": {"p": {"pattern": "a" * 301}}}, [("/properties/p/pattern", "too_long")]),
            ({"properties": {"\ud800": {}}}, [("/properties", "not_json")]),
            ({"const": float("nan")}, [("/const", "not_json")]),
            ({"const": {1: 2}}, [("/const", "not_json")]),
        ],
        ids=repr,
    )  # fmt: skip
    def test_names_what_it_refuses_by_its_pointer(self, raw: Any, expected: list[tuple[str, str]]) -> None:
        assert refusal(raw) == expected

    def test_names_several_faults_in_their_order(self) -> None:
        raw = {
            "properties": {"a": {"tpye": "x"}, "b": {"$ref": "#/x", "pattern": "("}},
            "$defs": {"c": {"format": "z"}},
        }

        assert refusal(raw) == [
            ("/properties/a/tpye", "unknown_keyword"),
            ("/properties/b/$ref", "reference"),
            ("/$defs/c/format", "unknown_format"),
            ("/properties/b/pattern", "pattern"),
        ]

    def test_refuses_a_schema_that_refers_to_itself(self) -> None:
        circle = {"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}, "c": {}}}

        assert refusal(circle) == [("/$defs/a", "recursive"), ("/$defs/b", "recursive")]

    def test_takes_names_of_keywords_for_names_of_properties(self) -> None:
        assert schema.read({"properties": {"$ref": {}, "pattern": {"type": "string"}}}).problems({"pattern": "("}) == ()


class TestHostileSchemas:
    def test_are_refused_quickly(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(10_000):
            deep = {"not": deep}
        endless: dict[str, Any] = {}
        endless["not"] = endless
        doubling: dict[str, Any] = {"a0": {}}
        chain: dict[str, Any] = {"a0": {}}
        for n in range(1, 60):
            doubling[f"a{n}"] = {"anyOf": [{"$ref": f"#/$defs/a{n - 1}"}, {"$ref": f"#/$defs/a{n - 1}"}]}
            chain[f"a{n}"] = {"$ref": f"#/$defs/a{n - 1}"}
        began = time.process_time()

        assert refusal(deep)[0][1] == "too_deep"
        assert refusal(endless)[0][1] == "too_deep"
        assert refusal({"$ref": "#/$defs/a59", "$defs": doubling}) == [("", "too_large")]
        assert refusal({"$ref": "#/$defs/a59", "$defs": chain}) == [("", "too_large")]
        assert refusal({"enum": [0] * 1_000_000}) == [("", "too_large")]
        assert refusal({"description": "x" * 1_000_000}) == [("", "too_long")]
        assert refusal({"patternProperties": {f"a{n}": True for n in range(51)}}) == [("", "too_many_patterns")]
        for pattern in ("a{100000}", "(a{1000}){1000}", "((a{1,100}){1,100}){1,100}", r"(\w{1000}){1000}"):
            assert refusal({"patternProperties": {pattern: True}}) == [(f"/patternProperties/{pattern}", "pattern")]
        assert time.process_time() - began < 1

    @pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", r"^(\w+\s?)*$", "^(.*a){20}$"])
    def test_make_no_regular_expression_take_long(self, pattern: str) -> None:
        """Each of these takes a backtracking engine longer than the age of the universe."""
        bomb = schema.read({"properties": {"a": {"type": "string", "pattern": pattern}}})
        began = time.process_time()

        assert [problem.code for problem in bomb.problems({"a": "a" * 10_000 + "!"})] == ["pattern"]
        assert time.process_time() - began < 1


class TestProblems:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({}, []),
            ({"project": "กข", "due": None, "tags": ["AB"], "title": "งาน"}, []),
            ({"amount": "5"}, [("/amount", "type", "ต้องเป็นตัวเลข", "This must be a number.")]),
            ({"amount": -1}, [("/amount", "minimum", "ต้องไม่น้อยกว่า 0", "This must be at least 0.")]),
            ({"currency": "EUR"}, [("/currency", "enum", "ต้องเป็นหนึ่งใน THB, USD", "This must be one of THB, USD.")]),
            ({"due": 5}, [("/due", "type", "ต้องเป็นค่าว่าง (null) หรือข้อความ", "This must be null or text.")]),
            ({"due": "soon"}, [("/due", "format", "ต้องอยู่ในรูปแบบ date", "This must have the format date.")]),
            (
                {"tags": ["AB", "a"]},
                [("/tags/1", "pattern", "ต้องเป็นไปตามรูปแบบ ^[A-Zก-ฮ]{2,5}$", "This must match ^[A-Zก-ฮ]{2,5}$.")],
            ),
            ({"tags": ["AB", "AB"]}, [("/tags", "unique_items", "รายการต้องไม่ซ้ำกัน", "No two of them may be the same.")]),
            (
                {"title": "x"},
                [("/title", "min_length", "ต้องมีอย่างน้อย 2 ตัวอักษร", "This must have at least 2 characters.")],
            ),
            ({"a/b": 1}, [("/a~1b", "unknown_key", "ไม่รู้จักคีย์นี้", "This key is not known.")]),
            ({"amount": ...}, [("/amount", "required", "จำเป็นต้องระบุ", "Required")]),
        ],
        ids=repr,
    )
    def test_name_the_field_and_say_what_is_wanted(
        self, changes: dict[str, Any], expected: list[tuple[str, ...]]
    ) -> None:
        context = {key: value for key, value in ({"amount": 5} | changes).items() if value is not ...}

        said = [
            (each.pointer, each.code, each.text.say("th", each.values), each.text.say("en", each.values))
            for each in schema.read(ORDER).problems(context)
        ]

        assert said == expected

    def test_are_not_more_than_help(self) -> None:
        assert len(schema.read(ORDER).problems({f"key{n}": n for n in range(500)})) == 20

    @pytest.mark.parametrize(
        ("context", "code"),
        [
            ({"amount": float("inf")}, "not_json"),
            ({"title": "\udfff"}, "not_json"),
            ({"tags": [0] * 20_001}, "too_large"),
            ({"amount": object()}, "not_json"),
        ],
        ids=["infinity", "half a pair", "too many", "no JSON at all"],
    )
    def test_say_when_a_context_is_none(self, context: Any, code: str) -> None:
        assert [problem.code for problem in schema.read(ORDER).problems(context)] == [code]

    def test_say_when_a_context_is_endless(self) -> None:
        endless: list[Any] = []
        endless.append(endless)

        assert [problem.code for problem in schema.read(ORDER).problems({"tags": endless})] == ["too_deep"]

    def test_take_a_whole_number_of_any_size(self) -> None:
        assert [problem.code for problem in schema.read(ORDER).problems({"amount": 10**400})] == ["maximum"]


def test_has_words_for_every_kind_of_error() -> None:
    kinds = {name for name, each in vars(jsonschema_rs.ValidationErrorKind).items() if isinstance(each, type)}
    # Kinds that no accepted schema can raise: keywords that are refused, engines that are not used.
    never = {
        *(
            "AdditionalItems",
            "BacktrackLimitExceeded",
            "RegexEngineFailure",
            "ContentEncoding",
            "ContentMediaType",
            "Custom",
        ),
        *("FromUtf8", "Referencing", "UnevaluatedItems", "UnevaluatedProperties"),
    }

    assert kinds - never == {*schema.SENTENCES, "Required", "AdditionalProperties", "Type"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["a", "b", "$ref", "type"])
SCHEMAS = st.recursive(
    st.booleans() | st.sampled_from([{"type": "string"}, {"$ref": "#/$defs/a"}, {"pattern": "^(a+)+$"}, {"enum": [1, "a"]}, {"minimum": 3}]),
    lambda below: st.dictionaries(
        st.sampled_from(["items", "not", "if", "then", "additionalProperties"]), below, max_size=2
    ) | st.fixed_dictionaries({"properties": st.dictionaries(NAMES, below, max_size=3)}) | st.fixed_dictionaries({"anyOf": st.lists(below, min_size=1, max_size=3)}),
    max_leaves=8,
)  # fmt: skip


class TestAnySchema:
    @given(
        raw=JSON
        | st.fixed_dictionaries(
            {"$defs": st.fixed_dictionaries({"a": SCHEMAS}), "allOf": st.lists(SCHEMAS, min_size=1, max_size=2)}
        ),
        context=JSON,
    )
    @settings(max_examples=60, deadline=None)
    def test_is_refused_with_reasons_or_says_what_fits(self, raw: Any, context: Any) -> None:
        try:
            accepted = schema.read(raw)
        except PartRefused as refused:
            assert refused.problems and all(each.text.th and each.text.en for each in refused.problems)
            return

        fits = not accepted.problems(context)

        assert fits is jsonschema_rs.Draft202012Validator(json.loads(json.dumps(raw)), validate_formats=True).is_valid(
            context
        )
