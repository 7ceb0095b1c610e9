"""The branches of a parallel review as they are shown, and what somebody says when he answers for one."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import MultiLine, Schema, SingleLine
from saraban.workflow.language.review import BranchStatus
from saraban.workflow.runtime.schemas.labels import LabelOut, ResponseOut


class BranchAssigneeOut(Schema):
    """Whom a branch asks: a person by public id, a role by name, a review team or a discipline by code."""

    kind: Literal["user", "role", "team", "discipline"] = Field(examples=["discipline"])
    name: str = Field(examples=["STR"])
    display_name: str = Field(description="Of a person the name; else the same as `name`.", examples=["STR"])


class BranchPersonOut(Schema):
    public_id: UUID
    display_name: str = Field(examples=["ดวงใจ เอกสารครบ"])


class BranchOut(Schema):
    """
    One branch of a parallel review. While others' answers are hidden from you, `answer` and what belongs to it are null.
    """

    public_id: UUID
    name: str = Field(examples=["structure"])
    label: LabelOut
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
    answer_label: LabelOut | None
    comment: str | None = Field(examples=["โปรดพิจารณา"])
    answered_by: BranchPersonOut | None
    on_behalf_of: BranchPersonOut | None
    in_own_right: bool = Field(description="Whether you may answer without standing in for anybody.")
    in_place_of: list[BranchPersonOut] = Field(
        description="In whose place you may answer; name one as `onBehalfOf`.", examples=[[]]
    )
    answered_at: datetime | None


class BranchAnswerIn(Schema):
    """One of the branch's `choices`; `clientVersionNo` is the `versionNo` of the branch that you saw."""

    answer: Annotated[str, SingleLine(20)] = Field(examples=["approve"])
    comment: Annotated[str, MultiLine(5000)] | None = Field(None, examples=["ดูหน้า 12"])
    attachment_public_ids: Annotated[list[UUID], Field(max_length=20)] = Field(default_factory=list)
    client_version_no: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = Field(None, examples=[1])
    on_behalf_of: UUID | None = Field(
        None,
        description="In whose place you answer, who is away. Without it your own right comes first, then the one who "
        "has delegated this to you; where several have, it is needed.",
        examples=[None],
    )
