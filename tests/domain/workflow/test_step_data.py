"""The values that come with steps: which an action takes, what is kept of them, and what publishing refuses of `fields`."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saraban.kit.errors import Invalid
from saraban.workflow.administration.domain.simulation import SimulatedActor, SimulationStep, simulate
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.engine.decisions import Facts
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition, as_published, compiled
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import person, subject
from tests.step_data_workflow import PROPERTIES, WORDS, written


def faults(raw: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.pointer, one.code) for one in definition_checks.problems(raw, known=dsl.Known())]


def refused(definition: Definition, payload: dict[str, Any], before: Any = None) -> list[tuple[str, str]]:
    """What a correction is told, `before` it these values were stated."""
    context = {} if before is None else {"payload": before}
    try:
        decisions.advance(definition, "open", "correct", Facts(person(3), subject(), payload=payload, context=context))
    except Invalid as told:
        return [(one.pointer, one.code) for one in told.fields]
    return []


PLAIN = definition_checks.verify(written())
NAMED = definition_checks.verify(written({"fields": ["amount"]}))
TAKING_NOTHING = definition_checks.verify(written({"fields": []}))
OLD = as_published(definition_checks.verify(written()), {"workflow": "STATED"})


class TestAnAction:
    def test_without_fields_leaves_what_was_stated_and_takes_the_rest(self) -> None:
        before = {"amount": 99}

        assert refused(PLAIN, {"amount": 5}, before) == [("/payload/amount", "stated")]
        assert refused(PLAIN, {"note": "x"}, before) == []
        assert refused(PLAIN, {"amount": 5}) == []

    def test_without_fields_may_say_again_what_was_stated(self) -> None:
        assert refused(PLAIN, {"amount": 99.0, "note": "x"}, {"amount": 99}) == []

    @pytest.mark.parametrize(("one", "other"), [(1, True), ([1], [True]), ({"a": 0}, {"a": False}), (None, 0)])
    def test_tells_values_apart_as_json_does(self, one: Any, other: Any) -> None:
        assert step_data.same(one, one)
        assert not step_data.same(one, other)

    def test_with_fields_changes_those_and_takes_no_others(self) -> None:
        before = {"amount": 99}

        assert refused(NAMED, {"amount": 5}, before) == []
        assert refused(NAMED, {"amount": 5, "note": "x"}, before) == [("/payload/note", "not_taken")]
        assert refused(TAKING_NOTHING, {"amount": 99}, before) == [("/payload/amount", "not_taken")]
        assert refused(TAKING_NOTHING, {}, before) == []

    def test_names_a_value_whose_name_has_slashes(self) -> None:
        assert refused(TAKING_NOTHING, {"a/b~c": 1}) == [("/payload/a~1b~0c", "not_taken")]

    def test_is_refused_before_its_condition_reads_what_it_does_not_take(self) -> None:
        condition = {"type": "json-logic", "rule": {"==": [{"var": "context.payload.amount"}, 7]}}
        definition = definition_checks.verify(written({"fields": ["note"], "condition": condition}))

        assert refused(definition, {"grade": "A"}, {"amount": 5}) == [("/payload/grade", "not_taken")]

    def test_is_offered_with_its_fields(self) -> None:
        offered = decisions.available(NAMED, "open", Facts(person(3), subject()))

        assert [(one.code, one.fields) for one in offered] == [("correct", ["amount"]), ("close", None)]

    def test_brings_no_more_than_there_is_room_for(self) -> None:
        free = definition_checks.verify({key: value for key, value in written().items() if key != "context_schema"})
        before = {f"v{index}": "x" * 15_000 for index in range(4)}

        assert refused(free, {"w": "x" * 15_000}, before) == [("/payload", "too_large")]
        assert refused(free, {"w": "x"}, before) == []


class TestWhatIsRemembered:
    def test_keeps_each_value_until_another_comes(self) -> None:
        context = {"payload": {"amount": 99, "grade": "A"}}

        assert step_data.after(NAMED, context, {"amount": 5}) == {"payload": {"amount": 5, "grade": "A"}}
        assert step_data.after(NAMED, context, {}) == context
        assert context == {"payload": {"amount": 99, "grade": "A"}}

    def test_loses_what_is_taken_back_by_null(self) -> None:
        context = {"payload": {"amount": 99, "note": "x"}}

        assert step_data.after(NAMED, context, {"note": None}) == {"payload": {"amount": 99}}
        assert step_data.after(NAMED, context, {"grade": None})["payload"]["grade"] is None

    @pytest.mark.parametrize("said", [{"type": ["string", "null"]}, {"oneOf": [{"const": None}]}, {"const": None}])
    def test_keeps_null_where_the_schema_names_it(self, said: dict[str, Any]) -> None:
        definition = definition_checks.verify(written(properties={"it": said}))

        assert step_data.after(definition, {}, {"it": None}) == {"payload": {"it": None}}

    def test_is_judged_as_it_will_be(self) -> None:
        definition = definition_checks.verify(written({"fields": ["amount", "note"]}, required=("amount",)))

        assert refused(definition, {"note": "x"}, {"amount": 5}) == []
        assert refused(definition, {"note": "x"}) == [("/payload/amount", "required")]
        assert refused(definition, {"amount": None}, {"amount": 5}) == [("/payload/amount", "required")]
        assert refused(definition, {"amount": 0}, {"amount": 5}) == [("/payload/amount", "minimum")]


NAMES = st.sampled_from([*PROPERTIES, "other"])
PAYLOADS = st.dictionaries(NAMES, st.sampled_from([1, 2, "A", "B", None, True]), max_size=3)


class TestNobodysWord:
    @given(
        fields=st.one_of(st.none(), st.lists(st.sampled_from(sorted(PROPERTIES)), unique=True, max_size=3)),
        steps=st.lists(st.tuples(st.sampled_from(["correct", "plain"]), PAYLOADS), max_size=6),
    )
    @settings(max_examples=50, deadline=None)
    def test_changes_but_by_an_action_that_names_it(
        self, fields: list[str] | None, steps: list[tuple[str, dict[str, Any]]]
    ) -> None:
        raw = written({} if fields is None else {"fields": fields})
        raw["states"][1]["on"]["plain"] = {"to": "open", "label": WORDS}
        definition = definition_checks.verify(raw)
        context: dict[str, Any] = {}
        for action, payload in steps:
            before = dict(step_data.remembered(context))
            facts = Facts(person(3), subject(), payload=payload, context=context)
            with suppress(Invalid):
                decisions.advance(definition, "open", action, facts)
                context = step_data.after(definition, context, payload)
            after = step_data.remembered(context)
            named = set((fields or ()) if action == "correct" else ())
            kept = {name: value for name, value in before.items() if name not in named}
            assert {name: after.get(name, "gone") for name in kept} == kept


class TestAVersionFromBefore:
    def test_replaces_the_payload_as_it_did_when_it_was_published(self) -> None:
        assert refused(OLD, {"note": "x"}, {"amount": 99}) == []
        assert step_data.after(OLD, {"payload": {"amount": 99}, "x": 1}, {"note": "y"}) == {
            "payload": {"note": "y"},
            "x": 1,
        }
        assert step_data.after(OLD, {}, {"note": None}) == {"payload": {"note": None}}

    def test_is_known_by_the_short_form_beside_it(self) -> None:
        short = compiled(NAMED)

        assert as_published(NAMED, short).merges
        assert not as_published(NAMED, {}).merges
        assert short["states"]["open"]["transitions"]["correct"] == {"to": "open", "fields": ["amount"]}


class TestPublishing:
    def test_knows_the_values_that_the_schema_names(self) -> None:
        raw = written({"fields": ["amonut", "amount", "amount", 5]})
        at = "/dsl/states/1/on/correct/fields"

        assert faults(raw) == [(f"{at}/2", "duplicate"), (f"{at}/3", "type")]
        assert faults(written({"fields": ["amonut", "amount"]})) == [(f"{at}/0", "unknown")]
        assert faults(written({"fields": "amount"})) == [(at, "type")]

    def test_knows_none_where_there_is_no_schema(self) -> None:
        raw = written({"fields": ["amount"]})
        del raw["context_schema"]

        assert faults(raw) == [("/dsl/states/1/on/correct/fields/0", "unknown")]

    def test_refuses_a_condition_that_reads_what_never_comes(self) -> None:
        rule = {"<": [{"var": "payload.amount"}, {"var": "context.payload.amount"}]}
        wrong = written({"fields": ["note"], "condition": {"type": "json-logic", "rule": rule}})
        (problem,) = definition_checks.problems(wrong, known=dsl.Known())

        assert (problem.pointer, problem.code) == ("/dsl/states/1/on/correct/condition/rule", "unknown_name")
        assert "context.payload.amount" in problem.text.say("en", problem.values)
        assert "fields" in problem.text.say("th", problem.values)

    @pytest.mark.parametrize(("closing", "refused_"), [([], True), (["amount"], False), (None, False)])
    def test_refuses_a_condition_that_reads_what_nobody_can_state(
        self, closing: list[str] | None, refused_: bool
    ) -> None:
        rule = {"<": [{"var": "context.payload.amount"}, 5]}
        raw = written({"fields": ["note"], "condition": {"type": "json-logic", "rule": rule}}, fields=["grade"])
        raw["states"][1]["on"]["close"] |= {} if closing is None else {"fields": closing}

        told = [("/dsl/states/1/on/correct/condition/rule", "unknown_name")]
        assert faults(raw) == (told if refused_ else [])

    def test_wants_what_is_required_to_be_there_by_then(self) -> None:
        raw = written({"fields": ["note"]}, required=("amount",), fields=[])
        (problem,) = definition_checks.problems(raw, known=dsl.Known())

        assert (problem.pointer, problem.code) == ("/dsl/states/1/on/correct/fields", "never_complete")
        assert "draft → open" in problem.text.say("en", problem.values)
        assert "amount" in problem.text.say("th", problem.values)

    @pytest.mark.parametrize(
        ("send", "correct"),
        [(None, ["note"]), (["amount"], ["note"]), ([], ["amount", "note"]), ([], []), ([], None), (["amount"], None)],
    )
    def test_is_content_where_it_can_be(self, send: list[str] | None, correct: list[str] | None) -> None:
        first = {} if send is None else {"fields": send}

        assert faults(written({} if correct is None else {"fields": correct}, required=("amount",), **first)) == []

    def test_finds_a_way_around_who_could_have_stated_it(self) -> None:
        raw = written({"fields": ["note"]}, required=("amount",), fields=["amount"])
        raw["states"][0]["on"]["skip"] = {"to": "open", "label": WORDS, "fields": []}

        assert faults(raw) == [("/dsl/states/1/on/correct/fields", "never_complete")]


class TestARehearsal:
    def test_takes_and_keeps_values_as_documents_do(self) -> None:
        tries = [
            SimulationStep(SimulatedActor(), "send", payload={"amount": 99_000_000, "note": "x"}),
            SimulationStep(SimulatedActor(), "close", payload={"amount": 5}),
            SimulationStep(SimulatedActor(), "correct", payload={"amount": 7}),
        ]

        told = simulate(NAMED, tries, document={})

        assert [one.refusal.fields[0].pointer if one.refusal else None for one in told] == [
            None,
            "/payload/amount",
            None,
        ]
        assert [one.values.get("amount") for one in told] == [99_000_000, 99_000_000, 7]
        assert told[-1].values["note"] == "x"
