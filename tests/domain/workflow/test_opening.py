"""Exits of a definition: the engine shows that they open, or publishing refuses what nobody could ever leave (ruling W5)."""

import copy
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saraban.kit.errors import FieldProblem
from saraban.workflow.domain import dsl, engine, logic
from saraban.workflow.domain.condition import Condition
from saraban.workflow.domain.opening import Opening, opening

RULE = "/dsl/states/0/on/go/condition/rule"
AMOUNT = {"var": "context.payload.amount"}
PAID = {"var": "payload.amount"}
WORDS = {"th": "คำ", "en": "Word"}
ROLES = ("Project Manager", "Reviewer", "Viewer")
KNOWN = dsl.Known(roles=ROLES, permissions=("workflow.action_review",))
PURCHASE = {
    "type": "object",
    "properties": {"amount": {"type": "number", "minimum": 1, "maximum": 100}, "kind": {"enum": ["a", "b"]}},
    "required": ["amount"],
}


def only(rule: Any, payload: Any = None, **step: Any) -> dict[str, Any]:
    """A definition of which the rule is on the one way out."""
    action = {"to": "end", "label": WORDS, "condition": {"type": "json-logic", "rule": rule}, **step}
    states = [
        {"name": "mid", "label": WORDS, "on": {"go": action}},
        {"name": "end", "label": WORDS, "terminal": True},
        {"name": "start", "label": WORDS, "initial": True, "on": {"write": {"to": "mid", "label": WORDS}}},
    ]
    schema = {} if payload is None else {"context_schema": {"type": "object", "properties": {"payload": payload}}}
    return {"workflow": "ONE_WAY", "states": states, **schema}


def looked_at(rule: Any, payload: Any = None, **step: Any) -> Opening:
    definition = dsl.read(only(rule, payload, **step), known=KNOWN, published=True)
    state = definition.states["mid"]
    return opening(definition, state, state.on["go"], roles=ROLES)


def faults(raw: Any) -> dict[str, FieldProblem]:
    return {fault.code: fault for fault in dsl.problems(raw, known=KNOWN)}


def amounts(**more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"amount": {"type": "integer", "minimum": 0, **more}},
        "required": ["amount"],
    }


