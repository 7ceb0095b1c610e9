"""What becomes of a running instance under another version, from plain values."""

from typing import Any

import pytest

from saraban.kit.errors import Invalid
from saraban.workflow.administration.domain import migration
from saraban.workflow.administration.domain.migration import MigratingInstance, MigrationOutcome
from saraban.workflow.verification import definition_checks
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
    return definition_checks.verify({"workflow": "MOVED", "states": states, **more})


def standing(state: str = "open", **changes: Any) -> MigratingInstance:
    known = {"definition": version(), "state": state, "context": {}, "facts": subject()}
    return MigratingInstance(**(known | changes))


class TestExamine:
    @pytest.mark.parametrize(
        ("to", "stands", "mapping", "people", "outcome", "state"),
        [
            (version(), standing(), {}, [REVIEWER], MigrationOutcome.STAYS, "open"),
            (version("seen"), standing(), {}, [REVIEWER], MigrationOutcome.STATE_GONE, None),
            (version("seen"), standing(), {"open": "seen"}, [REVIEWER], MigrationOutcome.MOVES, "seen"),
            (version("seen"), standing(), {"draft": "seen"}, [REVIEWER], MigrationOutcome.STATE_GONE, None),
            (version(), standing(), {"open": "draft"}, [REVIEWER], MigrationOutcome.MOVES, "draft"),
            (version(), standing(), {}, [], MigrationOutcome.NOBODY, "open"),
            (version(), standing(), {}, [SUPER_ADMIN], MigrationOutcome.NOBODY, "open"),
            (version(require={"party": ["originator"]}), standing(), {}, [REVIEWER], MigrationOutcome.NOBODY, "open"),
            (version(context_schema=SCHEMA), standing(context=BARE), {}, [REVIEWER], MigrationOutcome.CONTEXT_UNFIT, "open"),
            (version(context_schema=SCHEMA), standing(context=FIRST), {}, [REVIEWER], MigrationOutcome.STAYS, "open"),
            (version(), standing(facts=None), {}, [REVIEWER], MigrationOutcome.SUBJECT_GONE, None),
        ],
    )  # fmt: skip
    def test_says_what_becomes_of_it(
        self,
        to: Any,
        stands: MigratingInstance,
        mapping: dict[str, str],
        people: list[Any],
        outcome: MigrationOutcome,
        state: str | None,
    ) -> None:
        found = migration.examine(to, stands, mapping, people)

        assert (found.outcome, found.to) == (outcome, state)
        assert found.goes is (outcome in {MigrationOutcome.STAYS, MigrationOutcome.MOVES})

    def test_names_every_fault_of_the_context(self) -> None:
        found = migration.examine(version(context_schema=SCHEMA), standing(context=MISSPELT), {}, [REVIEWER])

        assert [(fault.pointer, fault.code) for fault in found.faults] == [("/payload/round", "type")]

    @pytest.mark.parametrize(("assigned", "keeps"), [(21, True), (22, False), (99, False), (None, False)])
    def test_keeps_a_person_who_could_still_act(self, assigned: int | None, keeps: bool) -> None:
        stands = standing(assigned_user_id=assigned)

        assert migration.examine(version(), stands, {}, [REVIEWER, SUPER_ADMIN]).keeps_person is keeps

    def test_takes_nobody_along_into_another_state(self) -> None:
        stands = standing(assigned_user_id=21)

        assert not migration.examine(version("seen"), stands, {"open": "seen"}, [REVIEWER]).keeps_person

    @pytest.mark.parametrize("outcome", list(MigrationOutcome))
    def test_has_words_for_it(self, outcome: MigrationOutcome) -> None:
        assert migration.WORDS[outcome].th
        assert migration.WORDS[outcome].en


class TestMapping:
    def test_leads_to_states_that_are_there_and_are_no_end(self) -> None:
        with pytest.raises(Invalid) as refused:
            migration.check_mapping(
                version(),
                {"old/one": "nowhere", "open": "closed", "draft": "open", "slip": "open"},
                known={"old/one", "open", "draft"},
            )

        assert [(fault.pointer, fault.code, fault.values) for fault in refused.value.fields] == [
            ("/mapping/old~1one", "unknown_state", {"name": "nowhere"}),
            ("/mapping/open", "terminal_state", {}),
            ("/mapping/slip", "unknown_state", {"name": "slip"}),
        ]
