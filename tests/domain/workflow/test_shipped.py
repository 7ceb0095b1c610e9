"""The definitions that ship with the product, case by case: definition, state, actor, action, facts, expected step."""

import json
from pathlib import Path
from typing import Any

import pytest

from saraban.kit.errors import DomainError, Invalid
from saraban.workflow.domain import dsl, engine
from saraban.workflow.domain.definition import Definition
from saraban.workflow.service.definitions import shipped
from tests.domain.workflow.actors import person, subject

MATRIX = json.loads(Path(__file__).with_name("matrix.json").read_text("utf-8"))
DEFINITIONS = {raw["workflow"]: dsl.read(raw) for raw in shipped()}


def facts(actor: str, given: dict[str, Any]) -> engine.Facts:
    who = dict(MATRIX["actors"][actor])
    caller = person(
        who["organization"],
        user=who.get("user", 60),
        also=tuple(who.get("also", ())),
        grants=tuple(tuple(grant) for grant in who["grants"]),
    )
    about = subject(
        originator_organization_id=given.get("originator", 3),
        assignee_user_ids=frozenset(given.get("assignees", ())),
        context={"openRoutings": given["openRoutings"]} if "openRoutings" in given else {},
    )
    return engine.Facts(caller, about, given.get("comment"))


@pytest.mark.parametrize(
    ("code", "state", "actor", "action", "given", "expected"),
    MATRIX["cases"],
    ids=[f"{case[0]}-{case[1]}-{case[2]}-{case[3]}-{n}" for n, case in enumerate(MATRIX["cases"])],
)
def test_takes_the_expected_step(
    code: str, state: str, actor: str, action: str, given: dict[str, Any], expected: str
) -> None:
    definition = DEFINITIONS[code]
    try:
        step = engine.advance(definition, state, action, facts(actor, given))
    except Invalid as error:
        outcome = error.fields[0].pointer
    except DomainError as error:
        outcome = error.code
    else:
        outcome = step.next_state
        assert step.terminal is definition.states[step.next_state].terminal

    assert outcome == expected


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=list(DEFINITIONS))
class TestShipped:
    def test_is_named_in_both_languages(self, definition: Definition) -> None:
        words = [state.label for state in definition.states.values()]
        words += [step.label for state in definition.states.values() for step in state.on.values()]

        assert all(any("\u0e00" <= letter <= "\u0e7f" for letter in text.th) for text in words)
        assert all(text.en.isascii() for text in words)

    def test_is_played_in_every_state(self, definition: Definition) -> None:
        played = {(case[1], case[3]) for case in MATRIX["cases"] if case[0] == definition.code}
        possible = {(state.name, action) for state in definition.states.values() for action in state.on}

        assert possible <= played
