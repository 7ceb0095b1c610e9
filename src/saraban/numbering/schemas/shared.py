"""What the shapes of `/document-numbering` share."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema, SingleLine
from saraban.numbering.domain.narrowing import FormatReason
from saraban.numbering.domain.reason import LONGEST, SHORTEST

Code = Annotated[str, SingleLine(50)]
Reason = Annotated[str, SingleLine(LONGEST, shortest=SHORTEST)]
EXAMPLE_ID = "019505a1-7c3e-7000-8000-abc123def456"


class NumberFormatOut(Schema):
    """Which format numbered a document, and why that one."""

    public_id: UUID | None = Field(description="Null for the system's fallback, and where it was not recorded.")
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])
    sub_type_code: str | None = Field(
        description="What the format is narrowed to; so with the next two.", examples=["MAT"]
    )
    rfa_type_code: str | None = Field(examples=[None])
    discipline_code: str | None = Field(examples=[None])
    reason: FormatReason = Field(examples=["NARROWED"])
    reason_th: str = Field(examples=["รูปแบบของประเภทย่อย MAT"])
    reason_en: str = Field(examples=["format of the sub type MAT"])
