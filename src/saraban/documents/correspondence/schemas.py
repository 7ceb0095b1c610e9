"""Letters, memos, RFIs and the other general types, in and out."""

from typing import Literal

from pydantic import Field

from saraban.documents.core.schemas import DocumentSummary, NewDocument
from saraban.kit.schema import Schema
from saraban.workflow.runtime.schemas import WorkflowItem

GeneralType = Literal["LETTER", "MEMO", "RFI", "EMAIL", "INSTRUCTION", "MOM", "NOTICE", "OTHER"]


class NewCorrespondence(NewDocument):
    correspondence_type_code: GeneralType = Field(examples=["LETTER"])


class CorrespondencePage(Schema):
    items: list[WorkflowItem[DocumentSummary]]
    next_cursor: str | None
