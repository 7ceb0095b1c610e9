"""Drawings and their revisions, in and out."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from saraban.documents.core.schemas import (
    EXAMPLE_ID,
    CodeAnswer,
    ContractAnswer,
    DocumentFileAnswer,
    Ids,
    MasterCode,
    OrganizationAnswer,
    ProjectAnswer,
    Prose,
)
from saraban.documents.drawing.domain import SUITABILITY, UNKNOWN_SUITABILITY
from saraban.imports.schemas import ImportProblemOut, ImportQuery, ImportReport, ImportStatusOut
from saraban.kit.pagination import MAX_PAGE
from saraban.kit.schema import CodeLine, Day, Schema, SingleLine
from saraban.kit.text import system_code
from saraban.workflow.runtime.schemas import WorkflowEnvelope, WorkflowOut

KindName = Literal["contract", "shop", "asbuilt"]
DrawingNumber = Annotated[str, CodeLine(100)]
DrawingTitle = Annotated[str, SingleLine(255)]
RevisionLabel = Annotated[str, CodeLine(10)]


def _known_suitability(code: str) -> str:
    if not SUITABILITY.fullmatch(code):
        raise PydanticCustomError("not_in_list", UNKNOWN_SUITABILITY.en, {"value": code, "th": UNKNOWN_SUITABILITY.th})
    return code


SuitabilityCode = Annotated[str, CodeLine(20), AfterValidator(system_code), AfterValidator(_known_suitability)]
VolumePage = Annotated[int, Field(ge=1, le=100_000, strict=True)]


class _RevisionTexts(Schema):
    date: Day | None = Field(None, description="The date on the drawing.", examples=["2026-03-02"])
    title: DrawingTitle | None = Field(None, examples=["แปลนฐานราก อาคาร HW"])
    title_en: DrawingTitle | None = Field(None, examples=["Foundation plan, building HW"])
    reason: Prose | None = Field(None, description="Why it was drawn anew.")
    status_code: SuitabilityCode | None = Field(
        None, description="Suitability code: S0–S7, D1–D4, A0–A9, B0–B9, CR or AB.", examples=["S2"]
    )
    legacy_number: Annotated[str, SingleLine(100)] | None = Field(None, description="The number on an older sheet.")
    attachment_public_ids: Ids = Field(
        default_factory=list, description="Uploaded files; the first is the main one of a revision that has none."
    )


class NewDrawingRevision(_RevisionTexts):
    """
    A revision of a drawing. Title, English title and status code that are left out of a later one are taken over from the current one;
    null empties the last two.
    """

    label: RevisionLabel | None = Field(
        None, description="The next one of the register's revision scheme when left out.", examples=["1"]
    )
    derived_from_public_ids: Annotated[list[UUID], Field(max_length=100)] = Field(
        default_factory=list,
        description="Of a shop drawing the contract drawings that it derives from, of an as-built drawing the revisions of shop "
        "drawings that it records.",
    )


class RevisionCorrections(_RevisionTexts):
    """
    What is put right on a revision: a field that is absent stays, and null empties it. Files are added to those that it has. The label
    and the links stay.
    """


class _Sheet(Schema):
    """What a drawing is classified and found by; every code is the project's own."""

    category_code: MasterCode | None = Field(None, examples=["HW"])
    sub_category_code: MasterCode | None = Field(None, examples=["ST"])
    volume_code: MasterCode | None = Field(None, description="Of contract drawings only.", examples=["VOL-1"])
    volume_page: VolumePage | None = Field(None, description="Of contract drawings only.", examples=[12])
    discipline_code: MasterCode | None = Field(None, examples=["TER"])
    scale: Annotated[str, SingleLine(50)] | None = Field(None, examples=["1:100"])
    sheet_size: Annotated[str, SingleLine(20)] | None = Field(None, examples=["A1"])
    zone: Annotated[str, SingleLine(100)] | None = Field(None, examples=["Zone 2"])
    tags: Annotated[list[MasterCode], Field(max_length=50)] | None = Field(
        None, description="All of them, by code.", examples=[None]
    )


