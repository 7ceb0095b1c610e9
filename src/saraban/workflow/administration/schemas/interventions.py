"""What the endpoints of steering take and give: force, an end without an outcome, another person, another version."""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from saraban.kit.schema import MultiLine, Schema, SingleLine
from saraban.workflow.runtime.domain.interventions import LONGEST, SHORTEST
from saraban.workflow.runtime.schemas import LabelOut

Reason = Annotated[
    Annotated[str, MultiLine(LONGEST, SHORTEST)],
    Field(
        description="Why; kept with the step, told to all who take part.",
        examples=["ผู้ตรวจลาออกแล้ว งานหน้างานรอไม่ได้"],
    ),
]
VersionNo = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1, examples=[2])]


class TerminationIn(Schema):
    reason: Reason
    client_version_no: VersionNo | None = None


class ReassignmentIn(Schema):
    """The present state is given to one person, who may act in it in their own right."""

    reason: Reason
    user_public_id: UUID
    branch_public_id: UUID | None = Field(
        None, description="In a parallel review: the branch that shall ask this person."
    )
    client_version_no: VersionNo | None = None


class ForceIn(Schema):
    """`action` is one of the present state's; without it `to` is any state of the definition."""

    reason: Reason
    action: Annotated[str, SingleLine(50)] | None = Field(None, examples=["approve"])
    to: Annotated[str, SingleLine(50)] | None = Field(None, examples=["pending_approval"])
    client_version_no: VersionNo | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.action is None and self.to is None:
            th = "ระบุการดำเนินการ หรือสถานะปลายทาง"
            raise PydanticCustomError("required", "Name an action, or a state to go to.", {"th": th})
        return self


class ForceTargetOut(Schema):
    """A state that can be gone to."""

    name: str = Field(examples=["pending_approval"])
    label: LabelOut


class ForcibleActionOut(Schema):
    """An action that can be forced; where it leads to several states, one of them is named as `to`."""

    code: str = Field(examples=["approve"])
    label: LabelOut
    targets: list[ForceTargetOut]


class InterventionsOut(Schema):
    """What is open to the caller besides the workflow's actions; everything is empty for those who may not."""

    actions: list[ForcibleActionOut]
    states: list[ForceTargetOut]
    terminate: bool = Field(examples=[True])
    reassign: bool = Field(description="Whether you may give the present state to another person.", examples=[True])
    reassign_branches: bool = Field(
        description="Whether you may give a branch of the present parallel review to another person.", examples=[False]
    )


class AssignablePersonOut(Schema):
    public_id: UUID
    display_name: str = Field(examples=["ดวงใจ เอกสารครบ"])


class AssignablePeople(Schema):
    """Those to whom the present state can be given."""

    items: list[AssignablePersonOut]
    next_cursor: None = None


StateName = Annotated[str, SingleLine(50)]


class MigrationIn(Schema):
    """Without `dryRun: false` nothing is moved; `after` is the `nextAfter` of the answer before."""

    dry_run: bool = Field(default=True, strict=True, examples=[True])
    mapping: dict[StateName, StateName] = Field(
        default_factory=dict,
        max_length=200,
        description="Old state to new state, for those that the version does not have.",
        examples=[{"in_review": "pending_review"}],
    )
    limit: int = Field(500, strict=True, ge=1, le=1000, description="How many instances are looked at.")
    after: UUID | None = Field(None, description="Go on behind this instance.")


class ContextFault(Schema):
    pointer: str = Field(examples=["/round"])
    message: LabelOut


class MigratedOut(Schema):
    """One instance: what became of it, or in a dry run would; `errors` are those of its context."""

    instance_public_id: UUID
    number: str | None = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    from_version: int = Field(examples=[1])
    state: str = Field(examples=["in_review"])
    to_state: str | None = Field(examples=["pending_review"])
    outcome: Literal[
        "stays",
        "moves",
        "state_gone",
        "context_unfit",
        "nobody",
        "answer_lost",
        "answer_changed",
        "verdict_due",
        "hidden_answers",
        "subject_gone",
    ]
    moved: bool = Field(examples=[False], description="False in a dry run, and where it stays on its version.")
    message: LabelOut
    errors: list[ContextFault]


class MigrationOut(Schema):
    """`counts` is by outcome; while there is a `nextAfter` there are more instances to look at."""

    dry_run: bool
    counts: dict[str, int] = Field(examples=[{"stays": 12, "state_gone": 1}])
    instances: list[MigratedOut]
    next_after: UUID | None
