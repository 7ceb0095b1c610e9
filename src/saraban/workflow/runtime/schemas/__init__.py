"""
What the workflow endpoints take and give; documents put theirs into the same envelope.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from saraban.kit.operation import Receipt
from saraban.kit.schema import TOO_DEEP, MultiLine, Schema, SingleLine
from saraban.workflow.language.subject import Envelope
from saraban.workflow.runtime.schemas.envelope import (
    ActionOut,
    RepresentedOut,
    StepAttachmentOut,
    WorkflowEnvelope,
    WorkflowItem,
    WorkflowOut,
)
from saraban.workflow.runtime.schemas.interventions import ReassignedOut, VersionsOut
from saraban.workflow.runtime.schemas.labels import LabelOut, ResponseOut
from saraban.workflow.runtime.schemas.step_data import ChangedValueOut, ValueOut

__all__ = [
    "ActionOut",
    "ChangedValueOut",
    "LabelOut",
    "RepresentedOut",
    "ResponseOut",
    "StepAttachmentOut",
    "ValueOut",
    "WorkflowEnvelope",
    "WorkflowItem",
    "WorkflowOut",
]

MAX_PAYLOAD = 16_000


def _storable(value: dict[str, Any]) -> dict[str, Any]:
    # Half surrogates, numbers beyond 64 bits and endless nesting pass the JSON parser and fail in the database.
    try:
        orjson.dumps(value)
    except TypeError as fault:
        if "Recursion" in str(fault):  # all that tells it from the others
            raise PydanticCustomError("too_large", TOO_DEEP.en, {"th": TOO_DEEP.th}) from fault
        th = "มีค่าที่จัดเก็บไม่ได้"
        raise PydanticCustomError("malformed", "This holds a value that cannot be stored.", {"th": th}) from fault
    return value


def _small(value: dict[str, Any]) -> dict[str, Any]:
    if len(orjson.dumps(value)) > MAX_PAYLOAD:
        th = f"ต้องไม่เกิน {MAX_PAYLOAD} ไบต์"
        raise PydanticCustomError("too_large", "This may have at most {most} bytes.", {"most": MAX_PAYLOAD, "th": th})
    return value


Storable = Annotated[dict[str, Any], AfterValidator(_storable)]
Payload = Annotated[dict[str, Any], AfterValidator(_storable), AfterValidator(_small)]


class SubjectOut(Schema):
    """What the instance moves; `publicId` is the document's."""

    entity_type: str = Field(examples=["correspondence_revision"])
    public_id: UUID
    kind: str = Field(examples=["correspondence"])
    number: str = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    title: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    due_date: date | None
    priority: str | None = Field(examples=["MEDIUM"])


def subject_of(envelope: Envelope) -> SubjectOut:
    facts = envelope.facts
    return SubjectOut(
        entity_type=envelope.entity_type,
        public_id=facts.public_id,
        kind=facts.kind,
        number=facts.number,
        title=facts.title,
        due_date=facts.due_date,
        priority=facts.priority,
    )


class InstanceOut(Schema):
    subject: SubjectOut
    values: list[ValueOut] = Field(description="What was stated with the steps so far, as it stands now.")


InstanceEnvelope = WorkflowEnvelope[InstanceOut]


def instance_answer(envelope: Envelope) -> InstanceEnvelope:
    values = [ValueOut.model_validate(value) for value in envelope.values]
    return InstanceEnvelope.around(InstanceOut(subject=subject_of(envelope), values=values), envelope)


class TransitionOut(Schema):
    """What this request did, also when it is sent again; steps that the workflow took by itself afterwards are in the history."""

    history_public_id: UUID
    from_state: str = Field(examples=["pending_review"])
    to_state: str = Field(examples=["pending_approval"])
    version_no: int = Field(description="Of the instance after it.", examples=[3])


class TransitionedEnvelope(WorkflowEnvelope[InstanceOut]):
    """The instance as it is now, and what this request did to it."""

    transition: TransitionOut


