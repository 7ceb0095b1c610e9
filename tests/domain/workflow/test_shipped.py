"""
The definitions that ship with the product, each against its matrix: every state, every action, every actor.

A matrix (`matrices/CODE.yaml`) is written by hand from who may do what, not from the definition. Under a state stands
whom it waits for, who may edit, what an end means, and for each action an outcome with its actors: a state, `forbidden`, or
`condition not met`; `the others` are all actors of `actors.yaml` that the action does not name. An action that the state
does not have is `not possible`, for everybody. `codes` are those it is answered with, each with the state it leads to,
`comment` where it needs one and `usual` where it counts without being given. `situations` change the document for the states that name them.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from saraban.documents.rfa.domain import APPROVE_CODES
from saraban.identity.domain.context import Caller
from saraban.kit.errors import DomainError, Invalid, Text
from saraban.projects.domain.master_data import RFA_APPROVE_CODES
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.engine import decisions, pending_assignees
from saraban.workflow.language.definition import Definition, State, Transition
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import person, subject

FOLDER = Path(__file__).with_name("matrices")
DEFINITIONS = {raw["workflow"]: definition_checks.verify(raw) for raw in shipped()}
CAST = yaml.safe_load((FOLDER / "actors.yaml").read_text("utf-8"))
ORGANIZATIONS: dict[str, int] = CAST["organizations"]
MATRICES: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted(FOLDER.glob("*.yaml"))
    if path.stem != "actors"
}
NOT_POSSIBLE = "not possible"
OUTCOMES = {
    "WF_INVALID_TRANSITION": NOT_POSSIBLE,
    "WORKFLOW_ACTION_FORBIDDEN": "forbidden",
    "WORKFLOW_CONDITION_NOT_MET": "condition not met",
}


class Cell(NamedTuple):
    """What is expected of one action in one state; `outcomes` is None where nobody can take it."""

    code: str
    state: str
    situation: str
    action: str
    outcomes: dict[str, str] | None
    comment: bool
    codes: dict[str, list[str]] = {}  # noqa: RUF012

    def __str__(self) -> str:
        return "-".join(part for part in (self.code, self.state, self.situation, self.action) if part)


@cache
def actor(name: str) -> Caller:
    who = CAST["actors"][name]
    return person(
        ORGANIZATIONS.get(who["organization"]),
        user=who.get("user", 60),
        also=tuple(ORGANIZATIONS[each] for each in who.get("also", ())),
        grants=tuple((grant["role"], grant["permissions"], _place(grant["in"])) for grant in who["grants"]),
    )


def _place(given: dict[str, Any]) -> dict[str, int]:
    return {kind: ORGANIZATIONS[name] if kind == "organization" else name for kind, name in given.items()}


def document(code: str, situation: str) -> SubjectFacts:
    matrix = MATRICES[code]
    given = {**matrix.get("document", {}), **(matrix["situations"][situation] if situation else {})}
    return subject(
        originator_organization_id=ORGANIZATIONS[given.get("from", "contractor")],
        recipient_organization_ids=frozenset(ORGANIZATIONS[name] for name in given.get("to", ["consultant"])),
        parties={role: frozenset(ORGANIZATIONS[name] for name in names) for role, names in CAST["parties"].items()},
        assignee_user_ids=frozenset(actor(name).user_id for name in given.get("assigned", ())),
        context=given.get("context", {}),
        edit_permission=matrix["edit_permission"],
    )


def outcome(cell: Cell, who: str, comment: str | None, response: str | None = None) -> str:
    facts = decisions.Facts(actor(who), document(cell.code, cell.situation), comment, response_code=response)
    try:
        step = decisions.advance(DEFINITIONS[cell.code], cell.state, cell.action, facts)
    except Invalid as error:
        return error.fields[0].pointer
    except DomainError as error:
        return OUTCOMES[error.code]
    assert step.terminal is DEFINITIONS[cell.code].states[step.next_state].terminal
    return step.next_state


def cells() -> Iterator[Cell]:
    for code, matrix in MATRICES.items():
        for state, row in matrix["states"].items():
            for action, entry in row["actions"].items():
                for situation in row.get("in", [""]):
                    yield _cell(code, state, situation, action, entry)


def _cell(code: str, state: str, situation: str, action: str, entry: Any) -> Cell:
    if entry == NOT_POSSIBLE:
        return Cell(code, state, situation, action, None, comment=False)
    entry = entry[situation] if situation else entry
    told = {who: result for result, names in entry.items() if isinstance(names, list) for who in names}
    (rest,) = [result for result, names in entry.items() if names == "the others"]
    outcomes = dict.fromkeys(CAST["actors"], rest) | told
    return Cell(code, state, situation, action, outcomes, entry["comment"] == "required", entry.get("codes", {}))


CELLS = list(cells())
ROWS = [(code, state) for code, matrix in MATRICES.items() for state in matrix["states"]]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_has_the_outcome_that_the_matrix_states(cell: Cell) -> None:
    actors = cell.outcomes or dict.fromkeys(CAST["actors"], NOT_POSSIBLE)

    found = {who: outcome(cell, who, "เพราะว่า") for who in actors}

    assert found == actors


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.outcomes], ids=str)
def test_asks_for_a_comment_where_the_matrix_does(cell: Cell) -> None:
    assert cell.outcomes is not None
    for who, expected in cell.outcomes.items():
        refused = cell.comment and expected in DEFINITIONS[cell.code].states
        assert {outcome(cell, who, comment) for comment in (None, "", "   ")} == {"/comment" if refused else expected}


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.outcomes], ids=str)
def test_is_answered_with_the_codes_that_the_matrix_lists(cell: Cell) -> None:
    assert cell.outcomes is not None
    step = DEFINITIONS[cell.code].states[cell.state].on[cell.action]
    assert (list(step.responses), step.usual) == (
        list(cell.codes),
        next((code for code, words in cell.codes.items() if "usual" in words), None),
    )
    who = next((who for who, result in cell.outcomes.items() if result in DEFINITIONS[cell.code].states), "admin")
    for response, (leads, *words) in cell.codes.items():
        assert outcome(cell, who, "เพราะว่า", response) == leads
        assert outcome(cell, who, None, response) == ("/comment" if "comment" in words else leads)
    if who != "admin":
        assert outcome(cell, who, "เพราะว่า", "9Z") == "/responseCode"


@pytest.mark.parametrize(("code", "state"), ROWS)
def test_ends_with_the_outcome_that_the_matrix_names(code: str, state: str) -> None:
    assert DEFINITIONS[code].states[state].outcome == MATRICES[code]["states"][state].get("outcome")


@pytest.mark.parametrize(("code", "state"), ROWS)
def test_waits_for_whom_the_matrix_names(code: str, state: str) -> None:
    row = MATRICES[code]["states"][state]
    for situation in row.get("in", [""]):
        waiting = pending_assignees.assignees_of(DEFINITIONS[code], state, document(code, situation))

        wanted = row["waits_for"][situation] if situation else row["waits_for"]
        assert waiting.organizations == {ORGANIZATIONS[name] for name in wanted.get("organizations", ())}
        assert waiting.users == {actor(name).user_id for name in wanted.get("people", ())}
        assert waiting.named == frozenset()


@pytest.mark.parametrize(("code", "state"), ROWS)
def test_lets_those_edit_whom_the_matrix_names(code: str, state: str) -> None:
    row = MATRICES[code]["states"][state]
    for situation in row.get("in", [""]):
        facts = document(code, situation)
        found = [
            who for who in CAST["actors"] if decisions.can_edit(DEFINITIONS[code].states[state], actor(who), facts)
        ]

        wanted = row["editable_by"][situation] if situation and row["editable_by"] else row["editable_by"]
        assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(("code", "state"), ROWS)
def test_offers_each_what_the_matrix_lets_them_take(code: str, state: str) -> None:
    here = [cell for cell in CELLS if (cell.code, cell.state) == (code, state)]
    for situation in {cell.situation for cell in here}:
        for who in CAST["actors"]:
            facts = decisions.Facts(actor(who), document(code, situation))
            offered = {choice.code for choice in decisions.available(DEFINITIONS[code], state, facts)}

            open_ = [cell for cell in here if cell.situation == situation and cell.outcomes]
            assert offered == {cell.action for cell in open_ if cell.outcomes[who] in DEFINITIONS[code].states}


class TestMatrices:
    def test_there_is_one_for_each_definition_and_none_for_another(self) -> None:
        assert MATRICES.keys() == DEFINITIONS.keys()

    @pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=list(DEFINITIONS))
    def test_leave_out_no_state_and_no_action(self, definition: Definition) -> None:
        rows = MATRICES[definition.code]["states"]

        assert list(rows) == list(definition.states)
        for name, row in rows.items():
            assert set(row["actions"]) == definition.actions, name
            assert {action for action, entry in row["actions"].items() if entry != NOT_POSSIBLE} == set(
                definition.states[name].on
            )

    @pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=list(DEFINITIONS))
    def test_play_every_situation_in_every_action_that_can_be_taken(self, definition: Definition) -> None:
        matrix = MATRICES[definition.code]
        played = {situation for row in matrix["states"].values() for situation in row.get("in", ())}

        assert played == set(matrix.get("situations", ()))

    @pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=list(DEFINITIONS))
    def test_reach_every_state(self, definition: Definition) -> None:
        results = {
            result
            for cell in CELLS
            if cell.code == definition.code and cell.outcomes
            for result in cell.outcomes.values()
        }

        assert set(definition.states) - {definition.initial} <= results

    def test_name_only_actors_that_there_are(self) -> None:
        assert {who for cell in CELLS if cell.outcomes for who in cell.outcomes} == set(CAST["actors"])


def steps(definition: Definition) -> list[Transition]:
    return [step for state in definition.states.values() for step in state.on.values()]


def helps(definition: Definition) -> list[Text]:
    return [one.help for one in (*definition.states.values(), *steps(definition)) if one.help]


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=list(DEFINITIONS))
class TestShipped:
    def test_is_named_in_both_languages(self, definition: Definition) -> None:
        words = [state.label for state in definition.states.values()]
        words += [step.label for state in definition.states.values() for step in state.on.values()]

        words += [one.label for step in steps(definition) for one in step.responses.values() if one.label]
        words += [*helps(definition)]

        assert all(any("\u0e00" <= letter <= "\u0e7f" for letter in text.th) for text in words)
        assert all(text.en.isascii() for text in words)

    def test_explains_every_state_in_which_somebody_acts_and_every_step(self, definition: Definition) -> None:
        acting = [state for state in definition.states.values() if not state.terminal]

        assert all(state.help for state in acting)
        assert all(step.help for step in steps(definition))

    def test_is_answered_with_approve_codes_alone_and_needs_none(self, definition: Definition) -> None:
        """Programs that send no code go on as they are."""
        for step in steps(definition):
            assert step.responses.keys() <= APPROVE_CODES
            assert {code: one.label for code, one in step.responses.items()} == {
                code: offer.says for offer in RFA_APPROVE_CODES for code in step.responses if offer.code == code
            }
            assert not step.responses or step.usual is not None

    @pytest.mark.parametrize("state", ["nowhere", "cancelled"])
    def test_takes_no_step_from_elsewhere(self, definition: Definition, state: str) -> None:
        if state in definition.states:
            assert definition.states[state].terminal
        for action in definition.actions:
            cell = Cell(definition.code, state, "", action, None, comment=False)
            assert {outcome(cell, who, "x") for who in CAST["actors"]} == {NOT_POSSIBLE}

    def test_ends_without_an_editor(self, definition: Definition) -> None:
        ends: list[State] = [state for state in definition.states.values() if state.terminal]

        assert ends
        assert not any(state.editable or state.on for state in ends)
