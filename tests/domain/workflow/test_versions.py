"""What people see of versions: the diagram, the difference of two, and the line of a fault."""

import copy
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.kit.errors import Invalid
from saraban.workflow.administration.domain import definition_text
from saraban.workflow.administration.domain.definition_text import WIDTH, DefinitionChange, difference, formatted
from saraban.workflow.administration.domain.diagram import (
    MOST_TRANSITIONS,
    DiagramState,
    DiagramTransition,
    diagram,
    mermaid,
)
from saraban.workflow.administration.domain.history_replay import RecordedStep, replay
from saraban.workflow.administration.domain.simulation import SimulatedActor, SimulationStep, simulate
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.faults import below
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import person, subject
from tests.letterbox_definition import letterbox

SHIPPED = {raw["workflow"]: raw for raw in shipped()}


class TestDiagram:
    @pytest.mark.parametrize("code", sorted(SHIPPED))
    def test_has_every_state_and_every_two_that_are_joined(self, code: str) -> None:
        definition = definition_checks.verify(SHIPPED[code])

        found = diagram(definition, language="en")

        assert found
        assert found.states == tuple(
            DiagramState(name, state.label.en, state.initial, state.terminal)
            for name, state in definition.states.items()
        )
        joined = [(one.start, one.to) for one in found.transitions]
        assert sorted(joined) == sorted(
            (name, target) for name, state in definition.states.items() for target in state.targets
        )

    def test_says_actions_with_their_codes_and_what_they_need(self) -> None:
        raw = letterbox()
        label = {"th": "ตอบ", "en": "Answer"}
        responses = {"1A": {"to": "closed"}, "1N": {"to": "closed", "comment": "required"}, "4X": {"to": "open"}}
        raw["states"][0]["on"]["answer"] = {"label": label, "responses": responses}
        raw["states"][0]["on"]["close"] |= {"comment": "required", "label": {"th": "ปิด", "en": "Close"}}

        found = diagram(definition_checks.verify(raw), language="th")

        assert found
        assert found.transitions == (
            DiagramTransition("open", "closed", ("ปิด *", "ตอบ 1A, 1N *")),
            DiagramTransition("open", "open", ("ตอบ 4X",)),
        )

    def test_gives_up_where_nobody_could_read_it(self) -> None:
        states = [{"name": f"s{index}", "label": {"th": "ก", "en": "S"}} for index in range(MOST_TRANSITIONS // 8)]
        for index, state in enumerate(states[:-1]):
            to = [one["name"] for one in states[index + 1 : index + 13]]
            state["on"] = {f"go-{name}": {"to": name, "label": {"th": "ก", "en": "Go"}} for name in to}
        states[0]["initial"], states[-1]["terminal"] = True, True

        assert diagram(definition_checks.verify({"workflow": "ROW", "states": states}), language="en") is None


class TestMermaid:
    def test_shows_states_and_actions_with_their_labels(self) -> None:
        raw = letterbox()
        raw["states"][0]["on"]["close"] |= {"comment": "required", "label": {"th": "ปิด", "en": "Close"}}

        assert mermaid(definition_checks.verify(raw), language="th").splitlines() == [
            "stateDiagram-v2",
            '    state "คำ" as s0',
            '    state "คำ" as s1',
            "    [*] --> s0",
            "    s0 --> s1 : ปิด *",
            "    s1 --> [*]",
        ]

    def test_cannot_be_broken_by_a_label(self) -> None:
        raw = letterbox()
        raw["states"][0]["label"] = {"th": 'ก"; s0 --> s9', "en": 'A" as x'}

        drawn = mermaid(definition_checks.verify(raw), language="th")

        assert drawn.splitlines()[1] == '    state "ก#34;#59; s0 --#62; s9" as s0'


class TestWritten:
    @pytest.mark.parametrize("code", sorted(SHIPPED))
    def test_says_the_same_in_lines_that_can_be_read(self, code: str) -> None:
        text = formatted(SHIPPED[code])

        assert json.loads(text) == SHIPPED[code]
        steps = formatted({key: part for key, part in SHIPPED[code].items() if key != "description"})
        assert [line for line in steps.splitlines() if len(line) > WIDTH + 2] == []


class TestDifference:
    def test_of_a_version_with_itself_is_nothing(self) -> None:
        assert difference(letterbox(), letterbox() | {"version": 2}) == []

    def test_names_what_was_added_removed_and_changed(self) -> None:
        after = copy.deepcopy(letterbox())
        after["states"][0]["on"]["close"]["comment"] = "required"
        after["states"][0]["label"]["en"] = "Opened"
        after["states"].insert(1, {"name": "between"})
        del after["states"][2]["terminal"]

        assert difference(letterbox(), after) == [
            DefinitionChange("/states/open/label/en", "changed", "Word", "Opened"),
            DefinitionChange("/states/open/on/close/comment", "added", None, "required"),
            DefinitionChange("/states/between", "added", None, {"name": "between"}),
            DefinitionChange("/states/closed/terminal", "removed", True, None),
        ]

    def test_tells_when_states_stand_in_another_order(self) -> None:
        after = letterbox()
        after["states"].reverse()

        assert difference(letterbox(), after) == [
            DefinitionChange("/states", "changed", ["open", "closed"], ["closed", "open"])
        ]


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(st.text(max_size=8), below, max_size=4)),
    max_leaves=20,
)


