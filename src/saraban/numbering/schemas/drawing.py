"""Drawing a number: what is asked for, what is given."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema, SingleLine
from saraban.numbering.schemas.shared import EXAMPLE_ID, Code, NumberFormatOut


class GenerateIn(Schema):
    """A request for one number, drawn for no document yet."""

    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    correspondence_type_code: Code = Field(examples=["LETTER"])
    originator_organization_public_id: UUID
    recipient_organization_public_id: UUID | None = Field(
        None, description="The main recipient, the first TO.", examples=[EXAMPLE_ID]
    )
    recipient_type: Literal["OWNER", "CONTRACTOR", "CONSULTANT", "OTHER"] | None = Field(
        None, description="Derived from the recipient; if stated it must agree."
    )
    contract_public_id: UUID | None = Field(
        None, description="Required where a code exists in several contracts of the project."
    )
    sub_type_code: Code | None = None
    rfa_type_code: Code | None = None
    discipline_code: Code | None = Field(None, examples=["TER"])
    category_code: Code | None = Field(None, description="Drawing formats only.")
    year: int | None = Field(
        None,
        strict=True,
        ge=1,
        le=9999,
        description="Either era; another year than the current one needs a permission and a reason.",
    )
    year_reason: Annotated[str, SingleLine(500)] | None = Field(
        None, description="Why a number of another year is drawn."
    )
    revision: Annotated[str, SingleLine(3)] | None = None
    range_public_id: UUID | None = Field(None, description="Draw from this kept range instead of the main series.")


class NumberOut(Schema):
    """A number that now stands in the ledger."""

    public_id: UUID
    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    sequence: int = Field(examples=[1])
    year: int = Field(description="A.D.", examples=[2026])
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])


class PreviewOut(Schema):
    """The number that would come next; nothing is consumed, and another request may draw it first."""

    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    sequence: int
    year: int = Field(examples=[2026])
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])
    format_source: Literal["specific", "default", "fallback"] = Field(examples=["specific"])
    number_format: NumberFormatOut
