"""
What a workflow knows of the thing it moves, and what it shows of itself: plain facts, no document types.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.identity.domain.context import Caller, Scope
from saraban.kit.errors import Text
from saraban.kit.json import Json
from saraban.workflow.language.outcome import Outcome
from saraban.workflow.language.review import BranchView, Person

BANGKOK = ZoneInfo("Asia/Bangkok")


def _everybody(_person: Caller, _state: str) -> bool:
    return True


def _every_organization(_organization: int, _state: str) -> bool:
    return True


class InstanceStatus(StrEnum):
    """Whether an instance runs, and how it ended: by a step, with its subject, or by an administrator without an outcome."""

    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    TERMINATED = "TERMINATED"


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The answer to one of the things that a subject carries; its instance keeps nothing of it."""

    public_id: UUID
    response_code: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SubjectFacts:
    """
    One subject as the caller sees it.

    :param entity_id: public id, as text, of what the instance moves (the revision of a document)
    :param scope: the organizations, project and contract whose grants count for it
    :param parties: role in the project or contract (`OWNER`, `CONTRACTOR`, …) -> organizations that hold it
    :param organizations: public id and code of those that are known by now, by key; others have to be looked up
    :param assignee_user_ids: named people who have still to act
    :param public_id: of the document, for links
    :param context: further facts for conditions, read as `document.<name>`
    :param zone: whose days are counted
    :param seen_by: whether a person may see it once it stands in a state: a step can open it to its recipients
    :param open_to: the same for those of an organization who may view at all there; who may besides is asked by person
    :param edit_permission: what a member of the originator needs to edit it while the state allows editing
    :param carries_items: steps may answer each of the things that it carries
    :param source: what the port read, for itself: it need not read it again for a step that follows
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
    What a definition says of a step, beside the names that it gives to things.

    :param outcome: what it means to have ended with it, None where it goes on or no word says it
    :param asks: the role of the organizations that the state reached waits for, or `recipient`
    :param decided_by: the role of the organizations that take such a step
    """

    outcome: Outcome | None = None
    asks: str | None = None
    decided_by: str | None = None


NOTHING = Meaning()


@dataclass(frozen=True, slots=True)
class ResponseChoice:
    """One of the codes that an action asks for; `usual` counts where none is given."""

    code: str
    label: Text | None
    comment_required: bool
    usual: bool = False


@dataclass(frozen=True, slots=True)
class ActionChoice:
    """
    One action that the caller may take now.

    :param responses: when there are any, one of them must come with it, unless one of them is usual
    :param in_own_right: whether the caller may take it without standing in for anybody
    :param on_behalf_of: in whose place the caller may take it
    :param fields: the values that can come with it; None for those that nobody has stated yet
    """

    code: str
    label: Text
    comment_required: bool
    attachments: bool
    attachments_required: bool = False
    responses: tuple[ResponseChoice, ...] = ()
    help: Text | None = None
    in_own_right: bool = True
    on_behalf_of: tuple[Person, ...] = ()
    fields: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class StepFile:
    public_id: UUID
    file_name: str
    step_code: str
    download_url: str


@dataclass(frozen=True, slots=True)
class AskedOrganization:
    public_id: UUID
    code: str


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """
    Whom a state waits for, as people read it.

    :param people: some of them, where they are many; of a review whose answers are hidden none, its branches say whom they ask
    :param people_count: how many they are
    :param nobody: there is nobody who may see the document and act, or answer for a branch
    """

    organizations: tuple[AskedOrganization, ...] = ()
    people: tuple[Person, ...] = ()
    people_count: int = 0
    nobody: bool = False


NOBODY_ASKED = WaitingFor()


@dataclass(frozen=True, slots=True)
class Value:
    """
    Something that was stated, in the words of the schema.

    :param kind: what the schema makes of it, as `number` or `date`
    :param text: as people read it
    """

    name: str
    label: Text
    kind: str
    value: Json
    text: Text


@dataclass(frozen=True, slots=True)
class Envelope:
    """
    Where an instance stands and what it moves (REQ-WFL-14); `actions` is for this caller, now.

    :param values: what was stated with its steps so far, where it is read by itself
    :param due_on: the day by which somebody is to act in this state
    :param branches: of the latest parallel review, as this caller may see them
    :param outcome: what it means that it ended, where it has and its definition or the name of the end says so
    """

    instance_public_id: UUID
    workflow_code: str
    status: str
    current_state: str
    state_label: Text
    terminal: bool
    actions: tuple[ActionChoice, ...]
    can_edit: bool
    last_transition_at: datetime
    version_no: int
    entity_type: str
    facts: SubjectFacts
    values: tuple[Value, ...] = ()
    step_attachments: tuple[StepFile, ...] = ()
    state_help: Text | None = None
    due_on: date | None = None
    branches: tuple[BranchView, ...] = ()
    outcome: Outcome | None = None
    waiting_for: WaitingFor = NOBODY_ASKED

    @property
    def available_actions(self) -> list[str]:
        return [action.code for action in self.actions]
