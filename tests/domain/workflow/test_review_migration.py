"""What becomes of a review under way under another version, from plain values."""

from collections.abc import Collection
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.kit.errors import Text
from saraban.workflow.administration.domain import migration
from saraban.workflow.administration.domain.migration import (
    MigratedBranch,
    MigratedReview,
    MigratingInstance,
    MigrationOutcome,
    continued,
    replaced,
)
from saraban.workflow.language.review import AGAINST, FOR, AnswerOption, Assignee, Branch, Review, verdict
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import subject

WORD, OTHER = Text("คำ", "Word"), Text("อื่น", "Other")
ANSWERS = {"yes": AnswerOption(WORD, "for"), "note": AnswerOption(WORD, "neither"), "no": AnswerOption(WORD, "against")}
A, B, C = (Branch(name, WORD, Assignee("team", "T")) for name in "abc")
ELSEWHERE = Assignee("team", "U")


def review(*branches: Branch, completion: Any = "all", **changes: Any) -> Review:
    known = {"answers": ANSWERS, "then": {FOR: "passed", AGAINST: "failed"}, "completion": completion}
    return Review(branches={branch.name: branch for branch in branches}, **(known | changes))


def waits(*names: str) -> list[MigratedBranch]:
    return [MigratedBranch(name) for name in names]


def said(name: str, answer: str = "yes") -> MigratedBranch:
    return MigratedBranch(name, waits=False, answer=answer)


def changed(**changes: AnswerOption) -> dict[str, AnswerOption]:
    return ANSWERS | changes


class TestContinued:
    @pytest.mark.parametrize(
        ("after", "round_", "expected"),
        [
            (review(A, B), waits("a", "b"), MigratedReview()),
            (review(B, A), [said("a"), *waits("b")], MigratedReview()),
            (review(A, B, C), [said("a"), *waits("b")], MigratedReview(opened=(C,))),
            (review(A), waits("a", "b"), MigratedReview(closed=("b",))),
            (review(A, replace(B, assignee=ELSEWHERE)), waits("a", "b"), MigratedReview(asked=(replace(B, assignee=ELSEWHERE),))),
            (review(A, replace(B, label=OTHER)), [said("a"), *waits("b")], MigratedReview()),
            (review(A, B), [*waits("a"), MigratedBranch("b", waits=False)], MigratedReview(opened=(B,))),
            (review(A), [*waits("a"), MigratedBranch("b", waits=False)], MigratedReview()),
            (review(A, B, answers={"ok": ANSWERS["yes"], "no": ANSWERS["no"]}), waits("a", "b"), MigratedReview()),
            (review(A, B, answers=changed(yes=AnswerOption(WORD, "for", comment_required=True))), [said("a"), *waits("b")], MigratedReview()),
            (review(A, B, answers=changed(no=AnswerOption(OTHER, "against"))), [said("a"), *waits("b")], MigratedReview()),
            (review(A, B, completion=2, hidden=True, then={FOR: "x", AGAINST: "y"}), [said("a"), *waits("b")], MigratedReview()),
        ],
    )  # fmt: skip
    def test_says_branch_by_branch_how_it_goes_on(
        self, after: Review, round_: Collection[MigratedBranch], expected: MigratedReview
    ) -> None:
        assert continued(review(A, B), after, round_) == expected

    @pytest.mark.parametrize(
        ("after", "barrier"),
        [
            (review(B, C), MigrationOutcome.ANSWER_LOST),
            (review(replace(A, assignee=ELSEWHERE), B), MigrationOutcome.ANSWER_CHANGED),
            (review(replace(A, label=OTHER), B), MigrationOutcome.ANSWER_CHANGED),
            (review(A, B, answers=changed(yes=AnswerOption(OTHER, "for"))), MigrationOutcome.ANSWER_CHANGED),
            (review(A, B, answers=changed(note=AnswerOption(WORD, "for"))), MigrationOutcome.ANSWER_CHANGED),
            (review(A, B, answers=changed(more=AnswerOption(WORD, "for"))), MigrationOutcome.ANSWER_CHANGED),
            (review(A, B, veto=frozenset({"no"})), MigrationOutcome.ANSWER_CHANGED),
            (review(A, B, completion=1), MigrationOutcome.VERDICT_DUE),
            (review(A), MigrationOutcome.VERDICT_DUE),
        ],
    )
    def test_leaves_what_was_answered_alone(self, after: Review, barrier: MigrationOutcome) -> None:
        assert continued(review(A, B), after, [said("a"), *waits("b")]) is barrier

    def test_a_review_that_nobody_could_win_any_more_is_a_verdict_too(self) -> None:
        before, after = review(A, B, C, completion=2), review(A, B, completion=2)

        assert continued(before, after, [said("a", "no"), *waits("b", "c")]) is MigrationOutcome.VERDICT_DUE

    @given(st.data())
    def test_never_loses_an_answer_nor_finds_a_verdict(self, data: st.DataObject) -> None:
        rules, names = st.sampled_from(["all", 1, 2]), st.sets(st.sampled_from("abc"), min_size=2)
        by_name = {"a": A, "b": B, "c": C}
        before, after = (
            review(*(by_name[name] for name in sorted(data.draw(names))), completion=data.draw(rules)) for _ in range(2)
        )
        answers = {name: data.draw(st.sampled_from([None, *ANSWERS])) for name in before.branches}
        round_ = [said(name, code) if code else MigratedBranch(name) for name, code in answers.items()]

        found = continued(before, after, round_)

        given_ = {name: code for name, code in answers.items() if code}
        if isinstance(found, MigratedReview):
            assert given_.keys() <= after.branches.keys()
            assert verdict(after, given_) is None
            left = {one.name for one in round_ if one.waits} - set(found.closed)
            assert left | {one.name for one in found.opened} | given_.keys() == after.branches.keys()
        else:
            assert given_

    @given(st.data())
    def test_is_the_same_whatever_was_answered_in_hiding(self, data: st.DataObject) -> None:
        rules, names = st.sampled_from(["all", 1, 2]), st.sets(st.sampled_from("abc"), min_size=2)
        by_name = {"a": A, "b": B, "c": C}
        vetoes, words = st.sampled_from([frozenset[str](), frozenset({"no"})]), st.sampled_from([WORD, OTHER])
        veto = data.draw(vetoes)
        before, after = (
            review(
                *(by_name[name] for name in sorted(data.draw(names))),
                completion=data.draw(rules),
                veto=veto,
                answers=changed(no=AnswerOption(data.draw(words), "against")),
            )
            for _ in range(2)
        )
        answered = data.draw(st.sets(st.sampled_from(sorted(before.branches)), min_size=1))
        possible = [
            codes
            for each in product(ANSWERS, repeat=len(answered))
            if verdict(before, codes := dict(zip(sorted(answered), each, strict=True))) is None
        ]

        found = [
            continued(
                before,
                after,
                [
                    MigratedBranch(name, name not in codes, codes.get(name), hidden=name in codes)
                    for name in before.branches
                ],
            )
            for codes in possible
        ]

        assert all(one == found[0] for one in found)
        if found and isinstance(found[0], MigratedReview):
            assert {verdict(after, codes) for codes in possible} == {None}
        elif found and found[0] is MigrationOutcome.HIDDEN_ANSWERS:
            opened = [
                [MigratedBranch(name, name not in codes, codes.get(name)) for name in before.branches]
                for codes in possible
            ]
            assert any(isinstance(continued(before, after, one), MigrationOutcome) for one in opened)

    def test_takes_a_hidden_review_along_where_no_answer_could_matter(self) -> None:
        kept = [MigratedBranch("a", waits=False, answer="no", hidden=True), *waits("b")]

        assert continued(review(A, B, hidden=True), review(A, B, C, hidden=True), kept) == MigratedReview(opened=(C,))
        assert continued(review(A, B, hidden=True), review(A, B, completion=1), kept) is MigrationOutcome.HIDDEN_ANSWERS
        assert continued(review(A, B, hidden=True), review(B), kept) is MigrationOutcome.ANSWER_LOST


