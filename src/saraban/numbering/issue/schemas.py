"""JSON shapes of issuing."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AliasChoices, Field

from saraban.kit.schema import Day, Schema, SingleLine
from saraban.numbering.issue.domain import LONGEST_REASON, SHORTEST_REASON, SHORTEST_RESET_REASON
from saraban.numbering.series.domain.counter import LARGEST_STATED
from saraban.numbering.series.domain.states import FormatSource, NumberState, RangeKind
from saraban.numbering.series.domain.template import FormatReason

Code = Annotated[str, SingleLine(50)]
Reason = Annotated[str, SingleLine(LONGEST_REASON, shortest=SHORTEST_REASON)]
EXAMPLE_ID = "019505a1-7c3e-7000-8000-abc123def456"
ErrorType = Literal[
    "LOCK_TIMEOUT", "VERSION_CONFLICT", "DB_ERROR", "REDIS_ERROR", "VALIDATION_ERROR", "SEQUENCE_EXHAUSTED"
]


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


class GenerateIn(Schema):
    """A request for one number, for no document yet."""

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
    category_code: Code | None = Field(
        None, description="Of drawings only: a category of the register, or DRW, CDW, SDW, ADW."
    )
    drawing_register: Literal["contract", "shop", "asbuilt"] | None = Field(
        None,
        alias="register",
        description="Of drawings only: the register that the number counts in, `shop` when left out.",
    )
    year: int | None = Field(
        None,
        strict=True,
        ge=1,
        le=9999,
        description="Either era; another year than the current one needs a permission and a reason.",
    )
    year_reason: Annotated[str, SingleLine(500)] | None = Field(None, description="Why the number is of another year.")
    revision: Annotated[str, SingleLine(6)] | None = Field(
        None, description="The first one when left out: of a drawing that of its register's scheme, otherwise A."
    )
    range_public_id: UUID | None = Field(None, description="Issue from this reserved range instead of the main series.")


class NumberOut(Schema):
    """A number of the ledger."""

    public_id: UUID
    document_number: str = Field(
        validation_alias=AliasChoices("number", "documentNumber"), examples=["คคง.-สคฉ.3-0001-2569"]
    )
    sequence: int = Field(examples=[1])
    year: int = Field(description="A.D.", examples=[2026])
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])


class PreviewOut(Schema):
    """The number that would come next; nothing is consumed, and another request may get it first."""

    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    sequence: int
    year: int = Field(examples=[2026])
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])
    format_source: FormatSource = Field(examples=["specific"])
    number_format: NumberFormatOut


class ReservationOut(NumberOut):
    """A number that is kept for the caller until it expires."""

    reservation_token: UUID = Field(
        validation_alias=AliasChoices("public_id", "reservationToken"),
        description="Confirm it, cancel it, or give it to a document that is created.",
    )
    expires_at: datetime


class TokenIn(Schema):
    reservation_token: UUID = Field(examples=[EXAMPLE_ID])


class CancelReservationIn(TokenIn):
    reason: Reason = Field("No longer needed.", examples=["ไม่ใช้แล้ว"])


class NumberStateOut(NumberOut):
    """A number and its present state."""

    status: NumberState


class VoidIn(Schema):
    public_id: UUID = Field(examples=[EXAMPLE_ID], description="`publicId` of the number.")
    reason: Reason = Field(examples=["ออกผิดผู้รับ"])


class VoidAndReplaceIn(VoidIn):
    replacement: GenerateIn


class ReplacementOut(Schema):
    """The number that took the other's place; the two are linked in the ledger."""

    voided_public_id: UUID
    replacement: NumberOut


class ManualNumberIn(GenerateIn):
    """A number that is stated, by itself or by its sequence, instead of issued by its series."""

    document_number: Annotated[str, SingleLine(255)] | None = Field(None, examples=["คคง.-สคฉ.3-0042-2569"])
    sequence: int | None = Field(None, strict=True, ge=1, le=LARGEST_STATED, examples=[42])
    issued_on: Day | None = Field(
        None,
        description="Day on which the number was issued, today or before; the year, month and fiscal year that it prints "
        "are that day's. Not together with `year`.",
        examples=["2026-08-14"],
    )
    reason: Reason = Field(examples=["เลขที่เดิมจากทะเบียนกระดาษ"])
    move_counter: bool = Field(default=False, strict=True, description="Have the series go on after this number.")
    confirmed_jump: int | None = Field(
        None,
        strict=True,
        ge=0,
        le=LARGEST_STATED,
        description="With `moveCounter`: the `jump` that the preview showed.",
    )


class CoveringRangeOut(Schema):
    """The range that a stated number lies in."""

    public_id: UUID
    kind: RangeKind
    first_number: int = Field(validation_alias=AliasChoices("first", "firstNumber"))
    last_number: int = Field(validation_alias=AliasChoices("last", "lastNumber"))
    organization_public_id: UUID | None = Field(
        validation_alias=AliasChoices("organization", "organizationPublicId"),
        description="The only organization that may use it.",
    )
    refuses: bool = Field(description="The number cannot be stated: blocked, or reserved for another organization.")


class ManualNumberEffectOut(Schema):
    """What registering the number would do; nothing was done."""

    document_number: str = Field(
        validation_alias=AliasChoices("number", "documentNumber"), examples=["คคง.-สคฉ.3-0001-2569"]
    )
    sequence: int
    series: str
    counter: int = Field(description="The last number of the series.")
    jump: int = Field(description="By how much the counter would move with `moveCounter`.")
    taken: bool
    range: CoveringRangeOut | None = Field(
        validation_alias=AliasChoices("closed", "range"),
        description="The range that the number lies in; the series steps over it.",
    )


class ResetIn(Schema):
    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    series: Annotated[str, SingleLine(255)] = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    last_number: int = Field(
        0, strict=True, ge=0, le=LARGEST_STATED, description="The next number is looked for after it."
    )
    reason: Annotated[str, SingleLine(LONGEST_REASON, shortest=SHORTEST_RESET_REASON)] = Field(
        examples=["ลบเลขที่ทดสอบก่อนเริ่มใช้งานจริงของโครงการ"]
    )


class ResetOut(Schema):
    series: str
    last_number_before: int
    last_number: int


class NumberErrorOut(Schema):
    """A call that was refused, or that failed."""

    public_id: UUID
    error_type: ErrorType
    message: str | None = Field(examples=["Two formats can print the same number."])
    context: dict[str, Any] = Field(
        description="What is known of it: the request, the code, the series, the codes asked for."
    )
    username: str | None = Field(description="null: nobody had signed in.")
    address: str | None
    trace_id: str | None
    created_at: datetime
