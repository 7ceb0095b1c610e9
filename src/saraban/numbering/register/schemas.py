"""JSON shapes of the register: series, ledgers, what a printed number became."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from saraban.kit.json import Json
from saraban.kit.schema import PeriodQuery, Schema, SingleLine
from saraban.numbering.issue.schemas import NumberFormatOut
from saraban.numbering.series.domain.states import NumberState, OperationCode


class NumberResolutionOut(Schema):
    """What a printed number became."""

    public_id: UUID
    asked_number: str
    asked_status: NumberState
    document_number: str = Field(description="The number in its place now.", examples=["คคง.-สคฉ.3-0001-2569"])
    status: NumberState
    document_kind: str | None
    document_public_id: UUID | None
    number_format: NumberFormatOut = Field(description="Of the number in its place now.")


class FoundNumberOut(Schema):
    """A number that a search found."""

    public_id: UUID
    printed: str = Field(description="The form that was searched for.", examples=["คคง.-สคฉ.3-0001-2569"])
    document_number: str = Field(description="The number's present form.", examples=["คคง.-สคฉ.3-0001-2569"])
    status: NumberState
    current_number: str = Field(description="The number in its place now.", examples=["คคง.-สคฉ.3-0007-2569"])
    series: str = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    document_kind: str | None
    document_public_id: UUID | None


class SeriesOut(Schema):
    """A visible series and where its counter stands."""

    series: str = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    document_type: str | None = Field(description="Of the document that counted in it first.", examples=["LETTER"])
    year: int = Field(description="A.D., of the first number.", examples=[2026])
    last_number: int = Field(description="The last sequence given; 0 where nothing was drawn yet.", examples=[42])
    highest_number: int = Field(
        description="The highest sequence it has, imported numbers and those stated by hand included.",
        examples=[42],
    )
    ranges: int = Field(description="Ranges it steps over now.", examples=[0])
    updated_at: datetime


class LedgerLineOut(Schema):
    """One number, or one range that has none, with what became of it."""

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
    from_range: bool = Field(default=False, description="Drawn from a kept range.")
    holder_kind: str | None = Field(None, examples=["correspondence"])
    holder_public_id: UUID | None = None
    reason: str | None = Field(None, examples=["ปรับตามข้อกำหนดของโครงการ"])
    username: str | None = Field(None, description="Who drew the number, or decided on the range.")
    at: datetime | None = Field(None, description="When it was drawn or decided.")
    changed_at: datetime | None = Field(None, description="When it was cancelled or made void.")
    replaces: str | None = Field(None, description="The number in whose place it was drawn.")
    replaced_by: str | None = Field(None, description="The number that took its place.")


class SeriesLedgerOut(Schema):
    """A page of the account of a series."""

    series: str
    last_number: int
    items: list[LedgerLineOut]
    next_cursor: str | None


class NumberAuditQuery(PeriodQuery):
    """What is asked of the audit of a project's numbers; None asks for all."""

    operation: OperationCode | None = Field(None, description="Only these operations.")
    person: Annotated[str, SingleLine(100)] | None = Field(None, description="Who did it: `publicId` or user name.")
    number: Annotated[str, SingleLine(255)] | None = Field(
        None, description="What was done with the number that was ever printed so."
    )
    series: Annotated[str, SingleLine(255)] | None = Field(
        None, description="What was done in this series.", examples=["คคง.-สคฉ.3-{SEQ}-2569"]
    )


class NumberOperationOut(Schema):
    """
    One thing that was done with a number, or with a series.

    What an operation has no use for is null: a reset concerns no number, a void no lock.
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
    counter_key: Json = Field(description="The codes that it was counted by.")
    sequence: int | None = Field(description="Of what was skipped, or of a range, the first.", examples=[1])
    skipped_to: int | None = Field(description="Of what was skipped, or of a range, the last.")
    before: Json = Field(
        description="Of a reset the last number, of a revision or a void the number, of a format all of it."
    )
    after: Json
    reason: str | None
    address: str | None
    retry_count: int
    lock_wait_ms: int
    lock_path: str | None = Field(examples=["redis"])
