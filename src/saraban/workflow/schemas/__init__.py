"""
What the workflow endpoints take and give; documents put theirs into the same envelope.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

import orjson
from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from saraban.kit.schema import TOO_DEEP, MultiLine, Schema, SingleLine
from saraban.workflow.domain.subject import Envelope
from saraban.workflow.schemas.deeds import ReassignedOut, VersionsOut
from saraban.workflow.schemas.envelope import (
    ActionOut,
    RepresentedOut,
    StepAttachmentOut,
    WorkflowEnvelope,
    WorkflowItem,
    WorkflowOut,
)
from saraban.workflow.schemas.labels import LabelOut, ResponseOut
from saraban.workflow.schemas.rehearsal import RehearsalOut, RehearsedStepOut
from saraban.workflow.schemas.values import BroughtOut, ValueOut

__all__ = [
    "ActionOut",
    "LabelOut",
    "RehearsalOut",
    "RehearsedStepOut",
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

    entity_type: str
    public_id: UUID
    kind: str
    number: str
    title: str
    due_date: date | None
    priority: str | None


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


class TransitionIn(Schema):
    """
    `payload` is kept with the step and read by conditions as `payload.…`; it cannot say who acts. A value that was stated
    before is changed only by an action whose `fields` name it.
    """

    action: Annotated[str, SingleLine(50)]
    comment: Annotated[str, MultiLine(5000)] | None = None
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
    display_name: str
    organization_code: str | None


class HistoryFileOut(Schema):
    public_id: UUID
    file_name: str
    download_url: str


class AssignmentOut(Schema):
    """To whom a state was given. `dropped` says why it was not after all; then everybody who may act is asked."""

    user_public_id: UUID | None
    dropped: Literal["inactive", "not_visible", "not_permitted"] | None


class HistoryOut(Schema):
    """One step; `actor` is null for steps from before the actors were recorded, `forced` one against the definition."""

    public_id: UUID
    from_state: str
    from_label: LabelOut
    to_state: str
    to_label: LabelOut
    action: str
    action_label: LabelOut
    comment: str | None
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
    values: list[BroughtOut] = Field(default_factory=list, description="What came with it.")
    created_at: datetime


class HistoryList(Schema):
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


class DefinitionIn(Schema):
    dsl: Storable
    activate: bool = Field(default=False, strict=True)


class DefinitionText(Schema):
    """A definition as JSON, or as the text that somebody is writing: then faults have their line."""

    dsl: Storable | None = None
    text: Annotated[str, MultiLine(500_000)] | None = Field(None, examples=['{"workflow": "SITE_MEMO"}'])

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.dsl is None) == (self.text is None):
            th = "ส่ง dsl หรือ text อย่างใดอย่างหนึ่ง"
            raise PydanticCustomError("one_of", "Send either `dsl` or `text`.", {"th": th})
        return self


class DefinitionOut(Schema):
    public_id: UUID
    code: str
    version: int
    description: LabelOut | None = Field(description="The same text twice where the definition has but one.")
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
    line: int | None = Field(None, description="Of the `text`, counted from 1.", examples=[12])
    message: LabelOut


class ValidationOut(Schema):
    """`valid` is true exactly when `errors` is empty."""

    valid: bool
    errors: list[DefinitionFault]


class ChangeOut(Schema):
    """One place that differs between two versions."""

    place: str = Field(
        description="JSON pointer in which a state stands by its name.", examples=["/states/draft/on/submit/to"]
    )
    what: Literal["added", "removed", "changed"]
    before: Any = Field(None, examples=["pending_review"])
    after: Any = Field(None, examples=["pending_approval"])


class DifferenceOut(Schema):
    changes: list[ChangeOut]


class DiagramOut(Schema):
    mermaid: str = Field(description="A `stateDiagram-v2`.", examples=["stateDiagram-v2\n    [*] --> s0\n"])


Name = Annotated[str, SingleLine(100)]


class RehearsedActorIn(Schema):
    """Somebody who does not exist, by what he would hold."""

    roles: list[Name] = Field(default_factory=list, max_length=20, examples=[["Document Control"]])
    permissions: list[Name] = Field(default_factory=list, max_length=100, examples=[["rfa.submit"]])
    party: list[Literal["originator", "recipient"]] = Field(default_factory=list, max_length=2)
    organization_roles: list[Name] = Field(default_factory=list, max_length=5, examples=[["CONTRACTOR"]])
    is_submitter: bool = Field(default=False, strict=True)
    is_assignee: bool = Field(default=False, strict=True)
    user_public_id: UUID | None = None
    teams: list[Name] = Field(default_factory=list, max_length=20, examples=[["DESIGN"]])
    disciplines: list[Name] = Field(default_factory=list, max_length=20, examples=[["STR"]])


class RehearsedStepIn(Schema):
    actor: RehearsedActorIn
    action: Annotated[str, SingleLine(50)] = Field(examples=["submit"])
    comment: Annotated[str, MultiLine(4000)] | None = None
    payload: Payload = Field(default_factory=dict)
    with_files: bool = Field(default=False, strict=True)
    response_code: Annotated[str, SingleLine(20)] | None = Field(None, examples=["1A"])
    branch: Annotated[str, SingleLine(50)] | None = Field(
        None, description="Of a parallel review; the action is then the answer for it.", examples=[None]
    )


class RehearsalIn(Schema):
    """A story: who does what, in which order, with which document."""

    steps: list[RehearsedStepIn] = Field(min_length=1, max_length=200)
    document: Payload = Field(
        default_factory=dict, description="Read by conditions as `document.<name>`.", examples=[{"priority": "HIGH"}]
    )
    context: Payload = Field(default_factory=dict, description="What the instance remembers from its start.")


class ReplayIn(Schema):
    limit: int = Field(200, strict=True, ge=1, le=2000, description="How many finished instances, the latest first.")
    after: Annotated[str, SingleLine(100)] | None = Field(
        None, description="`nextAfter` of the answer before, to go on behind it.", examples=[None]
    )


class DifferingOut(Schema):
    """A finished instance that would have gone another way, from which step on and why."""

    instance_public_id: UUID
    number: str | None
    step: int = Field(description="Counted from 1.", examples=[2])
    state: str
    action: str
    went_to: str
    would_go_to: str | None
    code: Literal[
        "no_action",
        "no_review",
        "no_branch",
        "no_answer",
        "other_state",
        "condition",
        "comment_required",
        "files_required",
        "files_not_taken",
        "response_code",
        "automatic",
        "not_ended",
        "values",
        "context",
        "not_submitter",
        "user",
        "party",
    ]
    message: LabelOut
    faults: list[DefinitionFault] = Field(
        default_factory=list, description="Of single values, where the reason is `values` or `context`.", examples=[[]]
    )


class ReplayOut(Schema):
    """`unknown` are instances whose document cannot be read any more, `leftOut` those that ended before the last one here."""

    looked_at: int = Field(examples=[200])
    same: int = Field(examples=[199])
    unknown: int = Field(examples=[0])
    left_out: int = Field(examples=[0])
    next_after: str | None = Field(description="Null when none are left.", examples=[None])
    differing: list[DifferingOut]
