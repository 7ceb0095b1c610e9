"""Request and response schemas that every kind of documents shares."""

from datetime import date, datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from saraban.attachments.domain import TextProblem
from saraban.identity.schemas import PersonRef
from saraban.kit.errors import Text
from saraban.kit.pagination import MAX_PAGE
from saraban.kit.schema import Day, MultiLine, PageOut, Schema, SingleLine
from saraban.kit.text import control_character
from saraban.numbering.issue.schemas import NumberFormatOut
from saraban.workflow.language.subject import HistoryFileOut
from saraban.workflow.runtime.schemas import ChangedValueOut, ItemResultIn, ReassignedOut, VersionsOut

T = TypeVar("T")
Priority = Literal["URGENT", "HIGH", "MEDIUM", "LOW"]
RecipientType = Literal["TO", "CC"]

EXAMPLE_ID = "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"
Subject = Annotated[str, SingleLine(500)]
Prose = Annotated[str, MultiLine(20_000)]
MasterCode = Annotated[str, SingleLine(50)]
Reason = Annotated[str, SingleLine(500, shortest=5)]
SenderNumber = Annotated[str, SingleLine(255)]
_SENDER = "The sender's number of an incoming document."
Ids = Annotated[list[UUID], Field(max_length=50)]


def _printable(text: str) -> str:
    if control_character(text) is not None:
        message = "There is a character that cannot be used."
        raise PydanticCustomError("control_character", message, {"th": "มีอักขระควบคุมที่ใช้ไม่ได้"})
    return text


class RegisterQuery(Schema):
    model_config = ConfigDict(extra="ignore", frozen=True)

    text: Annotated[str, AfterValidator(_printable)] | None = Field(
        None,
        alias="q",
        max_length=200,
        description='Words in any order, `"phrases"`, `-exclusions`; searches numbers, subjects, texts, parties and files.',
    )
    project: UUID | None = Field(None, alias="projectPublicId")
    status: str | None = Field(None, max_length=50, description="Workflow state.")
    type: str | None = Field(None, max_length=50, description="Code of the document type; for RFAs, of the RFA type.")
    discipline: str | None = Field(None, max_length=50, description="Code of the discipline.")
    party: UUID | None = Field(None, description="Organization that wrote or received the document.")
    person: UUID | None = Field(None, description="Author.")
    since: Day | None = Field(None, alias="from", description="Registered on this day or later.")
    until: Day | None = Field(None, description="Registered on this day or earlier.")
    due_from: Day | None = Field(None, description="Due on this day or later, finished or not.")
    due_until: Day | None = Field(None, description="Due on this day or earlier, finished or not.")
    overdue: bool = Field(default=False, description="Only unfinished documents that were due before today.")
    mine: bool = Field(default=False, description="Only documents that the caller wrote.")
    pending_with_me: bool = Field(
        default=False, description="Only documents pending with the caller or the caller's organizations."
    )
    sort: Literal["-created", "created", "-number", "number", "-date", "date", "-due", "due", "-status", "status"] = (
        Field("-created", description="`-` reverses the order; equal rows are ordered by creation.")
    )
    limit: int = Field(20, ge=1, le=MAX_PAGE, description="Rows per page.")
    cursor: str | None = Field(None, max_length=1_200, description="`nextCursor` of the previous page.")

    @property
    def about(self) -> UUID | None:
        """The document whose circulation sheets are requested."""
        return None


class Recipient(Schema):
    organization_public_id: UUID = Field(examples=[EXAMPLE_ID])
    recipient_type: RecipientType = Field(examples=["TO"])


