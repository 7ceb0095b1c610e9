"""What somebody says when he answers for a branch of a parallel review."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Line, Paragraphs, Schema


class BranchAnswerIn(Schema):
    """One of the branch's `choices`; `clientVersionNo` is the `versionNo` of the branch that you saw."""

    answer: Annotated[str, Line(20)] = Field(examples=["approve"])
    comment: Annotated[str, Paragraphs(5000)] | None = Field(None, examples=["ดูหน้า 12"])
    attachment_public_ids: Annotated[list[UUID], Field(max_length=20)] = Field(default_factory=list)
    client_version_no: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = Field(None, examples=[1])