OPEN: list[Any] = [
    {"==": [{"var": "document.priority"}, "HIGH"]},
    {"!=": [{"var": "document.priority"}, "URGENT"]},
    {"and": [{">": [AMOUNT, 1_000_000]}, {"<": [AMOUNT, 5_000_000]}]},
    {"in": ["Reviewer", {"var": "actor.roles"}]},
    {"some": [{"var": "actor.roles"}, {"==": [{"var": ""}, "Viewer"]}]},
    {"in": [{"var": "document.kind"}, ["rfa", "transmittal"]]},
    {"some": [{"var": "context.payload.items"}, {"==": [{"var": "kind"}, "DRW"]}]},
    {"==": [{"+": [{"var": "context.payload.a"}, {"var": "context.payload.b"}]}, 7]},
    {"!": {"var": "comment"}},
    {">": [{"var": "comment.length"}, 20]},
    {"!": {"missing": ["payload.reason"]}},
    {"and": [{"==": [{"var": f"context.payload.{name}"}, place]} for place, name in enumerate("abcdefgh")]},
    {"or": [{"==": [1, 2]}, {"==": [{"var": "payload.a.b"}, "x"]}]},
    {"!=": [{"var": "actor.isSubmitter"}, True]},
    {"==": [{"var": "state"}, "mid"]},
    {"==": [{"*": [{"var": "payload.a"}, 2]}, 84]},
    {"==": [{"*": [{"var": "payload.a"}, {"var": "payload.a"}]}, 49]},
    {"and": [{"==": [{"%": [{"var": "payload.a"}, 7]}, 3]}, {">": [{"var": "payload.a"}, 100]}]},
    {"==": [{"substr": [{"var": "document.number"}, 4, 3]}, "RFA"]},
    {"==": [{"cat": [{"var": "document.originatorCode"}, "-", {"var": "document.projectCode"}]}, "CON-C2"]},
    {
        ">=": [
            {"reduce": [{"var": "payload.items"}, {"+": [{"var": "accumulator"}, {"var": "current.amount"}]}, 0]},
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
    {"and": [{"<": ["2026-01-01", {"var": "document.dueDate"}]}, {"<": [{"var": "document.dueDate"}, "2026-02"]}]},
    {
        "if": [
            {">": [PAID, 500]},
            {"==": [{"var": "actor.isAssignee"}, True]},
            {"==": [{"var": "document.priority"}, "LOW"]},
        ]
    },
    {"and": [{"!": {"or": [{"<": [PAID, 10]}, {">": [PAID, 10]}]}}, {">": [{"max": [PAID, 3]}, 4]}]},
]


class TestOpens:
    @pytest.mark.parametrize("rule", OPEN, ids=str)
    def test_is_shown_by_facts_under_which_the_engine_lets_it_pass(self, rule: Any) -> None:
        raw = only(rule)
        found = looked_at(rule)

        assert found.facts is not None
        assert engine.advance(dsl.read(raw, known=KNOWN), "mid", "go", found.facts).terminal

    @pytest.mark.parametrize(
        ("rule", "payload"),
        [
            ({">": [{"*": [PAID, 2]}, 100]}, PURCHASE),
            ({"and": [{">": [PAID, 10]}, {"==": [{"var": "context.payload.kind"}, "a"]}]}, PURCHASE),
            ({">": [{"*": [PAID, {"var": "payload.price"}]}, 400]}, {**PURCHASE, "required": ["amount", "price"]}),
            (
                {"==": [{"substr": [{"var": "payload.zone"}, 0, 2]}, "so"]},
                {"properties": {"zone": {"enum": ["no", "south"]}}},
            ),
            (
                {"==": [{"substr": [{"var": "payload.po"}, 0, 2]}, "PO"]},
                {"properties": {"po": {"type": "string", "pattern": r"^PO-\d{4}$"}}, "required": ["po"]},
            ),
            (
                {">": [PAID, 5]},
                {
                    **amounts(),
                    "properties": {
                        "amount": {"allOf": [{"multipleOf": 250}, {"type": "integer"}]},
                        "by": {"type": "string", "format": "email"},
                        "on": {"$ref": "#/$defs/day"},
                        "lines": {"type": "array", "minItems": 2, "items": {"type": "object", "required": ["n"]}},
                    },
                    "required": ["amount", "by", "on", "lines"],
                },
            ),
        ],
        ids=str,
    )
    def test_with_a_payload_that_the_schema_takes(self, rule: Any, payload: dict[str, Any]) -> None:
        raw = only(rule, payload)
        raw["context_schema"]["$defs"] = {"day": {"type": "string", "format": "date"}}
        definition = dsl.read(raw, known=KNOWN)
        state = definition.states["mid"]

        found = opening(definition, state, state.on["go"]).facts

        assert found is not None
        assert engine.advance(definition, "mid", "go", found).terminal

    @pytest.mark.parametrize(
        ("rule", "payload"),
        [
            # Which texts a pattern takes, and which numbers a remainder leaves, nobody can guess in general.
            (
                {"==": [{"substr": [{"var": "payload.code"}, 3, 1]}, "7"]},
                {"properties": {"code": {"type": "string", "pattern": "^(AAA|BBB[3-8])(x|$)"}}},
            ),
        ],
    )
    def test_is_shown_by_an_example_where_it_cannot_be_guessed(self, rule: Any, payload: dict[str, Any]) -> None:
        told = faults(only(rule, payload))["not_shown"]

        assert told.pointer == RULE
        assert "examples" in told.text.say("th", told.values)
        assert faults(only(rule, {**payload, "examples": [{"code": "BBB7"}]})) == {}
        assert faults(only({"or": [rule, {"var": "comment"}]}, payload)) == {}

    def test_counts_for_who_may_act(self) -> None:
        reviewer = {"require": {"roles": ["Reviewer"], "permissions": ["workflow.action_review"]}}
        also = {"in": ["Viewer", {"var": "actor.roles"}]}
        user = "00000000-0000-4000-8000-00000000000a"

        assert faults(only(also, **reviewer)) == {}
        assert faults(only({"==": [{"var": "actor.publicId"}, user]}, require={"user": user})) == {}
        assert faults(only({"var": "actor.isAssignee"}, require={"party": ["assignee"]})) == {}
        assert "never_holds" in faults(only({"!": {"var": "actor.isAssignee"}}, require={"party": ["assignee"]}))


class TestStaysClosed:
    @pytest.mark.parametrize(
        ("rule", "payload", "step", "said"),
        [
            ({"==": [1, 2]}, None, {}, "{}"),
            ({"and": [{">": [PAID, 10]}, {"<": [PAID, 10]}]}, None, {}, '{"payload.amount": 10}'),
            ({"==": [{"var": "payload.kind"}, "zzz"]}, PURCHASE, {}, '{"payload.kind": "a"}'),
            ({">": [PAID, 1000]}, PURCHASE, {}, "payload.amount"),
            ({">": [AMOUNT, 1000]}, PURCHASE, {}, "context.payload.amount"),
            ({">": [{"*": [PAID, 2]}, 1000]}, PURCHASE, {}, "payload.amount"),
            ({"==": [{"+": [PAID, AMOUNT, 1]}, 202]}, PURCHASE, {}, "payload.amount"),
            ({">=": [{"-": [PAID, {"/": [AMOUNT, 2]}]}, 101]}, PURCHASE, {}, "payload.amount"),
            ({"<": [{"if": [{"var": "comment"}, {"max": [PAID, 7]}, 9]}, 7]}, PURCHASE, {}, "payload.amount"),
            ({"<": [10, PAID, 11]}, amounts(), {}, "payload.amount"),
            ({"===": [PAID, 12.5]}, amounts(), {}, "payload.amount"),
            ({"==": [PAID, 12]}, amounts(multipleOf=5), {}, "payload.amount"),
            (
                {"==": [{"var": "payload.po"}, "XX"]},
                {"properties": {"po": {"type": "string", "pattern": "^PO"}}},
                {},
                "po",
            ),
            (
                {"==": [{"var": "payload.po"}, "XX"]},
                {"properties": {"po": {"type": "string", "minLength": 3}}},
                {},
                "po",
            ),
            (
                {"==": [{"var": "payload.on"}, "soon"]},
                {"properties": {"on": {"type": "string", "format": "date"}}},
                {},
                "on",
            ),
            (
                {"!": {"in": [{"var": "payload.k"}, ["a", None]]}},
                {"properties": {"k": {"const": "a"}}},
                {},
                "payload.k",
            ),
            ({"==": [{"var": "state"}, "end"]}, None, {}, '{"state": "mid"}'),
            ({"==": [{"var": "responseCode"}, "1A"]}, None, {}, '{"responseCode": null}'),
            ({"!": {"var": "comment"}}, None, {"comment": "required"}, "comment"),
            ({"==": [{"var": "actor.isSubmitter"}, True]}, None, {"require": {"notSubmitter": True}}, "isSubmitter"),
            (
                {"!": {"in": ["Reviewer", {"var": "actor.roles"}]}},
                None,
                {"require": {"roles": ["Reviewer"]}},
                "Reviewer",
            ),
            ({"and": [{"in": ["x", PAID]}, {"!": {"in": ["x", PAID]}}]}, None, {}, "payload.amount"),
        ],
        ids=str,
    )
    def test_is_proved_and_told_with_facts_that_do_not_open_it(
        self, rule: Any, payload: Any, step: dict[str, Any], said: str
    ) -> None:
        found = faults(only(rule, payload, **step))

        assert found["never_holds"].pointer == RULE
        assert {"never_holds", "dead_end"} <= found.keys()
        for language in ("th", "en"):
            assert said in found["never_holds"].text.say(language, found["never_holds"].values)

    @pytest.mark.parametrize(
        ("rule", "code", "known"),
        [
            ({"!": {"var": "actor.isSubmiter"}}, "unknown_name", "isSubmitter"),
            ({"!=": [{"var": "document.prioritty"}, "URGENT"]}, "unknown_name", "priority"),
            ({"!": {"var": "docment.priority"}}, "unknown_name", "document"),
            ({"!": {"var": "context.round"}}, "unknown_name", "context.payload"),
            ({"!": {"var": "payload.amont"}}, "unknown_name", ""),
            ({"!": {"var": "payload.Actor.name"}}, "unknown_name", ""),
            ({"!": {"var": "context.payload.onBehalfOf"}}, "unknown_name", ""),
            ({"!=": [{"var": "document.priority"}, "urgent"]}, "unknown_value", "URGENT, HIGH, MEDIUM, LOW"),
            ({"!": {"in": [{"var": "document.kind"}, ["rfa", "letter"]]}}, "unknown_value", "correspondence"),
            ({"!": {"in": ["No such role", {"var": "actor.roles"}]}}, "unknown_value", "Project Manager"),
            ({"!==": [{"var": ["state"]}, "draft"]}, "unknown_value", "mid, end, start"),
        ],
        ids=str,
    )
    def test_is_a_slip_of_the_pen_that_is_named_with_what_there_is(self, rule: Any, code: str, known: str) -> None:
        """Each of these holds: nobody would notice that it does not say what was meant."""
        found = faults(only(rule, {**PURCHASE, "additionalProperties": False}))

        assert found.keys() == {code}
        assert found[code].pointer == RULE
        for language in ("th", "en"):
            assert known in found[code].text.say(language, found[code].values)

    def test_counts_no_payload_with_a_name_that_no_client_may_send(self) -> None:
        needs_it = {"type": "object", "required": ["amount", "actor"]}

        assert faults(only({">": [PAID, 10]}, needs_it)).keys() == {"not_shown"}
        assert faults(only({">": [PAID, 10]}, {**needs_it, "required": ["amount"]})) == {}

    def test_knows_what_nobody_can_have_stated_before(self) -> None:
        read, said = {">": [AMOUNT, 10]}, {">": [PAID, 10]}
        first = only(read, PURCHASE)
        first["states"][2] |= {"on": {"write": {**first["states"][0]["on"]["go"], "to": "mid"}}}
        brings = only(read, PURCHASE)
        brings["states"][2]["on"]["write"]["fields"] = ["amount"]
        keeps_out = only(read, PURCHASE)
        keeps_out["states"][2]["on"]["write"]["fields"] = ["kind"]
        back = only({"!": {"var": "context.payload.kind"}}, PURCHASE)
        back["states"][2]["on"]["write"]["fields"] = []
        back["states"][0]["on"] |= {"back": {"to": "start", "label": WORDS, "fields": ["amount"]}}
        late = copy.deepcopy(back)
        late["states"][0]["on"]["go"]["condition"]["rule"] = read

        assert faults(first)["never_holds"].pointer == "/dsl/states/2/on/write/condition/rule"
        assert '{"context.payload.amount": null}' in faults(first)["never_holds"].text.say(
            "th", faults(first)["never_holds"].values
        )
        assert faults(only(said, PURCHASE)) == faults(brings) == {}
        assert "never_holds" in faults(keeps_out)
        assert "never_holds" not in faults(back) | faults(late)

    def test_is_refused_where_nothing_was_found_only_if_there_is_no_other_way(self) -> None:
        hard = {"==": [{"%": [{"*": [{"+": [PAID, 0]}, PAID]}, 1_000_003]}, 2]}
        alone = only({"and": [hard, {"<": [PAID, 1_000_000]}]}, amounts())
        beside = only({"and": [hard, {"<": [PAID, 1_000_000]}]}, amounts())
        beside["states"][0]["on"]["reject"] = {"to": "end", "label": WORDS}

        assert faults(alone).keys() == {"not_shown"}
        assert faults(beside) == {}


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-30, 30),
    st.floats(-30, 30).map(lambda value: round(value, 2)),
    st.sampled_from(["", "a", "b", "HIGH", "7", " 7", "007", "2026-01-01", "CON-C2", "null"]),
)
_FACTS = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=3), st.fixed_dictionaries({"b": _SCALARS}))
_PATHS = st.sampled_from(["payload.x", "payload.y", "payload.y.b", "payload.w", "context.payload.z"])
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
_SAID = st.fixed_dictionaries({"x": _FACTS, "y": _FACTS, "z": _FACTS, "w": _FACTS})


