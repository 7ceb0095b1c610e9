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

from pydantic import Field

from saraban.identity.schemas import PersonRef
from saraban.kit.errors import Text
from saraban.kit.schema import Schema

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


class ResponseOut(Schema):
    """A response code, as `1A`; the usual one counts when none is sent."""

    code: str = Field(examples=["1A"])
    label: Text | None
    comment_required: bool
    usual: bool = False


class BranchAssigneeOut(Schema):
    """Whom a branch asks: a person by public id, a role by name, a review team or a discipline by code."""

    kind: Kind = Field(examples=["discipline"])
    name: str = Field(examples=["STR"])
    display_name: str = Field(description="Of a person the name; else the same as `name`.", examples=["STR"])


class BranchOut(Schema):
    """
    One branch of a parallel review. While others' answers are hidden from you, `answer` and what belongs to it are null.
    """

    public_id: UUID
    name: str = Field(examples=["structure"])
    label: Text
    assignee: BranchAssigneeOut
    status: BranchStatus
    version_no: int = Field(description="The branch's own: state it when you answer.")
    may_answer: bool
    nobody: bool = Field(
        description="It waits, and nobody who may see the document can answer for it.", examples=[False]
    )
    choices: list[ResponseOut] = Field(description="What you may answer; empty unless you may.")
    attachments: bool = Field(description="Whether files may come with an answer; not while answers are hidden.")
    answer: str | None = Field(examples=["approve"])
    answer_label: Text | None
    comment: str | None = Field(examples=["โปรดพิจารณา"])
    answered_by: PersonRef | None
    on_behalf_of: PersonRef | None
    in_own_right: bool = Field(description="Whether you may answer without standing in for anybody.")
    in_place_of: list[PersonRef] = Field(
        description="In whose place you may answer; name one as `onBehalfOf`.", examples=[[]]
    )
    answered_at: datetime | None


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
