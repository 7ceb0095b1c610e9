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
PAID = {"var": "payload.amount"}
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

    @pytest.mark.parametrize(
        "rule",
        [
            {"==": [{"*": [{"var": "payload.a"}, 2]}, 84]},
            {"==": [{"substr": [{"var": "document.number"}, 4, 3]}, "RFA"]},
            {"==": [{"cat": [{"var": "document.originatorCode"}, "-", {"var": "document.projectCode"}]}, "CON-C2"]},
            {
                ">=": [
                    {
                        "reduce": [
                            {"var": "payload.items"},
                            {"+": [{"var": "accumulator"}, {"var": "current.amount"}]},
                            0,
                        ]
                    },
                    1000,
                ]
            },
            {
                "and": [
                    {"all": [{"var": "payload.items"}, {">": [{"var": ""}, 0]}]},
                    {"==": [{"var": "payload.items.length"}, 3]},
                ]
            },
            {"<": [10, {"var": "payload.a"}, 11]},
            {
                "and": [
                    {"<": ["2026-01-01", {"var": "document.dueDate"}]},
                    {"<": [{"var": "document.dueDate"}, "2026-02"]},
                ]
            },
            {
                "and": [
                    {"==": [{"var": "payload.a"}, 5]},
                    {"!=": [{"var": "payload.a"}, "5"]},
                    {"!==": [{"var": "payload.a"}, 5]},
                ]
            },
        ],
        ids=str,
    )
    def test_refuses_nothing_that_some_facts_open(self, rule: Any) -> None:
        assert looked_at(rule).may_open

    @pytest.mark.parametrize(
        "more", [{"multipleOf": 250}, {"multipleOf": 250, "minimum": 300}, {"not": {"maximum": 300}}]
    )
    def test_refuses_nothing_within_a_schema_that_it_cannot_follow(self, more: dict[str, Any]) -> None:
        assert looked_at({">": [AMOUNT, 10]}, amounts(**more)).may_open

    def test_knows_that_no_whole_number_lies_between_two_neighbours(self) -> None:
        rule = {"<": [10, AMOUNT, 11]}

        assert not looked_at(rule, amounts()).may_open
        assert looked_at(rule, amounts(type="number")).may_open

    def test_ends_soon_on_a_rule_with_many_paths(self) -> None:
        rule = {"==": [{"cat": [{"var": f"context.v{n}"} for n in range(60)]}, "never, ever"]}
        started = time.process_time()

        found = looked_at(rule)

        assert found.may_open
        assert time.process_time() - started < 3


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-30, 30),
    st.floats(-30, 30).map(lambda value: round(value, 2)),
    st.sampled_from(["", "a", "b", "HIGH", "7", " 7", "007", "2026-01-01", "CON-C2", "null"]),
)
_FACTS = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=3), st.fixed_dictionaries({"b": _SCALARS}))
_PATHS = st.sampled_from(["payload.x", "payload.y", "payload.y.b", "document.priority", "context.payload.z"])
_READS = _PATHS.map(lambda path: {"var": path})
_TERMS = st.recursive(
    st.one_of(_READS, _SCALARS),
    lambda below: st.one_of(
        st.builds(
            lambda op, parts: {op: parts},
            st.sampled_from(["+", "*", "cat", "max"]),
            st.lists(below, min_size=1, max_size=3),
        ),
        st.builds(lambda op, parts: {op: list(parts)}, st.sampled_from(["-", "%"]), st.tuples(below, below)),
        st.builds(lambda text, start: {"substr": [text, start, 2]}, below, st.integers(-2, 3)),
        st.builds(lambda items: {"reduce": [items, {"+": [{"var": "accumulator"}, {"var": "current"}]}, 0]}, _READS),
        _PATHS.map(lambda path: {"var": f"{path}.length"}),
    ),
    max_leaves=4,
)
_COMPARISONS = st.one_of(
    _READS,
    st.builds(
        lambda op, sides: {op: list(sides)},
        st.sampled_from(["==", "===", "!=", "!==", "<", "<=", ">", ">="]),
        st.one_of(st.tuples(_READS, _SCALARS), st.tuples(_SCALARS, _READS), st.tuples(_TERMS, _TERMS)),
    ),
    st.builds(lambda low, read, high: {"<": [low, read, high]}, _SCALARS, _READS, _SCALARS),
    st.builds(lambda read, among: {"in": [read, among]}, _READS, st.lists(_SCALARS, max_size=3)),
    st.builds(
        lambda op, items: {op: [items, {">": [{"var": ""}, 0]}]}, st.sampled_from(["all", "some", "none"]), _READS
    ),
)
_SAID = st.fixed_dictionaries({"x": _FACTS, "y": _FACTS, "z": _FACTS, "priority": _FACTS})


def _world(said: dict[str, Any]) -> dict[str, Any]:
    payload = {"x": said["x"], "y": said["y"]}
    return {"payload": payload, "document": {"priority": said["priority"]}, "context": {"payload": {"z": said["z"]}}}


def _true_of(rule: Any, facts: dict[str, Any]) -> Any:
    """The rule, or else its opposite: one of them holds."""
    return rule if Condition(logic.compile(rule)).holds(facts) else {"!": rule}


