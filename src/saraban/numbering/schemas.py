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

    document_number: str
    sequence: int
    year: int
    template: str
    format_source: Literal["specific", "default", "fallback"]


Reason = Annotated[str, Line(500, shortest=5)]


class FormatIn(Schema):
    """The format of a project for one type, or its default."""

    project_public_id: UUID
    correspondence_type_code: Code | None = Field(None, description="Null: the project's default.")
    template: Annotated[str, Field(min_length=1, max_length=255)] = Field(examples=["{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}"])
    description: Annotated[str, Line(1000, shortest=0)] | None = None
    reset_sequence_yearly: bool | None = Field(
        None, strict=True, description="Left out: true where the template prints a year, a month or a fiscal year."
    )
    overflow: Literal["widen", "refuse"] = "widen"
    reason: Reason | None = Field(
        None, description="Required where a format is there already; kept in its history.", examples=["ตามหนังสือที่ปรึกษา"]
    )


class FormatChange(Schema):
    """A change of one format; what is left out stays."""

    template: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    description: Annotated[str, Line(1000, shortest=0)] | None = None
    reset_sequence_yearly: bool | None = Field(None, strict=True)
    overflow: Literal["widen", "refuse"] | None = None
    reason: Reason = Field(description="Kept in the format's history.", examples=["ตามหนังสือที่ปรึกษา"])


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


class FormatTextIn(Schema):
    """A template as somebody is typing it: anything goes."""

    template: Annotated[str, Field(max_length=1000)] = Field(examples=["{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}"])
    drawing: bool = Field(default=False, description="Whether it is a drawing format.", strict=True)


class PieceOut(Schema):
    """A stretch of the template, for highlighting; places count characters from 0."""

    start: int = Field(examples=[0])
    end: int = Field(description="After the last character.", examples=[12])
    kind: Literal["literal", "token", "fault"]
    text: str = Field(examples=["{ORIGINATOR}"])
    token: str | None = Field(None, examples=["ORIGINATOR"])
    meaning: str | None = Field(None, description="In the language asked for.")
    sample: str | None = Field(None, examples=["คคง."])
    fault: str | None = Field(None, description="What is wrong here, in the language asked for.")


class AnatomyOut(Schema):
    """A template taken apart."""

    template: str = Field(description="As it is read, one spelling for each character; places refer to it.")
    valid: bool
    pieces: list[PieceOut]
    faults: list[str]
    prints_period: bool = Field(description="Whether it prints a year, a month or a fiscal year.")


class FormatPreviewIn(Schema):
    """A format as it shall be."""

    project_public_id: UUID
    correspondence_type_code: Code | None = Field(None, description="Null: the project's default.")
    template: Annotated[str, Field(min_length=1, max_length=255)] = Field(examples=["{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}"])
    reset_sequence_yearly: bool | None = Field(None, strict=True)
    overflow: Literal["widen", "refuse"] = "widen"


class FormatExampleOut(Schema):
    """The next numbers of one pair of parties, now and with the new format."""

    before: list[str]
    after: list[str]
    series: str
    last_number: int = Field(description="Where the series of the new format stands.", examples=[0])
    stepped_over: int = Field(description="Numbers that are taken already.", examples=[0])
    refusal: str | None = Field(None, description="Why the new format could print none.")


class FormatPreviewOut(Schema):
    """What saving the format would do."""

    template: str
    reset_sequence_yearly: bool
    examples: list[FormatExampleOut]
    warnings: list[FormatWarning]


class FormatVersionOut(Schema):
    """What a format was from one change on."""

    version: int = Field(examples=[2])
    template: str
    reset_sequence_yearly: bool
    overflow: str
    reason: str | None
    username: str | None = Field(description="Null for what stood there before changes were recorded.")
    at: datetime


class FormatHistoryOut(Schema):
    items: list[FormatVersionOut]


class FormatsOut(Schema):
    items: list[FormatOut]
    next_cursor: str | None


class ReservationOut(NumberOut):
    """A number that is kept for the caller until it expires."""

    reservation_token: UUID = Field(description="Confirm it, cancel it, or give it to a document that is created.")
    expires_at: datetime


class TokenIn(Schema):
    reservation_token: UUID = Field(examples=[EXAMPLE_ID])


class CancelReservationIn(TokenIn):
    reason: Reason = Field("No longer needed.", examples=["ไม่ใช้แล้ว"])


class LifeOut(NumberOut):
    """A number after a step of its life."""

    status: Literal["RESERVED", "CONFIRMED", "CANCELLED", "EXPIRED", "VOID"]


class VoidIn(Schema):
    public_id: UUID = Field(examples=[EXAMPLE_ID], description="`publicId` of the number.")
    reason: Reason = Field(examples=["ออกผิดผู้รับ"])


class VoidAndReplaceIn(VoidIn):
    replacement: GenerateIn


class ReplacementOut(Schema):
    """The number that took the other's place; the two are linked in the ledger."""

    voided_public_id: UUID
    replacement: NumberOut