def transitioned_answer(envelope: Envelope, receipt: Receipt) -> TransitionedEnvelope:
    shown, done = instance_answer(envelope), receipt.outcome
    transition = {
        "history_public_id": done["history"],
        "from_state": done["from"],
        "to_state": done["to"],
        "version_no": done["version"],
    }
    return TransitionedEnvelope(
        data=shown.data,
        workflow=shown.workflow,
        step_attachments=shown.step_attachments,
        transition=TransitionOut.model_validate(transition),
    )


class TransitionIn(Schema):
    """
    `payload` is kept with the step and read by conditions as `payload.…`; it cannot say who acts. A value that was stated
    before is changed only by an action whose `fields` name it.
    """

    action: Annotated[str, SingleLine(50)] = Field(examples=["submit"])
    comment: Annotated[str, MultiLine(5000)] | None = Field(None, examples=["โปรดพิจารณา"])
    payload: Payload = Field(default_factory=dict)
    attachment_public_ids: Annotated[list[UUID], Field(max_length=20)] = Field(default_factory=list)
    client_version_no: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = None
    response_code: Annotated[str, SingleLine(20)] | None = Field(None, examples=["1A"])
    on_behalf_of: UUID | None = Field(
        None,
        description="In whose place you act, who is away. Without it your own right comes first, then the one who has "
        "delegated this to you; where several have, it is needed.",
        examples=[None],
    )


class ActorOut(Schema):
    public_id: UUID
    display_name: str = Field(examples=["ดวงใจ เอกสารครบ"])
    organization_code: str | None = Field(examples=["คคง."])


class HistoryFileOut(Schema):
    public_id: UUID
    file_name: str = Field(examples=["รายการคำนวณโครงสร้าง.pdf"])
    download_url: str = Field(examples=["/api/v1/attachments/01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10/content"])


class AssignmentOut(Schema):
    """To whom a state was given. `dropped` says why it was not after all; then everybody who may act is asked."""

    user_public_id: UUID | None
    dropped: Literal["inactive", "not_visible", "not_permitted"] | None


class HistoryOut(Schema):
    """One step; `actor` is null for steps from before the actors were recorded, `forced` one against the definition."""

    public_id: UUID
    from_state: str = Field(examples=["draft"])
    from_label: LabelOut = Field(examples=[{"th": "ฉบับร่าง", "en": "Draft"}])
    to_state: str = Field(examples=["submitted"])
    to_label: LabelOut = Field(examples=[{"th": "ส่งแล้ว", "en": "Submitted"}])
    action: str = Field(examples=["submit"])
    action_label: LabelOut = Field(examples=[{"th": "ส่ง", "en": "Submit"}])
    comment: str | None = Field(examples=["โปรดพิจารณา"])
    forced: bool
    response_code: str | None = Field(None, examples=["1A"])
    automatic: bool = Field(default=False, description="The engine took it by itself after the step before.")
    nobody: bool = Field(
        default=False,
        description="Nobody who may see the document could act in the state it leads to, or answer for a branch there.",
    )
    assignment: AssignmentOut | None = None
    reassigned: ReassignedOut | None = None
    migrated: VersionsOut | None = None
    actor: ActorOut | None
    on_behalf_of: RepresentedOut | None = Field(None, description="In whose place the actor acted.", examples=[None])
    attachments: list[HistoryFileOut]
    values: list[ChangedValueOut] = Field(default_factory=list, description="What came with it.")
    created_at: datetime


class WorkflowHistoryList(Schema):
    items: list[HistoryOut]
    next_cursor: str | None = None


class InboxItemOut(Schema):
    """Something that waits for the caller, since `waitingSince`; `onBehalfOf` when it does so in others' places alone."""

    subject: SubjectOut
    waiting_since: datetime
    on_behalf_of: list[RepresentedOut] = Field(default_factory=list, examples=[[]])


class InboxPage(Schema):
    items: list[WorkflowItem[InboxItemOut]]
    next_cursor: str | None
