"""Examples of a definition: played on the engine, with what documents, people and earlier steps can really be (REQ-WFL-10)."""

from typing import Any

import pytest

from saraban.kit.errors import FieldProblem
from saraban.workflow.language import dsl
from saraban.workflow.verification import definition_checks

AMOUNT = {"var": "context.payload.amount"}
PAID = {"var": "payload.amount"}
WORDS = {"th": "คำ", "en": "Word"}
ROLES = ("Project Manager", "Reviewer", "Viewer")
KNOWN = dsl.Known(roles=ROLES, permissions=("workflow.action_review",))
SOMEBODY = "00000000-0000-4000-8000-00000000000a"
PURCHASE = {
    "type": "object",
    "properties": {"amount": {"type": "number", "minimum": 1, "maximum": 100}, "kind": {"enum": ["a", "b"]}},
    "required": ["amount"],
}


def only(rule: Any, facts: Any = None, payload: Any = None, **step: Any) -> dict[str, Any]:
    """A definition of which the rule is on the one way out, with an example of it."""
    action = {"to": "end", "label": WORDS, "condition": {"type": "json-logic", "rule": rule}, **step}
    states = [
        {"name": "mid", "label": WORDS, "on": {"go": action}},
        {"name": "end", "label": WORDS, "terminal": True},
        {"name": "start", "label": WORDS, "initial": True, "on": {"write": {"to": "mid", "label": WORDS}}},
    ]
    schema = {} if payload is None else {"context_schema": {"type": "object", "properties": {"payload": payload}}}
    examples = {} if facts is None else {"examples": [{"state": "mid", "action": "go", "facts": facts}]}
    return {"workflow": "ONE_WAY", "states": states, **schema, **examples}


def coded(rule: Any, facts: Any, answers: dict[str, Any]) -> dict[str, Any]:
    raw = only(rule, facts, **answers)
    del raw["states"][0]["on"]["go"]["to"]
    return raw


def faults(raw: Any) -> dict[str, FieldProblem]:
    return {fault.code: fault for fault in definition_checks.problems(raw, known=KNOWN)}


def paid(amount: Any) -> dict[str, Any]:
    return {"payload": {"amount": amount}}


class TestAnExample:
    @pytest.mark.parametrize(
        "rule",
        [{"!=": [{"var": "document.priority"}, "URGENT"]}, {"!": {"var": "comment"}}, {"missing": ["payload.x"]}],
    )
    def test_is_needed_by_no_state_that_an_ordinary_document_leaves(self, rule: Any) -> None:
        assert faults(only(rule)) == {}

    @pytest.mark.parametrize(
        ("rule", "facts"),
        [
            ({"==": [{"var": "document.priority"}, "HIGH"]}, {"document": {"priority": "HIGH"}}),
            ({"in": ["Reviewer", {"var": "actor.roles"}]}, {"actor": {"roles": ["Viewer", "Reviewer"]}}),
            ({"in": [{"var": "document.kind"}, ["rfa"]]}, {"document": {"kind": "rfa"}}),
            ({"==": [{"var": "document.documentType"}, "MEMO"]}, {"document": {"documentType": "MEMO"}}),
            ({">": [{"var": "document.openRoutings"}, 2]}, {"document": {"openRoutings": 3}}),
            ({"<": ["2026-01-01", {"var": "document.dueDate"}]}, {"document": {"dueDate": "2026-06-30"}}),
            ({">": [{"var": "comment.length"}, 2]}, {"comment": "Seen"}),
            ({"var": "actor.isSubmitter"}, {"actor": {"isSubmitter": True}}),
            ({"==": [{"var": "actor.publicId"}, SOMEBODY]}, {"actor": {"publicId": SOMEBODY}}),
            ({"some": [{"var": "context.payload.items"}, {"==": [{"var": "kind"}, "DRW"]}]},
             {"context": {"payload": {"items": [{"kind": "DRW"}]}}}),
            ({"==": [{"*": [PAID, PAID]}, 49]}, paid(7)),
            ({"and": [{"==": [{"%": [PAID, 7]}, 3]}, {">": [PAID, 100]}]}, paid(101)),
        ],
        ids=str,
    )  # fmt: skip
    def test_opens_a_state_whose_one_exit_has_a_condition(self, rule: Any, facts: dict[str, Any]) -> None:
        assert faults(only(rule)).keys() == {"not_shown"}
        assert faults(only(rule, facts)) == {}

    def test_is_played_by_somebody_who_meets_what_the_action_requires(self) -> None:
        reviewer = {"require": {"roles": ["Reviewer"], "permissions": ["workflow.action_review"]}}
        party = {"require": {"party": ["assignee"]}}
        parts = {"require": {"organizationRoles": ["OWNER"], "permissions": ["workflow.action_review"]}}

        assert faults(only({"in": ["Reviewer", {"var": "actor.roles"}]}, {}, **reviewer)) == {}
        assert faults(only({"==": [{"var": "actor.publicId"}, SOMEBODY]}, {}, require={"user": SOMEBODY})) == {}
        assert faults(only({"var": "actor.isAssignee"}, {"document": {"kind": "circulation"}}, **party)) == {}
        assert faults(only({"var": "comment"}, {}, comment="required", attachments="required", **parts)) == {}

    def test_opens_every_code_that_its_condition_cannot_tell_apart_and_of_others_its_own(self) -> None:
        answers = {"responses": {"1A": {"to": "end"}, "3R": {"to": "start"}}}
        apart = {"if": [{"==": [{"var": "responseCode"}, "1A"]}, {">": [PAID, 5]}, {"<": [PAID, 5]}]}

        for code in ("1A", "3R"):
            assert faults(coded({">": [PAID, 5]}, {**paid(6), "responseCode": code}, answers)) == {}
        assert faults(coded(apart, {**paid(6), "responseCode": "1A"}, answers)) == {}
        assert faults(coded(apart, {**paid(4), "responseCode": "3R"}, answers)).keys() == {"not_shown"}


