"""Parallel reviews: branches answer independently, and a rule decides the result."""

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

# Names of review steps in the history. Names of actions cannot contain a colon.
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
    """Waiting, answered, or skipped because the review ended or continued without it."""

    PENDING = "PENDING"
    ANSWERED = "ANSWERED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True)
class Assignee:
    """:param name: user's public id, role name, team code or discipline code"""

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
    :param completion: `all`, or the number of branches that must be for it
    :param veto: answers that end the review at once, against
    :param hidden: answers are hidden until the result
    :param then: next state by result
    :param events: events by result
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
        return tuple(dict.fromkeys((self.then[FOR], self.then[AGAINST])))


class ResponseOut(Schema):
    """A response code such as `1A`. Without a code, the usual one is used."""

    code: str = Field(examples=["1A"])
    label: Text | None
    comment_required: bool
    usual: bool = False


class BranchAssigneeOut(Schema):
    """The assignee of a branch: a user by public id, a role by name, a team or discipline by code."""

    kind: Kind = Field(examples=["discipline"])
    name: str = Field(examples=["STR"])
    display_name: str = Field(description="Of a person the name; else the same as `name`.", examples=["STR"])


class BranchOut(Schema):
    """A branch of a parallel review. While answers are hidden, `answer` and its fields are null for others' branches."""

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
    return branches // 2 + 1


def verdict(review: Review, answers: Mapping[str, str]) -> Verdict | None:
    """
    Return the result of a review, or None while further answers can change it.

    A veto decides against; while one is still possible, nothing is for. `all` waits for every branch and needs a
    `for` and no `against`; neutral answers do not count. A number counts only answers that are `for`.
    :param answers: code by branch name
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
