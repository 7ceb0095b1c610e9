"""A document with everything that its page shows to one reader."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.errors import Text
from saraban.web.documents.document_pages import DocumentDetails, DocumentPages, OpenActions, state_of
from saraban.web.shell.document_kinds import WebKind
from saraban.workflow import service as workflow
from saraban.workflow.administration.service import interventions
from saraban.workflow.administration.service.interventions import NO_INTERVENTIONS, PermittedInterventions
from saraban.workflow.language.definition import CANCELLED
from saraban.workflow.language.outcome import past_tense
from saraban.workflow.language.registers import DRAFT
from saraban.workflow.runtime.domain.interventions import CANCEL, PERMISSION, TERMINATE
from saraban.workflow.runtime.schemas import WorkflowOut
from saraban.workflow.runtime.service.step_data import NO_STEP_DATA, StepData, step_data_of
from saraban.workflow.service import HistoryStep, Subjects


def needs_files(web: WebKind, document: Any, flow: WorkflowOut | None) -> bool:
    """Say whether a document leaves its draft without the file that people expect of it; the API takes it as it is."""
    return web.name == "rfa" and flow is not None and flow.current_state == DRAFT and not document.attachments


@dataclass(frozen=True, slots=True)
class KindFields:
    """What only some kinds of documents have; None where this kind has none."""

    recipients: Sequence[Any] | None
    body: str | None
    contract: Any
    rfa_type: Any
    discipline: Any
    sub_type: Any
    purpose: str | None
    revision: Any
    document_date: date | None
    sender_number: str | None
    sender_date: date | None
    received_date: date | None
    issued_at: datetime | None
    approve_code: Any
    items: Sequence[Any] | None
    correspondence: Any
    references: Sequence[Any] | None
    referenced_by: Sequence[Any] | None

    @classmethod
    def of(cls, document: Any) -> "KindFields":
        return cls(**{one.name: getattr(document, one.name, None) for one in fields(cls)})


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document with everything its page shows."""

    web: WebKind
    document: Any
    workflow: WorkflowOut | None
    state: str
    around: DocumentDetails
    taken: tuple[HistoryStep, ...]
    ahead: tuple[Text, ...]
    steering: PermittedInterventions = NO_INTERVENTIONS
    people: tuple[Caller, ...] = ()
    values: StepData = NO_STEP_DATA

    @property
    def history(self) -> list[Any]:
        """What happened, each deed once: a cancellation is told by the workflow, with its reason, and by the audit trail."""
        told = any(entry.source == "workflow" and entry.action == CANCEL for entry in self.around.history)
        twice = {"audit"} if told else set()
        return [one for one in self.around.history if not (one.source in twice and one.action.endswith(f".{CANCEL}"))]

    @property
    def said_its_end(self) -> bool:
        """Whether the last step has the name of the state it led to, so that the state need not be told again."""
        if not self.taken:
            return False
        last = self.taken[-1]
        return last.to_state == self.state and (
            last.action in {CANCEL, TERMINATE} or past_tense(last.action_label).th == last.to_label.th
        )

    def since(self, version: int) -> tuple[HistoryStep, ...]:
        """What was done after a version of the workflow that the reader saw, as far as it counts in steps."""
        flow = self.workflow
        steps = flow.version_no - version if flow is not None and version else 0
        return self.taken[-min(steps, len(self.taken)) :] if steps > 0 and self.taken else ()

    @property
    def returned(self) -> HistoryStep | None:
        """The step by which the document came back to be revised, where it stands so now."""
        flow = self.workflow
        if flow is None or self.state == CANCELLED.name or not self.taken:
            return None
        last = self.taken[-1]
        ours = last.actor is None or last.actor.organization_code == self.document.originator.organization_code
        came_back = flow.can_edit and not flow.terminal and not ours
        return last if flow.outcome == "revise_resubmit" or came_back else None

    @property
    def needs_files(self) -> bool:
        return needs_files(self.web, self.document, self.workflow)

    @property
    def answers(self) -> list[HistoryStep]:
        """What was answered, the latest first; sheets show the answers of each person by themselves."""
        return [] if self.around.people else [one for one in reversed(self.taken) if one.action == "respond"]

    @property
    def offers(self) -> OpenActions:
        return self.around.offers

    @property
    def actions(self) -> list[Any]:
        """The workflow's actions; an answer to a sheet has a form of its own."""
        if self.state == CANCELLED.name:
            return []
        actions = self.workflow.actions if self.workflow else []
        return [one for one in actions if not (self.offers.respond and one.code == "respond")]


async def read_view(
    ctx: RequestContext, session: AsyncSession, shelf: DocumentPages, *, subjects: Subjects, public_id: UUID
) -> DocumentView:
    """
    Read everything the page shows.

    :raises NotFound: also when the caller may not know of the document
    """
    found = await shelf.read(ctx, session, public_id=public_id)
    document, flow = found.data, found.workflow
    taken: tuple[HistoryStep, ...] = ()
    coming: tuple[Text, ...] = ()
    if flow is not None:
        instance = flow.instance_public_id
        taken = await workflow.history(ctx, session, subjects=subjects, public_id=instance)
        coming = await workflow.states_ahead(session, public_id=instance)
    around = await shelf.around(ctx, session, document=document)
    seen = DocumentView(shelf.web, document, flow, state_of(found), around, taken, coming)
    if flow is not None:
        seen = replace(seen, values=await step_data_of(session, public_id=flow.instance_public_id))
    if flow is None or not ctx.caller.may_anywhere(PERMISSION):
        return seen
    instance = flow.instance_public_id
    open_to = await interventions.find(ctx, session, subjects=subjects, public_id=instance)
    if not open_to.reassign:
        return replace(seen, steering=open_to)
    people = await interventions.people(ctx, session, subjects=subjects, public_id=instance)
    return replace(seen, steering=open_to, people=people)
