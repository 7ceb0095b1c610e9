"""One document: what it says, where it stands, what this reader may do with it, and all that happened."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.schemas import AssigneeResponse
from saraban.documents.core.dependencies import Documents
from saraban.documents.core.schemas import Cancellation, DocumentChanges, NewRevision
from saraban.identity.dependencies import CurrentCaller
from saraban.kit.db import Database
from saraban.kit.errors import CHECK_INPUT, REFRESH, DomainError, ErrorKind, FieldProblem, Invalid, NotFound, Text
from saraban.kit.http import Db, ReadSession
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications
from saraban.numbering import service as numbering
from saraban.web.documents.document_pages import PAGES_BY_PATH, DocumentPages, pages_at
from saraban.web.documents.page_model import DocumentView, KindFields, needs_files, read_view
from saraban.web.documents.payloads import StepForm, payload_of_step, replying_organization, step_form
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import BY_NAME, WebKind
from saraban.web.shell.forms import (
    EMPTY_FORM,
    FormValues,
    await_first_answer,
    form_errors,
    read_form,
    text,
    texts,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.workflow import service as workflow
from saraban.workflow.runtime.dependencies import InstanceTransitions, RegisteredSubjects
from saraban.workflow.runtime.schemas import BranchAnswerIn, TransitionIn
from saraban.workflow.runtime.service import review
from saraban.workflow.runtime.service.step_data import step_data_of
from saraban.workflow.service import (
    Command,
    ConditionNotMet,
    HistoryStep,
    StaleInstance,
    Subjects,
    Task,
    VersionConflict,
)

router = APIRouter(include_in_schema=False, route_class=PageRoute)

FILE_CONTENT = "/api/v1/attachments/{public_id}/content"

# What can be said to people goes onto the page they are on; the rest goes to the page for failures.
SHOWN_ON_FORM = {
    ErrorKind.INVALID,
    ErrorKind.CONFLICT,
    ErrorKind.STALE,
    ErrorKind.FORBIDDEN,
    ErrorKind.GONE,
    ErrorKind.BUSY,
    ErrorKind.THROTTLED,
}

# No branch comes to this one: the reader is asked to look again.
_NO_VERSION: Final = 2**31 - 1

# After these the reader is asked no more; the worker tells the others so.
_SETTLES_NOTIFICATIONS: Final = {"act", "branch", "respond", "cancel"}

# What a page's forms ask for; their addresses show the page again when they are refused.
FORM_PATHS: Final = ("actions", "cancel", "revisions", "files", "responses", "force", "terminate", "reassign")

# Somebody else was quicker: what they did stands beside the refusal.
_OVERTAKEN: Final = {ErrorKind.CONFLICT, ErrorKind.STALE}


class NothingAttached(Invalid):
    """An RFA is to leave its originator without a file; the page asks whether that is meant."""

    kind, code = ErrorKind.INVALID, "RFA_WITHOUT_FILES"
    says = Text("RFA นี้ยังไม่มีไฟล์แนบ", "No file is attached to this RFA.")
    recovery = (
        CHECK_INPUT,
        Text("แนบไฟล์ หรือยืนยันว่าส่งโดยไม่มีไฟล์แนบ", "Attach a file, or confirm that it is submitted without one."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage(PageModel):
    template: ClassVar[str] = "documents/document.html"

    path: str
    kind: WebKind
    sight: DocumentView
    document: Any
    extra: KindFields
    number: UUID | None
    form: FormValues
    dialog: str
    created: bool
    may_reply: bool
    happened: Text | None
    next_task: Task | None
    by_name: Mapping[str, WebKind]
    moved: bool
    steps: Sequence[str]
    meanwhile: Sequence[HistoryStep]
    asked: Callable[[str], StepForm]
    keys: Callable[[], str]


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """What a dialog of the page sent, and why it was not done."""

    error: DomainError | None
    form: FormValues
    dialog: str


NOTHING_REFUSED: Final = RefusedForm(None, EMPTY_FORM, "")


async def _show(
    page: PageRequest,
    session: AsyncSession,
    shelf: DocumentPages,
    subjects: Subjects,
    public_id: UUID,
    *,
    refused: RefusedForm = NOTHING_REFUSED,
    created: bool = False,
    done: str = "",
) -> Response:
    error, form, dialog = refused.error, refused.form, refused.dialog
    seen = await read_view(page.context, session, shelf, subjects=subjects, public_id=public_id)
    steps = (
        () if error is None else tuple(one.say(page.language, error.values) for one in error.recovery if one != REFRESH)
    )
    happened = labels.DONE.get(done)
    return page.show(
        DocumentPage(
            path=f"{shelf.web.url}/{public_id}",
            kind=shelf.web,
            sight=seen,
            document=seen.document,
            extra=KindFields.of(seen.document),
            number=await numbering.number_of_holder(page.context, session, holder=public_id),
            faults=form_errors(error, page.language),
            form=form,
            dialog=dialog if error and _is_for_the_form(error, form) else "",
            created=created,
            may_reply=await replying_organization(page.context, session, seen.document) is not None,
            happened=happened,
            next_task=await _next_task(page, session, subjects, public_id) if happened else None,
            by_name=BY_NAME,
            moved=isinstance(error, VersionConflict | StaleInstance),
            steps=steps,
            meanwhile=seen.since(version_in(form)) if _is_overtaken(error, dialog) else (),
            asked=lambda action: step_form(seen.values, form or {}, action),
            keys=_keys(),
        )
    )


async def _next_task(page: PageRequest, session: AsyncSession, subjects: Subjects, public_id: UUID) -> Task | None:
    """What waits for the reader beside the document in hand."""
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


def _keys() -> Callable[[], str]:
    """Each form of a page gets a key of its own, so that a second click is the first one again."""
    return lambda: str(new_id())


@router.get("/documents/{name}/{public_id}")
async def by_kind(name: str, public_id: UUID, _page: CurrentPage) -> Response:
    """The address of links in notifications, which know the kind by its name."""
    for shelf in PAGES_BY_PATH.values():
        if name == shelf.web.name:
            return RedirectResponse(f"{shelf.web.url}/{public_id}", status_code=303)
    raise NotFound(f"There is no kind {name}.")


@router.get("/files/{public_id}")
async def file(public_id: UUID, _caller: CurrentCaller, inline: Annotated[str, Query(max_length=5)] = "") -> Response:
    """Leads to the file; whether the caller may read it is decided there."""
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
    shelf = pages_at(path)
    return await _show(page, session, shelf, subjects, public_id, created=created == "1", done=done)


async def back(path: str, public_id: UUID, _page: CurrentPage) -> Response:
    """The address of a form that was refused, asked for again: the document has a page, its deeds have none."""
    return RedirectResponse(f"{pages_at(path).web.url}/{public_id}", status_code=303)


for _deed in (*FORM_PATHS, "branches/{branch_id}"):
    router.add_api_route(f"/{{path}}/{{public_id}}/{_deed}", back, methods=["GET"])


@router.post("/{path}/{public_id}/actions")
async def act(
    path: str,
    public_id: UUID,
    page: CurrentPage,
    db: Db,
    subjects: RegisteredSubjects,
    transitions: InstanceTransitions,
    request: Request,
) -> Response:
    """One step of the workflow, by the version that the reader saw."""
    shelf = pages_at(path)
    form = await read_form(request)

    async def work() -> None:
        async with db.reading() as session:
            found = await shelf.read(page.context, session, public_id=public_id)
            instance = await instance_of(page, session, shelf, public_id)
            values = await step_data_of(session, public_id=instance)
        if needs_files(shelf.web, found.data, found.workflow) and not (
            text(form, "withoutFiles") or texts(form, "attachment")
        ):
            raise NothingAttached(fields=[FieldProblem("/withoutFiles", "required", NothingAttached.says)])
        said = {
            "action": text(form, "action") or "",
            "comment": text(form, "comment"),
            "payload": payload_of_step(values, form),
            "attachmentPublicIds": texts(form, "attachment"),
            "responseCode": text(form, "responseCode"),
            "clientVersionNo": version_in(form),
            "onBehalfOf": text(form, "onBehalfOf"),
        }
        order: TransitionIn = validated(request, TransitionIn, said)
        command = Command(
            action=order.action,
            comment=order.comment or None,
            payload=order.payload,
            attachment_public_ids=tuple(order.attachment_public_ids),
            client_version_no=order.client_version_no,
            response_code=order.response_code,
            on_behalf_of=order.on_behalf_of,
        )
        await await_first_answer(
            lambda: transitions.take(page.context.with_key(text(form, "key")), public_id=instance, command=command)
        )

    return await submit_on_page(work, page, db, shelf, subjects, public_id, form, f"act-{text(form, 'action')}")


@router.post("/{path}/{public_id}/branches/{branch_id}")
async def answer(
    path: str,
    public_id: UUID,
    branch_id: UUID,
    page: CurrentPage,
    db: Db,
    subjects: RegisteredSubjects,
    transitions: InstanceTransitions,
    request: Request,
) -> Response:
    """The reader's answer for a branch of a parallel review, by the version of the branch that he saw."""
    shelf = pages_at(path)
    form = await read_form(request)

    async def work() -> None:
        async with db.reading() as session:
            instance = await instance_of(page, session, shelf, public_id)
        asked = {
            "answer": text(form, "answer") or "",
            "comment": text(form, "comment"),
            "attachmentPublicIds": texts(form, "attachment"),
            "clientVersionNo": version_in(form) or _NO_VERSION,
            "onBehalfOf": text(form, "onBehalfOf"),
        }
        order: BranchAnswerIn = validated(request, BranchAnswerIn, asked)
        reply = review.BranchAnswer(
            order.answer,
            order.comment or None,
            tuple(order.attachment_public_ids),
            order.client_version_no,
            on_behalf_of=order.on_behalf_of,
        )
        await await_first_answer(
            lambda: review.answer(
                page.context.with_key(text(form, "key")),
                transitions,
                public_id=instance,
                branch_public_id=branch_id,
                reply=reply,
            )
        )

    return await submit_on_page(work, page, db, shelf, subjects, public_id, form, f"branch-{text(form, 'branch')}")


