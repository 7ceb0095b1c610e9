"""JSON Logic: the value of every operator, what is refused when compiled, and the budgets of an evaluation."""

import math
import time
from typing import Any

import pytest

from saraban.workflow.language import logic
from saraban.workflow.language.faults import PartRefused, Size
from saraban.workflow.language.logic import USUAL
from saraban.workflow.language.logic.grammar import ARITY, Limits

NO_JSON = object()

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
    ({"log": [{"+": [1, 1]}]}, {}, 2),
    ({"var": "list.length"}, {"list": [1, 2]}, 2),
    ({"var": "list.01"}, {"list": [1, 2]}, None),
    ({"var": ["a", 1]}, {"a": None}, None),
    ({"var": "a.constructor"}, {"a": {}}, None),
    ({"substr": ["x", "y"]}, {}, "x"),
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


@pytest.mark.parametrize(("rule", "data", "expected"), CASES, ids=str)
def test_gives_what_javascript_gives(rule: Any, data: Any, expected: Any) -> None:
    value = logic.compile(rule).evaluate(data)

    assert value == expected
    assert isinstance(value, bool) is isinstance(expected, bool)


@pytest.mark.parametrize("rule", [{"/": [0, 0]}, {"%": [1, 0]}, {"-": ["x", 1]}, {"max": [1, "x"]}, {"+": ["๑"]}])
def test_gives_not_a_number(rule: Any) -> None:
    assert math.isnan(logic.compile(rule).evaluate({}))


def test_tries_every_operator() -> None:
    assert {operator for rule, _, _ in CASES if isinstance(rule, dict) for operator in rule} == set(ARITY)


def refusal(rule: Any, limits: Limits = USUAL) -> list[tuple[str, str]]:
    with pytest.raises(PartRefused) as refused:
        logic.compile(rule, limits=limits)
    return [(problem.pointer, problem.code) for problem in refused.value.problems]


def nested(depth: int, rule: Any = True) -> Any:
    for _ in range(depth):
        rule = {"!": rule}
    return rule


class TestCompile:
    @pytest.mark.parametrize(
        ("rule", "expected"),
        [
            ({"and": [True, {"eval": "1"}]}, [("/and/1/eval", "unknown_operator")]),
            ({"method": ["", "__class__"]}, [("/method", "unknown_operator")]),
            ({"a/b~c": 1}, [("/a~1b~0c", "unknown_operator")]),
            ({"==": [1]}, [("/==", "arguments")]),
            ({"==": [1, 2, 3]}, [("/==", "arguments")]),
            ({"<": 1}, [("/<", "arguments")]),
            ({"!": []}, [("/!", "arguments")]),
            ({"or": [{}]}, [("/or/0", "one_operator")]),
            ({"var": "a", "==": [1, 1]}, [("", "one_operator")]),
            ({"==": [math.nan, 1]}, [("/==/0", "not_json")]),
            ({"==": [math.inf, (1, 2)]}, [("/==/0", "not_json"), ("/==/1", "not_json")]),
            ({5: 1}, [("", "not_json")]),
            (NO_JSON, [("", "not_json")]),
            (
                {"and": [{"eval": 1}, {"exec": 1}]},
                [("/and/0/eval", "unknown_operator"), ("/and/1/exec", "unknown_operator")],
            ),
        ],
        ids=lambda part: "no JSON" if part is NO_JSON else repr(part),
    )
    def test_names_every_fault_by_its_pointer(self, rule: Any, expected: list[tuple[str, str]]) -> None:
        assert refusal(rule) == expected

    def test_says_it_in_both_languages(self) -> None:
        with pytest.raises(PartRefused) as refused:
            logic.compile({"and": [{"eval": 1}, {"!": []}, {"-": []}]})

        said = [
            (fault.text.say("th", fault.values), fault.text.say("en", fault.values)) for fault in refused.value.problems
        ]
        assert said == [
            ("ไม่มีตัวดำเนินการ “eval”", "There is no operator “eval”."),
            ("“!” รับ 1 ค่า แต่มี 0 ค่า", "The number of values for “!” is 1, not 0."),
            ("“-” รับ 1 ถึง 2 ค่า แต่มี 0 ค่า", "The number of values for “-” is 1 to 2, not 0."),
        ]

    def test_lists_no_more_faults_than_help(self) -> None:
        assert len(refusal([{"eval": 1}] * 100)) == 20

    def test_accepts_a_rule_as_deep_and_as_large_as_the_limits(self) -> None:
        assert logic.compile(nested(63)).evaluate({}) is False
        assert logic.compile([1] * 999).evaluate({}) == [1] * 999
        assert refusal(nested(64))[0][1] == "too_deep"
        assert refusal([1] * 1_000) == [("", "too_large")]

    def test_takes_limits(self) -> None:
        assert refusal([[1]], Limits(rule=Size(2, 9, 9)))[0][1] == "too_deep"
        assert refusal("abcd", Limits(rule=Size(9, 9, 3))) == [("", "too_long")]
        assert refusal({"+": [1, 2, 3]}, Limits(arguments=2)) == [("/+", "arguments")]


