"""
What becomes of a parallel review under way when its instance goes on under another version of its workflow: which branches
stay as they are, which are asked, and which are asked no more.

An answer that was given stays what it was. Where the version would lose it, read it otherwise, or find in it a verdict that
nobody has spoken yet, the instance is left where it is: nothing moves on because of a migration.

What was answered in hiding is not looked at: a review is taken along only where it could be whatever was answered, so that
nobody learns by a migration, or by looking what one would do, what others have answered.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations_with_replacement

from saraban.kit.errors import Text
from saraban.workflow.language.review import Assignee, Branch, Review, verdict


class ReviewBarrier(StrEnum):
    """Why a review cannot be taken along."""

    ANSWER_LOST = "answer_lost"
    ANSWER_CHANGED = "answer_changed"
    VERDICT_DUE = "verdict_due"
    HIDDEN_ANSWERS = "hidden_answers"


@dataclass(frozen=True, slots=True)
class MigratedBranch:
    """
    One branch of the round under way.

    :param waits: False once it has its answer, or is asked no more
    :param hidden: whether its answer is kept from readers
    """

    name: str
    waits: bool = True
    answer: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class MigratedReview:
    """
    How a review goes on; branches that are in none of these stay as they are.

    :param opened: those that did not wait for an answer before
    :param asked: those that wait for somebody else than before
    :param closed: those that wait no more
    """

    opened: tuple[Branch, ...] = ()
    asked: tuple[Branch, ...] = ()
    closed: tuple[str, ...] = ()

    @property
    def anew(self) -> tuple[Branch, ...]:
        """Every branch for which somebody is asked because of the move."""
        return (*self.opened, *self.asked)


def replaced(after: Review | None, round_: Collection[MigratedBranch]) -> MigratedReview | ReviewBarrier:
    """
    Return what becomes of a review in the place of which another one comes, or none: it ends without a verdict,
    which it may as long as nobody has answered.

    :param round_: none where there was no review before
    """
    if any(each.answer is not None for each in round_):
        return ReviewBarrier.ANSWER_LOST
    opened = tuple(after.branches.values()) if after is not None else ()
    return MigratedReview(opened, closed=tuple(each.name for each in round_ if each.waits))


def continued(before: Review, after: Review, round_: Collection[MigratedBranch]) -> MigratedReview | ReviewBarrier:
    """
    Return how a review of a state goes on by what the version says of it, branch by branch, by their names.

    A branch that the version gives to the same assignee as before goes on asking whom it asks, also where it has been
    given to one person since.
    """
    answers = {each.name: each.answer for each in round_ if each.answer is not None}
    hidden = frozenset(each.name for each in round_ if each.answer is not None and each.hidden)
    barrier = _barrier(before, after, answers, hidden)
    if barrier is not None:
        return barrier
    waiting = [each.name for each in round_ if each.waits]
    opened = tuple(one for name, one in after.branches.items() if name not in waiting and name not in answers)
    asked = tuple(
        one for name, one in after.branches.items() if name in waiting and _asks(before, name) != one.assignee
    )
    return MigratedReview(opened, asked, tuple(name for name in waiting if name not in after.branches))


def _asks(review: Review, name: str) -> Assignee | None:
    branch = review.branches.get(name)
    return branch.assignee if branch is not None else None


def _barrier(
    before: Review, after: Review, answers: Mapping[str, str], hidden: Collection[str]
) -> ReviewBarrier | None:
    if not answers.keys() <= after.branches.keys():
        return ReviewBarrier.ANSWER_LOST
    # Who was asked, and under what words, is part of what was answered.
    if any(before.branches.get(name) != after.branches[name] for name in answers):
        return ReviewBarrier.ANSWER_CHANGED
    known = {name: code for name, code in answers.items() if name not in hidden}
    said = set(known.values())
    if answers and _meaning(before, said) != _meaning(after, said):
        return ReviewBarrier.ANSWER_CHANGED
    if hidden:
        return ReviewBarrier.HIDDEN_ANSWERS if _matters(before, after, known, hidden) else None
    return None if verdict(after, answers) is None else ReviewBarrier.VERDICT_DUE


def _matters(before: Review, after: Review, known: Mapping[str, str], hidden: Collection[str]) -> bool:
    """Whether anything that may have been answered in hiding would be called otherwise, or be a verdict."""
    counted = set[str]()
    # A veto would have ended it. What counts the same leads to the same verdict, whoever has said it.
    alike = {choice.counts: code for code, choice in before.answers.items() if code not in before.veto}
    for codes in combinations_with_replacement(alike.values(), len(hidden)):
        answers = {**known, **dict(zip(hidden, codes, strict=True))}
        if verdict(before, answers) is not None:  # it would have ended
            continue
        if verdict(after, answers) is not None:
            return True
        counted |= {before.answers[code].counts for code in codes}
    said = {code for code, one in before.answers.items() if code not in before.veto and one.counts in counted}
    return _meaning(before, said) != _meaning(after, said)


def _meaning(review: Review, said: Collection[str]) -> tuple[dict[str, str], dict[str, Text], frozenset[str]]:
    """What could be answered and for what it counts, and the words of what was."""
    counts: dict[str, str] = {code: choice.counts for code, choice in review.answers.items()}
    words = {code: choice.label for code, choice in review.answers.items() if code in said}
    return counts, words, review.veto
