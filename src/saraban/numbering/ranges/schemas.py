"""JSON shapes of ranges."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema
from saraban.numbering.issue.schemas import GenerateIn, Reason
from saraban.numbering.series.domain.counter import LARGEST_STATED, RangeDraft
from saraban.numbering.series.domain.states import RangeKind


class RangePreviewIn(GenerateIn):
    """A range of the series that such a document would count in."""

    kind: RangeKind
    first_number: int = Field(strict=True, ge=1, le=LARGEST_STATED, examples=[100])
    last_number: int = Field(strict=True, ge=1, le=LARGEST_STATED, examples=[199])
    organization_public_id: UUID | None = Field(None, description="Who alone may draw from a kept range.")

    @property
    def draft(self) -> RangeDraft:
        return RangeDraft(self.kind, self.first_number, self.last_number, self.organization_public_id)


class RangeIn(RangePreviewIn):
    reason: Reason = Field(examples=["กันไว้ให้ผู้รับเหมาช่วง"])
    confirmed_size: int | None = Field(
        None,
        strict=True,
        ge=1,
        le=LARGEST_STATED,
        description="The `size` that the preview showed; needed where it says `mustConfirm`.",
    )

    @property
    def draft(self) -> RangeDraft:
        return replace(super().draft, reason=self.reason, confirmed_size=self.confirmed_size)


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
    kind: RangeKind
    first_number: int
    last_number: int
    organization_public_id: UUID | None
    last_issued: int | None = Field(description="The last number drawn from a kept range.")
    reason: str = Field(examples=["ปรับตามข้อกำหนดของโครงการ"])
    created_at: datetime
    released_at: datetime | None


class ReleaseIn(Schema):
    reason: Reason = Field(examples=["ผู้รับเหมาช่วงส่งงานครบแล้ว"])


class ReleasedOut(Schema):
    public_id: UUID
    released_at: datetime
