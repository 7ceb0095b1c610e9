"""What one step can say: response codes, files, help, due days, and what the engine does by itself."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saraban.kit.errors import Invalid
from saraban.workflow.administration.domain.diagram import mermaid
from saraban.workflow.administration.domain.history_replay import RecordedStep, replay
from saraban.workflow.administration.domain.simulation import SimulatedActor, SimulationStep, simulate
from saraban.workflow.engine import decisions
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition, compiled
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import SUBMITTER, person, subject

WORDS = {"th": "คำ", "en": "Word"}
CODES = {
    "1A": {"to": "approved", "label": {"th": "อนุมัติ", "en": "Approved"}},
    "3R": {"to": "open", "comment": "required"},
    "4X": {"to": "rejected"},
}


def reviewed(answer: dict[str, Any] | None = None, *, open_on: Any = None, **state: Any) -> dict[str, Any]:
    step = {"label": dict(WORDS), "responses": CODES, **(answer or {})}
    on = {"answer": step, **(open_on or {})}
    return {
        "workflow": "REVIEWED",
        "states": [
            {"name": "open", "label": WORDS, "initial": True, "on": on, **state},
            {"name": "approved", "label": WORDS, "terminal": True},
            {"name": "rejected", "label": WORDS, "terminal": True},
        ],
    }


def asked(**facts: Any) -> decisions.Facts:
    return decisions.Facts(person(3), subject(), **facts)


def refused(definition: Definition, **facts: Any) -> tuple[str, str, str]:
    with pytest.raises(Invalid) as fault:
        decisions.advance(definition, "open", "answer", asked(**facts))
    field = fault.value.fields[0]
    return field.pointer, field.code, field.text.say("th", field.values)


def faults(raw: Any) -> list[tuple[str, str]]:
    return [(fault.pointer, fault.code) for fault in definition_checks.problems(raw, known=dsl.Known())]


def when(rule: Any) -> dict[str, Any]:
    return {"type": "json-logic", "rule": rule}


class TestResponseCode:
    @pytest.mark.parametrize(("code", "to", "terminal"), [("1A", "approved", True), ("4X", "rejected", True)])
    def test_says_where_an_action_leads(self, code: str, to: str, terminal: bool) -> None:
        step = decisions.advance(definition_checks.verify(reviewed()), "open", "answer", asked(response_code=code))

        assert (step.next_state, step.terminal, step.response_code) == (to, terminal, code)

    def test_can_need_a_comment_that_another_does_not(self) -> None:
        definition = definition_checks.verify(reviewed())

        assert refused(definition, response_code="3R")[:2] == ("/comment", "required")
        assert (
            decisions.advance(definition, "open", "answer", asked(response_code="3R", comment="หน้า 2")).next_state
            == "open"
        )

    @pytest.mark.parametrize(("code", "fault"), [(None, "required"), ("2", "choice"), ("1a", "choice"), ("", "choice")])
    def test_must_be_one_of_the_choices_which_are_named(self, code: str | None, fault: str) -> None:
        pointer, found, says = refused(definition_checks.verify(reviewed()), response_code=code)

        assert (pointer, found) == ("/responseCode", fault)
        assert "1A, 3R, 4X" in says

    def test_is_not_taken_where_none_is_asked_for(self) -> None:
        plain = reviewed()
        plain["states"][0]["on"]["answer"] = {"to": "approved", "label": WORDS}
        plain["states"][0]["on"]["turn-down"] = {"to": "rejected", "label": WORDS}

        assert refused(definition_checks.verify(plain), response_code="1A")[:2] == ("/responseCode", "not_taken")

    def test_is_offered_with_its_words(self) -> None:
        (choice,) = decisions.available(definition_checks.verify(reviewed()), "open", asked())

        told = [(each.code, each.label and each.label.en, each.comment_required) for each in choice.responses]
        assert told == [("1A", "Approved", False), ("3R", None, True), ("4X", None, False)]

    def test_leads_to_targets_that_everything_else_knows(self) -> None:
        definition = definition_checks.verify(reviewed())

        assert definition.states["open"].targets == ("approved", "open", "rejected")
        assert compiled(definition)["states"]["open"]["transitions"] == {
            "answer": {"responses": {"1A": {"to": "approved"}, "3R": {"to": "open"}, "4X": {"to": "rejected"}}}
        }
        assert mermaid(definition, language="en").splitlines()[5:8] == [
            "    s0 --> s1 : Word 1A",
            "    s0 --> s0 : Word 3R *",
            "    s0 --> s2 : Word 4X",
        ]

    def test_can_be_read_by_a_condition(self) -> None:
        rule = {"or": [{"!=": [{"var": "responseCode"}, "1A"]}, {"==": [{"var": "document.priority"}, "HIGH"]}]}
        definition = definition_checks.verify(reviewed({"condition": when(rule)}))

        assert [choice.code for choice in decisions.available(definition, "open", asked())] == ["answer"]
        assert decisions.advance(definition, "open", "answer", asked(response_code="4X")).next_state == "rejected"
        with pytest.raises(decisions.ConditionNotMet):
            decisions.advance(definition, "open", "answer", asked(response_code="1A"))

    def test_that_the_condition_never_lets_pass_is_refused(self) -> None:
        found = faults(reviewed({"condition": when({"in": [{"var": "responseCode"}, ["1A", "3R"]]})}))

        assert ("/dsl/states/0/on/answer/responses/4X", "never_holds") in found
        assert ("/dsl/states/2", "unreachable") in found
        assert ("/dsl/states/1", "unreachable") not in found

    def test_that_is_none_of_the_choices_opens_nothing(self) -> None:
        found = faults(reviewed({"condition": when({"==": [{"var": "responseCode"}, "9Z"]})}))

        assert found[0] == ("/dsl/states/0/on/answer/condition/rule", "never_holds")

    def test_is_stated_in_a_rehearsal(self) -> None:
        tries = [
            SimulationStep(SimulatedActor(), "answer"),
            SimulationStep(SimulatedActor(), "answer", "หน้า 2", response_code="3R"),
            SimulationStep(SimulatedActor(), "answer", response_code="1A"),
        ]

        told = simulate(definition_checks.verify(reviewed()), tries, document={})

        assert [(one.next_state, one.refusal is not None) for one in told] == [
            ("open", True),
            ("open", False),
            ("approved", False),
        ]

    @pytest.mark.parametrize(
        ("code", "to", "parting"),
        [
            ("1A", "approved", None),
            ("9Z", "approved", "response_code"),
            (None, "approved", "response_code"),
            ("4X", "approved", "other_state"),
        ],
    )
    def test_that_was_recorded_is_played_again(self, code: str | None, to: str, parting: str | None) -> None:
        found = replay(
            definition_checks.verify(reviewed()),
            [RecordedStep("answer", to, None, {}, response_code=code)],
            subject(),
            person(3),
        )

        assert (found and found.reason.code) == parting


CHOICES = ("1A", "2", "3")
_CODED = st.recursive(
    st.lists(st.sampled_from(["1A", "2", "9Z"]), min_size=1, max_size=2).map(
        lambda codes: {"in": [{"var": "responseCode"}, codes]}
    ),
    lambda below: st.one_of(
        st.lists(below, min_size=1, max_size=3).map(lambda each: {"and": each}),
        st.lists(below, min_size=1, max_size=3).map(lambda each: {"or": each}),
        below.map(lambda each: {"!": each}),
    ),
    max_leaves=4,
)


class TestPublishing:
    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(_CODED, st.tuples(*[st.integers(0, 4)] * 3)), min_size=1, max_size=4))
    def test_accepts_only_codes_that_the_condition_lets_one_give(
        self, chosen: list[tuple[Any, tuple[int, ...]]]
    ) -> None:
        last = len(chosen)
        states: list[dict[str, Any]] = [
            {
                "name": f"s{place}",
                "label": WORDS,
                "initial": place == 0,
                "on": {
                    "answer": {
                        "label": WORDS,
                        "condition": when(rule),
                        "responses": {
                            code: {"to": f"s{target % (last + 1)}"}
                            for code, target in zip(CHOICES, targets, strict=True)
                        },
                    }
                },
            }
            for place, (rule, targets) in enumerate(chosen)
        ]
        raw = {"workflow": "RANDOM", "states": [*states, {"name": f"s{last}", "label": WORDS, "terminal": True}]}
        try:
            definition = definition_checks.verify(raw)
        except dsl.WorkflowNotValid:
            return

        for name, state in definition.states.items():
            for step in state.on.values():
                for code, target in step.outcomes:
                    assert (
                        decisions.advance(definition, name, step.action, asked(response_code=code)).next_state == target
                    )
            assert state.terminal or state.targets, name


class TestFiles:
    def test_can_be_required(self) -> None:
        definition = definition_checks.verify(reviewed({"attachments": "required"}))

        assert refused(definition, response_code="1A")[:2] == ("/attachmentPublicIds", "required")
        assert decisions.advance(definition, "open", "answer", asked(response_code="1A", with_files=True)).terminal
        (choice,) = decisions.available(definition, "open", asked())
        assert (choice.attachments, choice.attachments_required) == (True, True)


class TestHelp:
    def test_stands_beside_states_and_actions(self) -> None:
        words = {"th": "อ่านให้ครบ\nแล้วตอบ", "en": "Read it all,\nthen answer"}
        definition = definition_checks.verify(reviewed({"help": words}, help=words))

        (choice,) = decisions.available(definition, "open", asked())
        assert choice.help is not None
        assert choice.help.th == words["th"]
        assert definition.states["open"].help == choice.help


class TestDue:
    def test_is_a_number_of_working_days(self) -> None:
        assert definition_checks.verify(reviewed(due={"workingDays": 5})).states["open"].due_days == 5
        assert definition_checks.verify(reviewed()).states["open"].due_days is None


ANOTHER = UUID(int=77)


class TestAssigned:
    def test_leaves_the_step_to_one_person(self) -> None:
        definition = definition_checks.verify(reviewed())
        mine, another = asked(assigned_user_id=SUBMITTER), asked(assigned_user_id=77)
        admin = decisions.Facts(
            person(3, grants=(("Superadmin", ["system.manage_all"], {}),)), subject(), assigned_user_id=77
        )

        offered = [len(decisions.available(definition, "open", facts)) for facts in (mine, another, admin)]

        assert offered == [1, 0, 1]
        with pytest.raises(decisions.ActionForbidden):
            decisions.advance(definition, "open", "answer", another)

    def test_still_must_meet_what_the_action_requires(self) -> None:
        definition = definition_checks.verify(reviewed({"require": {"party": ["recipient"]}}))

        assert decisions.available(definition, "open", asked(assigned_user_id=SUBMITTER)) == ()
        assert not decisions.may_act(definition, "open", asked())
        assert decisions.may_act(definition, "open", decisions.Facts(person(2), subject()))

    def test_people_are_found_in_a_definition_before_it_is_read(self) -> None:
        raw = reviewed(
            {"events": [{"type": "assign", "target": str(ANOTHER)}, {"type": "notify", "target": "submitter"}]}
        )

        assert dsl.assigned(raw) == {ANOTHER}
        assert definition_checks.problems(raw, known=dsl.Known(users={ANOTHER})) == ()

    @pytest.mark.parametrize(
        "raw", [None, [], {"states": 5}, {"states": [None, {"on": []}, {"on": {"a": {"events": [5]}}}]}]
    )
    def test_people_of_nonsense_are_none(self, raw: Any) -> None:
        assert dsl.assigned(raw) == frozenset()


def chained(*, events: dict[str, Any], condition: Any = None, last: Any = None) -> dict[str, Any]:
    """open -submit-> checked -pass-> passed -close-> closed, with events by action."""
    last = {"to": "closed", **(last or {})}
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("open", "submit", {"to": "checked"}),
        ("checked", "pass", {"to": "passed", **({"condition": when(condition)} if condition else {})}),
        ("passed", "close", last),
        ("closed", "reopen", {"to": "open"}),
        ("closed", "end", {"to": "ended"}),
    ]
    states: dict[str, dict[str, Any]] = {}
    for state, action, step in ways:
        found = states.setdefault(state, {"name": state, "label": WORDS, "initial": state == "open", "on": {}})
        wanted = [{"type": "auto_action", "action": name} for name in events.get(action, ())]
        found["on"][action] = {"label": WORDS, "events": wanted, **step}
    return {"workflow": "CHAIN", "states": [*states.values(), {"name": "ended", "label": WORDS, "terminal": True}]}


def played(raw: dict[str, Any], *payloads: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    tries = [SimulationStep(SimulatedActor(), "submit", payload=payload) for payload in payloads or ({},)]
    return [(one.next_state, one.automatic) for one in simulate(definition_checks.verify(raw), tries, document={})]


class TestAutomaticAction:
    def test_is_taken_at_once(self) -> None:
        assert played(chained(events={"submit": ["pass"]})) == [("passed", ("pass",))]

    def test_can_bring_about_the_next(self) -> None:
        raw = chained(events={"submit": ["pass"], "pass": ["close"], "close": ["end"]})

        assert played(raw) == [("ended", ("pass", "close", "end"))]

    def test_asks_for_nobodys_permission(self) -> None:
        raw = chained(events={"submit": ["pass"]})
        raw["states"][1]["on"]["pass"]["require"] = {"user": str(ANOTHER)}

        assert played(raw) == [("passed", ("pass",))]

    @pytest.mark.parametrize(
        ("later", "parting"),
        [(["pass", "close", "end"], None), (["skip"], "automatic"), ([], "automatic")],
    )
    def test_is_missed_when_a_history_went_another_way(self, later: list[str], parting: str | None) -> None:
        raw = chained(events={"submit": ["pass"]})
        raw["states"][1]["on"]["skip"] = {"label": WORDS, "to": "ended"}
        leads = {"pass": "passed", "close": "closed", "end": "ended", "skip": "ended"}
        past = [
            RecordedStep("submit", "checked", None, {}),
            *(RecordedStep(action, leads[action], None, {}) for action in later),
        ]

        found = replay(definition_checks.verify(raw), past, subject(), person(3))

        assert (found and (found.reason.code, found.step, found.reason.to)) == (parting and (parting, 1, "passed"))

    def test_waits_for_its_condition(self) -> None:
        raw = chained(events={"submit": ["pass"]}, condition={">": [{"var": "context.payload.amount"}, 5]})
        raw["examples"] = [{"state": "checked", "action": "pass", "facts": {"context": {"payload": {"amount": 6}}}}]

        assert played(raw, {"amount": 5}) == [("checked", ())]
        assert played(raw, {"amount": 6}) == [("passed", ("pass",))]

    def test_is_the_first_that_is_open(self) -> None:
        raw = chained(events={"submit": ["pass", "skip"]}, condition={"==": [{"var": "document.kind"}, "circulation"]})
        raw["states"][1]["on"]["skip"] = {"label": WORDS, "to": "ended"}

        assert played(raw) == [("ended", ("skip",))]

    def test_that_comes_round_again_is_refused_and_named(self) -> None:
        raw = chained(events={"submit": ["pass"], "pass": ["close"], "close": ["reopen"], "reopen": ["submit"]})

        (fault,) = definition_checks.problems(raw, known=dsl.Known())

        assert (fault.pointer, fault.code) == ("/dsl/states/0/on/submit/events", "automatic_cycle")
        for language in ("th", "en"):
            said = fault.text.say(language, fault.values)
            assert "open.submit → checked.pass → passed.close → closed.reopen → open.submit" in said

    @pytest.mark.parametrize(("count", "found"), [(20, []), (21, [("/dsl/states/0/on/go/events", "automatic_chain")])])
    def test_ends_within_twenty(self, count: int, found: list[tuple[str, str]]) -> None:
        names = [f"s{place}" for place in range(count + 1)]
        states: list[dict[str, Any]] = [
            {
                "name": name,
                "label": WORDS,
                "initial": place == 0,
                "on": {
                    "go": {
                        "label": WORDS,
                        "to": f"s{place + 1}",
                        "events": [{"type": "auto_action", "action": "go"}] if place < count else [],
                    }
                },
            }
            for place, name in enumerate(names)
        ]
        states.append({"name": f"s{count + 1}", "label": WORDS, "terminal": True})

        assert faults({"workflow": "LONG", "states": states}) == found

    def test_may_meet_another_way_to_the_same_step(self) -> None:
        raw = chained(events={"submit": ["pass", "skip"], "skip": ["close"], "pass": ["close"]})
        raw["states"][1]["on"]["skip"] = {
            "label": WORDS,
            "to": "passed",
            "events": [{"type": "auto_action", "action": "close"}],
        }

        assert faults(raw) == []

    @pytest.mark.parametrize(
        "last",
        [{"comment": "required"}, {"attachments": "required"}, {"to": None, "responses": {"1A": {"to": "closed"}}}],
    )
    def test_that_needs_a_hand_is_refused(self, last: dict[str, Any]) -> None:
        raw = json.loads(json.dumps(chained(events={"pass": ["close"]}, last=last)))
        if last.get("to", 1) is None:
            del raw["states"][2]["on"]["close"]["to"]

        assert faults(raw) == [("/dsl/states/1/on/pass/events/0/action", "needs_a_person")]

    def test_must_exist_wherever_its_action_leads(self) -> None:
        raw = reviewed(
            {"events": [{"type": "auto_action", "action": "again"}]}, open_on={"again": {"to": "open", "label": WORDS}}
        )

        places = [
            (fault.pointer, fault.values["state"]) for fault in definition_checks.problems(raw, known=dsl.Known())
        ]
        at = "/dsl/states/0/on/answer/events/0/action"
        assert places == [(at, "approved"), (at, "rejected")]
