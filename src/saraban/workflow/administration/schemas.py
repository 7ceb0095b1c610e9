"""Schemas of definitions, assignments, simulations, interventions and migrations."""

from datetime import datetime
from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from saraban.kit.errors import Text
from saraban.kit.json import Json
from saraban.kit.schema import MultiLine, Payload, Schema, SingleLine, Storable, WarningOut
from saraban.projects.schemas import ProjectCode
from saraban.workflow.administration.domain import history_replay
from saraban.workflow.administration.domain.migration import MigrationOutcome
from saraban.workflow.administration.domain.simulation import SimulatedActor, SimulationStep
from saraban.workflow.runtime.domain.interventions import LONGEST, SHORTEST

_DEFINITION: Final[dict[str, Json]] = {
    "workflow": "SITE_MEMO",
    "description": {"th": "บันทึกถึงอีกฝ่ายหนึ่ง", "en": "A memo that one party sends to another."},
    "states": [
        {
            "name": "draft",
            "label": {"th": "ฉบับร่าง", "en": "Draft"},
            "initial": True,
            "editable": True,
            "on": {
                "submit": {
                    "to": "submitted",
                    "label": {"th": "ส่ง", "en": "Submit"},
                    "require": {"party": ["originator"], "permissions": ["correspondence.submit"]},
                }
            },
        },
        {"name": "submitted", "label": {"th": "ส่งแล้ว", "en": "Submitted"}, "terminal": True},
    ],
}


class DefinitionIn(Schema):
    dsl: Storable = Field(examples=[_DEFINITION])
    activate: bool = Field(default=False, strict=True)


class DefinitionText(Schema):
    """A definition as JSON, or as text, for which faults have their line."""

    dsl: Storable | None = None
    text: Annotated[str, MultiLine(500_000)] | None = Field(None, examples=['{"workflow": "SITE_MEMO"}'])

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.dsl is None) == (self.text is None):
            th = "ส่ง dsl หรือ text อย่างใดอย่างหนึ่ง"
            raise PydanticCustomError("one_of", "Send either `dsl` or `text`.", {"th": th})
        return self


class DefinitionOut(Schema):
    public_id: UUID
    code: str = Field(examples=["SITE_MEMO"])
    version: int
    description: Text | None = Field(
        description="The same text twice where the definition has but one.",
        examples=[{"th": "บันทึกถึงอีกฝ่ายหนึ่ง", "en": "A memo that one party sends to another."}],
    )
    is_active: bool
    created_at: datetime


class DefinitionDetailOut(DefinitionOut):
    dsl: dict[str, Json] = Field(examples=[_DEFINITION])


class DefinitionFault(Schema):
    pointer: str
    code: str
    line: int | None = Field(None, description="Of the `text`, counted from 1.", examples=[12])
    message: Text


class ValidationOut(Schema):
    """`valid` is true exactly when `errors` is empty."""

    valid: bool
    errors: list[DefinitionFault]


class ChangeOut(Schema):
    """A difference between two versions."""

    place: str = Field(
        description="JSON pointer in which a state stands by its name.", examples=["/states/draft/on/submit/to"]
    )
    what: Literal["added", "removed", "changed"]
    before: Json = Field(None, examples=["pending_review"])
    after: Json = Field(None, examples=["pending_approval"])


class DifferenceOut(Schema):
    changes: list[ChangeOut]


class DiagramOut(Schema):
    mermaid: str = Field(description="A `stateDiagram-v2`.", examples=["stateDiagram-v2\n    [*] --> s0\n"])


Kind = Literal["correspondence", "rfa", "transmittal", "circulation"]


class WorkflowAssignmentIn(Schema):
    """Documents, and the workflow that new ones start on."""

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


class WorkflowAssignmentOut(Schema):
    """
    If `isInForce` is false, the workflow has no active version.

    Then such documents cannot be created.
    """

    kind: Kind = Field(examples=["correspondence"])
    type_code: str | None = Field(examples=["MEMO"])
    project: ProjectCode | None = Field(description="Null for the whole installation.")
    workflow_code: str = Field(examples=["SITE_MEMO"])
    is_in_force: bool
    chosen_by: str = Field(examples=["ปรียา จัดการดี"])
    chosen_at: datetime


class AssignedKindOut(Schema):
    """Documents that start on a workflow; `byDefault` means without an assignment."""

    kind: Kind = Field(examples=["correspondence"])
    type_code: str | None = Field(examples=["MEMO"])
    project_code: str | None = Field(description="Null for those of every project.", examples=["LCBP3-C2"])
    by_default: bool


class AssignedKindsOut(Schema):
    """Documents that start on a workflow, as far as visible, and activation warnings."""

    started_by: list[AssignedKindOut] = Field(default_factory=list)
    warnings: list[WarningOut] = Field(default_factory=list, description="NOTHING_STARTS_IT, REFUSED_TODAY.")


class ActivatedOut(DefinitionOut, AssignedKindsOut):
    """A version that was activated or deactivated."""


class PublishedOut(DefinitionDetailOut, AssignedKindsOut):
    """A published version."""


Name = Annotated[str, SingleLine(100)]


