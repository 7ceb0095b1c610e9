"""Who may take a workflow out of its course, and what step comes of it."""

from typing import Any

import pytest

from saraban.identity.domain.context import Scope
from saraban.kit.errors import Invalid
from saraban.workflow.engine import pending_assignees
from saraban.workflow.engine.decisions import TransitionNotPossible
from saraban.workflow.runtime.domain import interventions
from saraban.workflow.runtime.service.persist_transition import announced_label
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import CONTRACT, PROJECT, person, subject

WORDS = {"th": "คำ", "en": "Word"}
WHY = "The reviewer has left the company."
GRANT = [interventions.PERMISSION]
TO_CONSULTANT = {"party": ["recipient"]}


def definition() -> Any:
    states = [
        {
            "name": "draft",
            "label": WORDS,
            "initial": True,
            "editable": True,
            "on": {"send": {"to": "open", "label": WORDS}},
        },
        {
            "name": "open",
            "label": WORDS,
            "on": {
                "pass": {"to": "checked", "label": WORDS, "require": TO_CONSULTANT},
                "answer": {
                    "label": WORDS,
                    "require": TO_CONSULTANT,
                    "responses": {"1A": {"to": "closed"}, "3R": {"to": "draft"}},
                },
            },
        },
        {"name": "checked", "label": WORDS, "on": {"close": {"to": "closed", "label": WORDS}}},
        {"name": "closed", "label": WORDS, "terminal": True},
    ]
    return definition_checks.verify({"workflow": "STEERED", "states": states})


def in_organization(organization: int, *places: dict[str, int], also: tuple[int, ...] = ()) -> Any:
    where = places or ({"organization": organization},)
    return person(organization, user=9, also=also, grants=tuple(("Document Control", GRANT, place) for place in where))


# Owners are 1 and 5; contractor 3 asks consultant 2 for an answer.
WHO: list[tuple[str, Any, bool, bool]] = [
    ("the owner's document control", in_organization(1), True, True),
    ("another office of the owner", in_organization(5), True, True),
    ("the one who is waited for", in_organization(2), True, False),
    ("the originator", in_organization(3), False, False),
    ("another contractor", in_organization(4), False, False),
    ("the project's document control", in_organization(8, {"project": PROJECT}), True, True),
    ("the contract's document control", in_organization(8, {"contract": CONTRACT}), True, True),
    ("the originator with a role in the contract", in_organization(3, {"contract": CONTRACT}), False, False),
    ("the originator who works for the consultant too", in_organization(2, also=(3,)), False, False),
    ("the document control of another project", in_organization(8, {"project": 99}), False, False),
    ("somebody without the permission", person(1, user=9), False, False),
    (
        "a Super Admin of the originator",
        person(3, user=9, grants=(("Superadmin", ["system.manage_all"], {}),)),
        True,
        True,
    ),
]


class TestWhoMay:
    @pytest.mark.parametrize(("caller", "pushes", "steers"), [row[1:] for row in WHO], ids=[row[0] for row in WHO])
    def test_is_nobody_who_asks_for_the_approval(self, caller: Any, pushes: bool, steers: bool) -> None:
        waiting = pending_assignees.assignees_of(definition(), "open", subject())

        assert interventions.may_push(caller, subject(), waiting) is pushes
        assert interventions.may_steer(caller, subject()) is steers

    def test_is_the_organization_itself_for_what_stays_inside(self) -> None:
        sheet = subject(scope=Scope(frozenset({3}), PROJECT), recipient_organization_ids=frozenset(), parties={})

        assert interventions.may_steer(in_organization(3), sheet)
        assert not interventions.may_steer(in_organization(1), sheet)


class TestForced:
    @pytest.mark.parametrize(
        ("action", "to", "step"),
        [
            ("pass", None, ("pass", "checked", False)),
            ("pass", "checked", ("pass", "checked", False)),
            ("answer", "closed", ("answer", "closed", True)),
            (None, "draft", (interventions.FORCE, "draft", False)),
            (None, "closed", (interventions.FORCE, "closed", True)),
        ],
    )
    def test_takes_the_way_that_is_named(self, action: str | None, to: str | None, step: tuple[str, str, bool]) -> None:
        found = interventions.forced(definition(), "open", action=action, to=to, reason=WHY)

        assert (found.action, found.next_state, found.terminal) == step
        assert (found.forced, found.comment) == (True, WHY)

    @pytest.mark.parametrize(
        ("action", "to", "code"),
        [
            ("answer", None, "required"),
            ("answer", "checked", "unknown_state"),
            (None, None, "required"),
            (None, "open", "same_state"),
            (None, "terminated", "unknown_state"),
        ],
    )
    def test_names_what_is_wrong_with_a_place(self, action: str | None, to: str | None, code: str) -> None:
        with pytest.raises(Invalid) as refused:
            interventions.forced(definition(), "open", action=action, to=to, reason=WHY)

        assert [(fault.pointer, fault.code) for fault in refused.value.fields] == [("/to", code)]

    @pytest.mark.parametrize("state", ["closed", "cancelled", "terminated"])
    def test_leads_out_of_no_end(self, state: str) -> None:
        with pytest.raises(TransitionNotPossible):
            interventions.forced(definition(), state, action=None, to="open", reason=WHY)
        with pytest.raises(TransitionNotPossible):
            interventions.terminated(definition(), state, reason=WHY)

    def test_is_told_by_its_label_and_a_word(self) -> None:
        step = interventions.forced(definition(), "open", action="pass", to=None, reason=WHY)
        leap = interventions.forced(definition(), "open", action=None, to="closed", reason=WHY)

        assert announced_label(definition(), step).en == "Word (override)"
        assert announced_label(definition(), leap).en == "Step overridden"


class TestReason:
    @pytest.mark.parametrize("reason", ["", "   ", "too short", "x" * 501, " \n 123456789 \n"])
    def test_is_long_enough_to_tell_somebody_something(self, reason: str) -> None:
        with pytest.raises(Invalid) as refused:
            interventions.checked_reason(reason)

        assert refused.value.fields[0].pointer == "/reason"

    def test_is_kept_without_outer_blanks(self) -> None:
        assert interventions.checked_reason(f"  {WHY}\n") == WHY
