"""The life of a number: reservations, voids, overrides, resets, ranges."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Day, Schema, SingleLine
from saraban.numbering.domain.reason import LONGEST, SHORTEST_FOR_RESET
from saraban.numbering.domain.sequence import LARGEST_STATED
from saraban.numbering.schemas.drawing import GenerateIn, NumberOut
from saraban.numbering.schemas.shared import EXAMPLE_ID, Reason


class ReservationOut(NumberOut):
    """A number that is kept for the caller until it expires."""

    reservation_token: UUID = Field(description="Confirm it, cancel it, or give it to a document that is created.")
    expires_at: datetime


class TokenIn(Schema):
    reservation_token: UUID = Field(examples=[EXAMPLE_ID])


class CancelReservationIn(TokenIn):
    reason: Reason = Field("No longer needed.", examples=["ไม่ใช้แล้ว"])


class NumberStateOut(NumberOut):
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


class ManualNumberIn(GenerateIn):
    """A number that is stated, by itself or by its sequence, instead of drawn."""

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
    kind: Literal["KEPT", "BARRED"]
    first_number: int
    last_number: int
    organization_public_id: UUID | None = Field(description="Who alone may draw from it.")
    refuses: bool = Field(description="The number cannot be stated: barred, or kept for another organization.")


class ManualNumberEffectOut(Schema):
    """What an override would do; nothing was done."""

    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    sequence: int
    series: str
    counter: int = Field(description="Where the series stands.")
    jump: int = Field(description="By how much the counter would move with `moveCounter`.")
    taken: bool
    range: CoveringRangeOut | None = Field(description="The range that the number lies in; the series steps over it.")


class ResetIn(Schema):
    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    series: Annotated[str, SingleLine(255)] = Field(examples=["คคง.-สคฉ.3-{SEQ}-2569"])
    last_number: int = Field(
        0, strict=True, ge=0, le=LARGEST_STATED, description="The next number is looked for after it."
    )
    reason: Annotated[str, SingleLine(LONGEST, shortest=SHORTEST_FOR_RESET)] = Field(
        examples=["ลบเลขที่ทดสอบก่อนเริ่มใช้งานจริงของโครงการ"]
    )


class ResetOut(Schema):
    series: str
    last_number_before: int
    last_number: int


class RangePreviewIn(GenerateIn):
    """A stretch of the series that such a document would count in."""

    kind: Literal["KEPT", "BARRED"]
    first_number: int = Field(strict=True, ge=1, le=LARGEST_STATED, examples=[100])
    last_number: int = Field(strict=True, ge=1, le=LARGEST_STATED, examples=[199])
    organization_public_id: UUID | None = Field(None, description="Who alone may draw from a kept range.")


class RangeIn(RangePreviewIn):
    reason: Reason = Field(examples=["กันไว้ให้ผู้รับเหมาช่วง"])
    confirmed_size: int | None = Field(
        None,
        strict=True,
        ge=1,
        le=LARGEST_STATED,
        description="The `size` that the preview showed; needed where it says `mustConfirm`.",
    )


class RangeEffectOut(Schema):
    """What closing a range would do; nothing was done."""

    series: str
    counter: int = Field(description="Where the series stands.")
    next_number: str | None = Field(
        description="What the series would give next; null: its format refuses more digits."
    )
    size: int = Field(description="How many sequences would be closed.", examples=[100])
    must_confirm: bool = Field(
        description="More than 1,000, or more digits than the format prints: state the size as `confirmedSize`."
    )


class RangeOut(Schema):
    public_id: UUID
    series: str
    kind: Literal["KEPT", "BARRED"]
    first_number: int
    last_number: int
    organization_public_id: UUID | None
    last_issued: int | None = Field(description="The last number drawn from a kept range.")
    reason: str = Field(examples=["ปรับตามข้อกำหนดของโครงการ"])
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