async def instance_of(page: PageRequest, session: AsyncSession, shelf: DocumentPages, public_id: UUID) -> UUID:
    """
    Return the workflow instance of a document that the reader may see.

    :raises NotFound: also for a document without a workflow
    """
    found = await shelf.read(page.context, session, public_id=public_id)
    if found.workflow is None:
        raise NotFound("No workflow runs for this document.")
    instance: UUID = found.workflow.instance_public_id
    return instance


def version_in(form: FormValues) -> int:
    """What is no version is an old one: the reader is asked to look again."""
    shown = text(form, "version")
    return int(shown) if shown and shown.isascii() and shown.isdigit() and len(shown) < 10 else 0


@router.post("/{path}/{public_id}/cancel")
async def cancel(
    path: str,
    public_id: UUID,
    page: CurrentPage,
    services: Documents,
    subjects: RegisteredSubjects,
    request: Request,
) -> Response:
    """Ends the document, with a reason."""
    shelf = pages_at(path)
    form = await read_form(request)
    ctx = page.context.with_key(text(form, "key"))

    async def work() -> None:
        order: Cancellation = validated(request, Cancellation, {"reason": text(form, "reason") or ""})
        await await_first_answer(lambda: shelf.cancel(ctx, services, public_id, order.reason))

    return await submit_on_page(work, page, services.db, shelf, subjects, public_id, form, "cancel")


