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
    """A value that came with a step; `before` is what it took the place of, where another one had been stated."""

    before: Json = Field(None, examples=[400000])
    before_text: Text | None = Field(None, examples=[{"th": "400,000", "en": "400,000"}])


class ReassignedOut(Schema):
    """Who was in charge `before`, null where it waited for an organization or for several people, and `after`."""

    before: PersonRef | None
    after: PersonRef


class VersionsOut(Schema):
    """The versions of the workflow before and after a migration."""

    before: int = Field(examples=[1])
    after: int = Field(examples=[2])


class ItemResultIn(Schema):
    """The answer to one item of an RFA."""

    public_id: UUID = Field(description="Of the drawing revision or the document, as it stands among the items.")
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
        description="In whose place you answer, who is away. Without it your own right comes first, then the one who "
        "has delegated this to you; where several have, it is needed.",
        examples=[None],
    )


T = TypeVar("T")


class WorkflowOut(Schema):
    """Where it stands; `availableActions` is for this caller, now; `dueOn` is the day of this state, if it has one."""

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
        None, description="What it means to have ended in this state, whatever it is called; null while it goes on."
    )
    waiting_for: WaitingForOut


class WorkflowEnvelope(GenericSchema[T]):
    """Something, where it stands in its workflow, if it has one, and the files of its present or previous step (REQ-WFL-14)."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    data: T
    workflow: WorkflowOut | None
    step_attachments: list[StepAttachmentOut]
    warnings: list[WarningOut] = Field(default_factory=list, description="Of what a write states; empty in reads.")

    @classmethod
    def around(cls, data: T, envelope: Envelope | None) -> Self:
        files = envelope.step_attachments if envelope else ()
        return cls(
            data=data,
            workflow=None if envelope is None else WorkflowOut.model_validate(envelope),
            step_attachments=list(files),
        )


class WorkflowItem(GenericSchema[T]):
    """One of a list, and where it stands in its workflow, which is null only where there is no instance."""

    data: T
    workflow: WorkflowOut | None

    @classmethod
    def around(cls, data: T, envelope: Envelope | None) -> Self:
        return cls(data=data, workflow=None if envelope is None else WorkflowOut.model_validate(envelope))


class TransitionPayload(BranchPayload):
    """
    Values of the workflow by their names, and the answers to single items, which are no values and are kept with the items. Items
    without an answer get that of the whole when the RFA has its final one.
    """

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _check_payload(self) -> Self:
        small(storable(self.model_extra or {}))
        return self


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
    data = InstanceOut(subject=subject_of(envelope), values=list(envelope.values))
    return InstanceEnvelope.around(data, envelope)


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
    payload: TransitionPayload = Field(default_factory=TransitionPayload)
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
    organization_code: str | None = Field(description="For which the actor acted then.", examples=["คคง."])


class AssignmentOut(Schema):
    """To whom a state was given. `dropped` says why it was not after all; then everybody who may act is asked."""

    user_public_id: UUID | None
    dropped: Literal["inactive", "not_visible", "not_permitted"] | None


class HistoryOut(Schema):
    """One step; `actor` is null for steps from before the actors were recorded, `forced` one against the definition."""

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
    automatic: bool = Field(default=False, description="The engine took it by itself after the step before.")
    nobody: bool = Field(
        default=False,
        description="Nobody who may see the document could act in the state it leads to, or answer for a branch there.",
    )
    assignment: AssignmentOut | None = None
    reassigned: ReassignedOut | None = None
    migrated: VersionsOut | None = None
    actor: ActorOut | None
    on_behalf_of: PersonRef | None = Field(None, description="In whose place the actor acted.", examples=[None])
    attachments: list[HistoryFileOut]
    values: list[ChangedValueOut] = Field(default_factory=list, description="What came with it.")
    item_results: list[ItemResultIn] = Field(default_factory=list, description="Answers to single items.")
    created_at: datetime


class InboxItemOut(Schema):
    """Something that waits for the caller, since `waitingSince`; `onBehalfOf` when it does so in others' places alone."""

    subject: SubjectOut
    waiting_since: datetime
    on_behalf_of: list[PersonRef] = Field(default_factory=list, examples=[[]])


class DelegationIn(Schema):
    """The days are whole days of the deployment's zone, the first and the last included."""

    delegate_public_id: UUID = Field(description="An active person of one of your organizations.")
    starts_on: Day = Field(examples=["2026-12-01"])
    ends_on: Day = Field(description="At most 366 days.", examples=["2026-12-07"])
    workflow_codes: list[Annotated[str, SingleLine(50)]] | None = Field(
        None,
        max_length=50,
        description="One at least; left out, or null, for every workflow.",
        examples=[["RFA_APPROVAL"]],
    )
    project_public_id: UUID | None = Field(None, description="Null for every project.")
    reason: Annotated[str, SingleLine(500)] | None = Field(None, examples=["ลาพักร้อน"])


class DelegationOut(Schema):
    """One person's steps lent to another."""

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
