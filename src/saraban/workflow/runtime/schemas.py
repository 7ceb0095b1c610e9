"""
What the workflow endpoints take and give; documents put theirs into the same envelope.
"""

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
from saraban.workflow.language.review import BranchStatus
from saraban.workflow.language.subject import Envelope, InstanceStatus
from saraban.workflow.runtime.domain.delegation import DelegationStatus


class ResponseOut(Schema):
    """A response code, as `1A`; the usual one counts when none is sent."""

    code: str = Field(examples=["1A"])
    label: Text | None
    comment_required: bool
    usual: bool = False


class ValueOut(Schema):
    """A value that was stated with a step, named after the definition's `context_schema`."""

    name: str = Field(examples=["amount"])
    label: Text
    kind: Literal["line", "lines", "date", "number", "integer", "boolean", "choice", "json"]
    value: Json = Field(examples=[420000])
    text: Text = Field(description="The value as people read it.", examples=[{"th": "420,000", "en": "420,000"}])


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


class BranchAssigneeOut(Schema):
    """Whom a branch asks: a person by public id, a role by name, a review team or a discipline by code."""

    kind: Literal["user", "role", "team", "discipline"] = Field(examples=["discipline"])
    name: str = Field(examples=["STR"])
    display_name: str = Field(description="Of a person the name; else the same as `name`.", examples=["STR"])


class BranchOut(Schema):
    """
    One branch of a parallel review. While others' answers are hidden from you, `answer` and what belongs to it are null.
    """

    public_id: UUID
    name: str = Field(examples=["structure"])
    label: Text
    assignee: BranchAssigneeOut
    status: BranchStatus
    version_no: int = Field(description="The branch's own: state it when you answer.")
    may_answer: bool
    nobody: bool = Field(
        description="It waits, and nobody who may see the document can answer for it.", examples=[False]
    )
    choices: list[ResponseOut] = Field(description="What you may answer; empty unless you may.")
    attachments: bool = Field(description="Whether files may come with an answer; not while answers are hidden.")
    answer: str | None = Field(examples=["approve"])
    answer_label: Text | None
    comment: str | None = Field(examples=["โปรดพิจารณา"])
    answered_by: PersonRef | None
    on_behalf_of: PersonRef | None
    in_own_right: bool = Field(description="Whether you may answer without standing in for anybody.")
    in_place_of: list[PersonRef] = Field(
        description="In whose place you may answer; name one as `onBehalfOf`.", examples=[[]]
    )
    answered_at: datetime | None


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


class ActionOut(Schema):
    """
    One action the caller may take now.

    Where there are `responses`, one of them comes as `responseCode`; without it the `usual` one counts, if there is one.
    """

    code: str = Field(examples=["submit"])
    label: Text
    comment_required: bool
    attachments: bool
    attachments_required: bool = False
    responses: list[ResponseOut] = Field(default_factory=list)
    help: Text | None = None
    in_own_right: bool = Field(default=True, description="Whether you may take it without standing in for anybody.")
    on_behalf_of: list[PersonRef] = Field(
        default_factory=list, description="In whose place you may take it; name one as `onBehalfOf`.", examples=[[]]
    )
    fields: list[str] | None = Field(
        None,
        description="The values that its `payload` can have, also where they were stated before; null for those that "
        "nobody has stated yet.",
        examples=[["amount"]],
    )


class AskedOrganizationOut(Schema):
    public_id: UUID
    code: str = Field(examples=["คคง."])


class WaitingForOut(Schema):
    """Whom the present state waits for; of a review whose answers are hidden the branches say whom they ask."""

    organizations: list[AskedOrganizationOut]
    people: list[PersonRef] = Field(description="At most ten of them.", examples=[[]])
    people_count: int = Field(examples=[0])
    nobody: bool = Field(
        description="Nobody who may see the document can act, or answer for a branch: somebody has to force the step, "
        "give it to another person, or be given a role. A single document or instance says so too where an organization "
        "sees it and none of its people may act; a list, the inbox and the answer to a step do not look for that.",
        examples=[False],
    )


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


class HistoryFileOut(Schema):
    public_id: UUID
    file_name: str = Field(examples=["รายการคำนวณโครงสร้าง.pdf"])
    download_url: str = Field(examples=["/api/v1/attachments/01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10/content"])


class StepAttachmentOut(HistoryFileOut):
    """A file of the present or the previous step."""

    step_code: str


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
            step_attachments=[StepAttachmentOut.model_validate(file) for file in files],
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
    def _keepable(self) -> Self:
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