class SimulatedStepOut(Schema):
    """The result of a step; `code` and `message` are null if it succeeded."""

    state: str = Field(examples=["draft"])
    available_actions: list[str] = Field(description="What this actor could do then.")
    next_state: str = Field(examples=["pending_review"])
    terminal: bool
    code: str | None = Field(None, examples=[None])
    message: Text | None = None
    automatic: list[str] = Field(default_factory=list, description="Actions that the engine took by itself after it.")
    values: dict[str, Json] = Field(
        default_factory=dict, description="What the document remembers afterwards.", examples=[{"amount": 420000}]
    )
    cautions: list[Text] = Field(
        default_factory=list, description="On what it depends that whoever is waited for then may see the document."
    )


class SimulationOut(Schema):
    steps: list[SimulatedStepOut]


class SimulatedActorIn(Schema):
    """A fictional actor."""

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

    def simulation_step(self) -> SimulationStep:
        described = self.actor
        actor = SimulatedActor(
            roles=frozenset(described.roles),
            permissions=frozenset(described.permissions),
            party=frozenset(described.party),
            organization_roles=frozenset(described.organization_roles),
            is_submitter=described.is_submitter,
            is_assignee=described.is_assignee,
            public_id=described.user_public_id,
            teams=frozenset(described.teams),
            disciplines=frozenset(described.disciplines),
        )
        return SimulationStep(
            actor, self.action, self.comment, self.payload, self.with_files, self.response_code, self.branch
        )


class SimulationIn(Schema):
    """Actors and actions in order, with a document."""

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
    """A finished instance that would take another path, with the step and the reason."""

    instance_public_id: UUID
    number: str | None = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    step: int = Field(description="Counted from 1.", examples=[2])
    state: str
    action: str = Field(examples=["submit"])
    went_to: str
    would_go_to: str | None
    code: str = Field(json_schema_extra={"enum": list(history_replay.WORDS)})
    message: Text
    faults: list[DefinitionFault] = Field(
        default_factory=list, description="Of single values, where the reason is `values` or `context`.", examples=[[]]
    )


class ReplayOut(Schema):
    """`unknown` counts unreadable documents, `leftOut` instances that ended earlier."""

    looked_at: int = Field(examples=[200])
    same: int = Field(examples=[199])
    unknown: int = Field(examples=[0])
    left_out: int = Field(examples=[0])
    next_after: str | None = Field(description="Null when none are left.", examples=[None])
    differing: list[DifferingOut]


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
    """The new assignee, who must be able to act in their own right."""

    reason: Reason
    user_public_id: UUID
    branch_public_id: UUID | None = Field(
        None, description="In a parallel review: the branch that shall ask this person."
    )
    client_version_no: VersionNo | None = None


class ForceIn(Schema):
    """`action` belongs to the current state; without it `to` is any state of the definition."""

    reason: Reason
    action: Annotated[str, SingleLine(50)] | None = Field(None, examples=["approve"])
    to: Annotated[str, SingleLine(50)] | None = Field(None, examples=["pending_approval"])
    client_version_no: VersionNo | None = None

    @model_validator(mode="after")
    def _require_target(self) -> Self:
        if self.action is None and self.to is None:
            th = "ระบุการดำเนินการ หรือสถานะปลายทาง"
            raise PydanticCustomError("required", "Name an action, or a state to go to.", {"th": th})
        return self


class ForceTargetOut(Schema):
    """A state that can be forced."""

    name: str = Field(examples=["pending_approval"])
    label: Text


class ForcibleActionOut(Schema):
    """An action that can be forced. If it has several `targets`, name one as `to`."""

    code: str = Field(examples=["approve"])
    label: Text
    targets: list[ForceTargetOut]


class InterventionsOut(Schema):
    """The caller's interventions; everything is empty without the permission."""

    actions: list[ForcibleActionOut]
    states: list[ForceTargetOut]
    terminate: bool = Field(examples=[True])
    reassign: bool = Field(description="Whether you may give the present state to another person.", examples=[True])
    reassign_branches: bool = Field(
        description="Whether you may give a branch of the present parallel review to another person.", examples=[False]
    )


StateName = Annotated[str, SingleLine(50)]


class MigrationIn(Schema):
    """Instances move only with `dryRun: false`. `after` is the previous `nextAfter`."""

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
    message: Text


class MigratedOut(Schema):
    """The result for one instance, in a dry run the expected one; `errors` of its context."""

    instance_public_id: UUID
    number: str | None = Field(examples=["คคง.-สคฉ.3-0001-2569"])
    from_version: int = Field(examples=[1])
    state: str = Field(examples=["in_review"])
    to_state: str | None = Field(examples=["pending_review"])
    outcome: str = Field(json_schema_extra={"enum": list(MigrationOutcome)})
    moved: bool = Field(examples=[False], description="False in a dry run, and where it stays on its version.")
    message: Text
    errors: list[ContextFault]


class MigrationOut(Schema):
    """`counts` is by outcome. While `nextAfter` is set, more instances follow."""

    dry_run: bool
    counts: dict[str, int] = Field(examples=[{"stays": 12, "state_gone": 1}])
    instances: list[MigratedOut]
    next_after: UUID | None
