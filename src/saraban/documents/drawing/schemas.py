"""Request and response schemas of drawings."""

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
    reason: Prose | None = Field(None, description="Reason for the revision.")
    status_code: SuitabilityCode | None = Field(
        None, description="Suitability code: S0–S7, D1–D4, A0–A9, B0–B9, CR or AB.", examples=["S2"]
    )
    legacy_number: Annotated[str, SingleLine(100)] | None = Field(None, description="The number on an older sheet.")
    attachment_public_ids: Ids = Field(
        default_factory=list,
        description="Uploaded files; the first becomes the main file if the revision has none.",
    )


class NewDrawingRevision(_RevisionTexts):
    """
    A revision of a drawing. A later revision takes an omitted title, English title or status code from the current revision; null
    clears the English title or the status code.
    """

    label: RevisionLabel | None = Field(
        None, description="If omitted, the next label of the register's revision scheme.", examples=["1"]
    )
    derived_from_public_ids: Annotated[list[UUID], Field(max_length=100)] = Field(
        default_factory=list,
        description="For a shop drawing: the contract drawings that it derives from. For an as-built drawing: the revisions of "
        "shop drawings that it records.",
    )


class RevisionCorrections(_RevisionTexts):
    """
    Corrections of a revision. An omitted field keeps its value; null clears it. Files are added to the existing files. The label and
    the references to other drawings cannot be changed.
    """


class _Sheet(Schema):
    category_code: MasterCode | None = Field(None, examples=["HW"])
    sub_category_code: MasterCode | None = Field(None, examples=["ST"])
    volume_code: MasterCode | None = Field(None, description="Contract drawings only.", examples=["VOL-1"])
    volume_page: VolumePage | None = Field(None, description="Contract drawings only.", examples=[12])
    discipline_code: MasterCode | None = Field(None, examples=["TER"])
    scale: Annotated[str, SingleLine(50)] | None = Field(None, examples=["1:100"])
    sheet_size: Annotated[str, SingleLine(20)] | None = Field(None, examples=["A1"])
    zone: Annotated[str, SingleLine(100)] | None = Field(None, examples=["Zone 2"])
    tags: Annotated[list[MasterCode], Field(max_length=50)] | None = Field(
        None, description="Codes of all tags of the drawing.", examples=[None]
    )


class NewDrawing(_Sheet):
    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    contract_public_id: UUID | None = Field(
        None,
        description="The parties of the contract see the drawing; without contract and originator, the whole project does.",
    )
    originator_organization_public_id: UUID | None = Field(
        None, description="The organization that drew it.", examples=[EXAMPLE_ID]
    )
    drawing_number: DrawingNumber | None = Field(
        None,
        description="As printed on the sheet. If omitted, the next number of the project's format for drawings.",
        examples=["LP3-HW-ST-001"],
    )
    title: DrawingTitle = Field(examples=["แปลนฐานราก อาคาร HW"])
    title_en: DrawingTitle | None = Field(None, examples=["Foundation plan, building HW"])
    revision: NewDrawingRevision = Field(default_factory=NewDrawingRevision)
    reservation_token: UUID | None = Field(
        None, description="Token of a number reserved in this register, instead of `drawingNumber`."
    )


class DrawingChanges(_Sheet):
    """
    Changes of a drawing's classification. An omitted field keeps its value; null clears it. The number and the revisions cannot be
    changed.
    """


class DrawingQuery(Schema):
    model_config = ConfigDict(extra="ignore", frozen=True)

    project: UUID = Field(alias="projectPublicId", examples=[EXAMPLE_ID])
    text: Annotated[str, SingleLine(200)] | None = Field(
        None,
        alias="q",
        description='Words in any order, `"phrases"`, `-exclusions`; searches numbers, titles, texts, parties and files.',
    )
    discipline: str | None = Field(None, max_length=50, description="Code of the discipline.")
    category: str | None = Field(None, max_length=50, description="Code of the category.")
    sub_category: str | None = Field(None, max_length=50, description="Code of the sub category.")
    volume: str | None = Field(None, max_length=50, description="Code of the volume; contract drawings only.")
    tag: str | None = Field(None, max_length=50, description="Code of a tag that the drawing has.")
    contract: UUID | None = Field(None, alias="contractPublicId")
    originator: UUID | None = Field(None, alias="originatorOrganizationPublicId")
    as_of: Day | None = Field(
        None, description="The register at the end of this day; now if omitted.", examples=["2026-02-28"]
    )
    limit: int = Field(20, ge=1, le=MAX_PAGE, description="Rows per page.")
    cursor: str | None = Field(None, max_length=600, description="`nextCursor` of the previous page.")


