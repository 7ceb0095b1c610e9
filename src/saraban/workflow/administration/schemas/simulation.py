"""What came of a simulation."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.json import Json
from saraban.kit.schema import MultiLine, Schema, SingleLine
from saraban.workflow.administration.schemas.definitions import DefinitionFault
from saraban.workflow.runtime.schemas import LabelOut, Payload

Name = Annotated[str, SingleLine(100)]


class SimulatedStepOut(Schema):
    """What came of one step; `code` and `message` are null when it was taken."""

    state: str = Field(examples=["draft"])
    available_actions: list[str] = Field(description="What this actor could do then.")
    next_state: str = Field(examples=["pending_review"])
    terminal: bool
    code: str | None = Field(None, examples=[None])
    message: LabelOut | None = None
    automatic: list[str] = Field(default_factory=list, description="Actions that the engine took by itself after it.")
    values: dict[str, Json] = Field(
        default_factory=dict, description="What the document remembers afterwards.", examples=[{"amount": 420000}]
    )
    cautions: list[LabelOut] = Field(
        default_factory=list, description="On what it depends that whoever is waited for then may see the document."
    )


class SimulationOut(Schema):
    steps: list[SimulatedStepOut]


class SimulatedActorIn(Schema):
    """Somebody who does not exist, by what they would hold."""

    roles: list[Name] = Field(default_factory=list, max_length=20, examples=[["Document Control"]])
    permissions: list[Name] = Field(default_factory=list, max_length=100, examples=[["rfa.submit"]])
    party: list[Literal["originator", "recipient"]] = Field(default_factory=list, max_length=2)
    organization_roles: list[Name] = Field(default_factory=list, max_length=5, examples=[["CONTRACTOR"]])
    is_submitter: bool = Field(default=False, strict=True)
    is_assignee: bool = Field(default=False, strict=True)
    user_public_id: UUID | None = None
    teams: list[Name] = Field(default_factory=list, max_length=20, examples=[["DESIGN"]])
    disciplines: list[Name] = Field(default_factory=list, max_length=20, examples=[["STR"]])


class SimulatedActionIn(Schema):
    actor: SimulatedActorIn
    action: Annotated[str, SingleLine(50)] = Field(examples=["submit"])
    comment: Annotated[str, MultiLine(4000)] | None = None
    payload: Payload = Field(default_factory=dict)
    with_files: bool = Field(default=False, strict=True)
    response_code: Annotated[str, SingleLine(20)] | None = Field(None, examples=["1A"])
    branch: Annotated[str, SingleLine(50)] | None = Field(
        None, description="Of a parallel review; the action is then the answer for it.", examples=[None]
    )


class SimulationIn(Schema):
    """A story: who does what, in which order, with which document."""

    steps: list[SimulatedActionIn] = Field(min_length=1, max_length=200)
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
    number: str | None = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    step: int = Field(description="Counted from 1.", examples=[2])
    state: str
    action: str = Field(examples=["submit"])
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
