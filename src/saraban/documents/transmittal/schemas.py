"""Transmittals, in and out."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.documents.core.schemas import DocumentAnswer, DocumentChanges, DocumentSummary, NewDocument
from saraban.kit.schema import Line, Schema
from saraban.workflow.schemas import WorkflowItem

Purpose = Literal["FOR_APPROVAL", "FOR_INFORMATION", "FOR_REVIEW", "OTHER"]


class Item(Schema):
    document_public_id: UUID
    quantity: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 1
    remarks: Annotated[str, Line(255)] | None = None


class NewTransmittal(NewDocument):
    purpose: Purpose = "FOR_INFORMATION"
    items: Annotated[list[Item], Field(min_length=1, max_length=100)]


class TransmittalChanges(DocumentChanges):
    """Its list can change until it is issued for the first time."""

    purpose: Purpose | None = None
    items: Annotated[list[Item], Field(min_length=1, max_length=100, description="All of them.")] | None = None


class ItemAnswer(Schema):
    """A document of the list: as it stands while the transmittal is a draft, as it stood once that is issued."""

    document_public_id: UUID
    document_number: str
    revision_label: str | None
    document_type: str
    subject: str
    quantity: int
    remarks: str | None


class TransmittalSummary(DocumentSummary):
    purpose: Purpose | None


class TransmittalAnswer(DocumentAnswer):
    purpose: Purpose | None
    items: list[ItemAnswer]


class TransmittalPage(Schema):
    items: list[WorkflowItem[TransmittalSummary]]
    next_cursor: str | None