class OverrideIn(GenerateIn):
    """A number that is stated, by itself or by its sequence, instead of drawn."""

    document_number: Annotated[str, Line(255)] | None = Field(None, examples=["คคง.-สคฉ.3-0042-2569"])
    sequence: int | None = Field(None, strict=True, ge=1, le=999_999_999, examples=[42])
    reason: Reason = Field(examples=["เลขที่เดิมจากทะเบียนกระดาษ"])
    move_counter: bool = Field(default=False, strict=True, description="Have the series go on after this number.")
    confirmed_jump: int | None = Field(
        None, strict=True, ge=0, le=999_999_999, description="With `moveCounter`: the `jump` that the preview showed."
    )


class OverrideEffectOut(Schema):
    """What an override would do; nothing was done."""

    document_number: str
    sequence: int
    series: str
    counter: int = Field(description="Where the series stands.")
    jump: int = Field(description="By how much the counter would move with `moveCounter`.")
    taken: bool


class ResetIn(Schema):
    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    series: Annotated[str, Line(255)] = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    last_number: int = Field(
        0, strict=True, ge=0, le=999_999_999, description="The next number is looked for after it."
    )
    reason: Annotated[str, Line(500, shortest=20)] = Field(examples=["ลบเลขที่ทดสอบก่อนเริ่มใช้งานจริงของโครงการ"])


class ResetOut(Schema):
    series: str
    last_number_before: int
    last_number: int


class RangeIn(GenerateIn):
    """A stretch of the series that such a document would count in."""

    kind: Literal["KEPT", "BARRED"]
    first_number: int = Field(strict=True, ge=1, le=999_999_999, examples=[100])
    last_number: int = Field(strict=True, ge=1, le=999_999_999, examples=[199])
    organization_public_id: UUID | None = Field(None, description="Who alone may draw from a kept range.")
    reason: Reason = Field(examples=["กันไว้ให้ผู้รับเหมาช่วง"])


class RangeOut(Schema):
    public_id: UUID
    series: str
    kind: Literal["KEPT", "BARRED"]
    first_number: int
    last_number: int
    organization_public_id: UUID | None
    last_issued: int | None = Field(description="The last number drawn from a kept range.")
    reason: str
    created_at: datetime
    released_at: datetime | None


class RangesOut(Schema):
    items: list[RangeOut]
    next_cursor: str | None


class ReleaseIn(Schema):
    reason: Reason = Field(examples=["ผู้รับเหมาช่วงส่งงานครบแล้ว"])


class ReleasedOut(Schema):
    public_id: UUID
    released_at: datetime


class FoundOut(Schema):
    """What a printed number became."""

    public_id: UUID
    asked_number: str
    asked_status: Literal["RESERVED", "CONFIRMED", "CANCELLED", "EXPIRED", "VOID"]
    document_number: str = Field(description="The number in its place now.")
    status: Literal["RESERVED", "CONFIRMED", "CANCELLED", "EXPIRED", "VOID"]
    document_kind: str | None
    document_public_id: UUID | None


class SeriesOut(Schema):
    """A visible series and where its counter stands."""

    series: str = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    document_type: str | None = Field(description="Of the document that counted in it first.", examples=["LETTER"])
    year: int = Field(description="A.D., of the first number.", examples=[2026])
    last_number: int = Field(description="The last sequence given.", examples=[42])
    ranges: int = Field(description="Ranges it steps over now.", examples=[0])
    updated_at: datetime


class SeriesListOut(Schema):
    items: list[SeriesOut]
    next_cursor: str | None


class AccountLineOut(Schema):
    """One number, or one stretch that has none, with what became of it."""

    first: int = Field(examples=[1])
    last: int = Field(description="The same as `first` for a number.", examples=[1])
    state: str = Field(
        description="RESERVED, CONFIRMED, CANCELLED, EXPIRED, VOID; of a stretch without numbers: SKIPPED, BARRED, KEPT, "
        "BEFORE_LEDGER, UNEXPLAINED.",
        examples=["CONFIRMED"],
    )
    public_id: UUID | None = None
    document_number: str | None = None
    source: str | None = Field(None, description="DRAW, OVERRIDE, IMPORT, MIGRATED.", examples=["DRAW"])
    from_range: bool = Field(default=False, description="Drawn from a kept range.")
    holder_kind: str | None = Field(None, examples=["correspondence"])
    holder_public_id: UUID | None = None
    reason: str | None = None
    username: str | None = Field(None, description="Who drew the number, or decided on the stretch.")
    at: datetime | None = Field(None, description="When it was drawn or decided.")
    changed_at: datetime | None = Field(None, description="When it was cancelled or made void.")
    replaces: str | None = Field(None, description="The number in whose place it was drawn.")
    replaced_by: str | None = Field(None, description="The number that took its place.")


class AccountOut(Schema):
    """A page of the account of a series."""

    series: str
    last_number: int
    items: list[AccountLineOut]
    next_cursor: str | None
