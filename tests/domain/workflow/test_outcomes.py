"""What an end means, and the response code that counts where nobody gives one."""

from typing import Any

import pytest

from saraban.kit.errors import Invalid
from saraban.workflow.administration.domain.simulation import SimulatedActor, SimulationStep, simulate
from saraban.workflow.engine import decisions
from saraban.workflow.language import dsl
from saraban.workflow.language.outcome import BY_NAME, OUTCOMES, WORDS
from saraban.workflow.language.registers import CORRESPONDENCE, RFA, TRANSMITTAL
from saraban.workflow.verification import definition_checks
from saraban.workflow.verification.register_fit import misfits
from tests.domain.workflow.actors import person, subject

WORD = {"th": "คำ", "en": "Word"}
CODES: dict[str, Any] = {"1A": {"default": True}, "1N": {"comment": "required"}, "3R": {"to": "revised"}}


def judged(*, answer: dict[str, Any] | None = None, accepted: dict[str, Any] | None = None) -> dict[str, Any]:
    step = {"to": "accepted", "label": WORD, "responses": CODES, **(answer or {})}
    return {
        "workflow": "JUDGED",
        "states": [
            {"name": "draft", "label": WORD, "initial": True, "on": {"answer": step}},
            {"name": "accepted", "label": WORD, "terminal": True, "outcome": "approved", **(accepted or {})},
            {"name": "revised", "label": WORD, "terminal": True, "outcome": "revise_resubmit"},
        ],
    }


def faults(raw: dict[str, Any]) -> list[tuple[str, str]]:
    return [(fault.pointer, fault.code) for fault in definition_checks.problems(raw, known=dsl.Known())]


def taken(raw: dict[str, Any], **facts: Any) -> decisions.Step:
    return decisions.advance(
        definition_checks.verify(raw), "draft", "answer", decisions.Facts(person(3), subject(), **facts)
    )


class TestOutcome:
    @pytest.mark.parametrize("outcome", OUTCOMES)
    def test_is_what_an_end_means_under_any_name(self, outcome: str) -> None:
        assert definition_checks.verify(judged(accepted={"outcome": outcome})).states["accepted"].means == outcome

    @pytest.mark.parametrize(
        ("name", "outcome", "expected"),
        [
            ("approved", "rejected", "approved, approved_with_comments"),
            ("approved", "withdrawn", "approved, approved_with_comments"),
            ("approved_as_noted", "closed", "approved, approved_with_comments"),
            ("rejected", "approved", "revise_resubmit, rejected"),
            ("returned", "withdrawn", "revise_resubmit, rejected"),
            ("revision_requested", "approved_with_comments", "revise_resubmit, rejected"),
            ("approved", "approved_with_comments", None),
            ("returned", "rejected", None),
            ("completed", "approved", None),
            ("acknowledged", "rejected", None),
        ],
    )
    def test_does_not_contradict_the_names_that_have_always_told_it(
        self, name: str, outcome: str, expected: str | None
    ) -> None:
        raw = judged(accepted={"name": name, "outcome": outcome}, answer={"to": name})

        told = [
            fault for fault in definition_checks.problems(raw, known=dsl.Known()) if fault.code == "outcome_contradicts"
        ]

        assert [(one.pointer, one.values["choices"]) for one in told] == (
            [("/dsl/states/1/outcome", expected)] if expected else []
        )
        assert all(name in one.text.say(language, one.values) for one in told for language in ("th", "en"))
        assert dsl.read(raw).states[name].means == outcome

    def test_is_told_by_the_names_that_have_always_told_it(self) -> None:
        raw = judged(accepted={"name": "approved"}, answer={"to": "approved"})
        del raw["states"][1]["outcome"]

        assert definition_checks.verify(raw).states["approved"].means == "approved"
        assert set(BY_NAME.values()) == set(OUTCOMES) == set(WORDS)

    def test_of_a_state_that_goes_on_there_is_none(self) -> None:
        raw = judged()
        raw["states"][0]["outcome"] = "closed"

        assert ("/dsl/states/0/outcome", "outcome_before_end") in faults(raw)
        assert dsl.read(raw).states["draft"].means is None

    def test_is_one_of_the_vocabulary(self) -> None:
        assert ("/dsl/states/1/outcome", "choice") in faults(judged(accepted={"outcome": "fine"}))
        assert ("/dsl/states/1/outcome", "choice") in faults(judged(accepted={"outcome": {}}))

    @pytest.mark.parametrize(
        ("name", "outcome", "expected"),
        [
            ("cancelled", "approved", True),
            ("cancelled", "withdrawn", False),
            ("terminated", "closed", True),
            ("approved", "rejected", False),  # the word counts, whatever the name
        ],
    )
    def test_cannot_contradict_the_ends_of_every_workflow(self, name: str, outcome: str, expected: bool) -> None:
        raw = judged(accepted={"name": name, "outcome": outcome}, answer={"to": name})

        assert (("/dsl/states/1/outcome", "reserved_outcome") in faults(raw)) is expected

    def test_is_needed_where_a_register_shows_it(self) -> None:
        raw = judged()
        del raw["states"][1]["outcome"]
        definition = definition_checks.verify(raw)

        assert misfits(definition, [CORRESPONDENCE, TRANSMITTAL]) == ()
        assert misfits(definition, [RFA], published=True) == ()  # what exists goes on
        (fault,) = misfits(definition, [CORRESPONDENCE, RFA])
        assert (fault.pointer, fault.code) == ("/dsl/states/1", "outcome_needed")
        for language in ("th", "en"):
            assert all(one in fault.text.say(language, fault.values) for one in ("accepted", *OUTCOMES))

    @pytest.mark.parametrize("name", ["approved", "completed", "cancelled", "terminated"])
    def test_is_not_needed_beside_a_name_that_says_it(self, name: str) -> None:
        raw = judged(accepted={"name": name}, answer={"to": name, "responses": {"ok": {}}})
        del raw["states"][1]["outcome"], raw["states"][2]

        assert misfits(definition_checks.verify(raw), [RFA]) == ()


