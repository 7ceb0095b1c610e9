"""What the choice endpoints take and give: which workflow documents start on."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema, SingleLine
from saraban.workflow.administration.schemas.definitions import DefinitionDetailOut, DefinitionOut
from saraban.workflow.runtime.schemas import LabelOut

Kind = Literal["correspondence", "rfa", "transmittal", "circulation"]


class WorkflowAssignmentIn(Schema):
    """The documents, and the workflow that the next of them start on."""

    kind: Kind = Field(examples=["correspondence"])
    type_code: Annotated[str, SingleLine(50)] | None = Field(
        None,
        description="Of `correspondence` a document type, of `rfa` an RFA type; null for all of the kind.",
        examples=["MEMO"],
    )
    project_public_id: UUID | None = Field(None, description="Null for the whole installation.")
    workflow_code: Annotated[str, SingleLine(50)] = Field(
        description="One with an active version that the documents can run on.", examples=["SITE_MEMO"]
    )


class AssignmentProjectOut(Schema):
    public_id: UUID
    project_code: str = Field(examples=["LCBP3-C2"])


class WorkflowAssignmentOut(Schema):
    """`isInForce` is false where the workflow has no active version any more: then no such document can be written."""

    kind: Kind = Field(examples=["correspondence"])
    type_code: str | None = Field(examples=["MEMO"])
    project: AssignmentProjectOut | None = Field(description="Null for the whole installation.")
    workflow_code: str = Field(examples=["SITE_MEMO"])
    is_in_force: bool
    chosen_by: str = Field(examples=["ปรียา จัดการดี"])
    chosen_at: datetime


class WorkflowAssignmentList(Schema):
    items: list[WorkflowAssignmentOut]


class AssignedKindOut(Schema):
    """Documents that start on a workflow; `byDefault` says that they do because nothing else is chosen for them."""

    kind: Kind = Field(examples=["correspondence"])
    type_code: str | None = Field(examples=["MEMO"])
    project_code: str | None = Field(description="Null for those of every project.", examples=["LCBP3-C2"])
    by_default: bool


class WorkflowWarning(Schema):
    """`REFUSED_TODAY` stands once for each fault for which publishing would refuse a version that goes into force."""

    code: Literal["NOTHING_STARTS_IT", "REFUSED_TODAY"]
    pointer: str | None = Field(
        None, description="Where in the definition the fault is.", examples=["/states/1/on/approve/condition/rule"]
    )
    message: LabelOut


class AssignedKindsOut(Schema):
    """What starts on a workflow, as far as the caller sees the projects; warnings when a version goes into force."""

    started_by: list[AssignedKindOut] = Field(default_factory=list)
    warnings: list[WorkflowWarning] = Field(default_factory=list)


class ActivatedOut(DefinitionOut, AssignedKindsOut):
    """A version that was put in force or taken out."""


class PublishedOut(DefinitionDetailOut, AssignedKindsOut):
    """A version that was published."""
