"""Pages of the drawing registers and of one drawing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import RedirectResponse, Response

from saraban.attachments import service as attachments
from saraban.attachments.dependencies import Readers
from saraban.attachments.domain import AttachmentRow
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import CREATE, KINDS, REVISE, DrawingKind
from saraban.documents.drawing.schemas import (
    DrawingAnswer,
    DrawingQuery,
    DrawingSummary,
    NewDrawingRevision,
    RevisionCorrections,
    TagAnswer,
)
from saraban.documents.drawing.service import DrawingOfFile
from saraban.documents.rfa import service as rfas
from saraban.documents.rfa.schemas import RfaOfDrawing
from saraban.identity.domain.context import Scope
from saraban.kit.errors import NotFound
from saraban.kit.http import ReadSession
from saraban.notifications import service as notifications
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary
from saraban.web.documents.drawing_edits import MANAGE, version_to_send
from saraban.web.documents.drawing_forms import derived_from, register_named
from saraban.web.documents.rfa_items import FIELDS
from saraban.web.documents.step_form import StepForm, step_form, step_order
from saraban.web.shell.form_state import NEW_FORM, FormState, FormValues
from saraban.web.shell.forms import (
    AddressFilters,
    CurrentForm,
    Shown,
    form_with,
    new_key,
    text,
    texts,
    uploaded,
    usable_query,
)
from saraban.web.shell.page import CurrentPage, PageModel, id_of
from saraban.web.shell.session import PageRoute
from saraban.workflow.runtime.dependencies import InstanceTransitions
from saraban.workflow.runtime.service.step_data import NO_STEP_DATA, step_data_of
from saraban.workflow.service import Command, HistoryStep

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/drawings")

ROWS: Final = 50
VIEW: Final = "document.view"
_TEXTS: Final = ("date", "title", "titleEn", "reason", "statusCode", "legacyNumber")


class DrawingFilters(AddressFilters):
    project: str = Field("", max_length=40)
    q: str = Field("", max_length=200)
    discipline: str = Field("", max_length=50)
    tag: str = Field("", max_length=50)
    as_of: str = Field("", alias="asOf", max_length=40)


class DrawingRegisterPage(
    PageModel,
    template="documents/drawings.html",
    fragments=("documents/parts/drawing_rows.html", "documents/parts/drawing_list.html"),
):
    register: DrawingKind
    registers: Mapping[str, DrawingKind]
    items: Sequence[DrawingSummary]
    next_cursor: str | None
    asked: DrawingFilters
    disciplines: Sequence[CodeSummary]
    tags: Sequence[TagAnswer]
    registered: Sequence[str]
    may_register: bool
    exported: str
    may_decide: bool


class DrawingDetailPage(PageModel, template="documents/drawing.html"):
    register: DrawingKind
    registers: Mapping[str, DrawingKind]
    drawing: DrawingAnswer
    rfas: Mapping[UUID, Sequence[RfaOfDrawing]]
    correctable: Mapping[UUID, bool]
    correction: FormValues
    files: Sequence[tuple[str, str]]
    file_kinds: str
    dialog: str
    etag: str
    steps: Sequence[HistoryStep]
    asked: Callable[[str], StepForm]
    keys: Callable[[], str]


@router.get("")
async def first(page: CurrentPage) -> Response:
    page.caller.require_somewhere(VIEW)
    return RedirectResponse("/drawings/shop", 303)


@router.get("/{name}")
async def listing(
    name: str,
    page: CurrentPage,
    session: ReadSession,
    asked: Annotated[DrawingFilters, Query()],
    cursor: Annotated[str | None, Query(max_length=600)] = None,
    registered: Annotated[str, Query(max_length=20_000)] = "",
) -> Response:
    kind = register_named(name)
    page.caller.require_somewhere(VIEW)
    place = (await page.choose_project(session, id_of(asked.project))).place
    parameters: dict[str, Any] = {**asked.given, "projectPublicId": str(place.public_id), "limit": str(ROWS)}
    query, faults = usable_query(page, DrawingQuery, parameters | ({"cursor": cursor} if cursor else {}))
    drawings_page = await drawings.list_drawings(page.context, session, kind, query)
    model = DrawingRegisterPage(
        register=kind,
        registers=KINDS,
        items=drawings_page.items,
        next_cursor=drawings_page.next_cursor,
        asked=asked,
        disciplines=await projects.disciplines(page.context, session, project_public_id=place.public_id),
        tags=await drawings.open_tags(page.context, session, project_public_id=place.public_id),
        registered=registered.splitlines(),
        may_register=page.caller.may_anywhere(CREATE),
        may_decide=page.caller.may(MANAGE, Scope(project=place.id)),
        exported=urlencode(
            query.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"limit", "cursor"})
        ),
        faults=faults,
    )
    return page.show_list(model, cursor)


class DrawingFilePage(PageModel, template="documents/drawing_file.html"):
    sheet: DrawingOfFile
    file: AttachmentRow


@router.get("/files/{public_id}")
async def view(public_id: UUID, page: CurrentPage, session: ReadSession, readers: Readers) -> Response:
    """A drawing's file with the name of its revision, for callers who may read the file."""
    attachment = await attachments.find(page.context, session, public_id=public_id, rules=readers)
    sheet = await drawings.drawing_of_file(page.context, session, attachment.id)
    page.set_project(sheet.project)
    return page.show(DrawingFilePage(sheet=sheet, file=attachment))


