"""The page of one document."""

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

# Another step came first: the page shows it beside the error.
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
    """Return whether an RFA would leave its draft without a file, which only pages ask about."""
    if web.name != "rfa" or flow is None or flow.current_state != DRAFT or document.attachments:
        return False
    return not any(item.attachments or item.kind == "document" for item in document.items)


# Fields that only some kinds have.
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
        """Both the workflow and the audit trail record a cancellation; keep the workflow's entry."""
        has_workflow_entry = any(entry.source == "workflow" and entry.action == CANCEL for entry in self.around.history)
        omitted_sources = {"audit"} if has_workflow_entry else set()
        return [
            entry
            for entry in self.around.history
            if not (entry.source in omitted_sources and entry.action.endswith(f".{CANCEL}"))
        ]

    @property
    def said_its_end(self) -> bool:
        """Whether the last step's label already names the current state."""
        if not self.taken:
            return False
        last = self.taken[-1]
        return last.to_state == self.state and (
            last.action in {CANCEL, TERMINATE} or past_tense(last.action_label).th == last.to_label.th
        )

    def since(self, version: int) -> tuple[HistoryStep, ...]:
        """Return the steps after a version of the workflow."""
        flow = self.workflow
        steps = flow.version_no - version if flow is not None and version else 0
        return self.taken[-min(steps, len(self.taken)) :] if steps > 0 and self.taken else ()

    @property
    def returned(self) -> HistoryStep | None:
        """The step that returned the document for revision, if it is still returned."""
        flow = self.workflow
        if flow is None or self.state == CANCELLED.name or not self.taken:
            return None
        last = self.taken[-1]
        is_own = last.actor is None or last.actor.organization_code == self.document.originator.organization_code
        is_returned = flow.can_edit and not flow.terminal and not is_own
        return last if flow.outcome == "revise_resubmit" or is_returned else None

    @property
    def needs_files(self) -> bool:
        return needs_files(self.web, self.document, self.workflow)

    @property
    def answers(self) -> list[HistoryStep]:
        """Responses, latest first. Circulations show those of each person instead."""
        return [] if self.around.people else [step for step in reversed(self.taken) if step.action == "respond"]

    @property
    def offers(self) -> OpenActions:
        return self.around.offers

    @property
    def actions(self) -> list[Any]:
        """The response to a circulation has its own form."""
        if self.state == CANCELLED.name:
            return []
        actions = self.workflow.actions if self.workflow else []
        return [action for action in actions if not (self.offers.respond and action.code == "respond")]


async def read_view(
    ctx: RequestContext, session: AsyncSession, register: DocumentRegister, public_id: UUID
) -> DocumentView:
    """:raises NotFound:"""
    reading = await core.read_whole(ctx, session, register.kind, public_id)
    envelope, state = reading.shown, reading.state
    details = await _details(ctx, session, register, reading)
    replies = replying_organization(ctx, reading) is not None
    view = DocumentView(
        register.web, envelope.data, envelope.workflow, state_of(envelope), details, NO_INTERVENTIONS, replies=replies
    )
    if state is None:
        return view
    has_items = "drawings" in register.web.asks and envelope.data.items
    view = replace(
        view,
        taken=reading.steps,
        ahead=workflow.states_ahead(state),
        values=step_data_in(state.row, state.definition),
        item_codes=await rfas.item_codes(session) if has_items else (),
    )
    if not ctx.caller.may_anywhere(PERMISSION):
        return view
    permitted = interventions.permitted_to(ctx.caller, state)
    people = await interventions.people_for(ctx, session, state) if permitted.reassign else ()
    return replace(view, steering=permitted, people=people)


async def _details(
    ctx: RequestContext, session: AsyncSession, register: DocumentRegister, reading: core.DocumentReading
) -> DocumentDetails:
    kind, history = register.kind, list(reading.history.items)
    if isinstance(kind, core.RevisionedKind):
        permitted = core.permitted_actions(ctx, kind, reading.rows, reading.envelope)
        offers = OpenActions(permitted.edit, permitted.edit, permitted.cancel, permitted.revise)
        return DocumentDetails(offers, history, revisions=list(reading.revisions.items if reading.revisions else ()))
    permitted_response = await circulations.permitted_actions(ctx, session, reading.row, reading.envelope)
    offers = OpenActions(
        edit=permitted_response.edit,
        cancel=permitted_response.cancel,
        respond=permitted_response.respond or bool(permitted_response.respond_for),
        respond_own=permitted_response.respond,
        respond_for=permitted_response.respond_for,
    )
    return DocumentDetails(offers, history, people=list(reading.shown.data.assignees))


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
    """:param dialog: the dialog whose form was refused"""
    error, form = state.error, state.form
    view = await read_view(page.context, session, register, public_id)
    page.set_project(view.document.project.public_id)
    recovery = [step for step in error.recovery if step != REFRESH] if error else []
    message = labels.DONE.get(state.done)
    return page.show(
        DocumentPage(
            path=f"{register.web.url}/{public_id}",
            kind=register.web,
            sight=view,
            document=view.document,
            extra=SimpleNamespace(**{name: getattr(view.document, name, None) for name in _KIND_FIELDS}),
            number=await numbering.number_of_holder(page.context, session, holder=public_id),
            state=state,
            files=uploaded(form),
            file_kinds=await attachments.project_kinds(session, view.document.project.public_id),
            dialog=dialog if error and _is_correctable(error, form) else "",
            created=created,
            may_reply=view.replies,
            happened=message,
            next_task=await _next_task(page, session, subjects, public_id) if message else None,
            moved=isinstance(error, VersionConflict | StaleInstance),
            steps=[step.say(page.language, error.values) for step in recovery] if error else [],
            meanwhile=view.since(version_in(form)) if _is_overtaken(error, dialog) else (),
            asked=partial(step_form, view.values, form),
            keys=new_key,
        )
    )


async def _next_task(page: PageRequest, session: AsyncSession, subjects: Subjects, public_id: UUID) -> Task | None:
    tasks = await workflow.list_tasks(
        page.context, session, subjects=subjects, cursor=None, limit=2, now=page.context.now
    )
    return next((task for task in tasks.items if task.envelope.facts.public_id != public_id), None)


def _is_correctable(error: DomainError, form: FormValues) -> bool:
    """Whether the dialog can correct the error, such as a condition that read its values."""
    return error.kind is ErrorKind.INVALID or (isinstance(error, ConditionNotMet) and text(form, "judged") is not None)


def _is_overtaken(error: DomainError | None, dialog: str) -> bool:
    """Whether another step caused the refusal; a branch's version counts only its own answers."""
    return error is not None and error.kind in _OVERTAKEN and dialog.startswith("act-")


@router.get("/documents/{name}/{public_id}")
async def by_kind(name: str, public_id: UUID, _page: CurrentPage) -> Response:
    """Redirect links from notifications and the number register."""
    if (drawing := next((kind.path for kind in DRAWINGS.values() if kind.entity_type == name), None)) is not None:
        return RedirectResponse(f"/drawings/{drawing}/{public_id}", status_code=303)
    if name not in BY_NAME:
        raise NotFound(f"There is no kind {name}.")
    return RedirectResponse(f"{BY_NAME[name].url}/{public_id}", status_code=303)


@router.get("/files/{public_id}")
async def file(public_id: UUID, _caller: CurrentCaller, inline: Annotated[str, Query(max_length=5)] = "") -> Response:
    """Redirect to the file, whose endpoint checks the permission."""
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
