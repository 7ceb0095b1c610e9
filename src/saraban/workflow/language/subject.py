"""The subject of a workflow, and the schemas of its state, without document types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import Field

from saraban.identity.domain.context import Caller, Scope
from saraban.identity.schemas import PersonRef
from saraban.kit.errors import Text
from saraban.kit.json import Json
from saraban.kit.schema import Schema
from saraban.workflow.language.outcome import Outcome
from saraban.workflow.language.review import BranchOut, ResponseOut

BANGKOK = ZoneInfo("Asia/Bangkok")


def _everybody(_person: Caller, _state: str) -> bool:
    return True


def _every_organization(_organization: int, _state: str) -> bool:
    return True


class InstanceStatus(StrEnum):
    """Whether an instance runs, or how it ended."""

    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    TERMINATED = "TERMINATED"


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The answer to an item of the subject; the instance does not store it."""

    public_id: UUID
    response_code: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SubjectFacts:
    """
    A subject as the caller sees it.
    :param entity_id: public id of what the instance moves, such as a revision
    :param scope: organizations, project and contract whose grants count
    :param parties: role in the project or contract (`OWNER`, `CONTRACTOR`, …) -> organizations
    :param organizations: public id and code of some organizations, by key
    :param assignee_user_ids: assigned people who have not acted yet
    :param public_id: of the document
    :param context: further facts for conditions, read as `document.<name>`
    :param zone: for due dates
    :param seen_by: whether a person may see it in a state
    :param open_to: the same for people of an organization with the general permission to view
    :param edit_permission: for members of the originator, while the state allows editing
    :param carries_items: steps may answer single items
    :param source: the port's own data, so that a following step need not read it again
    """

    entity_id: str
    scope: Scope
    originator_organization_id: int
    recipient_organization_ids: frozenset[int]
    parties: Mapping[str, frozenset[int]]
    submitter_user_id: int | None
    assignee_user_ids: frozenset[int]
    kind: str
    public_id: UUID
    number: str
    title: str
    due_date: date | None = None
    priority: str | None = None
    context: dict[str, Json] = field(default_factory=dict)
    organizations: Mapping[int, tuple[UUID, str]] = field(default_factory=dict)
    edit_permission: str = "document.edit"
    carries_items: bool = False
    zone: ZoneInfo = BANGKOK
    seen_by: Callable[[Caller, str], bool] = field(default=_everybody, compare=False, repr=False)
    open_to: Callable[[int, str], bool] = field(default=_every_organization, compare=False, repr=False)
    source: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Meaning:
    """
    A step's meaning, independent of the definition's names.
    :param outcome: of the final state reached, or None
    :param asks: role that the new state waits for, or `recipient`
    :param decided_by: role of the acting organizations
    """

    outcome: Outcome | None = None
    asks: str | None = None
    decided_by: str | None = None


NOTHING = Meaning()


class ValueOut(Schema):
    """A value stated with a step, named in the definition's `context_schema`."""

    name: str = Field(examples=["amount"])
    label: Text
    kind: Literal["line", "lines", "date", "number", "integer", "boolean", "choice", "json"]
    value: Json = Field(examples=[420000])
    text: Text = Field(description="The value as people read it.", examples=[{"th": "420,000", "en": "420,000"}])


class ActionOut(Schema):
    """
    An action that the caller may take now. If there are `responses`, send one as `responseCode`.
    Without it the `usual` response applies, if there is one.
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


class HistoryFileOut(Schema):
    public_id: UUID
    file_name: str = Field(examples=["รายการคำนวณโครงสร้าง.pdf"])
    download_url: str = Field(examples=["/api/v1/attachments/01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10/content"])


class StepAttachmentOut(HistoryFileOut):
    """A file of the current or the previous step."""

    step_code: str


class AskedOrganizationOut(Schema):
    public_id: UUID
    code: str = Field(examples=["คคง."])


class WaitingForOut(Schema):
    """The organizations and people that the current state waits for. While answers of a review are hidden, see the branches."""

    organizations: list[AskedOrganizationOut]
    people: list[PersonRef] = Field(description="At most ten of them.", examples=[[]])
    people_count: int = Field(examples=[0])
    nobody: bool = Field(
        description="Nobody who may see the document can act, or answer for a branch: somebody has to force the step, "
        "give it to another person, or be given a role. A single document or instance says so too where an organization "
        "sees it and none of its people may act; a list, the inbox and the answer to a step do not look for that.",
        examples=[False],
    )


NOBODY_ASKED = WaitingForOut(organizations=[], people=[], people_count=0, nobody=False)


@dataclass(frozen=True, slots=True)
class Envelope:
    """
    The state of an instance and its subject (REQ-WFL-14), with the caller's `actions`.
    :param values: stated with the steps so far, where they are read separately
    :param due_on: last day to act in this state
    :param branches: of the latest parallel review, as the caller may see them
    :param outcome: of the final state, if it has one
    """

    instance_public_id: UUID
    workflow_code: str
    status: str
    current_state: str
    state_label: Text
    terminal: bool
    actions: tuple[ActionOut, ...]
    can_edit: bool
    last_transition_at: datetime
    version_no: int
    entity_type: str
    facts: SubjectFacts
    waiting_for: WaitingForOut
    values: tuple[ValueOut, ...] = ()
    step_attachments: tuple[StepAttachmentOut, ...] = ()
    state_help: Text | None = None
    due_on: date | None = None
    branches: tuple[BranchOut, ...] = ()
    outcome: Outcome | None = None

    @property
    def available_actions(self) -> list[str]:
        return [action.code for action in self.actions]
