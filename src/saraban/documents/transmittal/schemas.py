"""API schemas of transmittals."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.documents.core.schemas import (
    CodeAnswer,
    DocumentAnswer,
    DocumentChanges,
    DocumentSummary,
    NewDocument,
    RevisionDetail,
)
from saraban.documents.drawing.schemas import CarriedDrawingAnswer, CarriedRevisions
from saraban.kit.schema import Schema, SingleLine

Purpose = Literal["FOR_APPROVAL", "FOR_INFORMATION", "FOR_REVIEW", "OTHER"]


class TransmittedItem(Schema):
    document_public_id: UUID
    quantity: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 1
    remarks: Annotated[str, SingleLine(255)] | None = None


class NewTransmittal(NewDocument):
    """A transmittal contains documents, drawings or both."""

    purpose: Purpose = "FOR_INFORMATION"
    items: Annotated[list[TransmittedItem], Field(max_length=100)] = Field(default_factory=list)
    drawing_revision_public_ids: CarriedRevisions = Field(default_factory=list)


class TransmittalChanges(DocumentChanges):
    """The list of a revision can be changed until the revision is issued."""

    purpose: Purpose | None = None
    items: Annotated[list[TransmittedItem], Field(max_length=100, description="All of them.")] | None = None
    drawing_revision_public_ids: CarriedRevisions | None = None


class ItemAnswer(Schema):
    """A transmitted document: its current state in a draft, its state at issue afterwards."""

    document_public_id: UUID
    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    revision_label: str | None = Field(examples=["A"])
    document_type: str = Field(examples=["LETTER"])
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    quantity: int
    remarks: str | None
    status: CodeAnswer | None = Field(description="Current status of the document; null if you cannot see it.")


class TransmittalSummary(DocumentSummary):
    purpose: Purpose | None
    document_type: str = Field(examples=["TRANSMITTAL"])
    kind: str = Field(examples=["transmittal"])


class TransmittalAnswer(TransmittalSummary, DocumentAnswer):
    items: list[ItemAnswer]
    drawings: list[CarriedDrawingAnswer]


class TransmittalRevision(RevisionDetail):
    """One issue of a transmittal, with its list."""

    items: list[ItemAnswer]
    drawings: list[CarriedDrawingAnswer]
