"""What the workflow knows of the registers of documents is what they say of themselves, and what ships fits them."""

from typing import Any

import pytest

from saraban.documents.circulation import domain as circulation
from saraban.documents.core.domain import CANCELLED, DRAFT, TERMINATED, KindRules
from saraban.documents.correspondence import CORRESPONDENCE_RULES
from saraban.documents.rfa.domain import RFA_RULES
from saraban.documents.transmittal.service import TRANSMITTAL_RULES
from saraban.web.shell.document_kinds import BY_NAME
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.registers import DRAFT as FIRST
from saraban.workflow.language.registers import REGISTERS
from saraban.workflow.verification import definition_checks
from saraban.workflow.verification.register_fit import misfits

EVERYWHERE = {CANCELLED, TERMINATED}


WORD = {"th": "คำ", "en": "Word"}


def flow(first: str = "draft", middle: str = "checking", last: str = "approved", **require: Any) -> Definition:
    """A workflow of two steps."""
    needs = {"permissions": ["workflow.action_review"], **require}
    steps = ((first, middle, {"party": ["originator"]}), (middle, last, needs))
    states = [
        {
            "name": name,
            "label": WORD,
            "initial": name == first,
            "on": {"go": {"to": to, "label": WORD, "require": need}},
        }
        for name, to, need in steps
    ]
    return definition_checks.verify(
        {"workflow": "ODD", "states": [*states, {"name": last, "label": WORD, "terminal": True}]}
    )


def one_exit(rule: Any, *facts: Any) -> dict[str, Any]:
    """A workflow whose middle state has one exit, with a condition and examples that open it."""
    condition = {"type": "json-logic", "rule": rule}
    return {
        "workflow": "ODD",
        "states": [
            {"name": "draft", "label": WORD, "initial": True, "on": {"go": {"to": "routing", "label": WORD}}},
            {
                "name": "routing",
                "label": WORD,
                "on": {"go": {"to": "approved", "label": WORD, "condition": condition}},
            },
            {"name": "approved", "label": WORD, "terminal": True},
        ],
        "examples": [{"state": "routing", "action": "go", "facts": each} for each in facts],
    }


