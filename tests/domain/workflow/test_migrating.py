"""What becomes of a running instance under another version, from plain values."""

from typing import Any

import pytest

from saraban.kit.errors import Invalid
from saraban.workflow.domain import checks, migrating
from saraban.workflow.domain.migrating import Outcome, Standing
from tests.domain.workflow.actors import person, subject

WORDS = {"th": "คำ", "en": "Word"}
BY_RECIPIENT = {"party": ["recipient"], "permissions": ["workflow.action_review"]}
PAYLOAD = {"type": "object", "properties": {"round": {"type": "integer"}}, "required": ["round"]}
SCHEMA = {"type": "object", "properties": {"payload": PAYLOAD}}
FIRST, BARE, MISSPELT = ({"payload": each} for each in ({"round": 1}, {}, {"round": "one"}))
REVIEWER = person(2, user=21, grants=(("Document Control", ["workflow.action_review"], {"organization": 2}),))
SUPER_ADMIN = person(2, user=22, grants=(("Superadmin", ["system.manage_all"], {}),))


def version(name: str = "open", require: Any = BY_RECIPIENT, **more: Any) -> Any:
    states = [
        {"name": "draft", "label": WORDS, "initial": True, "on": {"send": {"to": name, "label": WORDS}}},
        {"name": name, "label": WORDS, "on": {"close": {"to": "closed", "label": WORDS, "require": require}}},
        {"name": "closed", "label": WORDS, "terminal": True},
    ]
    return checks.verify({"workflow": "MOVED", "states": states, **more})


def standing(state: str = "open", **changes: Any) -> Standing:
    known = {"definition": version(), "state": state, "context": {}, "facts": subject()}
    return Standing(**(known | changes))


class TestExamine:
    @pytest.mark.parametrize(
        ("to", "stands", "mapping", "people", "outcome", "state"),
        [
            (version(), standing(), {}, [REVIEWER], Outcome.STAYS, "open"),
            (version("seen"), standing(), {}, [REVIEWER], Outcome.STATE_GONE, None),
            (version("seen"), standing(), {"open": "seen"}, [REVIEWER], Outcome.MOVES, "seen"),
            (version("seen"), standing(), {"draft": "seen"}, [REVIEWER], Outcome.STATE_GONE, None),
            (version(), standing(), {"open": "draft"}, [REVIEWER], Outcome.MOVES, "draft"),
            (version(), standing(), {}, [], Outcome.NOBODY, "open"),
            (version(), standing(), {}, [SUPER_ADMIN], Outcome.NOBODY, "open"),
            (version(require={"party": ["originator"]}), standing(), {}, [REVIEWER], Outcome.NOBODY, "open"),
            (version(context_schema=SCHEMA), standing(context=BARE), {}, [REVIEWER], Outcome.CONTEXT_UNFIT, "open"),
            (version(context_schema=SCHEMA), standing(context=FIRST), {}, [REVIEWER], Outcome.STAYS, "open"),
            (version(), standing(facts=None), {}, [REVIEWER], Outcome.SUBJECT_GONE, None),
        ],
    )  # fmt: skip
    def test_says_what_becomes_of_it(
        self,
        to: Any,
        stands: Standing,
        mapping: dict[str, str],
        people: list[Any],
        outcome: Outcome,
        state: str | None,
    ) -> None:
        found = migrating.examine(to, stands, mapping, people)

        assert (found.outcome, found.to) == (outcome, state)
        assert found.goes is (outcome in {Outcome.STAYS, Outcome.MOVES})

    def test_names_every_fault_of_the_context(self) -> None:
        found = migrating.examine(version(context_schema=SCHEMA), standing(context=MISSPELT), {}, [REVIEWER])

        assert [(fault.pointer, fault.code) for fault in found.faults] == [("/payload/round", "type")]

    @pytest.mark.parametrize(("assigned", "keeps"), [(21, True), (22, False), (99, False), (None, False)])
    def test_keeps_a_person_who_could_still_act(self, assigned: int | None, keeps: bool) -> None:
        stands = standing(assigned_user_id=assigned)

        assert migrating.examine(version(), stands, {}, [REVIEWER, SUPER_ADMIN]).keeps_person is keeps

    def test_takes_nobody_along_into_another_state(self) -> None:
        stands = standing(assigned_user_id=21)

        assert not migrating.examine(version("seen"), stands, {"open": "seen"}, [REVIEWER]).keeps_person

    @pytest.mark.parametrize("outcome", list(Outcome))
    def test_has_words_for_it(self, outcome: Outcome) -> None:
        assert migrating.WORDS[outcome].th
        assert migrating.WORDS[outcome].en


class TestMapping:
    def test_leads_to_states_that_are_there_and_are_no_end(self) -> None:
        with pytest.raises(Invalid) as refused:
            migrating.check_mapping(
                version(),
                {"old/one": "nowhere", "open": "closed", "draft": "open", "slip": "open"},
                known={"old/one", "open", "draft"},
            )

        assert [(fault.pointer, fault.code, fault.values) for fault in refused.value.fields] == [
            ("/mapping/old~1one", "unknown_state", {"name": "nowhere"}),
            ("/mapping/open", "terminal_state", {}),
            ("/mapping/slip", "unknown_state", {"name": "slip"}),
        ]
