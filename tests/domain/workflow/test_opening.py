"""Facts that open a condition, and what publishing makes of conditions that nothing opens."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.workflow.domain import dsl, logic, schema
from saraban.workflow.domain.condition import Condition
from saraban.workflow.domain.opening import Opening, opening

AMOUNT = {"var": "context.amount"}
WORDS = {"th": "คำ", "en": "Word"}


def looked_at(rule: Any, context_schema: dict[str, Any] | None = None) -> Opening:
    return opening(Condition(logic.compile(rule)), schema.read(context_schema) if context_schema else None)


def amounts(**more: Any) -> dict[str, Any]:
    amount = {"type": "integer", "minimum": 0, **more}
    return {"type": "object", "properties": {"amount": amount}, "required": ["amount"], "additionalProperties": False}


class TestOpens:
    @pytest.mark.parametrize(
        "rule",
        [
            {"==": [{"var": "document.priority"}, "HIGH"]},
            {"and": [{">": [AMOUNT, 1_000_000]}, {"<": [AMOUNT, 5_000_000]}]},
            {"in": ["Contract Admin", {"var": "actor.roles"}]},
            {"in": [{"var": "document.kind"}, ["rfa", "transmittal"]]},
            {"some": [{"var": "context.items"}, {"==": [{"var": "kind"}, "DRW"]}]},
            {"==": [{"+": [{"var": "context.a"}, {"var": "context.b"}]}, 7]},
            {"!": {"var": "comment"}},
            {"!": {"missing": ["payload.reason"]}},
            {"and": [{"==": [{"var": f"context.{name}"}, place]} for place, name in enumerate("abcdefgh")]},
            {"or": [{"==": [1, 2]}, {"==": [{"var": "payload.a.b"}, "x"]}]},
            {"!=": [{"var": "actor.isSubmitter"}, True]},
        ],
    )
    def test_finds_facts_under_which_a_rule_holds(self, rule: Any) -> None:
        found = looked_at(rule)

        assert found.facts is not None
        assert Condition(logic.compile(rule)).holds(found.facts)

    @pytest.mark.parametrize(
        "rule",
        [
            {"==": [1, 2]},
            {"and": [{">": [AMOUNT, 10]}, {"<": [AMOUNT, 10]}]},
            {"and": [*({"==": [{"var": f"context.{n}"}, 1]} for n in "abcdef"), {"!=": [{"var": "context.a"}, 1]}]},
        ],
    )
    def test_knows_what_nothing_opens_and_shows_facts_that_do_not(self, rule: Any) -> None:
        found = looked_at(rule)

        assert (found.facts, found.may_open) == (None, False)

    def test_keeps_to_what_the_schema_allows(self) -> None:
        rule = {">": [AMOUNT, 10]}

        assert not looked_at(rule, amounts(maximum=10)).may_open
        assert looked_at(rule, amounts(maximum=11)).facts is not None
        assert looked_at(rule, amounts(maximum=10)).tried == {"context.amount": 10}

    def test_takes_values_that_only_the_schema_names(self) -> None:
        names = {"type": "object", "properties": {"zone": {"enum": ["north", "south"]}}, "required": ["zone"]}

        assert looked_at({"==": [{"substr": [{"var": "context.zone"}, 0, 2]}, "so"]}, names).facts is not None

    @pytest.mark.parametrize("rule", [{"var": {"var": "context.which"}}, {"==": [{"var": ""}, 1]}])
    def test_gives_computed_paths_the_benefit_of_the_doubt(self, rule: Any) -> None:
        assert looked_at(rule).may_open

    def test_ends_soon_on_a_rule_with_many_paths(self) -> None:
        rule = {"==": [{"cat": [{"var": f"context.v{n}"} for n in range(60)]}, "never, ever"]}
        started = time.process_time()

        found = looked_at(rule)

        assert found.may_open
        assert time.process_time() - started < 3


_VALUES = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", "HIGH"]), st.booleans())
_PATHS = st.sampled_from(["context.x", "context.y", "document.priority", "payload.z"])
_CLAUSES = st.tuples(st.sampled_from(["==", "!=", ">", "<", ">=", "in"]), _PATHS, _VALUES).map(
    lambda parts: {parts[0]: [{"var": parts[1]}, [parts[2]] if parts[0] == "in" else parts[2]]}
)
_RULES = st.recursive(
    _CLAUSES,
    lambda below: st.one_of(
        st.lists(below, min_size=1, max_size=3).map(lambda each: {"and": each}),
        st.lists(below, min_size=1, max_size=3).map(lambda each: {"or": each}),
        below.map(lambda each: {"!": each}),
    ),
    max_leaves=6,
)


def _definition(rules: list[Any], targets: list[int]) -> dict[str, Any]:
    """A chain of states; each has one exit with a rule, to the next or, by `targets`, somewhere else."""
    last = len(rules)
    states: list[dict[str, Any]] = []
    for place, rule in enumerate(rules):
        step = {
            "to": f"s{targets[place] % (last + 1)}",
            "label": WORDS,
            "condition": {"type": "json-logic", "rule": rule},
        }
        states.append({"name": f"s{place}", "label": WORDS, "initial": place == 0, "on": {"go": step}})
    return {"workflow": "RANDOM", "states": [*states, {"name": f"s{last}", "label": WORDS, "terminal": True}]}


class TestPublishing:
    @given(st.lists(st.tuples(_RULES, st.integers(0, 4)), min_size=1, max_size=4))
    def test_accepts_only_states_that_some_facts_let_one_leave(self, chosen: list[tuple[Any, int]]) -> None:
        raw = _definition([rule for rule, _ in chosen], [target for _, target in chosen])
        try:
            definition = dsl.read(raw)
        except dsl.WorkflowNotValid as refused:
            for fault in refused.fields:
                if fault.code == "never_holds":
                    assert "{" in fault.text.say("en", fault.values).partition("not with")[2]
            return

        for state in definition.states.values():
            ways = [step.condition for step in state.on.values()]
            assert state.terminal or any(
                way is None or (found := opening(way, None)).facts is None or way.holds(found.facts) for way in ways
            )
            assert state.terminal or any(way is None or opening(way, None).facts is not None for way in ways)

    def test_names_the_exit_that_nothing_opens_with_facts_that_do_not(self) -> None:
        raw = _definition([{"and": [{">": [AMOUNT, 10]}, {"<": [AMOUNT, 10]}]}], [1])

        with pytest.raises(dsl.WorkflowNotValid) as refused:
            dsl.read(raw)

        fault = refused.value.fields[0]
        assert (fault.pointer, fault.code) == ("/dsl/states/0/on/go/condition/rule", "never_holds")
        assert '{"context.amount": 10}' in fault.text.say("en", fault.values)
        assert '{"context.amount": 10}' in fault.text.say("th", fault.values)
        assert {fault.code for fault in refused.value.fields} == {"never_holds", "unreachable", "dead_end"}

    def test_of_ten_thousand_conditions_is_decided_quickly(self) -> None:
        hard = {"==": [{"cat": [{"var": f"context.v{n}"} for n in range(20)]}, "never"]}
        on = {
            f"a{n}": {
                "to": "end",
                "label": WORDS,
                "condition": {"type": "json-logic", "rule": {"and": [hard, {"==": [{"var": "payload.n"}, n]}]}},
            }
            for n in range(50)
        }
        states = [{"name": f"s{place}", "label": WORDS, "initial": place == 0, "on": on} for place in range(20)]
        raw = {"workflow": "MANY", "states": [*states, {"name": "end", "label": WORDS, "terminal": True}]}
        started = time.process_time()

        dsl.problems(raw, known=dsl.Known())

        assert time.process_time() - started < 10
