"""Parallel review: when answers are a verdict, how a definition says so, and how it is drawn and rehearsed."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.kit.errors import Text
from saraban.workflow.administration.domain import definition_text, diagram, history_replay, simulation
from saraban.workflow.engine import decisions
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import compiled
from saraban.workflow.language.review import (
    AGAINST,
    ANSWER,
    FELL,
    FOR,
    AnswerOption,
    Assignee,
    Branch,
    Review,
    most,
    verdict,
)
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import person, subject

WORD = Text("คำ", "Word")
ANSWERS = {
    "1A": AnswerOption(WORD, "for"),
    "1B": AnswerOption(WORD, "for"),
    "2": AnswerOption(WORD, "neither"),
    "3": AnswerOption(WORD, "against"),
}


def review(branches: int, completion: Any, veto: frozenset[str] = frozenset()) -> Review:
    names = [f"b{index}" for index in range(branches)]
    return Review(
        {name: Branch(name, WORD, Assignee("team", "T")) for name in names},
        ANSWERS,
        completion,
        {FOR: "passed", AGAINST: "failed"},
        veto,
    )


def said(asked: Review, *codes: str) -> str | None:
    """Return the verdict when the first branches have answered so."""
    return verdict(asked, dict(zip(asked.branches, codes, strict=False)))


class TestVerdict:
    @pytest.mark.parametrize(
        ("completion", "codes", "expected"),
        [
            ("all", ["1A", "1A"], None),
            ("all", ["1A", "3"], None),
            ("all", ["1A", "1A", "1B"], "for"),
            ("all", ["1A", "1A", "3"], "against"),
            ("all", ["1A", "2", "2"], "for"),
            ("all", ["2", "2", "2"], "against"),
            (2, ["1A"], None),
            (2, ["1A", "1B"], "for"),
            (2, ["1A", "3"], None),
            (2, ["3", "2"], "against"),
            (1, ["3", "3"], None),
            (1, ["3", "1A"], "for"),
            (1, ["3", "3", "3"], "against"),
            (3, ["2"], "against"),
        ],
    )
    def test_of_three_branches(self, completion: Any, codes: list[str], expected: str | None) -> None:
        assert said(review(3, completion), *codes) == expected

    def test_a_tie_is_no_majority(self) -> None:
        assert said(review(4, most(4)), "1A", "1A", "3", "3") == "against"

    def test_a_veto_ends_it_at_once(self) -> None:
        assert said(review(5, "all", frozenset({"3"})), "1A", "3") == "against"

    def test_while_a_veto_can_be_spoken_nothing_is_for(self) -> None:
        asked = review(3, 1, frozenset({"3"}))

        assert [said(asked, *["1A"] * count) for count in range(4)] == [None, None, None, "for"]

    def test_an_answer_without_the_power_of_veto_is_one_answer(self) -> None:
        answers = ANSWERS | {"4": AnswerOption(WORD, "against")}
        asked = review(3, 2, frozenset({"4"}))
        asked = Review(asked.branches, answers, 2, asked.then, asked.veto)

        assert said(asked, "3", "1A", "1A") == "for"
        assert said(asked, "1A", "1A", "4") == "against"


@st.composite
def reviews(draw: st.DrawFn) -> tuple[Review, list[tuple[str, str]]]:
    """A review with an answer for each branch, in the order in which they come."""
    count = draw(st.integers(1, 7))
    completion = draw(st.one_of(st.just("all"), st.integers(1, count)))
    asked = review(count, completion, draw(st.sampled_from([frozenset(), frozenset({"3"})])))
    codes = draw(st.lists(st.sampled_from(sorted(ANSWERS)), min_size=count, max_size=count))
    order = draw(st.permutations(list(asked.branches)))
    return asked, list(zip(order, codes, strict=True))


def unfolding(asked: Review, story: list[tuple[str, str]]) -> Iterator[str | None]:
    for length in range(len(story) + 1):
        yield verdict(asked, dict(story[:length]))


class TestEveryReview:
    @given(reviews())
    def test_ends_when_everybody_has_answered(self, case: tuple[Review, list[tuple[str, str]]]) -> None:
        asked, story = case

        assert verdict(asked, dict(story)) in ("for", "against")
        assert verdict(asked, {}) is None

    @given(reviews())
    def test_keeps_its_verdict_whatever_is_answered_later(self, case: tuple[Review, list[tuple[str, str]]]) -> None:
        for before, after in pairwise(unfolding(*case)):
            assert before is None or before == after

    @given(reviews(), st.randoms(use_true_random=False))
    def test_comes_to_the_same_in_any_order(self, case: tuple[Review, list[tuple[str, str]]], chance: Any) -> None:
        asked, story = case
        other = list(story)
        chance.shuffle(other)

        first = next(each for each in unfolding(asked, story) if each)
        assert first == next(each for each in unfolding(asked, other) if each)

    @given(reviews())
    def test_says_it_no_later_than_it_is_certain(self, case: tuple[Review, list[tuple[str, str]]]) -> None:
        """Without a verdict, both are still possible: everybody left being for, or against."""
        asked, story = case
        for length in range(len(story)):
            given_so_far = dict(story[:length])
            left = {name: "1A" for name in asked.branches if name not in given_so_far}
            ends = {verdict(asked, given_so_far | dict.fromkeys(left, code)) for code in ANSWERS}
            if asked.completion != "all":
                assert (verdict(asked, given_so_far) is None) == (len(ends) == 2)


WORDS = {"th": "คำ", "en": "Word"}
ASKED: dict[str, Any] = {
    "branches": [
        {"name": "structure", "label": WORDS, "assignee": {"discipline": "STR"}},
        {"name": "electrical", "label": WORDS, "assignee": {"team": "MEP"}},
        {"name": "control", "label": WORDS, "assignee": {"role": "Editor"}},
    ],
    "completion": "majority",
    "then": {"for": {"to": "approved"}, "against": {"to": "rejected"}},
}


def definition(review: Any = ASKED, **changes: Any) -> dict[str, Any]:
    reviewed = {"name": "reviewed", "label": WORDS, "initial": True, "review": review} | changes
    ends = [{"name": name, "label": WORDS, "terminal": True} for name in ("approved", "rejected")]
    return {"workflow": "REVIEWED", "states": [reviewed, *ends]}


NOBODY = "00000000-0000-7000-8000-000000000000"


def then(*events: dict[str, str]) -> dict[str, Any]:
    """Return where the verdicts lead, with what else happens when it is for."""
    return {"for": {"to": "approved", "events": list(events)}, "against": {"to": "rejected"}}


def faults(raw: Any) -> list[tuple[str, str]]:
    known = dsl.Known(roles={"Editor"}, permissions=set(), users=set())
    return [
        (fault.pointer.removeprefix("/dsl/states/0"), fault.code)
        for fault in definition_checks.problems(raw, known=known)
    ]


class TestReading:
    def test_takes_what_is_right(self) -> None:
        asked = definition_checks.verify(definition()).states["reviewed"].review

        assert asked is not None
        assert [branch.assignee.kind for branch in asked.branches.values()] == ["discipline", "team", "role"]
        assert (asked.completion, asked.veto, asked.hidden) == (2, frozenset(), False)
        assert {code: choice.counts for code, choice in asked.answers.items()} == {
            "approve": "for",
            "reject": "against",
        }

    @pytest.mark.parametrize(
        ("key", "value", "pointer", "code"),
        [
            ("branches", [], "/review/branches", "length"),
            ("branches", [ASKED["branches"][0]] * 51, "/review/branches", "length"),
            ("branches", [ASKED["branches"][0]] * 2, "/review/branches/1/name", "duplicate"),
            ("completion", "most", "/review/completion", "choice"),
            ("completion", {"atLeast": 4}, "/review/completion/atLeast", "range"),
            ("completion", {"atLeast": True}, "/review/completion/atLeast", "range"),
            ("completion", {"atLeast": 0}, "/review/completion/atLeast", "range"),
            ("veto", "yes", "/review/veto", "type"),
            ("veto", ["approve"], "/review/veto/0", "choice"),
            ("hidden", "no", "/review/hidden", "type"),
            ("answers", {}, "/review/answers", "one_sided"),
            ("answers", {"1A": {"label": WORDS, "counts": "for"}}, "/review/answers", "one_sided"),
            ("answers", {"1A": {"label": WORDS, "counts": "yes"}}, "/review/answers/1A/counts", "choice"),
            ("then", {"for": {"to": "approved"}}, "/review/then/against", "required"),
            ("then", {"for": {"to": "gone"}, "against": {"to": "rejected"}}, "/review/then/for/to", "unknown_state"),
            ("then", then({"type": "notify", "target": "king"}), "/review/then/for/events/0/target", "choice"),
            ("then", then({"type": "assign", "target": NOBODY}), "/review/then/for/events/0/target", "unknown"),
            ("then", then({"type": "assign", "target": "submitter"}), "/review/then/for/events/0", "idle_assign"),
            (
                "then",
                then({"type": "auto_action", "action": "go"}),
                "/review/then/for/events/0/action",
                "unknown_action",
            ),
            ("colour", "red", "/review/colour", "unknown_key"),
        ],
    )
    def test_names_what_is_wrong(self, key: str, value: Any, pointer: str, code: str) -> None:
        assert (pointer, code) in faults(definition(ASKED | {key: value}))

    @pytest.mark.parametrize(
        ("assignee", "pointer", "code"),
        [
            ({}, "", "one_of"),
            ({"team": "A", "role": "Editor"}, "", "one_of"),
            ({"role": "Emperor"}, "/role", "unknown"),
            ({"user": "me"}, "/user", "uuid"),
            ({"user": str(UUID(int=7))}, "/user", "unknown"),
            ({"team": "not a code"}, "/team", "name"),
            ({"discipline": 5}, "/discipline", "name"),
            ("Editor", "", "type"),
        ],
    )
    def test_names_an_assignee_that_is_none(self, assignee: Any, pointer: str, code: str) -> None:
        branch = {"name": "one", "label": WORDS, "assignee": assignee}

        assert faults(definition(ASKED | {"branches": [branch], "completion": "all"})) == [
            (f"/review/branches/0/assignee{pointer}", code)
        ]

    def test_no_terminal_state_asks_anybody(self) -> None:
        assert ("/review", "exit_from_terminal") in faults(definition(terminal=True))

    def test_the_people_it_names_are_found_before_it_is_read(self) -> None:
        person = UUID(int=7)
        branch = {"name": "one", "label": WORDS, "assignee": {"user": str(person)}}

        assert dsl.assigned(definition(ASKED | {"branches": [branch]})) == {person}

    def test_is_part_of_the_graph(self) -> None:
        read = definition_checks.verify(definition())

        assert read.states["reviewed"].targets == ("approved", "rejected")
        assert [state.name for state in decisions.expected_path(read, "reviewed")] == ["approved"]
        assert compiled(read)["states"]["reviewed"]["review"] == {
            "for": {"to": "approved"},
            "against": {"to": "rejected"},
        }
        assert "s0 --> s1 : Review passed" in diagram.mermaid(read, language="en")
        drawn = diagram.diagram(read, language="en")
        assert drawn is not None
        assert ("Review not passed",) in [one.labels for one in drawn.transitions]

    def test_what_changed_in_it_is_told_by_place(self) -> None:
        after = definition(ASKED | {"completion": "all"})

        assert [
            (change.place, change.before, change.after) for change in definition_text.difference(definition(), after)
        ] == [("/states/reviewed/review/completion", "majority", "all")]


class TestRehearsing:
    STRUCTURE = simulation.SimulatedActor(disciplines=frozenset({"STR"}))
    MEP = simulation.SimulatedActor(teams=frozenset({"MEP"}))

    def played(self, *tries: simulation.SimulationStep) -> list[tuple[str, str | None]]:
        read = definition_checks.verify(definition())
        found = simulation.simulate(read, tries, document={})
        return [(one.next_state, one.refusal.code if one.refusal else None) for one in found]

    def test_plays_answers_until_they_are_a_verdict(self) -> None:
        assert self.played(
            simulation.SimulationStep(self.STRUCTURE, "approve", branch="structure"),
            simulation.SimulationStep(self.MEP, "approve", branch="electrical"),
        ) == [("reviewed", None), ("approved", None)]

    def test_refuses_as_the_service_would(self) -> None:
        assert self.played(
            simulation.SimulationStep(self.MEP, "approve", branch="structure"),
            simulation.SimulationStep(self.STRUCTURE, "reject", branch="structure"),
            simulation.SimulationStep(self.STRUCTURE, "perhaps", branch="structure"),
            simulation.SimulationStep(self.STRUCTURE, "approve", branch="roof"),
            simulation.SimulationStep(self.STRUCTURE, "approve", branch="structure"),
            simulation.SimulationStep(self.STRUCTURE, "approve", branch="structure"),
        ) == [
            ("reviewed", "WORKFLOW_ACTION_FORBIDDEN"),
            ("reviewed", "VALIDATION_ERROR"),
            ("reviewed", "VALIDATION_ERROR"),
            ("reviewed", "NOT_FOUND"),
            ("reviewed", None),
            ("reviewed", "WORKFLOW_BRANCH_CLOSED"),
        ]

    def replayed(self, asked: Any) -> str | None:
        codes = {"structure": "approve", "electrical": "approve"}
        past = [history_replay.RecordedStep(ANSWER, "reviewed", None, {}) for _ in codes]
        past.append(history_replay.RecordedStep(FELL[FOR], "approved", None, {}, answers=codes))
        parting = history_replay.replay(definition_checks.verify(definition(asked)), past, subject(), person())
        return parting.reason.code if parting else None

    @pytest.mark.parametrize(("comment", "code"), [(None, "comment_required"), ("p. 3", None)])
    def test_asks_for_the_comments_of_answers(self, comment: str | None, code: str | None) -> None:
        codes = {"structure": "reject", "electrical": "reject"}
        past = [
            history_replay.RecordedStep(ANSWER, "reviewed", comment, {}, answers={name: codes[name]}) for name in codes
        ]

        parting = history_replay.replay(definition_checks.verify(definition(ASKED)), past, subject(), person())

        assert (parting.reason.code if parting and parting.step == 1 else None) == code

    def test_holds_a_finished_review_against_another_version(self) -> None:
        assert self.replayed(ASKED) is None
        assert self.replayed(ASKED | {"completion": "all"}) == "other_state"
        assert self.replayed(ASKED | {"branches": ASKED["branches"][1:]}) == "no_branch"
        answers = {"agree": ("for", "เห็นด้วย"), "object": ("against", "คัดค้าน")}
        others = {code: {"label": {"th": th, "en": code}, "counts": counts} for code, (counts, th) in answers.items()}
        assert self.replayed(ASKED | {"answers": others}) == "no_answer"