class TestIsRefused:
    @pytest.mark.parametrize(
        ("rule", "facts", "step", "pointer", "code"),
        [
            ({">": [PAID, 10]}, paid(10), {}, "", "example_refused"),
            ({">": [PAID, 10]}, paid(1000), {}, "/facts/payload/amount", "maximum"),
            ({">": [AMOUNT, 10]}, {"context": paid(1000)}, {}, "/facts/context/payload/amount", "maximum"),
            ({">": [PAID, 10]}, {"payload": {"kind": "a"}}, {}, "", "example_refused"),
            ({">": [PAID, 10]}, {**paid(20), "comment": 3}, {}, "/facts/comment", "type"),
            ({">": [PAID, 10]}, {**paid(20), "files": 3}, {}, "/facts/files", "unknown_key"),
            ({">": [PAID, 10]}, {**paid(20), "responseCode": "1A"}, {}, "/facts/responseCode", "not_taken"),
            ({">": [PAID, 10]}, {**paid(20), "context": {"round": 2}}, {}, "/facts/context", "unknown_name"),
            ({">": [PAID, 10]}, {"payload": {"amount": 20, "roles": []}}, {}, "/facts/payload", "unknown_name"),
            ({">": [PAID, 10]}, {**paid(20), "actor": {"roles": ["King"]}}, {}, "/facts/actor/roles/0", "unknown"),
            ({">": [PAID, 10]}, {**paid(20), "actor": {"publicId": "me"}}, {}, "/facts/actor/publicId", "uuid"),
            ({">": [PAID, 10]}, {**paid(20), "document": {"priority": "urgent"}}, {}, "/facts/document/priority", "enum"),
            ({">": [PAID, 10]}, {**paid(20), "document": {"colour": "red"}}, {}, "/facts/document/colour", None),
            ({">": [PAID, 10]}, {**paid(20), "document": {"kind": "rfa", "openRoutings": 2}}, {},
             "/facts/document/openRoutings", None),
            ({"var": "actor.isSubmitter"}, {"actor": {"isSubmitter": True}}, {"require": {"notSubmitter": True}},
             "", "example_refused"),
            ({"in": ["Viewer", {"var": "actor.roles"}]}, {"actor": {"roles": ["Viewer"]}},
             {"require": {"roles": ["Reviewer"]}}, "", "example_refused"),
        ],
        ids=str,
    )  # fmt: skip
    def test_with_its_place_where_it_could_not_happen(
        self, rule: Any, facts: dict[str, Any], step: dict[str, Any], pointer: str, code: str | None
    ) -> None:
        found = definition_checks.problems(only(rule, facts, PURCHASE, **step), known=KNOWN)

        told = next(fault for fault in found if fault.pointer.startswith("/dsl/examples/0"))
        assert told.pointer == f"/dsl/examples/0{pointer}"
        assert code in (None, told.code)
        assert told.text.th != told.text.en

    @pytest.mark.parametrize("place", [("nowhere", "go"), ("mid", "run"), ("end", "go")])
    def test_where_there_is_no_such_action(self, place: tuple[str, str]) -> None:
        raw = only({">": [PAID, 10]})
        raw["examples"] = [{"state": place[0], "action": place[1], "facts": {}}]

        assert faults(raw)["unknown_action"].pointer == "/dsl/examples/0"

    def test_for_a_value_that_nobody_can_have_stated_before(self) -> None:
        keeps_out = only({">": [AMOUNT, 10]}, {"context": paid(20)}, PURCHASE)
        keeps_out["states"][2]["on"]["write"]["fields"] = ["kind"]
        back = only({">": [AMOUNT, 10]}, {"context": paid(20)}, PURCHASE)
        back["states"][2]["on"]["write"]["fields"] = []
        back["states"][0]["on"] |= {"back": {"to": "start", "label": WORDS, "fields": ["amount"]}}

        assert faults(keeps_out)["unknown_name"].pointer == "/dsl/examples/0/facts/context/payload"
        assert faults(back) == {}

    def test_by_its_shape(self) -> None:
        for examples in ({}, [3], [{"state": "mid"}], [{"state": "mid", "action": "go", "facts": []}], [{}] * 51):
            raw = only({">": [PAID, 10]}) | {"examples": examples}
            assert any(
                fault.pointer.startswith("/dsl/examples") for fault in definition_checks.problems(raw, known=KNOWN)
            )


class TestNames:
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
    def test_that_are_slips_of_the_pen_are_named_with_what_there_is(self, rule: Any, code: str, known: str) -> None:
        """Each of these holds: nobody would notice that it does not say what was meant."""
        found = faults(only(rule, {}, {**PURCHASE, "required": [], "additionalProperties": False}))

        assert found.keys() - {"not_shown"} == {code}
        assert found[code].pointer == "/dsl/states/0/on/go/condition/rule"
        for language in ("th", "en"):
            assert known in found[code].text.say(language, found[code].values)
