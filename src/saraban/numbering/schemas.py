"""The shapes of `/document-numbering`: what comes in, what goes out."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Line, Schema

Code = Annotated[str, Line(50)]
EXAMPLE_ID = "019505a1-7c3e-7000-8000-abc123def456"


class GenerateIn(Schema):
    """A request for one number, drawn for no document yet."""

    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    correspondence_type_code: Code = Field(examples=["LETTER"])
    originator_organization_public_id: UUID
    recipient_organization_public_id: UUID | None = Field(None, description="The main recipient, the first TO.")
    recipient_type: Literal["OWNER", "CONTRACTOR", "CONSULTANT", "OTHER"] | None = Field(
        None, description="Derived from the recipient; if stated it must agree."
    )
    contract_public_id: UUID | None = Field(
        None, description="Required where a code exists in several contracts of the project."
    )
    sub_type_code: Code | None = Field(None, examples=["GEN"])
    rfa_type_code: Code | None = Field(None, examples=["RPT"])
    discipline_code: Code | None = Field(None, examples=["TER"])
    category_code: Code | None = Field(None, description="Drawing formats only.", examples=["DRW"])
    year: int | None = Field(
        None,
        strict=True,
        ge=1,
        le=9999,
        description="Either era; another year than the current one needs a permission and a reason.",
    )
    year_reason: Annotated[str, Line(500)] | None = Field(None, description="Why a number of another year is drawn.")
    revision: Annotated[str, Line(3)] | None = Field(None, examples=["A"])


class NumberOut(Schema):
    """A number that now stands in the ledger."""

    public_id: UUID
    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    sequence: int = Field(examples=[1])
    year: int = Field(description="A.D.", examples=[2026])
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])


class PreviewOut(Schema):
    """The number that would come next; nothing is consumed, and another request may draw it first."""

    document_number: str
    sequence: int
    year: int
    template: str
    format_source: Literal["specific", "default", "fallback"]


class FormatIn(Schema):
    """The format of a project for one type, or its default."""

    project_public_id: UUID
    correspondence_type_code: Code | None = Field(None, description="Null: the project's default.")
    template: Annotated[str, Field(min_length=1, max_length=255)] = Field(examples=["{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}"])
    description: Annotated[str, Line(1000, shortest=0)] | None = None
    reset_sequence_yearly: bool | None = Field(
        None, strict=True, description="Left out: true where the template prints a year."
    )
    overflow: Literal["widen", "refuse"] = "widen"
    reason: Annotated[str, Line(500)] | None = Field(None, description="Kept in the audit trail.")


class FormatChange(Schema):
    """A change of one format; what is left out stays."""

    template: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    description: Annotated[str, Line(1000, shortest=0)] | None = None
    reset_sequence_yearly: bool | None = Field(None, strict=True)
    overflow: Literal["widen", "refuse"] | None = None
    reason: Annotated[str, Line(500)] | None = None


class FormatWarning(Schema):
    """Another format of the project that could print the same number."""

    code: Literal["FORMATS_CAN_MEET"]
    message: str
    config_public_id: UUID


class FormatOut(Schema):
    """A saved format."""

    public_id: UUID
    project_public_id: UUID
    project_code: str
    correspondence_type_code: str | None
    template: str
    description: str | None
    reset_sequence_yearly: bool
    overflow: str
    version: int
    created_at: datetime
    updated_at: datetime
    warnings: list[FormatWarning] = Field(default_factory=list)


class FormatsOut(Schema):
    items: list[FormatOut]
    next_cursor: str | None