class TestContradiction:
    @pytest.mark.parametrize(
        ("code", "outcome", "expected"),
        [
            ("4X", "approved", True),
            ("3R", "approved_with_comments", True),
            ("1A", "rejected", True),
            ("1N", "revise_resubmit", True),
            ("1A", "withdrawn", True),
            ("3R", "rejected", False),
            ("5N", "approved", False),
            ("1A", "closed", False),
            ("4", "approved", False),  # none of the approve codes, so it says nothing of its own
        ],
    )
    def test_of_code_and_end_is_refused_where_a_register_shows_both(
        self, code: str, outcome: str, expected: bool
    ) -> None:
        raw = judged(answer={"responses": {code: {}, "9Z": {"to": "revised"}}}, accepted={"outcome": outcome})
        definition = definition_checks.verify(raw)

        told = [(fault.pointer, fault.code) for fault in misfits(definition, [RFA])]
        assert told == ([(f"/dsl/states/0/on/answer/responses/{code}", "code_contradicts")] if expected else [])
        assert misfits(definition, [TRANSMITTAL]) == ()


class TestUsualCode:
    def test_counts_where_none_is_given(self) -> None:
        step = taken(judged())

        assert (step.next_state, step.response_code) == ("accepted", "1A")

    def test_gives_way_to_the_one_that_is_given(self) -> None:
        assert taken(judged(), response_code="3R").next_state == "revised"
        with pytest.raises(Invalid) as refused:
            taken(judged(), response_code="1N")
        assert refused.value.fields[0].pointer == "/comment"

    def test_is_what_a_condition_reads(self) -> None:
        rule = {"type": "json-logic", "rule": {"in": [{"var": "responseCode"}, ["1A", "1N", "3R"]]}}

        assert taken(judged(answer={"condition": rule})).response_code == "1A"

    def test_is_needed_where_there_is_none(self) -> None:
        codes = {code: {key: value for key, value in body.items() if key != "default"} for code, body in CODES.items()}
        with pytest.raises(Invalid) as refused:
            taken(judged(answer={"responses": codes}))

        assert (refused.value.fields[0].pointer, refused.value.fields[0].code) == ("/responseCode", "required")

    def test_is_offered_as_such(self) -> None:
        (choice,) = decisions.available(
            definition_checks.verify(judged()), "draft", decisions.Facts(person(3), subject())
        )

        assert [(one.code, one.usual, one.comment_required) for one in choice.responses] == [
            ("1A", True, False),
            ("1N", False, True),
            ("3R", False, False),
        ]

    def test_counts_in_a_rehearsal_and_where_a_step_without_a_code_is_asked_again(self) -> None:
        definition = definition_checks.verify(judged())
        (tried,) = simulate(definition, [SimulationStep(SimulatedActor(), "answer")], document={})

        assert tried.next_state == "accepted"
        assert decisions.outcome(definition.states["draft"].on["answer"], None) == ("accepted", False)


class TestReading:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ({"responses": {"1A": {"default": True}, "1N": {"default": True}}}, ("1N/default", "one_default")),
            ({"responses": {"1A": {"default": "yes"}}}, ("1A/default", "type")),
            ({"responses": {"1A": {"to": "revised"}}}, ("", "one_of")),  # nothing leads where the action says
        ],
    )
    def test_names_what_is_wrong_with_codes(self, answer: dict[str, Any], expected: tuple[str, str]) -> None:
        place = "/dsl/states/0/on/answer/responses"

        assert (f"{place}/{expected[0]}".rstrip("/"), expected[1]) in faults(judged(answer=answer))

    def test_names_a_place_once_that_several_codes_lead_to(self) -> None:
        raw = judged(answer={"to": "nowhere"})

        assert faults(raw) == [("/dsl/states/0/on/answer/to", "unknown_state")]
