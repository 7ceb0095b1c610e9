"""Requests and responses of the workflow endpoints."""

from datetime import date, datetime
from typing import Annotated, Literal, Self, TypeVar
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from saraban.identity.schemas import PersonRef
from saraban.kit.errors import Text
from saraban.kit.json import Json
from saraban.kit.operation import Receipt
from saraban.kit.schema import Day, GenericSchema, MultiLine, Schema, SingleLine, WarningOut, small, storable
from saraban.projects.schemas import ProjectCode
from saraban.workflow.language.outcome import Outcome
from saraban.workflow.language.review import BranchOut
from saraban.workflow.language.subject import (
    ActionOut,
    Envelope,
    HistoryFileOut,
    InstanceStatus,
    StepAttachmentOut,
    ValueOut,
    WaitingForOut,
)
from saraban.workflow.runtime.domain.delegation import DelegationStatus


class ChangedValueOut(ValueOut):
    """A value of a step; `before` is the value that it replaced, null if there was none."""

    before: Json = Field(None, examples=[400000])
    before_text: Text | None = Field(None, examples=[{"th": "400,000", "en": "400,000"}])


class ReassignedOut(Schema):
    """The assignee `before`, null for an organization or several people, and `after`."""

    before: PersonRef | None
    after: PersonRef


class VersionsOut(Schema):
    """The versions of the workflow before and after a migration."""

    before: int = Field(examples=[1])
    after: int = Field(examples=[2])


class ItemResultIn(Schema):
    """The answer to one item of an RFA."""

    public_id: UUID = Field(description="Of the drawing revision or the document in the list of items.")
    response_code: Annotated[str, SingleLine(20)] = Field(examples=["1A"])
    comment: Annotated[str, SingleLine(500)] | None = Field(None, examples=["แก้ระดับท้องคาน"])


class BranchPayload(Schema):
    """The answers to single items of an RFA: each item keeps the last one that anybody gave."""

    item_results: Annotated[list[ItemResultIn], Field(max_length=500)] = Field(default_factory=list)


class BranchAnswerIn(Schema):
    """One of the branch's `choices`; `clientVersionNo` is the `versionNo` of the branch that you saw."""

    answer: Annotated[str, SingleLine(20)] = Field(examples=["approve"])
    comment: Annotated[str, MultiLine(5000)] | None = Field(None, examples=["ดูหน้า 12"])
    attachment_public_ids: Annotated[list[UUID], Field(max_length=20)] = Field(default_factory=list)
    payload: BranchPayload = Field(default_factory=BranchPayload)
    client_version_no: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = Field(None, examples=[1])
    on_behalf_of: UUID | None = Field(
        None,
        description="The delegator on whose behalf you answer. Without it your own right comes first, then the "
        "person who has delegated this to you; required if several have.",
        examples=[None],
    )


T = TypeVar("T")


class WorkflowOut(Schema):
    """The state of the workflow; `availableActions` are those of the caller now, `dueOn` is the due date of the state."""

    instance_public_id: UUID
    workflow_code: str = Field(examples=["CORRESPONDENCE_FLOW_V1"])
    status: InstanceStatus
    current_state: str = Field(examples=["draft"])
    state_label: Text
    terminal: bool
    available_actions: list[str]
    actions: list[ActionOut]
    can_edit: bool
    last_transition_at: datetime
    version_no: int
    state_help: Text | None = None
    due_on: date | None = None
    branches: list[BranchOut] = Field(default_factory=list, description="Of the latest parallel review.")
    outcome: Outcome | None = Field(
        None, description="The outcome of the final state, whatever its name; null in other states."
    )
    waiting_for: WaitingForOut