class TestReplaced:
    def test_ends_without_a_verdict_while_nobody_has_answered(self) -> None:
        round_ = [*waits("a"), MigratedBranch("b", waits=False)]

        assert replaced(None, round_) == MigratedReview(closed=("a",))
        assert replaced(review(A, C), round_) == MigratedReview(opened=(A, C), closed=("a",))
        assert replaced(review(A), []) == MigratedReview(opened=(A,))

    def test_is_not_left_with_an_answer(self) -> None:
        assert replaced(review(A, B), [said("a"), *waits("b")]) is MigrationOutcome.ANSWER_LOST
        assert replaced(None, [said("a")]) is MigrationOutcome.ANSWER_LOST


WORDS = {"th": "คำ", "en": "Word"}
THEN = {"for": {"to": "closed"}, "against": {"to": "draft"}}


def version(*teams: str, name: str = "review", **more: Any) -> Any:
    branches = [{"name": team.lower(), "label": WORDS, "assignee": {"team": team}} for team in teams]
    states = [
        {"name": "draft", "label": WORDS, "initial": True, "on": {"send": {"to": name, "label": WORDS}}},
        {"name": name, "label": WORDS, "review": {"branches": branches, "then": THEN, **more}},
        {"name": "closed", "label": WORDS, "terminal": True},
    ]
    return definition_checks.verify({"workflow": "MOVED", "states": states})


class TestExamine:
    @pytest.mark.parametrize(
        ("to", "mapping", "round_", "silent", "outcome"),
        [
            (version("A", "B", "C"), {}, [said("a", "approve"), *waits("b")], False, MigrationOutcome.STAYS),
            (version("A", "B", "C"), {}, [said("a", "approve"), *waits("b")], True, MigrationOutcome.NOBODY),
            (version("B", "C"), {}, [said("a", "approve"), *waits("b")], False, MigrationOutcome.ANSWER_LOST),
            (
                version("A", "B", veto=True),
                {},
                [said("a", "approve"), *waits("b")],
                False,
                MigrationOutcome.ANSWER_CHANGED,
            ),
            (
                version("A", "B", completion="any"),
                {},
                [said("a", "approve"), *waits("b")],
                False,
                MigrationOutcome.VERDICT_DUE,
            ),
            (version("A", name="check"), {}, waits("a", "b"), False, MigrationOutcome.STATE_GONE),
            (version("A", name="check"), {"review": "check"}, waits("a", "b"), False, MigrationOutcome.MOVES),
            (
                version("A", "B", name="check"),
                {"review": "check"},
                [said("a", "approve")],
                False,
                MigrationOutcome.ANSWER_LOST,
            ),
        ],
    )
    def test_takes_a_review_along_or_says_why_not(
        self, to: Any, mapping: dict[str, str], round_: list[MigratedBranch], silent: bool, outcome: MigrationOutcome
    ) -> None:
        stands = MigratingInstance(version("A", "B"), "review", {}, subject(), round=tuple(round_))

        found = migration.examine(to, stands, mapping, [], silent=silent)

        assert found.outcome is outcome
        assert (found.carried is not None) is found.goes
