"""JSON Logic with JavaScript's coercions, and the budgets that keep a rule from taking long."""

import math
import time
from typing import Any

import pytest

from saraban.workflow.domain.coercion import ConditionError
from saraban.workflow.domain.condition import Condition, evaluate, faults, reads

CASES: list[tuple[Any, Any, Any]] = [
    (True, {}, True),
    ({"==": [1, 1]}, {}, True),
    ({"==": [1, "1"]}, {}, True),
    ({"==": [0, ""]}, {}, True),
    ({"==": [0, None]}, {}, False),
    ({"==": [None, None]}, {}, True),
    ({"==": [True, 1]}, {}, True),
    ({"==": [True, "true"]}, {}, False),
    ({"==": [[1], 1]}, {}, True),
    ({"===": [1, "1"]}, {}, False),
    ({"===": [1, 1.0]}, {}, True),
    ({"===": [True, 1]}, {}, False),
    ({"!=": [1, "1"]}, {}, False),
    ({"!==": [1, "1"]}, {}, True),
    ({"!": [[]]}, {}, True),
    ({"!": ["0"]}, {}, False),
    ({"!!": [""]}, {}, False),
    ({"!!": [[0]]}, {}, True),
    ({"!": 0}, {}, True),
    ({"and": [1, "", 3]}, {}, ""),
    ({"and": [1, 3]}, {}, 3),
    ({"or": [0, "", "a"]}, {}, "a"),
    ({"or": [False, 0]}, {}, 0),
    ({"if": [False, 1, True, 2, 3]}, {}, 2),
    ({"if": [False, 1, False, 2, 3]}, {}, 3),
    ({"if": [False, 1]}, {}, None),
    ({"if": []}, {}, None),
    ({"?:": [True, 1, 2]}, {}, 1),
    ({"<": [1, 2, 3]}, {}, True),
    ({"<": [1, 3, 2]}, {}, False),
    ({"<=": [1, 1, 3]}, {}, True),
    ({"<": ["10", "9"]}, {}, True),
    ({"<": ["10", 9]}, {}, False),
    ({">": [2, "1"]}, {}, True),
    ({">=": ["b", "a"]}, {}, True),
    ({"<": ["x", 1]}, {}, False),
    ({"max": [1, 3, "2"]}, {}, 3),
    ({"min": [1, 3, 2]}, {}, 1),
    ({"+": [1, "2", 3]}, {}, 6),
    ({"+": "3.14"}, {}, 3.14),
    ({"+": [0.1, 0.2]}, {}, 0.1 + 0.2),
    ({"+": ["2px", 1]}, {}, 3),
    ({"-": [2, 3]}, {}, -1),
    ({"-": [2]}, {}, -2),
    ({"*": [2, "3"]}, {}, 6),
    ({"/": [4, 2]}, {}, 2),
    ({"%": [5, 3]}, {}, 2),
    ({"%": [-5, 3]}, {}, -2),
    ({"in": ["na", "banana"]}, {}, True),
    ({"in": [1, [1, 2]]}, {}, True),
    ({"in": [1, ["1", 2]]}, {}, False),
    ({"in": [1, None]}, {}, False),
    ({"cat": ["I love ", 1.0, " ", True]}, {}, "I love 1 true"),
    ({"substr": ["jsonlogic", 4]}, {}, "logic"),
    ({"substr": ["jsonlogic", -5]}, {}, "logic"),
    ({"substr": ["jsonlogic", 0, 4]}, {}, "json"),
    ({"substr": ["jsonlogic", 4, -2]}, {}, "log"),
    ({"substr": ["สารบรรณ", 0, 3]}, {}, "สาร"),
    ({"var": "a.b.c"}, {"a": {"b": {"c": 7}}}, 7),
    ({"var": ["z", 1]}, {"a": 2}, 1),
    ({"var": "1"}, ["x", "y"], "y"),
    ({"var": ""}, 5, 5),
    ({"var": "a"}, {"a": 0}, 0),
    ({"var": {"var": "key"}}, {"key": "b", "b": 3}, 3),
    ({"missing": ["a", "b"]}, {"a": 1}, ["b"]),
    ({"missing": [["a", "c"]]}, {"a": 1, "c": ""}, ["c"]),
    ({"missing_some": [1, ["a", "b"]]}, {"a": 1}, []),
    ({"missing_some": [2, ["a", "b", "c"]]}, {"a": 1}, ["b", "c"]),
    ({"map": [{"var": "n"}, {"*": [{"var": ""}, 2]}]}, {"n": [1, 2]}, [2, 4]),
    ({"filter": [{"var": "n"}, {">": [{"var": ""}, 1]}]}, {"n": [1, 2, 3]}, [2, 3]),
    (
        {"reduce": [{"var": "n"}, {"+": [{"var": "current"}, {"var": "accumulator"}]}, 0]},
        {"n": [1, 2, 3]},
        6,
    ),
    ({"reduce": [{"var": "absent"}, 1, 9]}, {}, 9),
    ({"all": [{"var": "n"}, {">": [{"var": ""}, 0]}]}, {"n": [1, 2]}, True),
    ({"all": [[], True]}, {}, False),
    ({"none": [[], True]}, {}, True),
    ({"some": [{"var": "n"}, {">": [{"var": "v"}, 1]}]}, {"n": [{"v": 1}, {"v": 2}]}, True),
    ({"merge": [1, [2, 3], [[4]]]}, {}, [1, 2, 3, [4]]),
    ([1, {"+": [1, 1]}], {}, [1, 2]),
]


