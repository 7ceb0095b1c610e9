"""The envelope in which every workflow-aware answer comes (REQ-WFL-14): what it is about, where that stands, its step's files."""

from datetime import date, datetime
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema
from saraban.workflow.language.outcome import Outcome
from saraban.workflow.language.subject import Envelope, InstanceStatus
from saraban.workflow.runtime.schemas.labels import LabelOut, ResponseOut
from saraban.workflow.runtime.schemas.review import BranchOut

T = TypeVar("T")


class RepresentedOut(Schema):
    """Somebody who is away, and in whose place you may act."""

    public_id: UUID
    display_name: str


class ActionOut(Schema):
    """
    One action the caller may take now.

    Where there are `responses`, one of them comes as `responseCode`; without it the `usual` one counts, if there is one.
    """

    code: str = Field(examples=["submit"])
    label: LabelOut
    comment_required: bool
    attachments: bool
    attachments_required: bool = False
    responses: list[ResponseOut] = Field(default_factory=list)
    help: LabelOut | None = None
    in_own_right: bool = Field(default=True, description="Whether you may take it without standing in for anybody.")
    on_behalf_of: list[RepresentedOut] = Field(
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


class AskedPersonOut(Schema):
    public_id: UUID
    display_name: str


class WaitingForOut(Schema):
    """Whom the present state waits for; of a review whose answers are hidden the branches say whom they ask."""

    organizations: list[AskedOrganizationOut]
    people: list[AskedPersonOut] = Field(description="At most ten of them.", examples=[[]])
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
    state_label: LabelOut
    terminal: bool
    available_actions: list[str]
    actions: list[ActionOut]
    can_edit: bool
    last_transition_at: datetime
    version_no: int
    state_help: LabelOut | None = None
    due_on: date | None = None
    branches: list[BranchOut] = Field(default_factory=list, description="Of the latest parallel review.")
    outcome: Outcome | None = Field(
        None, description="What it means to have ended in this state, whatever it is called; null while it goes on."
    )
    waiting_for: WaitingForOut


class StepAttachmentOut(Schema):
    """A file of the present or the previous step."""

    public_id: UUID
    file_name: str
    step_code: str
    download_url: str


def _name_of(shape: Any) -> str:
    return str(getattr(shape, "__name__", shape))


class WorkflowEnvelope(Schema, Generic[T]):
    """
    Something, where it stands in its workflow, and the files of its present or previous step (REQ-WFL-14).

    `workflow` is null only where there is no instance.
    """

    data: T
    workflow: WorkflowOut | None
    step_attachments: list[StepAttachmentOut]

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{_name_of(params[0])}Envelope"

    @classmethod
    def around(cls, data: T, envelope: Envelope | None) -> Self:
        files = envelope.step_attachments if envelope else ()
        return cls(
            data=data,
            workflow=None if envelope is None else WorkflowOut.model_validate(envelope),
            step_attachments=[StepAttachmentOut.model_validate(file) for file in files],
        )


class WorkflowItem(Schema, Generic[T]):
    """One of a list, and where it stands in its workflow, which is null only where there is no instance."""

    data: T
    workflow: WorkflowOut | None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{_name_of(params[0])}Item"

    @classmethod
    def around(cls, data: T, envelope: Envelope | None) -> Self:
        return cls(data=data, workflow=None if envelope is None else WorkflowOut.model_validate(envelope))