@router.get("/{name}/{public_id}")
async def show(page: CurrentPage, session: ReadSession, state: Shown, name: str, public_id: UUID) -> Response:
    page.caller.require_somewhere(VIEW)
    kind = register_named(name)
    envelope, version = await drawings.read(page.context, session, kind, public_id)
    drawing = envelope.data
    flow = envelope.workflow
    values = await step_data_of(session, public_id=flow.instance_public_id) if flow is not None else NO_STEP_DATA
    correction = state.form if text(state.form, "revision") else NEW_FORM.form
    page.set_project(drawing.project.public_id)
    rfas_by_revision: dict[UUID, list[RfaOfDrawing]] = {item.public_id: [] for item in drawing.revisions}
    for item in await rfas.rfas_of_revisions(page.context, session, kind, list(rfas_by_revision)):
        rfas_by_revision[item.revision_public_id].append(item)
    model = DrawingDetailPage(
        register=kind,
        registers=KINDS,
        drawing=drawing,
        rfas=rfas_by_revision,
        state=replace(state, form=_links(kind, drawing)) if correction else state.or_stored(_links(kind, drawing)),
        correctable=await drawings.correctable(page.context, session, kind, public_id)
        if page.caller.may_anywhere(REVISE)
        else {},
        correction=correction,
        files=uploaded(state.form),
        file_kinds=await attachments.project_kinds(session, drawing.project.public_id),
        dialog=_refused_dialog(state, flow.available_actions if flow is not None else ()),
        etag=version_to_send(state, version),
        steps=await drawings.steps_taken(page.context, session, kind, public_id),
        asked=partial(step_form, values, state.form),
        keys=new_key,
    )
    return page.show(model)


def _refused_dialog(state: FormState, actions: Sequence[str]) -> str:
    """Return the dialog to reopen, if it can correct the error."""
    action = text(state.form, "action")
    if isinstance(state.error, drawings.DrawingChanged):
        return f"correct-{text(state.form, 'revision')}"
    if state.error is None or not state.error.fields or (action and action not in actions):
        return ""
    revision = text(state.form, "revision")
    return f"act-{action}" if action else f"correct-{revision}" if revision else "revise"


def _links(kind: DrawingKind, drawing: DrawingAnswer) -> FormValues:
    """Prefill the next revision with the source drawings of the current one."""
    sources = drawing.revisions[0].derived_from
    if kind.derives_from is None:
        return NEW_FORM.form
    return form_with(**{FIELDS[KINDS[kind.derives_from]]: "\n".join(source.drawing_number for source in sources)})


@router.post("/{name}/{public_id}/revisions")
async def revise(name: str, public_id: UUID, form: CurrentForm) -> Response:
    kind = register_named(name)
    async with form.show_on_refusal(show, name, public_id):
        typed = form.filled("label") | {field: form.text(field) for field in _TEXTS if field in form.values}
        async with form.db.reading() as session:
            derived = await derived_from(kind, form, session)
        lists = {"attachmentPublicIds": texts(form.values, "attachment"), "derivedFromPublicIds": derived}
        order = form.order(NewDrawingRevision, {**typed, **lists})
        await form.confirm(drawings.warnings, kind=kind, public_id=public_id, new=order)
        await form.transact(drawings.revise, kind, public_id, order)
    return RedirectResponse(f"/drawings/{kind.path}/{public_id}", 303)


@router.post("/{name}/{public_id}/revisions/{revision}")
async def correct(name: str, public_id: UUID, revision: UUID, form: CurrentForm) -> Response:
    kind = register_named(name)
    async with form.show_on_refusal(show, name, public_id):
        typed = {field: form.text(field) for field in _TEXTS if field in form.values}
        if typed.get("statusCode") == form.text("statusWas"):  # an old, unchecked code may stay
            typed.pop("statusCode", None)
        order = form.order(RevisionCorrections, {**typed, "attachmentPublicIds": texts(form.values, "attachment")})
        await form.confirm(drawings.warnings, kind=kind, public_id=public_id, new=order)
        receipt = await form.transact(drawings.correct, kind, revision, order, form.text("version"))
    return RedirectResponse(f"/drawings/{kind.path}/{receipt.resource_id}", 303)


@router.post("/{name}/{public_id}/actions")
async def act(name: str, public_id: UUID, form: CurrentForm, transitions: InstanceTransitions) -> Response:
    kind = register_named(name)
    async with form.show_on_refusal(show, name, public_id):
        async with form.db.reading() as session:
            flow = (await drawings.read(form.context, session, kind, public_id))[0].workflow
            if flow is None:
                raise NotFound("No workflow runs for this revision.")
            values = await step_data_of(session, public_id=flow.instance_public_id)
        command = Command.of(step_order(form, values))
        await form.once(transitions.take, public_id=flow.instance_public_id, command=command)
    await form.transact(notifications.settle, entity_id=str(public_id))
    return RedirectResponse(f"/drawings/{kind.path}/{public_id}", 303)


@router.post("/{name}/{public_id}/approval")
async def start_approval(name: str, public_id: UUID, form: CurrentForm) -> Response:
    kind = register_named(name)
    async with form.show_on_refusal(show, name, public_id):
        await form.transact(drawings.start_approval, kind, public_id)
    return RedirectResponse(f"/drawings/{kind.path}/{public_id}", 303)
