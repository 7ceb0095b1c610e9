"""
The public JSON Logic vectors, and the coercions of the reference implementation.

`jsonlogic_vectors.json` is https://jsonlogic.com/tests.json as the npm package json-logic-engine 1.3.1 ships it (MIT
licence; the vectors are (c) 2015 Jeremy Wadhams, the package (c) 2023 Jesse Mitchell), a vector a line.
`jsonlogic_coercions.json` is what json-logic-js 2.0.5 answered on Node 20 to every operator over every pair of our
own values: `binary[operator][left][right]` and `unary[operator][value]`.

There are no exceptions: all vectors and all coercions must give the reference's value.
"""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from saraban.workflow.language import logic

DATA = Path(__file__).resolve().parents[2] / "data"
VECTORS = [each for each in json.loads((DATA / "jsonlogic_vectors.json").read_text("utf-8")) if isinstance(each, list)]
COERCIONS = json.loads((DATA / "jsonlogic_coercions.json").read_text("utf-8"))
VALUES = COERCIONS["values"]


def written(value: Any) -> str:
    """Write a value as JSON, with the numbers that JSON does not have; 1 and 1.0 are one number, 0 and -0 too."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        special = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return repr(float(value) + 0.0) if math.isfinite(value) else json.dumps({"$n": special})
    if isinstance(value, list):
        return f"[{', '.join(written(each) for each in value)}]"
    return json.dumps(value, ensure_ascii=False)


def test_there_are_as_many_vectors_as_were_published() -> None:
    assert len(VECTORS) == 275


def test_gives_the_value_of_every_public_vector() -> None:
    wrong = [
        (rule, data, expected, value)
        for rule, data, expected in VECTORS
        if written(value := logic.compile(rule).evaluate(data)) != written(expected)
    ]

    assert wrong == []


@pytest.mark.parametrize("operator", COERCIONS["binary"])
def test_coerces_two_values_as_the_reference_does(operator: str) -> None:
    evaluate = logic.compile({operator: [{"var": "a"}, {"var": "b"}]}).evaluate
    table = COERCIONS["binary"][operator]

    wrong = [
        f"{left!r} {operator} {right!r} is {given}, not {written(expected)}"
        for left, row in zip(VALUES, table, strict=True)
        for right, expected in zip(VALUES, row, strict=True)
        if (given := written(evaluate({"a": left, "b": copy.copy(right)}))) != written(expected)
    ]

    assert wrong == []


@pytest.mark.parametrize("operator", COERCIONS["unary"])
def test_coerces_one_value_as_the_reference_does(operator: str) -> None:
    evaluate = logic.compile({operator: [{"var": "a"}]}).evaluate

    wrong = [
        f"{operator} {value!r} is {given}, not {written(expected)}"
        for value, expected in zip(VALUES, COERCIONS["unary"][operator], strict=True)
        if (given := written(evaluate({"a": value}))) != written(expected)
    ]

    assert wrong == []