class NewDrawing(_Sheet):
    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    contract_public_id: UUID | None = Field(
        None, description="Its parties are shown the drawing; without contract and originator the whole project is."
    )
    originator_organization_public_id: UUID | None = Field(None, description="Who drew it.", examples=[EXAMPLE_ID])
    drawing_number: DrawingNumber | None = Field(
        None,
        description="As it is printed on the sheet. When left out, the next number of the project's format for drawings.",
        examples=["LP3-HW-ST-001"],
    )
    title: DrawingTitle = Field(examples=["แปลนฐานราก อาคาร HW"])
    title_en: DrawingTitle | None = Field(None, examples=["Foundation plan, building HW"])
    revision: NewDrawingRevision = Field(default_factory=NewDrawingRevision)
    reservation_token: UUID | None = Field(
        None, description="Of a number reserved for it in this register, in place of `drawingNumber`."
    )


class DrawingChanges(_Sheet):
    """What is classified otherwise; a field that is absent stays, and null empties it. The number and the revisions stay."""


class DrawingQuery(Schema):
    """What is asked of a register of drawings; None asks for all."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    project: UUID = Field(alias="projectPublicId", examples=[EXAMPLE_ID])
    text: Annotated[str, SingleLine(200)] | None = Field(
        None,
        alias="q",
        description='Words in any order, `"phrases"`, `-exclusions`: inside numbers, titles, texts, parties and files.',
    )
    discipline: str | None = Field(None, max_length=50, description="Code of the discipline.")
    category: str | None = Field(None, max_length=50, description="Code of the category.")
    sub_category: str | None = Field(None, max_length=50, description="Code of the sub category.")
    volume: str | None = Field(None, max_length=50, description="Code of the volume, of contract drawings.")
    tag: str | None = Field(None, max_length=50, description="Code of a tag that the drawing has.")
    contract: UUID | None = Field(None, alias="contractPublicId")
    originator: UUID | None = Field(None, alias="originatorOrganizationPublicId")
    as_of: Day | None = Field(
        None, description="The register as it stood at the end of this day; now when left out.", examples=["2026-02-28"]
    )
    limit: int = Field(20, ge=1, le=MAX_PAGE, description="Rows of one page.")
    cursor: str | None = Field(None, max_length=600, description="`nextCursor` of the page before.")


class CurrentSetQuery(DrawingQuery):
    kind: KindName


class DrawingRevisionAnswer(Schema):
    public_id: UUID
    revision_label: str | None = Field(examples=["1"])
    revision_number: int = Field(description="Its place in the history, from 0.", examples=[1])
    is_current: bool
    revision_date: date | None
    title: str = Field(examples=["แปลนฐานราก อาคาร HW"])
    title_en: str | None
    status_code: str | None = Field(examples=["S2"])
    response_code: CodeAnswer | None = Field(
        description="What the latest RFA that carried it was answered with; none in a register as of a day that is over."
    )
    current_from: datetime
    current_until: datetime | None = Field(description="None while it is the current one.")


class DrawingFileAnswer(DocumentFileAnswer):
    file_type: str | None = Field(description="`PDF`, `DWG`, `SOURCE` or `OTHER`.", examples=["PDF"])


CarriedRevisions = Annotated[
    list[UUID], Field(max_length=500, description="Public ids of revisions of drawings, each at most once.")
]


class CarriedDrawingAnswer(Schema):
    """A revision of a drawing that a document carries: as it stands, or as it was written down when it went along."""

    kind: KindName
    drawing_public_id: UUID
    revision_public_id: UUID
    drawing_number: str = Field(examples=["LP3-HW-ST-001"])
    revision_label: str | None = Field(examples=["1"])
    title: str
    title_en: str | None
    is_superseded: bool = Field(description="A newer revision is current by now.")
    attachments: list[DrawingFileAnswer]


class DrawingReferenceAnswer(Schema):
    """Another drawing, at the revision that is referred to; of a contract drawing its current one."""

    kind: KindName
    public_id: UUID
    revision_public_id: UUID
    drawing_number: str = Field(examples=["LP3-HW-ST-001"])
    revision_label: str | None
    is_current: bool
    superseded_by: str | None = Field(
        description="Label of the revision that is current by now, of one that is not.", examples=[None]
    )
    title: str
    title_en: str | None


class DrawingRevisionDetail(DrawingRevisionAnswer):
    reason: str | None
    legacy_number: str | None
    created_at: datetime
    attachments: list[DrawingFileAnswer]
    derived_from: list[DrawingReferenceAnswer]
    recorded_by: list[DrawingReferenceAnswer] = Field(description="The drawings that refer to this one.")


class FullRevisionAnswer(DrawingRevisionDetail):
    workflow: WorkflowOut | None = Field(
        description="Its own, where the project has chosen that; null where RFAs carry it."
    )


class TagAnswer(CodeAnswer):
    color: str = Field(examples=["red"])


class DrawingSummary(Schema):
    """A drawing at one revision: the current one, or the one that was current on the day that was asked for."""

    public_id: UUID
    kind: KindName
    drawing_number: str = Field(examples=["LP3-HW-ST-001"])
    project: ProjectAnswer
    contract: ContractAnswer | None
    originator: OrganizationAnswer | None
    discipline: CodeAnswer | None
    category: CodeAnswer | None
    sub_category: CodeAnswer | None
    volume: CodeAnswer | None
    volume_page: int | None
    scale: str | None
    sheet_size: str | None
    zone: str | None
    tags: list[TagAnswer] = Field(examples=[[{"code": "URGENT", "name": "Urgent", "nameTh": "เร่งด่วน", "color": "red"}]])
    revision: DrawingRevisionAnswer


class DrawingAnswer(DrawingSummary):
    next_labels: list[str] = Field(description="What may be offered as the next revision.", examples=[["2"]])
    can_change: bool
    can_revise: bool
    can_start_approval: bool = Field(description="The current revision has no workflow yet, and is to have one.")
    revisions: list[FullRevisionAnswer] = Field(description="Newest first.")


DrawingEnvelope = WorkflowEnvelope[DrawingAnswer]


class DrawingSheetLine(Schema):
    """A line of an imported sheet: one revision of a drawing. Cells hold codes."""

    drawing_number: DrawingNumber
    title: DrawingTitle
    title_en: DrawingTitle | None = None
    revision: RevisionLabel | None = None
    revision_date: Day | None = None
    category: MasterCode | None = None
    sub_category: MasterCode | None = None
    volume: MasterCode | None = None
    page: Annotated[int, Field(ge=1, le=100_000)] | None = None
    contract: MasterCode | None = None
    originator: MasterCode | None = None
    discipline: MasterCode | None = None
    scale: Annotated[str, SingleLine(50)] | None = None
    sheet_size: Annotated[str, SingleLine(20)] | None = None
    zone: Annotated[str, SingleLine(100)] | None = None
    status_code: SuitabilityCode | None = None
    legacy_number: Annotated[str, SingleLine(100)] | None = None


class DrawingImportQuery(ImportQuery):
    """Into which project a file is imported."""

    contract: str | None = Field(None, max_length=50, description="Code of the contract of lines that state none.")
    originator: str | None = Field(None, max_length=50, description="Code of the originator of lines that state none.")


class MissingLists(Schema):
    """Codes of the file that the project does not have; `createMissing` makes them."""

    volumes: list[str]
    categories: list[str]
    sub_categories: list[str]
    pairs: list[list[str]] = Field(
        description="Category and sub category that do not go together yet.", examples=[[["ST", "ST-PILE"]]]
    )


class DrawingImportReport(ImportReport):
    """What the dry run found, and, when it is done, what the import did; counted in lines."""

    waiting: int = Field(description="Lines that need codes which the project does not have.", examples=[3])
    missing: MissingLists


class DrawingImportAnswer(ImportStatusOut):
    """How far an import is."""

    kind: KindName
    report: DrawingImportReport | None = Field(None, description="Null until the dry run is done.")
    problem: ImportProblemOut | None = Field(None, description="Why it FAILED.")


class DrawingImportCommit(Schema):
    create_missing: bool = Field(
        default=False,
        strict=True,
        description="Make the codes that the project does not have, with their code as name.",
    )
