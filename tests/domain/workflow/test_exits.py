"""
Random definitions are published: in what is accepted the engine leads from every state to an end, with payloads that the schema
takes; what is refused says with which facts it does not work, and nobody finds others with which it does (ruling W5).
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saraban.kit.errors import Invalid
from saraban.workflow.domain import dsl, engine, giving
from saraban.workflow.domain.candidates import nested
from saraban.workflow.domain.definition import Definition, State, Transition
from saraban.workflow.domain.engine import Facts
from saraban.workflow.domain.opening import opening
from saraban.workflow.domain.vocabulary import PRIORITIES
from saraban.workflow.domain.witness import opened

WORDS = {"th": "คำ", "en": "Word"}
ROLES = ("Approver", "Reviewer", "Viewer")
KNOWN = dsl.Known(roles=ROLES, permissions=("workflow.action_review",))

_NUMBERS = st.integers(-5, 120)
_AMOUNT = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["number", "integer"]),
            "minimum": st.integers(0, 20),
            "maximum": st.integers(20, 100),
        },
        optional={"multipleOf": st.sampled_from([5, 2])},
    ),
    st.just({"type": "integer", "exclusiveMinimum": 0}),
    st.just({"type": ["number", "null"]}),
)
_KIND = st.sampled_from([{"enum": ["a", "b", "c"]}, {"const": "a"}, {"type": "string", "enum": ["b", "c"]}])
_NOTE = st.sampled_from(
    [
        {"type": "string", "minLength": 3},
        {"type": "string", "pattern": r"^PO-\d{3}$"},
        {"type": "string", "format": "date"},
        {"type": "string", "maxLength": 2},
    ]
)
_PAYLOAD = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.fixed_dictionaries(
            {
                "amount": _AMOUNT,
                "kind": _KIND,
                "note": _NOTE,
                "more": st.just({"type": "number", "minimum": 0, "maximum": 9}),
            }
        ),
        "required": st.lists(st.sampled_from(["amount", "kind", "note"]), unique=True, max_size=3),
    },
    optional={"additionalProperties": st.just(False)},
)
_READ = st.sampled_from(["payload.", "context.payload."])


def _var(path: str) -> dict[str, Any]:
    return {"var": path}


_FIGURES = st.one_of(
    st.builds(lambda top, name: _var(top + name), _READ, st.sampled_from(["amount", "more"])),
    st.just(_var("document.openRoutings")),
)
_TERMS = st.one_of(
    _FIGURES,
    st.builds(
        lambda op, one, other: {op: [one, other]}, st.sampled_from(["+", "*", "-", "max", "%"]), _FIGURES, _NUMBERS
    ),
    st.builds(lambda op, one, other: {op: [one, other]}, st.sampled_from(["+", "*"]), _FIGURES, _FIGURES),
)
_ORDERS = st.sampled_from(["<", "<=", ">", ">=", "==", "===", "!="])
_ATOMS = st.one_of(
    st.builds(lambda op, term, number: {op: [term, number]}, _ORDERS, _TERMS, _NUMBERS),
    st.builds(lambda op, term, other: {op: [term, other]}, _ORDERS, _TERMS, _TERMS),
    st.builds(lambda low, term, high: {"<=": [low, term, high]}, _NUMBERS, _TERMS, _NUMBERS),
    st.builds(
        lambda op, top, kind: {op: [_var(f"{top}kind"), kind]},
        st.sampled_from(["==", "!="]),
        _READ,
        st.sampled_from(["a", "b", "c", "z"]),
    ),
    st.builds(
        lambda top, kinds: {"in": [_var(f"{top}kind"), kinds]}, _READ, st.lists(st.sampled_from("abcz"), max_size=3)
    ),
    st.builds(
        lambda top, text: {"==": [_var(f"{top}note"), text]}, _READ, st.sampled_from(["xy", "PO-123", "2026-02-30"])
    ),
    st.builds(lambda top: {"==": [{"substr": [_var(f"{top}note"), 0, 2]}, "PO"]}, _READ),
    st.builds(lambda names: {"missing": names}, st.just(["payload.amount", "payload.kind"])),
    st.builds(lambda one: {"==": [_var("document.priority"), one]}, st.sampled_from(PRIORITIES)),
    st.builds(lambda one: {"in": [one, _var("actor.roles")]}, st.sampled_from(ROLES)),
    st.builds(lambda one: {"==": [_var("responseCode"), one]}, st.sampled_from(["1A", "3R"])),
    st.builds(lambda one: {"==": [_var("state"), one]}, st.sampled_from(["s0", "s1"])),
    st.sampled_from([_var("actor.isSubmitter"), _var("actor.isAssignee"), _var("comment"), _var("payload.tags")]),
)
_RULES = st.recursive(
    _ATOMS,
    lambda below: st.one_of(
        st.lists(below, min_size=1, max_size=3).map(lambda each: {"and": each}),
        st.lists(below, min_size=1, max_size=3).map(lambda each: {"or": each}),
        below.map(lambda each: {"!": each}),
        st.tuples(below, below, below).map(lambda each: {"if": list(each)}),
    ),
    max_leaves=5,
)
_REQUIRE = st.fixed_dictionaries(
    {},
    optional={
        "notSubmitter": st.just(True),
        "roles": st.lists(st.sampled_from(ROLES), min_size=1, max_size=2, unique=True),
        "permissions": st.just(["workflow.action_review"]),
        "party": st.sampled_from([["assignee"], ["originator"], ["recipient", "assignee"]]),
    },
)
_STEP = st.fixed_dictionaries(
    {"label": st.just(WORDS), "require": _REQUIRE, "rule": st.one_of(_RULES, _RULES, _RULES, st.none())},
    optional={
        "comment": st.just("required"),
        "attachments": st.sampled_from([False, "required"]),
        "codes": st.just(True),
        "fields": st.lists(st.sampled_from(["amount", "kind", "note", "more"]), unique=True, max_size=3),
    },
)


@st.composite
def _definitions(draw: st.DrawFn) -> dict[str, Any]:
    """A chain of states with further actions between them, conditions on most."""
    count = draw(st.integers(1, 3))
    schema = draw(st.one_of(st.none(), _PAYLOAD, _PAYLOAD))
    left_out = {"rule", "codes"} | ({"fields"} if schema is None else set())
    states: list[dict[str, Any]] = []
    for place in range(count):
        on = {}
        for index, drawn in enumerate(draw(st.lists(_STEP, min_size=1, max_size=2))):
            step = {name: value for name, value in drawn.items() if name not in left_out}
            target = f"s{place + 1}" if index == 0 else f"s{draw(st.integers(0, count))}"
            if drawn["rule"] is not None:
                step["condition"] = {"type": "json-logic", "rule": drawn["rule"]}
            step |= (
                {"responses": {"1A": {"to": target}, "3R": {"to": f"s{place}"}}} if "codes" in drawn else {"to": target}
            )
            on[f"a{index}"] = step
        states.append({"name": f"s{place}", "label": WORDS, "on": on})
    states.append({"name": f"s{count}", "label": WORDS, "terminal": True})
    begin = {"begin": {"to": "s0", "label": WORDS}}
    states.append({"name": "first", "label": WORDS, "initial": True, "on": begin})
    about = {} if schema is None else {"context_schema": {"type": "object", "properties": {"payload": schema}}}
    return {"workflow": "RANDOM", "states": states, **about}


def exits_of(definition: Definition, state: State) -> list[tuple[str, Facts]]:
    """Where the engine leads from a state, with facts that it was asked with."""
    led = []
    for step in state.on.values():
        for code, target in step.outcomes:
            facts = shown(definition, state, step, code)
            if facts is None:
                continue
            assert definition.context_schema is None or definition.context_schema.problems(facts.context) == ()
            assert engine.advance(definition, state.name, step.action, facts).next_state == target
            led.append((target, facts))
    return led


def shown(definition: Definition, state: State, step: Transition, code: str | None) -> Facts | None:
    if step.condition is None:
        return opened(definition, state, step, code, {})
    return opening(definition, state, step, code, roles=ROLES).facts


_VALUES: Mapping[str, Any] = {
    "amount": st.one_of(st.none(), _NUMBERS, st.sampled_from([0.5, 1, 20, 25.5, 50, 100])),
    "more": st.one_of(st.none(), st.integers(0, 9), st.just(4.5)),
    "kind": st.sampled_from([None, "a", "b", "c"]),
    "note": st.sampled_from([None, "xy", "abc", "PO-123", "2026-01-15", "x"]),
    "tags": st.sampled_from([None, ["x"]]),
}
_SENT = st.one_of(st.just({}), st.fixed_dictionaries({}, optional=dict(_VALUES)))
_TRIES = st.fixed_dictionaries(
    {"payload": _SENT, "known": _SENT},
    optional={
        "comment": st.just("Seen"),
        "document.priority": st.sampled_from(PRIORITIES),
        "document.openRoutings": st.integers(0, 9),
        "actor.isSubmitter": st.booleans(),
        "actor.isAssignee": st.booleans(),
        "actor.roles": st.lists(st.sampled_from(ROLES), min_size=1, unique=True),
    },
)


def given_by(tried: Mapping[str, Any]) -> dict[str, Any]:
    facts = nested({path: value for path, value in tried.items() if path not in ("payload", "known")})
    facts["payload"] = {name: value for name, value in tried["payload"].items() if value is not None}
    known = {name: value for name, value in tried["known"].items() if value is not None}
    return facts | {"context": {"payload": known} if known else {}}


class TestWhatIsAccepted:
    @settings(max_examples=60, deadline=None)
    @given(_definitions())
    def test_leads_from_every_state_to_an_end_by_the_engine_itself(self, raw: dict[str, Any]) -> None:
        if dsl.problems(raw, known=KNOWN):
            return
        definition = dsl.read(raw, known=KNOWN)

        finishing = {name for name, state in definition.states.items() if state.terminal}
        ways = {name: exits_of(definition, state) for name, state in definition.states.items()}
        for _ in definition.states:
            finishing |= {name for name, led in ways.items() if any(target in finishing for target, _ in led)}

        assert finishing == definition.states.keys()
        for led in ways.values():
            for _, facts in led:
                assert not facts.caller.may("system.manage_all", facts.subject.scope)


class TestWhatIsRefused:
    @settings(max_examples=60, deadline=None)
    @given(_definitions(), st.lists(_TRIES, min_size=4, max_size=8))
    def test_says_what_does_not_work_and_nothing_else_that_is_tried_does(
        self, raw: dict[str, Any], tries: list[dict[str, Any]]
    ) -> None:
        found = dsl.problems(raw, known=KNOWN)
        definition = dsl.read(raw, known=KNOWN, published=True)

        for fault in found:
            said = fault.text.say("th", fault.values), fault.text.say("en", fault.values)
            _, _, place, *inside = fault.pointer.split("/")[1:] if "/states/" in fault.pointer else [None, None, None]
            if fault.code in ("never_holds", "not_shown"):
                assert all(str(fault.values["example"]) in each for each in said)
                state = list(definition.states.values())[int(str(place))]
                step = state.on[inside[1]]
                codes = [inside[3]] if inside[2] == "responses" else [code for code, _ in step.outcomes]
                example = json.loads(str(fault.values["example"]))
                for code in codes:
                    stays_closed(definition, state, step, code, example)
                    for tried in tries if fault.code == "never_holds" else ():
                        assert opened(definition, state, step, code, given_by(tried)) is None
            elif fault.code in ("dead_end", "unreachable"):
                assert all(str(fault.values["name"]) in each for each in said)
            else:
                assert fault.code in ("unknown_name", "never_complete")


def stays_closed(
    definition: Definition, state: State, step: Transition, code: str | None, example: Mapping[str, Any]
) -> None:
    """With the facts of a message the condition does not hold, or what it would hold with was stated otherwise before."""
    assert step.condition is not None
    read = nested({**example, "responseCode": code, "state": state.name})
    usual = {name: {} for name in ("context", "document", "payload", "actor")}
    if "responseCode" in step.condition.logic.variables and code != example["responseCode"]:
        return
    if step.condition.holds({**usual, **read}):
        with pytest.raises(Invalid):
            giving.check(definition, step, read.get("context", {}), read.get("payload", {}))