def parts(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    yield at, value
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from parts(inside, below(at, key))
    if isinstance(value, list):
        for place, inside in enumerate(value):
            yield from parts(inside, below(at, place))


class TestLines:
    @given(_JSON)
    def test_know_every_part_of_a_text(self, value: Any) -> None:
        text = json.dumps(value, indent=2, ensure_ascii=False)

        read = definition_text.read(text)

        assert json.dumps(read.value) == json.dumps(value)
        for pointer, part in parts(value):
            line = text.split("\n")[read.line(pointer) - 1].strip()
            whole = json.dumps(part, ensure_ascii=False)
            assert (whole[0] if part and isinstance(part, dict | list) else whole) in line
            assert read.line(f"{pointer}/no such part") == read.line(pointer)

    def test_count_from_one(self) -> None:
        text = definition_text.read('{\n "a": [1,\n  {"b": "x"}\n ],\n "c/d": {}\n}')

        places = {"": 1, "/a": 2, "/a/0": 2, "/a/1": 3, "/a/1/b": 3, "/c~1d": 5}
        assert {pointer: text.line(pointer) for pointer in places} == places

    @pytest.mark.parametrize(("text", "line"), [('{\n "a": }', 2), ("", 1), ('{"a": 1}\n\n x', 3)])
    def test_of_a_text_that_is_no_json_name_the_place(self, text: str, line: int) -> None:
        with pytest.raises(definition_text.InvalidJson) as refused:
            definition_text.read(text)

        assert refused.value.line == line

    def test_name_each_key_that_stands_twice_in_its_object(self) -> None:
        text = '{\n "a": {"x": 1},\n "b": [{}, {"x": 1,\n  "y/z": {"x": 2},\n  "y/z": 3}],\n "a": 2\n}'

        twice = definition_text.read(text).twice("/text")

        assert [(one.pointer, one.code) for one in twice] == [
            ("/text/b/1/y~1z", "duplicate_key"),
            ("/text/a", "duplicate_key"),
        ]
        assert (
            twice[1]
            .text.say("en", twice[1].values)
            .startswith("“a” appears twice in the same object, on line 2 and on line 6")
        )
        assert "บรรทัด 2 และ 6" in twice[1].text.say("th", twice[1].values)
        assert (
            definition_text.twice_in(text.encode("utf-16"))
            == definition_text.twice_in(text.encode())
            == definition_text.read(text).twice()
        )

    def test_find_nothing_twice_in_what_is_not_and_in_what_is_no_json(self) -> None:
        once = '{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], "c": "a"}'

        assert definition_text.read(once).twice() == definition_text.twice_in(once.encode()) == ()
        assert (
            definition_text.twice_in(b'{"a": 1, "a": 2')
            == definition_text.twice_in(b"\xff")
            == definition_text.twice_in(b"[" * 50_000)
            == ()
        )

    def test_find_a_key_that_stands_twice_far_below_what_a_definition_can_have(self) -> None:
        deep = f'{{"{"k" * 60}":' * 500 + "[" + "1," * 5_000 + '{"a": 1, "a": 2}]' + "}" * 500

        assert [one.values["key"] for one in definition_text.read(deep).twice()] == ["a"]

    def test_of_a_text_that_is_too_deep_are_not_looked_for(self) -> None:
        with pytest.raises(definition_text.JsonTooDeep):
            definition_text.read("[" * 100_000 + "]" * 100_000)


def sent(**state: Any) -> Definition:
    """Return a letter that is sent, then answered."""
    words = {"th": "คำ", "en": "Word"}
    answer = {"to": "closed", "label": words} | state.pop("answer", {})
    states = [
        {"name": "draft", "label": words, "initial": True, "on": {"send": {"to": "open", "label": words} | state}},
        {"name": "open", "label": words, "on": {"answer": answer}},
        {"name": "closed", "label": words, "terminal": True},
    ]
    return dsl.read({"workflow": "SENT", "states": states})


class TestARehearsal:
    @pytest.mark.parametrize("target", ["submitter", str(UUID(int=70))])
    def test_lets_nobody_act_but_the_one_to_whom_a_state_was_given(self, target: str) -> None:
        given = sent(events=[{"type": "assign", "target": target}])
        meant = SimulatedActor(is_submitter=True) if target == "submitter" else SimulatedActor(public_id=UUID(target))
        tries = [
            SimulationStep(SimulatedActor(), "send"),
            SimulationStep(SimulatedActor(), "answer"),
            SimulationStep(meant, "answer"),
        ]

        told = simulate(given, tries, document={})

        assert [one.refusal.code if one.refusal else None for one in told] == [
            None,
            "WORKFLOW_ACTION_FORBIDDEN",
            None,
        ]
        assert [choice.code for one in told[1:] for choice in one.choices] == ["answer"]

    def test_reads_the_due_date_of_the_document(self) -> None:
        rule = {"==": [{"var": "document.dueDate"}, "2026-12-01"]}
        asked = sent(condition={"type": "json-logic", "rule": rule})
        tries = [SimulationStep(SimulatedActor(), "send")]

        kept = [simulate(asked, tries, document={"dueDate": day})[0].refusal for day in ("2026-12-01", "2026-12-02")]
        with pytest.raises(Invalid) as refused:
            simulate(asked, tries, document={"dueDate": "soon"})

        assert [one is None for one in kept] == [True, False]
        assert refused.value.fields[0].pointer == "/document/dueDate"


class TestAReplay:
    @pytest.mark.parametrize(
        ("rule", "with_files", "code"),
        [
            ("required", False, "files_required"),
            ("required", True, None),
            ("required", None, None),
            (False, True, "files_not_taken"),
            (False, False, None),
        ],
    )
    def test_asks_for_files(self, rule: Any, with_files: bool | None, code: str | None) -> None:
        past = [
            RecordedStep("send", "open", None, {}),
            RecordedStep("answer", "closed", None, {}, with_files=with_files),
        ]

        parting = replay(sent(answer={"attachments": rule}), past, subject(), person())

        assert (parting.reason.code if parting else None) == code
