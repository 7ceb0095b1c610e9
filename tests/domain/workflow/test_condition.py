"""Conditions of a definition: what they read, and what it means when they cannot be judged."""

from typing import Any

import pytest

from saraban.workflow.language import logic
from saraban.workflow.language.definition import Condition, names


def condition(rule: Any) -> Condition:
    return Condition(logic.compile(rule))


class TestHolds:
    @pytest.mark.parametrize(("priority", "holds"), [("URGENT", True), ("NORMAL", False), (None, False)])
    def test_says_whether_the_rule_is_true_of_the_facts(self, priority: str | None, holds: bool) -> None:
        urgent = condition({"==": [{"var": "document.priority"}, "URGENT"]})

        assert urgent.holds({"document": {"priority": priority}}) is holds

    def test_counts_a_rule_that_takes_too_long_as_not_met(self) -> None:
        each = {"map": [{"var": "payload"}, True]}

        assert condition(each).holds({"payload": [1]})
        assert not condition(each).holds({"payload": [1] * 100_000})


class TestReadsPayload:
    @pytest.mark.parametrize(
        ("rule", "reads"),
        [
            ({"var": "payload.code"}, True),
            ({"var": "comment"}, True),
            ({"missing": ["document.number", "payload.code"]}, True),
            ({"var": ""}, True),
            ({"var": {"cat": ["pay", "load"]}}, True),
            ({"missing": {"var": "document.needed"}}, True),
            ({"var": "document.number"}, False),
            ({"some": [{"var": "actor.roles"}, {"==": [{"var": "payload"}, 1]}]}, False),
            (True, False),
        ],
        ids=str,
    )
    def test_is_true_when_the_client_could_change_the_answer(self, rule: Any, reads: bool) -> None:
        assert condition(rule).reads_payload is reads


def test_names_what_is_read_at_the_top() -> None:
    rule = {"and": [{"var": "payload.code"}, {"missing": ["document.number"]}, {"var": ["actor.roles", []]}]}

    assert names(logic.compile(rule)) == {"payload", "document", "actor"}