class TestHostileRules:
    def test_are_refused_before_they_are_walked_through(self) -> None:  # `wide` has 2 to the power of 40 parts
        cycle: list[Any] = []
        cycle.append(cycle)
        loop: dict[str, Any] = {}
        loop["!"] = loop
        wide: Any = [1]
        for _ in range(40):
            wide = [wide, wide]

        assert refusal(nested(10_000))[0][1] == "too_deep"
        assert refusal(cycle)[0][1] == "too_deep"
        assert refusal(loop)[0][1] == "too_deep"
        assert refusal(wide)[0][1] in {"too_deep", "too_large"}
        assert refusal([1] * 1_000_000) == [("", "too_large")]
        assert refusal({"cat": ["x" * 1_000_000]}) == [("", "too_long")]
        assert refusal(10**100_000) == [("", "too_long")]


class TestBudget:
    @pytest.mark.parametrize(
        ("rule", "facts"),
        [
            ({"map": [{"var": "n"}, {"+": [1, 1]}]}, {"n": [0] * 10_000}),
            ({"map": [{"var": "n"}, {"map": [[1] * 90, {"map": [{"var": ""}, 1]}]}]}, {"n": [0] * 1_000}),
            ({"reduce": [[0] * 99, {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}, "xxxxxxxx"]}, {}),
            ({"reduce": [[0] * 99, {"merge": [{"var": "accumulator"}, {"var": "accumulator"}]}, [1, 2]]}, {}),
            ({"cat": {"reduce": [[0] * 99, [{"var": "accumulator"}, {"var": "accumulator"}], 1]}}, {}),
            ({"==": [{"var": "n"}, "1"]}, {"n": [1] * 100_000}),
            ({"in": [0, {"var": "n"}]}, {"n": [1] * 100_000}),
            ({"missing": {"var": "n"}}, {"n": ["a"] * 100_000}),
            ({"var": {"var": "n"}}, {"n": "." * 100_000}),
            ({"+": [{"var": "n"}]}, {"n": "9" * 10_000_000}),
            ({"-": [{"var": "n"}]}, {"n": "9" * 10_000_000}),
            ({"cat": [{"var": "n"}]}, {"n": "9" * 10_001}),
            ({"merge": [{"var": "n"}]}, {"n": [1] * 10_001}),
            ({"substr": [{"var": "n"}, 0]}, {"n": "9" * 10_000_000}),
            ({"in": ["x", {"var": "n"}]}, {"n": "9" * 10_000_000}),
        ],
        ids=lambda value: str(value)[:60],
    )
    def test_stops_what_takes_long_or_grows(self, rule: Any, facts: Any) -> None:
        compiled = logic.compile(rule)
        began = time.process_time()

        with pytest.raises(logic.BudgetExceeded) as stopped:
            compiled.evaluate(facts)

        assert time.process_time() - began < 20  # a runaway takes minutes; a busy machine some times a quiet one
        assert "too" in str(stopped.value)

    def test_stops_at_endless_facts(self) -> None:
        endless: list[Any] = []
        endless.append(endless)

        with pytest.raises(logic.BudgetExceeded):
            logic.compile({"cat": {"var": "a"}}).evaluate({"a": endless})

    def test_is_a_matter_of_limits(self) -> None:
        rule = {"map": [[1, 2, 3], {"+": [{"var": ""}, 1]}]}

        assert logic.compile(rule, limits=Limits(steps=30)).evaluate({}) == [2, 3, 4]
        with pytest.raises(logic.BudgetExceeded):
            logic.compile(rule, limits=Limits(steps=15)).evaluate({})

    def test_is_new_for_each_evaluation(self) -> None:
        rule = logic.compile({"map": [{"var": "n"}, True]})

        for _ in range(50):
            assert len(rule.evaluate({"n": [1] * 5_000})) == 5_000


class TestVariables:
    @pytest.mark.parametrize(
        ("rule", "variables"),
        [
            (True, set()),
            ({"var": "a.b"}, {"a.b"}),
            ({"var": ["a", {"var": "b"}]}, {"a", "b"}),
            ({"var": 1}, {"1"}),
            ({"var": ""}, {"*"}),
            ({"var": []}, {"*"}),
            ({"var": {"var": "key"}}, {"*", "key"}),
            ({"missing": ["a", "b.c"]}, {"a", "b.c"}),
            ({"missing": [["a", "c"]]}, {"a", "c"}),
            ({"missing": {"merge": ["a", {"var": "more"}]}}, {"*", "more"}),
            ({"missing_some": [1, ["a", "b"]]}, {"a", "b"}),
            ({"missing_some": [{"var": "least"}, {"var": "some"}]}, {"*", "least", "some"}),
            ({"map": [{"var": "items"}, {"var": "price"}]}, {"items"}),
            ({"reduce": [{"var": "n"}, {"var": "current"}, {"var": "start"}]}, {"n", "start"}),
            ([{"if": [{"var": "a"}, {"var": "b"}]}], {"a", "b"}),
        ],
        ids=lambda part: repr(sorted(part)) if isinstance(part, set) else str(part),
    )
    def test_are_the_paths_that_are_read_from_the_facts(self, rule: Any, variables: set[str]) -> None:
        assert logic.compile(rule).variables == variables
