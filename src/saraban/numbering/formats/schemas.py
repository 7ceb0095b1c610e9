"""JSON shapes of formats."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema, SingleLine, WarningOut
from saraban.numbering.formats.domain import FormatDraft, FormatTarget
from saraban.numbering.issue.schemas import Code, Reason
from saraban.numbering.series.domain.states import OverflowRule
from saraban.numbering.series.domain.template import Narrowing


class FormatPreviewIn(Schema):
    """
    A format for a type of the project, for some of its documents, or the project's default.

    Of several matching formats, the one with most codes applies; for equal counts a sub type ranks before an RFA
    type, and that before a discipline. Then come the type's format, the project's default and the system's fallback.
    """

    project_public_id: UUID
    correspondence_type_code: Code | None = Field(None, description="Null: the project's default.")
    sub_type_code: Code | None = Field(None, description="Only documents of this sub type.", examples=["MAT"])
    rfa_type_code: Code | None = Field(None, description="Only RFAs of this type.", examples=["SDW"])
    discipline_code: Code | None = Field(None, description="Only documents of this discipline.", examples=["STR"])
    template: Annotated[str, Field(min_length=1, max_length=255)] = Field(examples=["{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}"])
    reset_sequence_yearly: bool | None = Field(
        None, strict=True, description="Default: true if the template prints a year, a month or a fiscal year."
    )
    overflow: OverflowRule = OverflowRule.WIDEN

    @property
    def target(self) -> FormatTarget:
        narrowing = Narrowing(self.sub_type_code or "", self.rfa_type_code or "", self.discipline_code or "")
        return FormatTarget(self.project_public_id, self.correspondence_type_code, narrowing)

    @property
    def draft(self) -> FormatDraft:
        return FormatDraft(template=self.template, resets=self.reset_sequence_yearly, overflow=self.overflow)


class FormatIn(FormatPreviewIn):
    description: Annotated[str, SingleLine(1000, shortest=0)] | None = None
    reason: Reason | None = Field(
        None, description="Required to replace an existing format; kept in its history.", examples=["ตามหนังสือที่ปรึกษา"]
    )

    @property
    def draft(self) -> FormatDraft:
        return replace(super().draft, description=self.description, reason=self.reason)


class FormatChange(Schema):
    """A change of one format; omitted fields stay."""

    template: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    description: Annotated[str, SingleLine(1000, shortest=0)] | None = None
    reset_sequence_yearly: bool | None = Field(None, strict=True)
    overflow: OverflowRule | None = None
    reason: Reason = Field(description="Kept in the format's history.", examples=["ตามหนังสือที่ปรึกษา"])


class FormatWarning(WarningOut):
    """Another format of the project that could print the same number."""

    config_public_id: UUID


class FormatOut(Schema):
    """A saved format."""

    public_id: UUID
    project_public_id: UUID
    project_code: str = Field(examples=["LCBP3-C2"])
    correspondence_type_code: str | None = Field(examples=["LETTER"])
    sub_type_code: str | None = Field(description="Null: whatever the document has; so with the next two.")
    rfa_type_code: str | None = Field(examples=["RPT"])
    discipline_code: str | None = Field(examples=["TER"])
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])
    description: str | None
    reset_sequence_yearly: bool
    overflow: str = Field(examples=["widen"])
    version: int
    created_at: datetime
    updated_at: datetime
    warnings: list[FormatWarning] = Field(default_factory=list)


class FormatTextIn(Schema):
    """A template during editing; it may be invalid."""

    template: Annotated[str, Field(max_length=1000)] = Field(examples=["{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}"])
    drawing: bool = Field(default=False, description="Whether it is a drawing format.", strict=True)


class TemplatePieceOut(Schema):
    """A piece of the template, for highlighting; positions count characters from 0."""

    start: int = Field(examples=[0])
    end: int = Field(description="After the last character.", examples=[12])
    kind: Literal["literal", "token", "fault"]
    text: str = Field(examples=["{ORIGINATOR}"])
    token: str | None = Field(None, examples=["ORIGINATOR"])
    meaning: str | None = Field(None, description="In the language asked for.")
    sample: str | None = Field(None, examples=["คคง."])
    fault: str | None = Field(None, description="What is wrong here, in the language asked for.")


class ParsedTemplateOut(Schema):
    """A parsed template."""

    template: str = Field(
        description="The normalized text that positions refer to.",
        examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"],
    )
    valid: bool
    pieces: list[TemplatePieceOut]
    faults: list[str]
    prints_period: bool = Field(description="Whether it prints a year, a month or a fiscal year.")


class FormatExampleOut(Schema):
    """The next numbers for one set of codes, with the current and with the new format."""

    before: list[str]
    after: list[str]
    series: str
    last_number: int = Field(description="Last number of the new format's series.", examples=[0])
    stepped_over: int = Field(description="Numbers skipped because they are taken.", examples=[0])
    refusal: str | None = Field(None, description="Why the new format cannot print a number.")


class FormatPreviewOut(Schema):
    """The effect of saving the format."""

    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])
    reset_sequence_yearly: bool
    examples: list[FormatExampleOut]
    warnings: list[FormatWarning]


class FormatVersionOut(Schema):
    """One version of a format."""

    version: int = Field(examples=[2])
    template: str = Field(examples=["{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"])
    reset_sequence_yearly: bool
    overflow: str = Field(examples=["widen"])
    reason: str | None = Field(examples=["ปรับตามข้อกำหนดของโครงการ"])
    username: str | None = Field(description="Null for a version older than the audit.")
    at: datetime
