"""Pages to change a drawing's classification, and a register's settings."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.datastructures import ImmutableMultiDict
from starlette.responses import RedirectResponse, Response

from saraban.documents.core.schemas import CodeAnswer
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import DrawingKind
from saraban.documents.drawing.schemas import DrawingAnswer, DrawingChanges, TagAnswer
from saraban.identity.domain.context import Scope
from saraban.kit.errors import Forbidden
from saraban.kit.http import ReadSession
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary, RegisterSettings
from saraban.projects.service import ProjectRef
from saraban.web.documents.drawing_forms import register_named
from saraban.web.shell.form_state import FormState, FormValues
from saraban.web.shell.forms import CurrentForm, Shown, number_or_text, text, texts
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/drawings/{name}")

MANAGE: Final = "project.edit"
_FIELDS: Final = ("disciplineCode", "categoryCode", "subCategoryCode", "scale", "sheetSize", "zone")


class DrawingEditPage(PageModel, template="documents/drawing_edit.html"):
    register: DrawingKind
    drawing: DrawingAnswer
    disciplines: Sequence[CodeSummary]
    lists: Mapping[str, Sequence[CodeAnswer]]
    tags: Sequence[TagAnswer]
    etag: str


class RegisterSettingsPage(PageModel, template="documents/drawing_settings.html"):
    register: DrawingKind
    place: ProjectRef


@router.get("/settings")
async def settings(page: CurrentPage, session: ReadSession, state: Shown, name: str) -> Response:
    kind = register_named(name)
    place = (await page.choose_project(session, None)).place
    if not page.caller.may(MANAGE, Scope(project=place.id)):
        raise Forbidden(f"The permission {MANAGE} is needed here.")
    current_settings = await projects.read_drawing_settings(
        page.context, session, project_public_id=place.public_id, register=kind.path
    )
    values = current_settings.model_dump(mode="json", by_alias=True, exclude_none=True)
    values["takesAddenda"] = "1" if current_settings.takes_addenda else ""
    values["ownWorkflow"] = "1" if current_settings.approval == "workflow" else ""
    stored: FormValues = ImmutableMultiDict(values)
    return page.show(RegisterSettingsPage(register=kind, place=place, state=state.or_stored(stored)))


@router.post("/settings")
async def save_settings(name: str, form: CurrentForm) -> Response:
    kind = register_named(name)
    async with form.show_on_refusal(settings, name):
        typed = form.filled("revisionScheme", "numberPattern")
        addenda = kind.whole and form.text("takesAddenda") == "1"
        approval = "workflow" if form.text("ownWorkflow") == "1" else "rfa"
        payload = {"revisionScheme": "", **typed, "takesAddenda": addenda, "approval": approval}
        new_settings = form.order(RegisterSettings, payload)
        await form.transact(
            projects.save_drawing_settings, project_public_id=form.project, register=kind.path, wanted=new_settings
        )
    return RedirectResponse(f"/drawings/{kind.path}", 303)


@router.get("/{public_id}/edit")
async def edit(page: CurrentPage, session: ReadSession, state: Shown, name: str, public_id: UUID) -> Response:
    kind = register_named(name)
    envelope, version = await drawings.read(page.context, session, kind, public_id)
    drawing = envelope.data
    if not drawing.can_change:
        raise Forbidden("The drawing cannot be changed by this account.")
    page.set_project(drawing.project.public_id)
    open_tags = await drawings.open_tags(page.context, session, project_public_id=drawing.project.public_id)
    model = DrawingEditPage(
        register=kind,
        drawing=drawing,
        disciplines=await projects.disciplines(page.context, session, project_public_id=drawing.project.public_id),
        lists=await drawings.classifications(page.context, session, kind, project_public_id=drawing.project.public_id),
        tags=[*open_tags, *(tag for tag in drawing.tags if tag not in open_tags)],
        state=state.or_stored(_form_of(drawing)),
        etag=version_to_send(state, version),
    )
    return page.show(model)


def version_to_send(state: FormState, version: str) -> str:
    """Return the version seen when the form was opened, or the new one after a conflict."""
    if state.error is None or isinstance(state.error, drawings.DrawingChanged):
        return version
    return text(state.form, "version") or version


def _form_of(drawing: DrawingAnswer) -> FormValues:
    coded = {
        "disciplineCode": drawing.discipline,
        "categoryCode": drawing.category,
        "subCategoryCode": drawing.sub_category,
        "volumeCode": drawing.volume,
    }
    values = {name: item.code for name, item in coded.items() if item is not None}
    plain = {"volumePage": drawing.volume_page, "scale": drawing.scale, "sheetSize": drawing.sheet_size}
    values |= {name: str(value) for name, value in (plain | {"zone": drawing.zone}).items() if value is not None}
    return ImmutableMultiDict([*values.items(), *(("tag", item.code) for item in drawing.tags)])


@router.post("/{public_id}/edit")
async def change(name: str, public_id: UUID, form: CurrentForm) -> Response:
    kind = register_named(name)
    async with form.show_on_refusal(edit, name, public_id):
        names = (*_FIELDS, *(("volumeCode",) if kind.whole else ()))
        payload: dict[str, object] = {name: form.text(name) for name in names}
        payload["tags"] = texts(form.values, "tag")
        if kind.whole:
            page = form.text("volumePage")
            payload["volumePage"] = number_or_text(page) if page else None
        changes = form.order(DrawingChanges, payload)
        await form.transact(drawings.change, kind, public_id, changes, form.text("version"))
    return RedirectResponse(f"/drawings/{kind.path}/{public_id}", 303)
