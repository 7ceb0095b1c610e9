"""
The ways through a definition. Random definitions are published: in what is accepted the engine leads from every state to an
end; what is refused says what is missing, and is accepted when that is written (REQ-WFL-10).
"""

import contextlib
import json
import time
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from saraban.kit.errors import DomainError
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition, TransitionExample
from saraban.workflow.language.registers import PRIORITIES
from saraban.workflow.verification import definition_checks, example_facts

WORDS = {"th": "คำ", "en": "Word"}
ROLES = ("Approver", "Reviewer", "Viewer")
KNOWN = dsl.Known(roles=ROLES, permissions=("workflow.action_review",))
SENT = {"responseCode", "comment", "*"}  # by what a condition can tell one code from another

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


_VALUES: Mapping[str, Any] = {
    "amount": st.one_of(_NUMBERS, st.sampled_from([0.5, 1, 20, 25.5, 50, 100])),
    "more": st.one_of(st.integers(0, 9), st.just(4.5)),
    "kind": st.sampled_from(["a", "b", "c"]),
    "note": st.sampled_from(["xy", "abc", "PO-123", "2026-01-15", "x"]),
    "tags": st.just(["x"]),
}
_SENT = st.one_of(st.just({}), st.fixed_dictionaries({}, optional=dict(_VALUES)))
_FACTS = st.fixed_dictionaries(
    {"payload": _SENT, "context": st.one_of(st.just({}), _SENT.map(lambda known: {"payload": known}))},
    optional={
        "comment": st.just("Seen"),
        "responseCode": st.sampled_from(["1A", "3R"]),
        "document": st.fixed_dictionaries(
            {}, optional={"priority": st.sampled_from(PRIORITIES), "openRoutings": st.integers(0, 9)}
        ),
        "actor": st.fixed_dictionaries(
            {},
            optional={
                "isSubmitter": st.booleans(),
                "isAssignee": st.booleans(),
                "roles": st.lists(st.sampled_from(ROLES), min_size=1, unique=True),
            },
        ),
    },
)


@st.composite
def _with_examples(draw: st.DrawFn) -> dict[str, Any]:
    """A definition with those of many random examples that the engine takes."""
    raw = draw(_definitions())
    places = [(state["name"], action) for state in raw["states"] for action in state.get("on", {})]
    proposed = [
        {"state": state, "action": action, "facts": facts}
        for state, action in places
        for facts in draw(st.lists(_FACTS, min_size=2, max_size=5))
    ]
    refused = {
        int(fault.pointer.split("/")[3])
        for fault in definition_checks.problems(raw | {"examples": proposed}, known=KNOWN)
        if fault.pointer.startswith("/dsl/examples/")
    }
    return raw | {"examples": [one for place, one in enumerate(proposed) if place not in refused]}


def led_to(definition: Definition) -> dict[str, set[str]]:
    """The states to which the engine leads from each one: without a condition, with an example, with an ordinary document."""
    ways: dict[str, set[str]] = {name: set() for name in definition.states}
    for name, state in definition.states.items():
        for step in state.on.values():
            if step.condition is None:
                ways[name] |= set(step.targets)
                continue
            if step.condition.logic.variables <= {
                "state",
                "responseCode",
            }:  # whoever may take it, and of whatever document
                known = [{"state": name, "responseCode": code} for code, _ in step.outcomes]
                open_to = zip(step.outcomes, known, strict=True)
                ways[name] |= {to for (_, to), facts in open_to if step.condition.holds(facts)}
                continue
            said = [one.facts for one in definition.examples if (one.state, one.action) == (name, step.action)]
            told_apart = not step.condition.logic.variables.isdisjoint(SENT)
            for facts in [*said, {}]:
                for code, _ in step.outcomes:
                    if facts and told_apart and code != facts.get("responseCode", step.usual):
                        continue  # nobody said that it would hold with this code
                    asked = dict(facts) if code is None else {**facts, "responseCode": code}
                    example = TransitionExample(name, step.action, asked)
                    document, faults = example_facts.document_of(asked.get("document", {}), None, None)
                    assert not faults
                    with contextlib.suppress(DomainError):
                        ways[name].add(example_facts.play(definition, example, document).next_state)
    return ways


