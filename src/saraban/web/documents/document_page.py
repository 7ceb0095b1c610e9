"""One document: what it says, where it stands, what this reader may do with it, and all that happened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.attachments import service as attachments
from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as core
from saraban.documents.core.schemas import CodeAnswer
from saraban.documents.drawing.domain import KINDS as DRAWINGS
from saraban.documents.rfa import service as rfas
from saraban.identity.dependencies import CurrentCaller
from saraban.identity.domain.context import Caller, RequestContext
from saraban.identity.schemas import PersonRef
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, NotFound, Text
from saraban.kit.http import ReadSession
from saraban.numbering import service as numbering
from saraban.web.documents.document_forms import replying_organization
from saraban.web.documents.registers import DocumentRegister, register_at, state_of
from saraban.web.documents.step_form import StepForm, step_form, version_in
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import BY_NAME, WebKind
from saraban.web.shell.form_state import FormState, FormValues
from saraban.web.shell.forms import new_key, text, uploaded
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.workflow import service as workflow
from saraban.workflow.administration.schemas import InterventionsOut
from saraban.workflow.administration.service import interventions
from saraban.workflow.administration.service.interventions import NO_INTERVENTIONS
from saraban.workflow.language.definition import CANCELLED
from saraban.workflow.language.outcome import past_tense
from saraban.workflow.language.registers import DRAFT
from saraban.workflow.runtime.dependencies import RegisteredSubjects
from saraban.workflow.runtime.domain.interventions import CANCEL, PERMISSION, TERMINATE
from saraban.workflow.runtime.schemas import WorkflowOut
from saraban.workflow.runtime.service.step_data import NO_STEP_DATA, StepData, step_data_in
from saraban.workflow.service import ConditionNotMet, HistoryStep, StaleInstance, Subjects, Task, VersionConflict

router = APIRouter(include_in_schema=False, route_class=PageRoute)

FILE_CONTENT = "/api/v1/attachments/{public_id}/content"

# Somebody else was quicker: what they did stands beside the refusal.
_OVERTAKEN: Final = {ErrorKind.CONFLICT, ErrorKind.STALE}


@dataclass(frozen=True, slots=True)
class OpenActions:
    edit: bool = False
    files: bool = False
    cancel: bool = False
    revise: bool = False
    respond: bool = False
    respond_own: bool = False
    respond_for: tuple[PersonRef, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentDetails:
    offers: OpenActions
    history: list[Any]
    revisions: list[Any] = field(default_factory=list)
    people: list[Any] = field(default_factory=list)


def needs_files(web: WebKind, document: Any, flow: WorkflowOut | None) -> bool:
    """Say whether a document leaves its draft without the file that people expect of it; the API takes it as it is."""
    if web.name != "rfa" or flow is None or flow.current_state != DRAFT or document.attachments:
        return False
    return not any(item.attachments or item.kind == "document" for item in document.items)


# What only some kinds of documents have.
_KIND_FIELDS: Final = (
    *("recipients", "body", "contract", "rfa_type", "discipline", "sub_type", "purpose", "revision", "document_date"),
    *("sender_number", "sender_date", "received_date", "issued_at", "approve_code", "items", "drawings"),
    *("correspondence", "references", "referenced_by"),
)


@dataclass(frozen=True, slots=True)
class DocumentView:
    web: WebKind
    document: Any
    workflow: WorkflowOut | None
    state: str
    around: DocumentDetails
    steering: InterventionsOut
    taken: tuple[HistoryStep, ...] = ()
    ahead: tuple[Text, ...] = ()
    people: tuple[Caller, ...] = ()
    values: StepData = NO_STEP_DATA
    replies: bool = False
    item_codes: Sequence[CodeAnswer] = ()

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
    ctx: RequestContext, session: AsyncSession, register: DocumentRegister, public_id: UUID
) -> DocumentView:
    """
    Read everything the page shows.

    :raises NotFound: also when the caller may not know of the document
    """
    found = await core.read_whole(ctx, session, register.kind, public_id)
    shown, state = found.shown, found.state
    details = await _details(ctx, session, register, found)
    replies = replying_organization(ctx, found) is not None
    seen = DocumentView(
        register.web, shown.data, shown.workflow, state_of(shown), details, NO_INTERVENTIONS, replies=replies
    )
    if state is None:
        return seen
    answered = "drawings" in register.web.asks and shown.data.items
    seen = replace(
        seen,
        taken=found.steps,
        ahead=workflow.states_ahead(state),
        values=step_data_in(state.row, state.definition),
        item_codes=await rfas.item_codes(session) if answered else (),
    )
    if not ctx.caller.may_anywhere(PERMISSION):
        return seen
    open_to = interventions.permitted_to(ctx.caller, state)
    people = await interventions.people_for(ctx, session, state) if open_to.reassign else ()
    return replace(seen, steering=open_to, people=people)


async def _details(
    ctx: RequestContext, session: AsyncSession, register: DocumentRegister, found: core.DocumentReading
) -> DocumentDetails:
    kind, history = register.kind, list(found.history.items)
    if isinstance(kind, core.RevisionedKind):
        open_to = core.permitted_actions(ctx, kind, found.rows, found.envelope)
        offers = OpenActions(open_to.edit, open_to.edit, open_to.cancel, open_to.revise)
        return DocumentDetails(offers, history, revisions=list(found.revisions.items if found.revisions else ()))
    asked = await circulations.permitted_actions(ctx, session, found.row, found.envelope)
    offers = OpenActions(
        edit=asked.edit,
        cancel=asked.cancel,
        respond=asked.respond or bool(asked.respond_for),
        respond_own=asked.respond,
        respond_for=asked.respond_for,
    )
    return DocumentDetails(offers, history, people=list(found.shown.data.assignees))


class DocumentPage(PageModel, template="documents/document.html"):
    path: str
    kind: WebKind
    sight: DocumentView
    document: Any
    extra: SimpleNamespace
    number: UUID | None
    files: Sequence[tuple[str, str]]
    file_kinds: str
    dialog: str
    created: bool
    may_reply: bool
    happened: Text | None
    next_task: Task | None
    moved: bool
    steps: Sequence[str]
    meanwhile: Sequence[HistoryStep]
    asked: Callable[[str], StepForm]
    keys: Callable[[], str]


async def show_document(
    page: PageRequest,
    session: AsyncSession,
    state: FormState,
    register: DocumentRegister,
    subjects: Subjects,
    public_id: UUID,
    *,
    dialog: str = "",
    created: bool = False,
) -> Response:
    """
    Show a document.

    :param dialog: the one whose form was refused
    """
    error, form = state.error, state.form
    seen = await read_view(page.context, session, register, public_id)
    page.within(seen.document.project.public_id)
    recovery = [one for one in error.recovery if one != REFRESH] if error else []
    happened = labels.DONE.get(state.done)
    return page.show(
        DocumentPage(
            path=f"{register.web.url}/{public_id}",
            kind=register.web,
            sight=seen,
            document=seen.document,
            extra=SimpleNamespace(**{name: getattr(seen.document, name, None) for name in _KIND_FIELDS}),
            number=await numbering.number_of_holder(page.context, session, holder=public_id),
            state=state,
            files=uploaded(form),
            file_kinds=await attachments.project_kinds(session, seen.document.project.public_id),
            dialog=dialog if error and _is_for_the_form(error, form) else "",
            created=created,
            may_reply=seen.replies,
            happened=happened,
            next_task=await _next_task(page, session, subjects, public_id) if happened else None,
            moved=isinstance(error, VersionConflict | StaleInstance),
            steps=[one.say(page.language, error.values) for one in recovery] if error else [],
            meanwhile=seen.since(version_in(form)) if _is_overtaken(error, dialog) else (),
            asked=partial(step_form, seen.values, form),
            keys=new_key,
        )
    )


async def _next_task(page: PageRequest, session: AsyncSession, subjects: Subjects, public_id: UUID) -> Task | None:
    found = await workflow.list_tasks(
        page.context, session, subjects=subjects, cursor=None, limit=2, now=page.context.now
    )
    return next((one for one in found.items if one.envelope.facts.public_id != public_id), None)


def _is_for_the_form(error: DomainError, form: FormValues) -> bool:
    """What can be put right in the dialog that was sent; a condition that read its values is about them."""
    return error.kind is ErrorKind.INVALID or (isinstance(error, ConditionNotMet) and text(form, "judged") is not None)


def _is_overtaken(error: DomainError | None, dialog: str) -> bool:
    """Whether a step was refused because of another one; the version of a branch counts its own answers alone."""
    return error is not None and error.kind in _OVERTAKEN and dialog.startswith("act-")


@router.get("/documents/{name}/{public_id}")
async def by_kind(name: str, public_id: UUID, _page: CurrentPage) -> Response:
    """The address of links in notifications and in the number register, which know the kind by its name."""
    if (drawing := next((one.path for one in DRAWINGS.values() if one.entity_type == name), None)) is not None:
        return RedirectResponse(f"/drawings/{drawing}/{public_id}", status_code=303)
    if name not in BY_NAME:
        raise NotFound(f"There is no kind {name}.")
    return RedirectResponse(f"{BY_NAME[name].url}/{public_id}", status_code=303)


@router.get("/files/{public_id}")
async def file(public_id: UUID, _caller: CurrentCaller, inline: Annotated[str, Query(max_length=5)] = "") -> Response:
    """Lead to the file; whether the caller may read it is decided there."""
    address = FILE_CONTENT.format(public_id=public_id)
    return RedirectResponse(f"{address}?inline=true" if inline == "1" else address, status_code=307)


@router.get("/{path}/{public_id}")
async def show(
    path: str,
    public_id: UUID,
    page: CurrentPage,
    session: ReadSession,
    subjects: RegisteredSubjects,
    created: Annotated[str, Query(max_length=5)] = "",
    done: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    return await show_document(
        page, session, FormState(done=done), register_at(path), subjects, public_id, created=created == "1"
    )
