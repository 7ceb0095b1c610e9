"""Circulation sheets, in and out."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.documents.circulation.domain import RoutingKind, RoutingStatus
from saraban.documents.core.schemas import (
    DocumentFileAnswer,
    Ids,
    Priority,
    Prose,
    ReferenceAnswer,
    RegisteredDocument,
    RegisterQuery,
    Subject,
)
from saraban.documents.drawing.schemas import CarriedDrawingAnswer, CarriedRevisions
from saraban.identity.schemas import PersonRef
from saraban.kit.schema import Day, MultiLine, Schema
from saraban.numbering.issue.schemas import NumberFormatOut


class CirculationAssignee(Schema):
    user_public_id: UUID
    kind: RoutingKind
    due_date: Day | None = Field(None, description="The sheet's deadline when left out; not for INFORMATION.")


class CirculationQuery(RegisterQuery):
    correspondence: UUID | None = Field(None, alias="correspondencePublicId")
    person: UUID | None = Field(None, description="Who wrote it or has a part in it.")
    mine: bool = Field(default=False, description="Only what I wrote or have a part in.")

    @property
    def about(self) -> UUID | None:
        return self.correspondence


class NewCirculation(Schema):
    """A sheet passes a document, drawings, or a subject of its own, round among the people of one organization."""

    project_public_id: UUID
    organization_public_id: UUID | None = Field(None, description="Your own organization when left out.")
    correspondence_public_id: UUID | None = None
    subject: Subject = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    remarks: Prose | None = None
    deadline_date: Day | None = None
    priority: Priority = "MEDIUM"
    assignees: Annotated[list[CirculationAssignee], Field(min_length=1, max_length=100)]
    drawing_revision_public_ids: CarriedRevisions = Field(default_factory=list)
    attachment_public_ids: Ids = Field(default_factory=list)
    reservation_token: UUID | None = Field(
        None, description="Of a number reserved for it; without one the next number is issued."
    )


class CirculationChanges(Schema):
    """What may change while it is a draft; a field that is absent stays as it is."""

    subject: Subject | None = Field(None, examples=["รายงานผลการทดสอบเสาเข็ม"])
    remarks: Prose | None = None
    deadline_date: Day | None = None
    priority: Priority | None = None
    assignees: (
        Annotated[list[CirculationAssignee], Field(min_length=1, max_length=100, description="All of them.")] | None
    ) = None
    drawing_revision_public_ids: CarriedRevisions | None = None


class AssigneeResponse(Schema):
    status: Literal["COMPLETED", "REJECTED"]
    on_behalf_of: UUID | None = Field(
        None, description="Whose part you answer, who is away and has delegated it to you.", examples=[None]
    )
    comment: Annotated[str, MultiLine(5_000)] | None = None


class AssigneeAnswer(Schema):
    public_id: UUID
    user: PersonRef | None
    is_active: bool
    kind: RoutingKind
    status: RoutingStatus
    due_date: date | None
    is_overdue: bool
    comment: str | None = Field(examples=["โปรดพิจารณา"])
    completed_at: datetime | None


class CirculationSummary(RegisteredDocument):
    """A row of the register; `answered` of `mustAnswer` people have answered."""

    document_type: str = Field(examples=["CIRCULATION"])
    kind: str = Field(examples=["circulation"])
    answered: int
    must_answer: int = Field(examples=[2])


class CirculationAnswer(CirculationSummary):
    remarks: str | None
    correspondence: ReferenceAnswer | None
    assignees: list[AssigneeAnswer]
    drawings: list[CarriedDrawingAnswer]
    attachments: list[DocumentFileAnswer]
    submitted_at: datetime | None
    closed_at: datetime | None
    cancel_reason: str | None
    cancelled_by: PersonRef | None = Field(examples=[None])
    number_format: NumberFormatOut | None = Field(description="Which format numbered it, and why that one.")
    version: int = Field(1, exclude=True)