class CurrentSetQuery(DrawingQuery):
    kind: KindName


class DrawingRevisionAnswer(Schema):
    public_id: UUID
    revision_label: str | None = Field(examples=["1"])
    revision_number: int = Field(description="Position in the history, from 0.", examples=[1])
    is_current: bool
    revision_date: date | None
    title: str = Field(examples=["แปลนฐานราก อาคาร HW"])
    title_en: str | None
    status_code: str | None = Field(examples=["S2"])
    response_code: CodeAnswer | None = Field(
        description="Response code of its latest RFA or of its workflow; null in a register as of a past day."
    )
    current_from: datetime
    current_until: datetime | None = Field(description="Null while the revision is current.")


class DrawingFileAnswer(DocumentFileAnswer):
    file_type: str | None = Field(description="`PDF`, `DWG`, `SOURCE` or `OTHER`.", examples=["PDF"])


CarriedRevisions = Annotated[
    list[UUID], Field(max_length=500, description="Public ids of revisions of drawings, each at most once.")
]


class CarriedDrawingAnswer(Schema):
    """A drawing revision carried by a document: its present texts, or the texts with which the document was sent."""

    kind: KindName
    drawing_public_id: UUID
    revision_public_id: UUID
    drawing_number: str = Field(examples=["LP3-HW-ST-001"])
    revision_label: str | None = Field(examples=["1"])
    title: str
    title_en: str | None
    is_superseded: bool = Field(description="A newer revision is current.")
    attachments: list[DrawingFileAnswer]


class DrawingReferenceAnswer(Schema):
    """Another drawing at the referenced revision; for a contract drawing, the current revision."""

    kind: KindName
    public_id: UUID
    revision_public_id: UUID
    drawing_number: str = Field(examples=["LP3-HW-ST-001"])
    revision_label: str | None
    is_current: bool
    superseded_by: str | None = Field(
        description="Label of the current revision, if the referenced revision is not current.", examples=[None]
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
        description="Workflow of the revision, if the project approves the register by workflow; null if it approves by RFA."
    )


class TagAnswer(CodeAnswer):
    color: str = Field(examples=["red"])


class DrawingSummary(Schema):
    """A drawing at its current revision, or at the revision that was current on the requested day."""

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
    next_labels: list[str] = Field(description="Labels allowed for the next revision.", examples=[["2"]])
    can_change: bool
    can_revise: bool
    can_start_approval: bool = Field(description="The current revision has no workflow yet and can start one.")
    revisions: list[FullRevisionAnswer] = Field(description="Newest first.")


DrawingEnvelope = WorkflowEnvelope[DrawingAnswer]


class DrawingSheetLine(Schema):
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
    contract: str | None = Field(None, max_length=50, description="Contract code for rows without one.")
    originator: str | None = Field(None, max_length=50, description="Originator code for rows without one.")


class MissingLists(Schema):
    """Codes of the file that the project does not have; `createMissing` creates them."""

    volumes: list[str]
    categories: list[str]
    sub_categories: list[str]
    pairs: list[list[str]] = Field(
        description="Category and sub category that are not a pair of the project yet.", examples=[[["ST", "ST-PILE"]]]
    )


class DrawingImportReport(ImportReport):
    """Result of the dry run and, after the import, of the import; counts of rows."""

    waiting: int = Field(description="Rows that need codes that the project does not have.", examples=[3])
    missing: MissingLists


class DrawingImportAnswer(ImportStatusOut):
    """Status of an import."""

    kind: KindName
    report: DrawingImportReport | None = Field(None, description="Null until the dry run is done.")
    problem: ImportProblemOut | None = Field(None, description="Reason of the state FAILED.")


class DrawingImportCommit(Schema):
    create_missing: bool = Field(
        default=False,
        strict=True,
        description="Create the codes that the project does not have; each code becomes its name.",
    )
