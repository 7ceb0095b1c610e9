"""Transmittals, in and out."""

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
    """With documents, drawings or both."""

    purpose: Purpose = "FOR_INFORMATION"
    items: Annotated[list[TransmittedItem], Field(max_length=100)] = Field(default_factory=list)
    drawing_revision_public_ids: CarriedRevisions = Field(default_factory=list)


class TransmittalChanges(DocumentChanges):
    """The list of a revision can change until that revision is issued for the first time."""

    purpose: Purpose | None = None
    items: Annotated[list[TransmittedItem], Field(max_length=100, description="All of them.")] | None = None
    drawing_revision_public_ids: CarriedRevisions | None = None


class ItemAnswer(Schema):
    """A document of a revision's list: as it stands while that is a draft, as it stood once that is issued."""

    document_public_id: UUID
    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    revision_label: str | None = Field(examples=["A"])
    document_type: str = Field(examples=["LETTER"])
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    quantity: int
    remarks: str | None
    status: CodeAnswer | None = Field(description="Of the document as it stands now; None for who may not see it.")


class TransmittalSummary(DocumentSummary):
    purpose: Purpose | None
    document_type: str = Field(examples=["TRANSMITTAL"])
    kind: str = Field(examples=["transmittal"])


class TransmittalAnswer(TransmittalSummary, DocumentAnswer):
    items: list[ItemAnswer]
    drawings: list[CarriedDrawingAnswer]


class TransmittalRevision(RevisionDetail):
    """One issue of a transmittal, with what it carried."""

    items: list[ItemAnswer]
    drawings: list[CarriedDrawingAnswer]