class TestRegisters:
    @pytest.mark.parametrize("kind", [CORRESPONDENCE_RULES, RFA_RULES, TRANSMITTAL_RULES], ids=lambda kind: kind.name)
    def test_are_known_as_they_say_of_themselves(self, kind: KindRules) -> None:
        register = REGISTERS[kind.name]

        assert set(register.types) in ({*()}, set(kind.type_codes))
        assert register.ends == kind.finished - EVERYWHERE
        assert register.open == kind.statuses.keys() - kind.finished

    def test_know_where_sheets_are_answered(self) -> None:
        register = REGISTERS[circulation.KIND]

        assert register.code == "CIRCULATION_FLOW_V1"
        assert register.needs == {circulation.ROUTING}
        assert register.open | register.ends | EVERYWHERE == circulation.STATUSES.keys()

    def test_begin_where_documents_are_written(self) -> None:
        assert {FIRST} == {DRAFT, circulation.DRAFT}

    def test_have_a_page_each(self) -> None:
        assert REGISTERS.keys() == BY_NAME.keys()

    def test_fit_what_ships_for_them(self) -> None:
        flows = {raw["workflow"]: definition_checks.verify(raw) for raw in shipped()}

        assert {one.name: misfits(flows[one.code], [one]) for one in REGISTERS.values()} == dict.fromkeys(REGISTERS, ())

    def test_take_shop_drawings_on_the_workflow_that_ships_for_them(self) -> None:
        flows = {raw["workflow"]: definition_checks.verify(raw) for raw in shipped()}

        assert misfits(flows["SHOP_DRAWING_FLOW_V1"], [REGISTERS["rfa"]]) == ()

    @pytest.mark.parametrize(
        ("kind", "odd", "places"),
        [
            ("correspondence", flow(first="start"), ["/dsl/states/0/name"]),
            ("correspondence", flow(middle="approved", last="done"), ["/dsl/states/1/name"]),
            ("transmittal", flow(last="submitted"), ["/dsl/states/2/name"]),
            ("transmittal", flow(party=["assignee"]), ["/dsl/states/1/on/go/require/party"]),
            ("rfa", flow(last="done"), ["/dsl/states/2"]),
            ("circulation", flow(), ["/dsl/states"]),
            ("circulation", flow(middle="routing", party=["recipient"]), ["/dsl/states/1/on/go/require/party"]),
            (
                "circulation",
                flow(middle="routing", organizationRoles=["OWNER"]),
                ["/dsl/states/1/on/go/require/organizationRoles"],
            ),
            ("circulation", flow(middle="routing", party=["assignee", "recipient"]), []),
        ],
    )
    def test_refuse_what_their_documents_could_not_run_on(self, kind: str, odd: Definition, places: list[str]) -> None:
        found = misfits(odd, [REGISTERS[kind]])

        assert [one.pointer for one in found] == places
        assert all(one.text.th != one.text.en for one in found)

    @pytest.mark.parametrize(
        ("rule", "facts", "stuck"),
        [
            (
                {"==": [{"var": "document.kind"}, "rfa"]},
                {"document": {"kind": "rfa"}},
                {"correspondence", "transmittal", "circulation"},
            ),
            (
                {">": [{"var": "document.openRoutings"}, 2]},
                {"document": {"openRoutings": 3}},
                {"correspondence", "rfa", "transmittal"},
            ),
            ({"!": {"var": "document.openRoutings"}}, {}, set()),
            (
                {"==": [{"var": "document.discipline"}, "STR"]},
                {"document": {"discipline": "STR"}},
                {"circulation"},
            ),
            ({"==": [{"var": "document.priority"}, "HIGH"]}, {"document": {"priority": "HIGH"}}, set()),
            (
                {"var": "actor.isAssignee"},
                {"document": {"kind": "circulation"}, "actor": {"isAssignee": True}},
                {"correspondence", "rfa", "transmittal"},
            ),
            ({"!": {"var": "actor.isAssignee"}}, {}, set()),
            (
                {"==": [{"var": "document.documentType"}, "RFA"]},
                {"document": {"documentType": "RFA"}},
                {"correspondence", "transmittal", "circulation"},
            ),
            ({"==": [{"var": "document.documentType"}, "LETTER"]}, {}, set(REGISTERS)),  # what of a memo?
            ({"in": [{"var": "document.documentType"}, ["LETTER", "MEMO"]]}, {}, set(REGISTERS)),
            ({"!=": [{"var": "document.documentType"}, "CIRCULATION"]}, {}, {"circulation"}),
        ],
    )
    def test_refuse_what_their_documents_could_not_get_out_of(self, rule: Any, facts: Any, stuck: set[str]) -> None:
        definition = definition_checks.verify(one_exit(rule, facts))

        told = {one.name: misfits(definition, [one]) for one in REGISTERS.values()}

        found = {name: [fault for fault in faults if fault.code == "register_exit"] for name, faults in told.items()}
        assert {name for name, faults in found.items() if faults} == stuck
        for fault in (one for faults in found.values() for one in faults):
            assert fault.pointer == "/dsl/states/1"
            assert any(word in fault.text.say("th", fault.values) for word in ('"document": {', '"isAssignee"'))

    @pytest.mark.parametrize(("type_code", "fits"), [("LETTER", True), ("MEMO", False)])
    def test_of_one_type_ask_for_that_type_alone(self, type_code: str, fits: bool) -> None:
        definition = definition_checks.verify(one_exit({"==": [{"var": "document.documentType"}, "LETTER"]}))

        found = misfits(definition, [REGISTERS["correspondence"].of_type(type_code)])

        assert [one.pointer for one in found] == ([] if fits else ["/dsl/states/1"])
        assert all("บันทึกข้อความ" in one.text.th and "Memorandum" in one.text.en for one in found)

    def test_of_an_rfa_type_are_those_of_all_rfas(self) -> None:
        assert REGISTERS["rfa"].of_type("RPT") is REGISTERS["rfa"]

    @pytest.mark.parametrize(
        "rule",
        [
            {"==": [{"var": "document.documentType"}, "LETTR"]},
            {"in": [{"var": "document.documentType"}, ["LETTER", "RPT"]]},
        ],
    )
    def test_know_every_document_type_that_a_condition_can_name(self, rule: Any) -> None:
        (fault,) = [
            one for one in definition_checks.problems(one_exit(rule), known=dsl.Known()) if one.code == "unknown_value"
        ]

        assert fault.pointer == "/dsl/states/1/on/go/condition/rule"
        assert "MEMO" in str(fault.values["known"])
