"""What pydantic finds wrong, field by field in the caller's language (REQ-ERR-04)."""

from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import Field, ValidationError

from saraban.kit.problem import field_problems, pointer_of
from saraban.kit.schema import Schema, SingleLine


class Part(Schema):
    amount: int = Field(ge=1, le=9)


class Form(Schema):
    subject: Annotated[str, SingleLine(10)]
    project_public_id: UUID
    due_date: date | None = None
    priority: Literal["LOW", "HIGH"] = "LOW"
    parts: list[Part] = Field(default_factory=list, max_length=2)


GOOD: dict[str, Any] = {"subject": "เรื่อง", "projectPublicId": "0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c"}


def problems(**changes: Any) -> dict[str, str]:
    body = {name: value for name, value in (GOOD | changes).items() if value is not ...}
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(body)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    return {problem.pointer: problem.code for problem in field_problems(errors)}


class TestFieldProblems:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"subject": ...}, {"/subject": "required"}),
            ({"subject": ""}, {"/subject": "required"}),
            ({"subject": "   "}, {"/subject": "required"}),
            ({"subject": "12345678901"}, {"/subject": "too_long"}),
            ({"subject": 5}, {"/subject": "wrong_type"}),
            ({"subject": None}, {"/subject": "wrong_type"}),
            ({"subject": "a\x00b"}, {"/subject": "control_character"}),
            ({"subject": "a\ud800b"}, {"/subject": "malformed"}),
            ({"projectPublicId": "7"}, {"/projectPublicId": "malformed"}),
            ({"projectPublicId": 7}, {"/projectPublicId": "wrong_type"}),
            ({"dueDate": "31 ม.ค."}, {"/dueDate": "malformed"}),
            ({"priority": "MEDIUM"}, {"/priority": "not_in_list"}),
            ({"parts": [{"amount": 0}]}, {"/parts/0/amount": "too_small"}),
            ({"parts": [{"amount": 10}]}, {"/parts/0/amount": "too_large"}),
            ({"parts": [{"amount": "x"}]}, {"/parts/0/amount": "wrong_type"}),
            ({"parts": [{"amount": 1}] * 3}, {"/parts": "too_long"}),
            ({"parts": {}}, {"/parts": "wrong_type"}),
            ({"sub~ject/": 1}, {"/sub~0ject~1": "unknown_field"}),
            ({"subject": ..., "projectPublicId": ...}, {"/subject": "required", "/projectPublicId": "required"}),
        ],
    )
    def test_names_each_field_and_what_is_wrong(self, changes: dict[str, Any], expected: dict[str, str]) -> None:
        assert problems(**changes) == expected

    def test_does_not_repeat_the_input(self) -> None:
        with pytest.raises(ValidationError) as caught:
            Form.model_validate(GOOD | {"subject": "a-secret-that-is-too-long"})

        (problem,) = field_problems([{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()])

        assert "a-secret" not in problem.text.say("en", problem.values) + problem.text.say("th", problem.values)
        assert problem.text.say("th", problem.values) == "ยาวเกินไป (สูงสุด 10 ตัวอักษร)"

    def test_names_20_and_counts_the_rest(self) -> None:
        with pytest.raises(ValidationError) as caught:
            Form.model_validate(
                GOOD | {f"{'k' * 500}{key}": 1 for key in range(1_000)} | {f"k{key}": 1 for key in range(100)}
            )
        problems = field_problems([{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()])

        assert len(problems) == 21
        assert all(len(problem.pointer) <= 101 for problem in problems)
        assert (problems[-1].pointer, problems[-1].code) == ("", "more_problems")
        assert problems[-1].text.say("en", problems[-1].values) == "81 further problems are not listed."


class TestSingleLine:
    @pytest.mark.parametrize(
        ("subject", "code"),
        [
            pytest.param("a" + "\u0301" * 20_000 + "\u0316" * 20_000, "too_long", id="long"),
            pytest.param("a" + "\u0301" * 31, "combining_marks", id="marks"),
            pytest.param("e" * 11, "too_long", id="exactly"),
        ],
    )
    def test_checks_a_text_before_it_normalizes_it(self, subject: str, code: str) -> None:
        assert problems(subject=subject) == {"/subject": code}

    def test_counts_the_normalized_text(self) -> None:
        assert Form.model_validate(GOOD | {"subject": "e\u0301" * 10 + " " * 20}).subject == "é" * 10


class TestPointerOf:
    @pytest.mark.parametrize(
        ("location", "expected"),
        [
            (("body", "recipients", 0, "publicId"), "/recipients/0/publicId"),
            (("body",), ""),
            (("query", "limit"), "query:limit"),
            (("path", "publicId"), "path:publicId"),
            (("header", "if-match"), "header:If-Match"),
            (("header", "idempotency-key"), "header:Idempotency-Key"),
        ],
    )
    def test_leads_to_the_place(self, location: tuple[str | int, ...], expected: str) -> None:
        assert pointer_of(location) == expected