class NewDocument(Schema):
    """A new document. The first TO is the main recipient (REQ-NUM-31)."""

    project_public_id: UUID = Field(examples=[EXAMPLE_ID])
    originator_organization_public_id: UUID | None = Field(
        None, description="The originating organization; the caller's if omitted.", examples=[EXAMPLE_ID]
    )
    recipients: Annotated[list[Recipient], Field(min_length=1, max_length=50)]
    subject: Subject = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    body: Prose | None = None
    description: Prose | None = None
    remarks: Prose | None = None
    document_date: Day | None = Field(None, description="Today if omitted.", examples=["2026-03-02"])
    sender_number: SenderNumber | None = Field(None, description=_SENDER, examples=["วก 0412/2569"])
    sender_date: Day | None = Field(
        None, description="The sender's date of an incoming document.", examples=["2026-02-27"]
    )
    received_date: Day | None = Field(
        None, description="The day of receipt, not before `senderDate`.", examples=["2026-03-01"]
    )
    due_date: Day | None = Field(None, description="In time until the end of this day.", examples=["2026-03-16"])
    priority: Priority = "MEDIUM"
    discipline_code: MasterCode | None = Field(None, examples=["TER"])
    contract_public_id: UUID | None = Field(
        None, description="Required if several contracts of the project use the code.", examples=[EXAMPLE_ID]
    )
    sub_type_code: MasterCode | None = Field(None, examples=["GEN"])
    reference_public_ids: Ids = Field(default_factory=list)
    attachment_public_ids: Ids = Field(default_factory=list)
    reservation_token: UUID | None = Field(
        None, description="Token of a reserved number; if omitted, the next number is issued."
    )


class DocumentChanges(Schema):
    """
    Changes of a draft. An omitted field keeps its value. Fields printed in the number are accepted only to be refused with a reason
    (REQ-NUM-32).
    """

    subject: Subject | None = Field(None, examples=["รายงานผลการทดสอบเสาเข็ม"])
    body: Prose | None = None
    description: Prose | None = None
    remarks: Prose | None = None
    document_date: Day | None = None
    sender_number: SenderNumber | None = None
    sender_date: Day | None = None
    received_date: Day | None = None
    due_date: Day | None = None
    priority: Priority | None = None
    add_attachment_public_ids: Ids = Field(default_factory=list)
    remove_attachment_public_ids: Ids = Field(default_factory=list)
    recipients: Annotated[list[Recipient], Field(min_length=1, max_length=50)] | None = Field(
        None, description="All recipients. The main recipient, the first TO, is part of the number and must stay."
    )
    reference_public_ids: Ids = Field(default_factory=list, description="All references; omitted ones are removed.")
    project_public_id: UUID | None = None
    originator_organization_public_id: UUID | None = None
    correspondence_type_code: MasterCode | None = None
    discipline_code: MasterCode | None = None
    contract_public_id: UUID | None = None
    sub_type_code: MasterCode | None = None
    rfa_type_code: MasterCode | None = None


class NewRevision(Schema):
    """The next revision of a document. An omitted subject or body is taken from the current revision."""

    subject: Subject | None = Field(None, examples=["รายงานผลการทดสอบเสาเข็ม"])
    body: Prose | None = None
    due_date: Day | None = None
    attachment_public_ids: Ids = Field(default_factory=list)


class Cancellation(Schema):
    reason: Reason = Field(examples=["ออกซ้ำกับฉบับก่อน"])


class ProjectAnswer(Schema):
    public_id: UUID
    project_code: str = Field(examples=["LCBP3-C2"])
    project_name: str = Field(examples=["ท่าเรือแหลมฉบัง ระยะที่ 3 ส่วนที่ 2"])


class ContractAnswer(Schema):
    public_id: UUID
    contract_code: str = Field(examples=["LCBP3-C2"])
    contract_name: str = Field(examples=["สัญญางานอาคารและท่าเทียบเรือ"])
    contract_name_en: str | None = None


class OrganizationAnswer(Schema):
    public_id: UUID
    organization_code: str = Field(examples=["คคง."])
    organization_name: str = Field(examples=["ที่ปรึกษาควบคุมงานก่อสร้าง"])
    organization_name_en: str | None = None


class RecipientAnswer(OrganizationAnswer):
    recipient_type: RecipientType = Field(examples=["TO"])


class CodeAnswer(Schema):
    code: str = Field(examples=["TER"])
    name: str | None = Field(
        None, description="English name, or the Thai name if there is no English one.", examples=["Terminal"]
    )
    name_th: str | None = Field(None, description="Thai name, if there is one.", examples=["ท่าเทียบเรือ"])


class RevisionAnswer(Schema):
    public_id: UUID
    revision_label: str = Field(examples=["A"])
    revision_number: int = Field(examples=[0])
    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    is_current: bool


class DocumentFileAnswer(Schema):
    public_id: UUID
    file_name: str = Field(examples=["รายการคำนวณโครงสร้าง.pdf"])
    mime_type: str = Field(examples=["application/pdf"])
    size: int = Field(examples=[184320])
    checksum: str | None = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    is_main: bool
    download_url: str = Field(examples=["/api/v1/attachments/01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10/content"])
    text_problem: TextProblem | None = Field(
        description="Why search does not find the text inside the file, or (`cut`, and for some pages `no_text`, `no_unicode`) "
        "finds only a part."
    )