def _world(said: dict[str, Any]) -> dict[str, Any]:
    payload = {name: said[name] for name in "xyw"}
    return {"payload": payload, "context": {"payload": {"z": said["z"]}}}


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


class TestPublishing:
    @settings(deadline=None)
    @given(_planted())
    def test_never_says_of_a_rule_that_was_built_to_hold_that_it_does_not(
        self, planted: tuple[dict[str, Any], Any]
    ) -> None:
        facts, rule = planted
        assert Condition(logic.compile(rule)).holds(facts)

        assert "never_holds" not in faults(only(rule))

    @settings(deadline=None)
    @given(st.data())
    def test_refuses_no_rule_that_holds_on_a_payload_of_the_schema(self, data: st.DataObject) -> None:
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
        sent = data.draw(st.booleans())
        values = {"payload": {"amount": value, "note": "seen"}}
        facts, read = (values, PAID) if sent else ({"context": values}, AMOUNT)
        compared = st.builds(
            lambda op, other: {op: [read, other]}, st.sampled_from(["==", "===", "<", "<=", ">"]), st.integers(-1, 42)
        )
        clauses = [_true_of(each, facts) for each in data.draw(st.lists(compared, min_size=1, max_size=4))]

        assert faults(only({"and": clauses}, payload)) == {}

    @settings(deadline=None)
    @given(_contradictions())
    def test_refuses_every_rule_that_contradicts_itself_with_facts_that_do_not_open_it(self, rule: Any) -> None:
        found = faults(only(rule))["never_holds"]

        assert found.pointer == RULE
        assert "{" in found.text.say("en", found.values).partition("not with")[2]

    def test_of_conditions_with_very_many_constants_is_decided_quickly(self) -> None:
        def crowded(read: dict[str, str]) -> dict[str, Any]:
            apart = [{"and": [{"!=": [read, f"{kind}{n}"]} for n in range(95)]} for kind in ("", "t")]
            return {"and": [*apart, {"!=": [read, read]}]}

        raw = only(crowded({"var": "payload.v"}))
        on = {f"a{n}": only(crowded({"var": f"payload.v{n}"}))["states"][0]["on"]["go"] for n in range(4)}
        raw["states"][0]["on"] = on | {"out": {"to": "end", "label": WORDS}}
        started = time.process_time()

        assert dsl.problems(raw, known=KNOWN) == ()

        assert time.process_time() - started < 10

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
