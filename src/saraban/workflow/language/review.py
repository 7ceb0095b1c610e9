"""
Parallel review: several branches are asked at once, and the rule says when their answers are a verdict.

Who stands behind a branch today, and where answers are kept, is the service's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Literal
from uuid import UUID

from saraban.kit.errors import Text

Counts = Literal["for", "against", "neither"]
Verdict = Literal["for", "against"]
Kind = Literal["user", "role", "team", "discipline"]
FOR: Verdict = "for"
AGAINST: Verdict = "against"

# What the history calls the steps of a review. No action of a definition can have a colon in its name.
ANSWER = "review:answer"
FELL: Mapping[Verdict, str] = MappingProxyType({FOR: "review:for", AGAINST: "review:against"})
LABELS: Mapping[str, Text] = MappingProxyType(
    {
        ANSWER: Text("ตอบการพิจารณาแล้ว", "Review answered"),
        FELL[FOR]: Text("ผลการพิจารณา: ผ่าน", "Review passed"),
        FELL[AGAINST]: Text("ผลการพิจารณา: ไม่ผ่าน", "Review not passed"),
    }
)


class BranchStatus(StrEnum):
    """Whether a branch waits, was answered, or was closed without an answer: the review ended, or went on, without it."""

    PENDING = "PENDING"
    ANSWERED = "ANSWERED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True)
class Assignee:
    """
    Who is to answer for a branch.

    :param name: public id of the user, name of the role, code of the team or the discipline
    """

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Branch:
    name: str
    label: Text
    assignee: Assignee


@dataclass(frozen=True, slots=True)
class AnswerOption:
    label: Text
    counts: Counts
    comment_required: bool = False


USUAL_ANSWERS: Mapping[str, AnswerOption] = MappingProxyType(
    {
        "approve": AnswerOption(Text("เห็นชอบ", "Approve"), "for"),
        "reject": AnswerOption(Text("ไม่เห็นชอบ", "Reject"), "against", comment_required=True),
    }
)


@dataclass(frozen=True, slots=True)
class Review:
    """
    The review that a state asks for when it is entered.

    :param completion: `all`, or how many branches must be for it; `any` is 1, a majority more than half of all branches
    :param veto: the answers that end the review at once, against
    :param hidden: what others answered is not shown before the verdict
    :param then: the state that each verdict leads to
    :param events: what else happens with a verdict
    """

    branches: Mapping[str, Branch]
    answers: Mapping[str, AnswerOption]
    completion: Literal["all"] | int
    then: Mapping[Verdict, str]
    veto: frozenset[str] = frozenset()
    hidden: bool = False
    events: Mapping[Verdict, tuple[dict[str, str], ...]] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        """Every state that a verdict can lead to, the good end first."""
        return tuple(dict.fromkeys((self.then[FOR], self.then[AGAINST])))


@dataclass(frozen=True, slots=True)
class AnswerOffer:
    code: str
    label: Text
    comment_required: bool


@dataclass(frozen=True, slots=True)
class Person:
    public_id: UUID
    display_name: str


@dataclass(frozen=True, slots=True)
class BranchAssignees:
    """
    Whom a branch asks, in words.

    :param display_name: of the person; of a role, a team or a discipline what it is called by
    """

    kind: Kind
    name: str
    display_name: str


@dataclass(frozen=True, slots=True)
class BranchView:
    """
    One branch as one caller sees it; what was answered is None while it is hidden from them, and before there is any.

    :param status: `PENDING`, `ANSWERED`, or `SKIPPED` when the review ended, or went on, without it
    :param choices: what the caller may answer; empty unless they may
    :param in_own_right: whether they may answer without standing in for anybody
    :param in_place_of: in whose place they may answer
    :param attachments: whether files may come with an answer
    :param nobody: it waits, and there is nobody who may see the document and answer
    """

    public_id: UUID
    name: str
    label: Text
    assignee: BranchAssignees
    status: str
    version_no: int
    may_answer: bool
    choices: tuple[AnswerOffer, ...] = ()
    answer: str | None = None
    answer_label: Text | None = None
    comment: str | None = None
    answered_by: Person | None = None
    on_behalf_of: Person | None = None
    in_own_right: bool = False
    in_place_of: tuple[Person, ...] = ()
    attachments: bool = True
    answered_at: datetime | None = None
    nobody: bool = False


def most(branches: int) -> int:
    """Return how many are more than half."""
    return branches // 2 + 1


def verdict(review: Review, answers: Mapping[str, str]) -> Verdict | None:
    """
    Return what a review has come to, as soon as no further answer can change it, or None.

    The order of the answers is no matter. A veto ends the review, against. While a veto can still be spoken nothing is
    for, however many are. `all` waits for every branch, and is for when somebody is for and nobody against: there,
    who is neither stands aside. With a number, who is neither is not among those who are for; a tie is no majority.

    :param answers: code of the answer by the name of the branch
    """
    if any(code in review.veto for code in answers.values()):
        return AGAINST
    counts = [review.answers[code].counts for code in answers.values()]
    left = len(review.branches) - len(counts)
    if review.completion == "all":
        if left:
            return None
        return FOR if "for" in counts and "against" not in counts else AGAINST
    if counts.count("for") + left < review.completion:
        return AGAINST
    return FOR if counts.count("for") >= review.completion and not (left and review.veto) else None