class RegisteredDocument(Schema):
    """A row of any register."""

    public_id: UUID
    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    document_type: str = Field(examples=["LETTER"])
    kind: str = Field(examples=["correspondence"])
    project: ProjectAnswer
    originator: OrganizationAnswer
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    priority: Priority = Field(examples=["MEDIUM"])
    due_date: date | None
    is_overdue: bool
    status: CodeAnswer = Field(examples=[{"code": "DRAFT", "name": "Draft", "nameTh": "ฉบับร่าง"}])
    created_at: datetime
    created_by: PersonRef
    cancelled_at: datetime | None


class DocumentSummary(RegisteredDocument):
    """A row of a register."""

    contract: ContractAnswer | None
    recipients: list[RecipientAnswer]
    document_date: date | None = Field(examples=["2026-03-02"])
    discipline: CodeAnswer | None
    sub_type: CodeAnswer | None
    revision: RevisionAnswer


class RegisterPageOut(PageOut[T]):
    approximate_count: int = Field(
        description="Documents on all pages: exact up to 10,000; 10,001 means that there may be more.", examples=[1]
    )


class ReferenceAnswer(Schema):
    """A document that this one refers to, or that refers to this one; only documents that the caller may see."""

    public_id: UUID
    document_number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    document_type: str = Field(examples=["LETTER"])
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    is_cancelled: bool
    is_reply: bool = Field(
        default=False,
        description="The referring document is an issued reply to the originator of the other.",
    )


class DocumentAnswer(DocumentSummary):
    body: str | None = Field(examples=["ขอส่งรายงานผลการทดสอบเสาเข็มเพื่อโปรดพิจารณา"])
    description: str | None
    remarks: str | None
    sender_number: str | None = Field(description=_SENDER)
    sender_date: date | None
    received_date: date | None
    issued_at: datetime | None
    cancel_reason: str | None
    cancelled_by: PersonRef | None = Field(examples=[None])
    number_format: NumberFormatOut | None = Field(description="The number format used, and the reason for its choice.")
    references: list[ReferenceAnswer]
    referenced_by: list[ReferenceAnswer]
    attachments: list[DocumentFileAnswer]
    version: int = Field(1, exclude=True)


class RevisionDetail(RevisionAnswer):
    """A revision of a document."""

    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    due_date: date | None
    status: CodeAnswer = Field(examples=[{"code": "DRAFT", "name": "Draft", "nameTh": "ฉบับร่าง"}])
    created_at: datetime
    created_by: PersonRef
    issued_at: datetime | None
    attachments: list[DocumentFileAnswer]


class HistoryEntry(Schema):
    """An entry of a document's history: a workflow step or an audited action."""

    at: datetime
    source: Literal["workflow", "audit"] = Field(examples=["workflow"])
    action: str = Field(examples=["submit"])
    action_label: Text | None = Field(None, examples=[{"th": "ส่ง", "en": "Submit"}])
    actor: PersonRef | None
    organization_code: str | None = Field(
        None, description="The organization for which the actor took a workflow step.", examples=["คคง."]
    )
    on_behalf_of: PersonRef | None = Field(
        None, description="The person for whom the actor acted as a delegate.", examples=[None]
    )
    revision_label: str | None = Field(examples=["A"])
    from_state: str | None = Field(None, examples=["draft"])
    from_label: Text | None = Field(None, examples=[{"th": "ฉบับร่าง", "en": "Draft"}])
    to_state: str | None = Field(None, examples=["submitted"])
    to_label: Text | None = Field(None, examples=[{"th": "ส่งแล้ว", "en": "Submitted"}])
    comment: str | None = Field(None, examples=["โปรดพิจารณา"])
    forced: bool = False
    nobody: bool = Field(default=False, description="After the step, nobody who may see the document could act.")
    reassigned: ReassignedOut | None = None
    migrated: VersionsOut | None = None
    attachments: list[HistoryFileOut] = Field(default_factory=list)
    values: list[ChangedValueOut] = Field(default_factory=list, description="Values that a step set.")
    item_results: list[ItemResultIn] = Field(default_factory=list, description="Responses to single items in a step.")
    details: dict[str, Any] = Field(default_factory=dict)