class WorkflowEnvelope(GenericSchema[T]):
    """The data, its workflow if it has one, and the files of the present or previous step (REQ-WFL-14)."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    data: T
    workflow: WorkflowOut | None
    step_attachments: list[StepAttachmentOut]
    warnings: list[WarningOut] = Field(
        default_factory=list, description="Of the data that was written; empty for reads."
    )

    @classmethod
    def around(cls, data: T, envelope: Envelope | None) -> Self:
        files = envelope.step_attachments if envelope else ()
        return cls(
            data=data,
            workflow=None if envelope is None else WorkflowOut.model_validate(envelope),
            step_attachments=list(files),
        )


class WorkflowItem(GenericSchema[T]):
    """One item of a list and its workflow, which is null only if there is no instance."""

    data: T
    workflow: WorkflowOut | None

    @classmethod
    def around(cls, data: T, envelope: Envelope | None) -> Self:
        return cls(data=data, workflow=None if envelope is None else WorkflowOut.model_validate(envelope))


class TransitionPayload(BranchPayload):
    """
    Values of the workflow by their names, and answers to single items.

    Answers are stored with the items, not as values. When the RFA gets its final response, items without an answer get that one.
    """

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _check_payload(self) -> Self:
        small(storable(self.model_extra or {}))
        return self


class SubjectOut(Schema):
    """The subject of the instance; `publicId` is that of the document."""

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
    values: list[ValueOut] = Field(description="The present values of all steps.")


InstanceEnvelope = WorkflowEnvelope[InstanceOut]


def instance_answer(envelope: Envelope) -> InstanceEnvelope:
    data = InstanceOut(subject=subject_of(envelope), values=list(envelope.values))
    return InstanceEnvelope.around(data, envelope)


class TransitionOut(Schema):
    """The result of this request, also when it is sent again; later automatic steps are in the history."""

    history_public_id: UUID
    from_state: str = Field(examples=["pending_review"])
    to_state: str = Field(examples=["pending_approval"])
    version_no: int = Field(description="Of the instance after it.", examples=[3])


class TransitionedEnvelope(WorkflowEnvelope[InstanceOut]):
    """The present instance, and the result of this request."""

    transition: TransitionOut


def transitioned_answer(envelope: Envelope, receipt: Receipt) -> TransitionedEnvelope:
    instance, done = instance_answer(envelope), receipt.outcome
    transition = {
        "history_public_id": done["history"],
        "from_state": done["from"],
        "to_state": done["to"],
        "version_no": done["version"],
    }
    return TransitionedEnvelope(
        data=instance.data,
        workflow=instance.workflow,
        step_attachments=instance.step_attachments,
        transition=TransitionOut.model_validate(transition),
    )


class TransitionIn(Schema):
    """
    `payload` is stored with the step, and conditions read it as `payload.…`; it cannot name the actor.

    Only an action whose `fields` name a value changes a value that was stated before.
    """

    action: Annotated[str, SingleLine(50)] = Field(examples=["submit"])
    comment: Annotated[str, MultiLine(5000)] | None = Field(None, examples=["โปรดพิจารณา"])
    payload: TransitionPayload = Field(default_factory=TransitionPayload)
    attachment_public_ids: Annotated[list[UUID], Field(max_length=20)] = Field(default_factory=list)
    client_version_no: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = None
    response_code: Annotated[str, SingleLine(20)] | None = Field(None, examples=["1A"])
    on_behalf_of: UUID | None = Field(
        None,
        description="The delegator on whose behalf you act. Without it your own right comes first, then the person "
        "who has delegated this to you; required if several have.",
        examples=[None],
    )


class ActorOut(Schema):
    public_id: UUID
    display_name: str = Field(examples=["ดวงใจ เอกสารครบ"])
    organization_code: str | None = Field(description="The organization of the actor at that time.", examples=["คคง."])


class AssignmentOut(Schema):
    """The assignee of the state. `dropped` is the reason why it was not assigned; then everybody who may act is asked."""

    user_public_id: UUID | None
    dropped: Literal["inactive", "not_visible", "not_permitted"] | None


class HistoryOut(Schema):
    """One step. `actor` is null for steps recorded without an actor; `forced` is a step against the definition."""

    public_id: UUID
    from_state: str = Field(examples=["draft"])
    from_label: Text = Field(examples=[{"th": "ฉบับร่าง", "en": "Draft"}])
    to_state: str = Field(examples=["submitted"])
    to_label: Text = Field(examples=[{"th": "ส่งแล้ว", "en": "Submitted"}])
    action: str = Field(examples=["submit"])
    action_label: Text = Field(examples=[{"th": "ส่ง", "en": "Submit"}])
    comment: str | None = Field(examples=["โปรดพิจารณา"])
    forced: bool
    response_code: str | None = Field(None, examples=["1A"])
    automatic: bool = Field(default=False, description="Taken by the engine after the previous step.")
    nobody: bool = Field(
        default=False,
        description="Nobody who may see the document could act in the next state, or answer one of its branches.",
    )
    assignment: AssignmentOut | None = None
    reassigned: ReassignedOut | None = None
    migrated: VersionsOut | None = None
    actor: ActorOut | None
    on_behalf_of: PersonRef | None = Field(
        None, description="The delegator on whose behalf the actor acted.", examples=[None]
    )
    attachments: list[HistoryFileOut]
    values: list[ChangedValueOut] = Field(default_factory=list, description="Values of the step.")
    item_results: list[ItemResultIn] = Field(default_factory=list, description="Answers to single items.")
    created_at: datetime


class InboxItemOut(Schema):
    """An instance that awaits the caller since `waitingSince`; `onBehalfOf` lists the delegators if it awaits only them."""

    subject: SubjectOut
    waiting_since: datetime
    on_behalf_of: list[PersonRef] = Field(default_factory=list, examples=[[]])


class DelegationIn(Schema):
    """Whole days in the deployment's time zone; the first and the last day are included."""

    delegate_public_id: UUID = Field(description="An active person of one of your organizations.")
    starts_on: Day = Field(examples=["2026-12-01"])
    ends_on: Day = Field(description="At most 366 days.", examples=["2026-12-07"])
    workflow_codes: list[Annotated[str, SingleLine(50)]] | None = Field(
        None,
        max_length=50,
        description="At least one; absent or null for every workflow.",
        examples=[["RFA_APPROVAL"]],
    )
    project_public_id: UUID | None = Field(None, description="Null for every project.")
    reason: Annotated[str, SingleLine(500)] | None = Field(None, examples=["ลาพักร้อน"])


class DelegationOut(Schema):
    """The delegation of one person's steps to another."""

    public_id: UUID
    delegator: PersonRef
    delegate: PersonRef
    starts_on: date = Field(examples=["2026-12-01"])
    ends_on: date = Field(examples=["2026-12-07"])
    workflow_codes: list[str] | None = Field(description="Null for every workflow.", examples=[["RFA_APPROVAL"]])
    project: ProjectCode | None
    reason: str | None = Field(examples=["ลาพักร้อน"])
    status: DelegationStatus = Field(examples=["upcoming"])
    revoked_at: datetime | None = Field(examples=[None])
    created_at: datetime
    version: int = Field(1, exclude=True)

    @property
    def etag(self) -> str:
        return f'"{self.version}"'