class TestWhatIsAccepted:
    @settings(max_examples=30, deadline=None)
    @given(_with_examples())
    def test_leads_from_every_state_to_an_end_by_the_engine_itself(self, raw: dict[str, Any]) -> None:
        found = definition_checks.problems(raw, known=KNOWN)
        if any(fault.code not in ("not_shown", "unreachable", "never_holds", "dead_end") for fault in found):
            return
        definition = dsl.read(raw, known=KNOWN)

        ways = led_to(definition)
        finishing = {name for name, state in definition.states.items() if state.terminal}
        for _ in definition.states:
            finishing |= {name for name, targets in ways.items() if targets & finishing}

        lost = definition.states.keys() - finishing
        asked = {
            list(definition.states)[int(fault.pointer.split("/")[3])] for fault in found if fault.code == "not_shown"
        }
        dead = {fault.values["name"] for fault in found if fault.code == "dead_end"}
        assert asked | dead <= lost
        assert bool(lost) == bool(asked | dead)


class TestWhatIsRefused:
    def test_says_which_state_needs_an_example_and_how_one_is_written(self) -> None:
        amount = {"var": "context.payload.amount"}
        rule = {"and": [{">": [amount, 5]}, {"==": [{"var": "document.priority"}, "HIGH"]}]}
        raw = chain({"type": "json-logic", "rule": rule})

        (fault,) = definition_checks.problems(raw, known=KNOWN)

        written = json.loads(str(fault.values["example"]))
        facts = {"context": {"payload": {"amount": "…"}}, "document": {"priority": "…"}}
        assert (fault.pointer, fault.code) == ("/dsl/states/1", "not_shown")
        assert written == {"state": "s1", "action": "go", "facts": facts}
        for language in ("th", "en"):
            said = fault.text.say(language, fault.values)
            assert "s1" in said
            assert "examples" in said
            assert str(fault.values["example"]) in said
        written["facts"] = {"context": {"payload": {"amount": 6}}, "document": {"priority": "HIGH"}}
        assert definition_checks.problems(raw | {"examples": [written]}, known=KNOWN) == ()

    def test_names_every_state_that_needs_one_at_once(self) -> None:
        condition = {"type": "json-logic", "rule": {"var": "payload.done"}}
        raw = chain(condition, condition)
        examples = [{"state": f"s{place}", "action": "go", "facts": {"payload": {"done": True}}} for place in (1, 2)]

        found = definition_checks.problems(raw, known=KNOWN)

        assert [fault.pointer for fault in found] == ["/dsl/states/2", "/dsl/states/1"]
        assert definition_checks.problems(raw | {"examples": examples}, known=KNOWN) == ()

    def test_asks_for_none_where_another_way_leads_to_an_end(self) -> None:
        raw = chain({"type": "json-logic", "rule": {"var": "payload.done"}})
        raw["states"][1]["on"]["reject"] = {"to": "s0", "label": WORDS}
        loop = definition_checks.problems(raw, known=KNOWN)
        raw["states"][1]["on"]["reject"] = {"to": "end", "label": WORDS}

        assert [fault.code for fault in loop] == ["not_shown"]
        assert definition_checks.problems(raw, known=KNOWN) == ()

    def test_of_ten_thousand_conditions_is_told_quickly(self) -> None:
        hard = {"==": [{"cat": [{"var": f"payload.v{n}"} for n in range(20)]}, "never"]}
        condition = {"type": "json-logic", "rule": hard}
        on = {f"a{n}": {"to": "end", "label": WORDS, "condition": condition} for n in range(50)}
        states = [{"name": f"s{place}", "label": WORDS, "initial": place == 0, "on": on} for place in range(20)]
        raw = {"workflow": "MANY", "states": [*states, {"name": "end", "label": WORDS, "terminal": True}]}
        started = time.process_time()

        assert definition_checks.problems(raw, known=dsl.Known())

        assert time.process_time() - started < 10


def chain(*conditions: dict[str, Any]) -> dict[str, Any]:
    """A start, a state for each condition with one exit, and an end."""
    steps: list[dict[str, Any]] = [{}, *({"condition": condition} for condition in conditions)]
    targets = [*(f"s{place}" for place in range(1, len(steps))), "end"]
    states = [
        {"name": f"s{place}", "label": WORDS, "initial": place == 0, "on": {"go": {"to": to, "label": WORDS, **step}}}
        for place, (step, to) in enumerate(zip(steps, targets, strict=True))
    ]
    return {"workflow": "CHAIN", "states": [*states, {"name": "end", "label": WORDS, "terminal": True}]}
