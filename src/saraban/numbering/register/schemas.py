"""JSON shapes of the register."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from saraban.kit.json import Json
from saraban.kit.schema import PeriodQuery, Schema, SingleLine
from saraban.numbering.issue.schemas import NumberFormatOut
from saraban.numbering.series.domain.states import NumberState, OperationCode


class NumberResolutionOut(Schema):
    """The current replacement of a number."""

    public_id: UUID
    asked_number: str
    asked_status: NumberState
    document_number: str = Field(description="The current replacement.", examples=["คคง.-สคฉ.3-0001-2569"])
    status: NumberState
    document_kind: str | None
    document_public_id: UUID | None
    number_format: NumberFormatOut = Field(description="Of the current replacement.")


class FoundNumberOut(Schema):
    """A number that a search found."""

    public_id: UUID
    printed: str = Field(description="The form that matched the search.", examples=["คคง.-สคฉ.3-0001-2569"])
    document_number: str = Field(description="The number's present form.", examples=["คคง.-สคฉ.3-0001-2569"])
    status: NumberState
    current_number: str = Field(description="The current replacement.", examples=["คคง.-สคฉ.3-0007-2569"])
    series: str = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    document_kind: str | None
    document_public_id: UUID | None


class SeriesOut(Schema):
    """A visible series and its counter."""

    series: str = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    document_type: str | None = Field(description="Of its first document.", examples=["LETTER"])
    year: int = Field(description="A.D., of the first number.", examples=[2026])
    last_number: int = Field(description="The last sequence issued; 0 if none was.", examples=[42])
    highest_number: int = Field(
        description="The highest sequence, including imported and manually registered numbers.",
        examples=[42],
    )
    ranges: int = Field(description="Ranges that it skips now.", examples=[0])
    updated_at: datetime


class LedgerLineOut(Schema):
    """One number, or a range of sequences without numbers and the reason."""

    first: int = Field(examples=[1])
    last: int = Field(description="The same as `first` for a number.", examples=[1])
    state: str = Field(
        description="RESERVED, CONFIRMED, CANCELLED, EXPIRED, VOID; of a range without numbers: SKIPPED, BARRED, KEPT, "
        "BEFORE_LEDGER, NOT_ISSUED, OTHER_ORGANIZATION, UNEXPLAINED.",
        examples=["CONFIRMED"],
    )
    public_id: UUID | None = None
    document_number: str | None = Field(None, examples=["คคง.-สคฉ.3-0001-2569"])
    source: str | None = Field(None, description="DRAW, OVERRIDE, IMPORT, MIGRATED.", examples=["DRAW"])
    from_range: bool = Field(default=False, description="Issued from a reserved range.")
    holder_kind: str | None = Field(None, examples=["correspondence"])
    holder_public_id: UUID | None = None
    reason: str | None = Field(None, examples=["ปรับตามข้อกำหนดของโครงการ"])
    username: str | None = Field(None, description="The user who issued the number, or created the gap.")
    at: datetime | None = Field(None, description="When it was issued, or the gap was created.")
    changed_at: datetime | None = Field(None, description="When it was cancelled or voided.")
    replaces: str | None = Field(None, description="The number that it replaces.")
    replaced_by: str | None = Field(None, description="The number that replaced it.")


class SeriesLedgerOut(Schema):
    """A page of the ledger of a series."""

    series: str
    last_number: int
    items: list[LedgerLineOut]
    next_cursor: str | None


class NumberAuditQuery(PeriodQuery):
    """Filters of the audit of a project's numbers; an omitted filter matches all."""

    operation: OperationCode | None = Field(None, description="Only these operations.")
    person: Annotated[str, SingleLine(100)] | None = Field(
        None, description="The acting user: `publicId` or user name."
    )
    number: Annotated[str, SingleLine(255)] | None = Field(
        None, description="Only operations on the number that ever had this printed form."
    )
    series: Annotated[str, SingleLine(255)] | None = Field(
        None, description="Only operations in this series.", examples=["คคง.-สคฉ.3-{SEQ}-2569"]
    )


class NumberOperationOut(Schema):
    """
    One operation on a number or on a series.

    Fields that do not apply are null: a reset has no number, a void no lock.
    """

    public_id: UUID
    created_at: datetime
    operation: OperationCode
    username: str = Field(examples=["dc.contractor"])
    display_name: str | None = Field(examples=["ดวงใจ เอกสารครบ"])
    number_public_id: UUID | None
    document_number: str | None = Field(description="As it was printed then.", examples=["คคง.-สคฉ.3-0001-2569"])
    document_type: str | None = Field(examples=["LETTER"])
    document_public_id: UUID | None
    series: str | None = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    template: str | None = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])
    counter_key: Json = Field(description="The codes of its counter.")
    sequence: int | None = Field(description="The first sequence of a skip or a range.", examples=[1])
    skipped_to: int | None = Field(description="The last sequence of a skip or a range.")
    before: Json = Field(
        description="The last number (reset), the number (revision, void), or the format (format change)."
    )
    after: Json
    reason: str | None
    address: str | None
    retry_count: int
    lock_wait_ms: int
    lock_path: str | None = Field(examples=["redis"])
