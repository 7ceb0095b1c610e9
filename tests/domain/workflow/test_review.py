"""Parallel review: when answers are a verdict, how a definition says so, and how it is drawn and rehearsed."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.kit.errors import Text
from saraban.workflow.domain.review import AGAINST, FOR, Assignee, Branch, Choice, Review, most, verdict

WORD = Text("คำ", "Word")
ANSWERS = {
    "1A": Choice(WORD, "for"),
    "1B": Choice(WORD, "for"),
    "2": Choice(WORD, "neither"),
    "3": Choice(WORD, "against"),
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
    """This will give the verdict when the first branches have answered so."""
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
        answers = ANSWERS | {"4": Choice(WORD, "against")}
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