@router.post("/{path}/{public_id}/revisions")
async def revise(
    path: str, public_id: UUID, page: CurrentPage, services: Documents, subjects: RegisteredSubjects, request: Request
) -> Response:
    """The next revision, as a draft."""
    shelf = pages_at(path)
    form = await read_form(request)
    ctx = page.context.with_key(text(form, "key"))

    async def work() -> None:
        asked = {name: value for name in ("subject", "body", "dueDate") if (value := text(form, name)) is not None}
        order: NewRevision = validated(request, NewRevision, asked | {"attachmentPublicIds": texts(form, "attachment")})
        await await_first_answer(lambda: shelf.revise(ctx, services, public_id, order))

    return await submit_on_page(work, page, services.db, shelf, subjects, public_id, form, "revise")


@router.post("/{path}/{public_id}/files")
async def add_files(
    path: str, public_id: UUID, page: CurrentPage, services: Documents, subjects: RegisteredSubjects, request: Request
) -> Response:
    """Puts uploaded files onto a draft, or takes one off it."""
    shelf = pages_at(path)
    form = await read_form(request)

    async def work() -> None:
        changes: DocumentChanges = validated(
            request,
            DocumentChanges,
            {"addAttachmentPublicIds": texts(form, "attachment"), "removeAttachmentPublicIds": texts(form, "remove")},
        )
        await shelf.edit(page.context, services, public_id, changes)

    return await submit_on_page(work, page, services.db, shelf, subjects, public_id, form, "")


@router.post("/circulations/{public_id}/responses")
async def respond(
    public_id: UUID, page: CurrentPage, services: Documents, subjects: RegisteredSubjects, request: Request
) -> Response:
    """The reader's answer to a sheet."""
    form = await read_form(request)
    ctx = page.context.with_key(text(form, "key"))

    async def work() -> None:
        asked = {
            "status": text(form, "status") or "COMPLETED",
            "comment": text(form, "comment"),
            "onBehalfOf": text(form, "onBehalfOf"),
        }
        order: AssigneeResponse = validated(request, AssigneeResponse, asked)
        await await_first_answer(lambda: circulations.respond(ctx, services, public_id, order))

    return await submit_on_page(work, page, services.db, pages_at("circulations"), subjects, public_id, form, "respond")


async def submit_on_page(
    work: Callable[[], Awaitable[None]],
    page: PageRequest,
    db: Database,
    shelf: DocumentPages,
    subjects: Subjects,
    public_id: UUID,
    form: FormValues,
    dialog: str,
) -> Response:
    """Back to the document when it worked; the document with the refusal on it when it did not."""
    try:
        await work()
    except DomainError as error:
        if error.kind not in SHOWN_ON_FORM:
            raise
        async with db.reading() as session:
            return await _show(page, session, shelf, subjects, public_id, refused=RefusedForm(error, form, dialog))
    verb = dialog.partition("-")[0]
    if verb in _SETTLES_NOTIFICATIONS:
        await db.transact(lambda session: notifications.settle(page.context, session, entity_id=str(public_id)))
    said = f"?done={verb}" if verb in labels.DONE else ""
    return RedirectResponse(f"{shelf.web.url}/{public_id}{said}", status_code=303)
