"""Request and response schemas of RFAs."""

from datetime import date
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from saraban.documents.core.schemas import (
    CodeAnswer,
    DocumentAnswer,
    DocumentChanges,
    DocumentSummary,
    MasterCode,
    NewDocument,
    RevisionDetail,
)
from saraban.documents.drawing.schemas import DrawingFileAnswer
from saraban.kit.schema import Schema


class NewRfaItem(Schema):
    """An item: a revision of a shop or as-built drawing, or an issued document. Name one of the two."""

    drawing_revision_public_id: UUID | None = None
    document_public_id: UUID | None = None

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.drawing_revision_public_id is None) == (self.document_public_id is None):
            th = "ระบุฉบับของแบบ หรือเอกสาร อย่างใดอย่างหนึ่ง"
            raise PydanticCustomError("one_of", "Name a drawing revision or a document, one of the two.", {"th": th})
        return self

    @property
    def public_id(self) -> UUID:
        public_id = self.drawing_revision_public_id or self.document_public_id
        assert public_id is not None  # `_require_one` has checked it
        return public_id


NewRfaItems = Annotated[list[NewRfaItem], Field(max_length=500)]


class NewRfa(NewDocument):
    """A new RFA. Type and discipline are required: they select the reviewers, and the number prints them."""

    rfa_type_code: MasterCode = Field(examples=["RPT"])
    discipline_code: MasterCode = Field(examples=["TER"])
    items: NewRfaItems = Field(default_factory=list, description="The items to approve.")


class RfaChanges(DocumentChanges):
    """Changes of a draft. The items can change until the revision is issued for the first time."""

    items: NewRfaItems | None = Field(None, description="All items.")


class RfaItemAnswer(Schema):
    """An item of an RFA and its response code."""

    public_id: UUID = Field(description="Public id of the drawing revision or the document.")
    kind: Literal["shop", "asbuilt", "document"]
    drawing_public_id: UUID | None
    number: str = Field(examples=["LP3-HW-ST-001"])
    revision_label: str | None = Field(examples=["1"])
    title: str = Field(examples=["แปลนฐานราก อาคาร HW"])
    title_en: str | None
    is_superseded: bool = Field(description="A newer revision is current.", examples=[False])
    response_code: CodeAnswer | None = Field(examples=[{"code": "1A", "name": "Approved", "nameTh": "อนุมัติ"}])
    comment: str | None
    attachments: list[DrawingFileAnswer] = Field(description="The files of a drawing; empty for a document.")


class RfaTypeAnswer(Schema):
    code: str = Field(examples=["RPT"])
    name: str = Field(examples=["Report"])
    name_th: str = Field(examples=["รายงาน"])


class RfaSummary(DocumentSummary):
    rfa_type: RfaTypeAnswer
    approve_code: CodeAnswer | None
    document_number: str = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])
    document_type: str = Field(examples=["RFA"])
    kind: str = Field(examples=["rfa"])


class RfaAnswer(RfaSummary, DocumentAnswer):
    approved_date: date | None
    items: list[RfaItemAnswer]


class RfaRevisionDetail(RevisionDetail):
    """A revision of an RFA with its items."""

    items: list[RfaItemAnswer]


class RfaOfDrawing(Schema):
    """An RFA that carries a revision of a drawing."""

    revision_public_id: UUID
    rfa_public_id: UUID
    document_number: str = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])
    subject: str
    status: CodeAnswer
    response_code: CodeAnswer | None