@st.composite
def _planted(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """Facts first, then a rule that holds on them: comparisons that do, joined so that they still do."""
    facts = _world(draw(_SAID))
    clauses = [_true_of(each, facts) for each in draw(st.lists(_COMPARISONS, min_size=1, max_size=4))]
    clauses += [_true_of({"==": list(each)}, facts) for each in draw(st.lists(st.tuples(_TERMS, _SCALARS), max_size=2))]
    others = draw(st.lists(_COMPARISONS, max_size=2))
    whole = {"and": clauses}
    rule = draw(
        st.sampled_from([whole, {"or": [*others, whole]}, {"if": [whole, True, *others[:1]]}, {"!": {"!": whole}}])
    )
    return facts, rule


_SAME = st.one_of(
    st.tuples(st.sampled_from(["==", "===", "!=", "!==", "<", "<=", ">", ">="]), st.integers(-9, 9)),
    st.tuples(st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from(["a", "2026-01-01", "HIGH"])),
    st.tuples(st.sampled_from(["==", "===", "!=", "!=="]), st.sampled_from(["a", "2026-01-01", 7, True, None])),
)


@st.composite
def _contradictions(draw: st.DrawFn) -> Any:
    """A rule that denies of one fact what it says of it."""
    read = draw(_READS)
    operator, constant = draw(_SAME)
    said = {operator: [read, constant]}
    number = draw(st.integers(-9, 9))
    return draw(
        st.sampled_from(
            [
                {"and": [said, {"!": said}]},
                {"!": {"or": [said, {"!": said}]}},
                {"if": [said, {"!": said}, said]},
                {"and": [{"<": [read, number]}, {">=": [read, number]}]},
                {"<": [number, read, number]},
                {"and": [{"===": [read, number]}, {"===": [read, number + 1]}]},
                {"and": [{"in": [read, ["a", "b"]]}, {"==": [read, "c"]}]},
            ]
        )
    )


_CLAUSES = st.tuples(st.sampled_from(["==", "!=", ">", "<", ">=", "in"]), _PATHS, _SCALARS).map(
    lambda parts: {parts[0]: [{"var": parts[1]}, [parts[2]] if parts[0] == "in" else parts[2]]}
)
RULES = st.recursive(
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
    @given(_planted())
    def test_refuses_no_rule_that_was_built_to_hold_on_some_facts(self, planted: tuple[dict[str, Any], Any]) -> None:
        facts, rule = planted
        assert Condition(logic.compile(rule)).holds(facts)

        faults = dsl.problems(_definition([rule], [1]), known=dsl.Known())

        assert not {fault.code for fault in faults} & {"never_holds", "unreachable", "dead_end"}

    @given(st.data())
    def test_refuses_no_rule_that_holds_on_a_context_of_the_schema(self, data: st.DataObject) -> None:
        value = data.draw(st.integers(0, 40))
        bounds = {
            "type": st.sampled_from(["integer", "number", ["integer", "string", "null"]]),
            "minimum": st.integers(value - 3, value),
            "exclusiveMaximum": st.integers(value + 1, value + 3),
            "multipleOf": st.just(max(value, 1)),
            "enum": st.just(["x", value]),
            "not": st.just({"const": value + 1}),
        }
        amount = data.draw(st.fixed_dictionaries({}, optional=bounds))
        payload = {"type": "object", "required": ["amount", "note"], "properties": {"amount": amount}}
        read = {"var": "context.payload.amount"}
        facts = {"context": {"payload": {"amount": value, "note": "seen"}}}
        compared = st.builds(
            lambda op, other: {op: [read, other]}, st.sampled_from(["==", "===", "<", "<=", ">"]), st.integers(-1, 42)
        )
        clauses = [_true_of(each, facts) for each in data.draw(st.lists(compared, min_size=1, max_size=4))]
        raw = _definition([{"and": clauses}], [1]) | {"context_schema": {"properties": {"payload": payload}}}

        assert dsl.problems(raw, known=dsl.Known()) == ()

    @given(_contradictions())
    def test_refuses_every_rule_that_contradicts_itself_with_facts_that_do_not_open_it(self, rule: Any) -> None:
        with pytest.raises(dsl.WorkflowNotValid) as refused:
            dsl.read(_definition([rule], [1]))

        fault = refused.value.fields[0]
        assert (fault.pointer, fault.code) == ("/dsl/states/0/on/go/condition/rule", "never_holds")
        assert "{" in fault.text.say("en", fault.values).partition("not with")[2]

    def test_names_the_exit_that_nothing_opens_with_facts_that_do_not(self) -> None:
        raw = _definition([{"and": [{">": [PAID, 10]}, {"<": [PAID, 10]}]}], [1])

        with pytest.raises(dsl.WorkflowNotValid) as refused:
            dsl.read(raw)

        fault = refused.value.fields[0]
        assert (fault.pointer, fault.code) == ("/dsl/states/0/on/go/condition/rule", "never_holds")
        assert '{"payload.amount": 10}' in fault.text.say("en", fault.values)
        assert '{"payload.amount": 10}' in fault.text.say("th", fault.values)
        assert {fault.code for fault in refused.value.fields} == {"never_holds", "unreachable", "dead_end"}

    def test_of_ten_thousand_conditions_is_decided_quickly(self) -> None:
        hard = {"==": [{"cat": [{"var": f"payload.v{n}"} for n in range(20)]}, "never"]}
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
