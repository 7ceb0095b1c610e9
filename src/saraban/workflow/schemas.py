"""
What the workflow endpoints take and give; documents put `WorkflowOut` and `StepAttachmentOut` into their own answers.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from saraban.kit.schema import Line, Paragraphs, Schema

MAX_PAYLOAD = 16_000


def _storable(value: dict[str, Any]) -> dict[str, Any]:
    # Half surrogates, numbers beyond 64 bits and endless nesting pass the JSON parser and fail in the database.
    try:
        orjson.dumps(value)
    except TypeError as fault:
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


class LabelOut(Schema):
    th: str
    en: str


class ActionOut(Schema):
    """One action the caller may take now."""

    code: str
    label: LabelOut
    comment_required: bool
    attachments: bool


class WorkflowOut(Schema):
    """The envelope of ADR-021; `availableActions` is for this caller, now."""

    instance_public_id: UUID
    workflow_code: str
    status: Literal["ACTIVE", "COMPLETED", "CANCELLED", "TERMINATED"]
    current_state: str
    state_label: LabelOut
    terminal: bool
    available_actions: list[str]
    actions: list[ActionOut]
    can_edit: bool
    last_transition_at: datetime
    version_no: int


class StepAttachmentOut(Schema):
    """A file of the present or the previous step."""

    public_id: UUID
    file_name: str
    step_code: str
    download_url: str


class SubjectOut(Schema):
    """What the instance moves; `publicId` is the document's."""

    entity_type: str
    public_id: UUID
    kind: str
    number: str
    title: str
    due_date: date | None
    priority: str | None


class InstanceOut(Schema):
    subject: SubjectOut
    workflow: WorkflowOut
    step_attachments: list[StepAttachmentOut]


class TransitionOut(Schema):
    workflow: WorkflowOut
    step_attachments: list[StepAttachmentOut]


class TransitionIn(Schema):
    """`payload` is kept with the step and read by conditions as `payload.…`; it cannot say who acts."""

    action: Annotated[str, Line(50)]
    comment: Annotated[str, Paragraphs(5000)] | None = None
    payload: Payload = Field(default_factory=dict)
    attachment_public_ids: Annotated[list[UUID], Field(max_length=20)] = Field(default_factory=list)
    client_version_no: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = None


class ActorOut(Schema):
    public_id: UUID
    display_name: str
    organization_code: str | None


class HistoryFileOut(Schema):
    public_id: UUID
    file_name: str
    download_url: str


class HistoryOut(Schema):
    """One step; `actor` is null for steps from before the actors were recorded."""

    public_id: UUID
    from_state: str
    from_label: LabelOut
    to_state: str
    to_label: LabelOut
    action: str
    action_label: LabelOut
    comment: str | None
    actor: ActorOut | None
    attachments: list[HistoryFileOut]
    created_at: datetime


class HistoryList(Schema):
    items: list[HistoryOut]
    next_cursor: str | None = None


class InboxItemOut(Schema):
    """Something that waits for the caller, since `waitingSince`."""

    subject: SubjectOut
    workflow: WorkflowOut
    waiting_since: datetime


class InboxPage(Schema):
    items: list[InboxItemOut]
    next_cursor: str | None


class DefinitionIn(Schema):
    dsl: Storable
    activate: bool = Field(default=False, strict=True)


class DefinitionText(Schema):
    dsl: Storable


class DefinitionOut(Schema):
    public_id: UUID
    code: str
    version: int
    description: str | None
    is_active: bool
    created_at: datetime


class DefinitionDetailOut(DefinitionOut):
    dsl: dict[str, Any]


class DefinitionPage(Schema):
    items: list[DefinitionOut]
    next_cursor: str | None


class DefinitionFault(Schema):
    pointer: str
    code: str
    message: LabelOut


class ValidationOut(Schema):
    """`valid` is true exactly when `errors` is empty."""

    valid: bool
    errors: list[DefinitionFault]