@pytest.mark.parametrize(("rule", "data", "expected"), CASES)
def test_gives_what_javascript_gives(rule: Any, data: Any, expected: Any) -> None:
    value = evaluate(rule, data)

    assert value == expected
    assert isinstance(value, bool) is isinstance(expected, bool)


@pytest.mark.parametrize("rule", [{"/": [0, 0]}, {"%": [1, 0]}, {"-": ["x", 1]}, {"max": [1, "x"]}])
def test_gives_not_a_number(rule: Any) -> None:
    assert math.isnan(evaluate(rule, {}))


class TestBudget:
    def test_refuses_a_rule_of_depth_ten_thousand(self) -> None:
        rule: Any = True
        for _ in range(10_000):
            rule = {"!": rule}

        assert "deeper" in faults(rule)[0]
        assert not Condition(rule).holds({})

    def test_refuses_an_unknown_operator(self) -> None:
        assert "no operator" in faults({"and": [{"eval": "1"}]})[0]
        with pytest.raises(ConditionError):
            evaluate({"method": ["", "__class__"]}, {})

    def test_stops_a_rule_that_takes_long(self) -> None:
        each = {"map": [{"var": "n"}, {"+": [1, 1]}]}
        rule = {"map": [{"var": "n"}, {"map": [[1] * 90, each]}]}
        began = time.perf_counter()

        with pytest.raises(ConditionError):
            evaluate(rule, {"n": list(range(10_000))})

        assert time.perf_counter() - began < 1

    def test_stops_a_text_that_doubles(self) -> None:
        twice = {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}

        with pytest.raises(ConditionError):
            evaluate({"reduce": [[0] * 99, twice, "xxxxxxxx"]}, {})

    def test_stops_a_list_that_doubles(self) -> None:
        twice = {"merge": [{"var": "accumulator"}, {"var": "accumulator"}]}

        with pytest.raises(ConditionError):
            evaluate({"reduce": [[0] * 99, twice, [1, 2, 3, 4]]}, {})

    def test_counts_a_failing_condition_as_not_met(self) -> None:
        assert not Condition({"nonsense": []}).holds({})


class TestReads:
    def test_names_what_is_looked_up(self) -> None:
        rule = {"and": [{"var": "payload.code"}, {"missing": ["document.number"]}, {"var": ["actor.roles", []]}]}

        assert reads(rule) == {"payload", "document", "actor"}

    def test_knows_that_a_computed_name_may_be_anything(self) -> None:
        assert "*" in reads({"var": {"cat": ["pay", "load"]}})
