"""Changing what stands, on pages: how a drawing is classified, and what a project decides for one of its registers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import ImmutableMultiDict
from starlette.responses import Response

from saraban.documents.core.schemas import CodeAnswer
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import DrawingKind
from saraban.documents.drawing.schemas import DrawingAnswer, DrawingChanges, TagAnswer
from saraban.identity.domain.context import Scope
from saraban.kit.errors import Forbidden
from saraban.kit.http import ReadSession
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary, RegisterSettings
from saraban.web.documents.drawing_forms import register_named
from saraban.web.shell.forms import (
    NEW_FORM,
    CurrentForm,
    FormState,
    FormValues,
    SentForm,
    form_errors,
    number_or_text,
    submit,
    text,
    texts,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/drawings/{name}")

MANAGE: Final = "project.edit"
_FIELDS: Final = ("disciplineCode", "categoryCode", "subCategoryCode", "scale", "sheetSize", "zone")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingEditPage(PageModel):
    template: ClassVar[str] = "documents/drawing_edit.html"

    register: DrawingKind
    drawing: DrawingAnswer
    disciplines: Sequence[CodeSummary]
    lists: Mapping[str, Sequence[CodeAnswer]]
    tags: Sequence[TagAnswer]
    form: FormValues
    etag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterSettingsPage(PageModel):
    template: ClassVar[str] = "documents/drawing_settings.html"

    register: DrawingKind
    place: Any
    form: FormValues


@router.get("/settings")
async def settings(name: str, page: CurrentPage, session: ReadSession) -> Response:
    """How a register numbers its revisions and what its drawing numbers look like."""
    return await _settings(register_named(name), page, session)


async def _settings(
    kind: DrawingKind, page: PageRequest, session: AsyncSession, state: FormState = NEW_FORM
) -> Response:
    place = (await page.choose_project(session, None)).place
    if not page.caller.may(MANAGE, Scope(project=place.id)):
        raise Forbidden(f"The permission {MANAGE} is needed here.")
    stands = await projects.read_drawing_settings(
        page.context, session, project_public_id=place.public_id, register=kind.path
    )
    said = stands.model_dump(mode="json", by_alias=True, exclude_none=True)
    said["takesAddenda"] = "1" if stands.takes_addenda else ""
    said["ownWorkflow"] = "1" if stands.approval == "workflow" else ""
    form = state.form if state.error is not None else ImmutableMultiDict(said)
    model = RegisterSettingsPage(register=kind, place=place, form=form, faults=form_errors(state.error, page.language))
    return page.show(model)


@router.post("/settings")
async def save_settings(name: str, form: CurrentForm) -> Response:
    kind = register_named(name)
    return await submit(form, partial(_save_settings, kind), partial(_settings, kind))


async def _save_settings(kind: DrawingKind, form: SentForm, session: AsyncSession) -> str:
    given = form.filled("revisionScheme", "numberPattern")
    addenda = kind.whole and form.text("takesAddenda") == "1"
    approval = "workflow" if form.text("ownWorkflow") == "1" else "rfa"
    asked = {"revisionScheme": "", **given, "takesAddenda": addenda, "approval": approval}
    wanted = form.order(RegisterSettings, asked)
    await projects.save_drawing_settings(
        form.context, session, project_public_id=form.project, register=kind.path, wanted=wanted
    )
    return f"/drawings/{kind.path}"


@router.get("/{public_id}/edit")
async def edit(name: str, public_id: UUID, page: CurrentPage, session: ReadSession) -> Response:
    """How a drawing is classified; its number, revisions, contract and originator stay."""
    return await _edit(register_named(name), public_id, page, session)


async def _edit(
    kind: DrawingKind, public_id: UUID, page: PageRequest, session: AsyncSession, state: FormState = NEW_FORM
) -> Response:
    found, version = await drawings.read(page.context, session, kind, public_id)
    drawing = found.data
    if not drawing.can_change:
        raise Forbidden("The drawing cannot be changed by this account.")
    page.within(drawing.project.public_id)
    form = state.form if state.error is not None else _form_of(drawing)
    offered = await drawings.open_tags(page.context, session, project_public_id=drawing.project.public_id)
    model = DrawingEditPage(
        register=kind,
        drawing=drawing,
        disciplines=await projects.disciplines(page.context, session, project_public_id=drawing.project.public_id),
        lists=await drawings.classifications(page.context, session, kind, project_public_id=drawing.project.public_id),
        tags=[*offered, *(one for one in drawing.tags if one not in offered)],
        form=form,
        etag=version_to_send(state, version),
        faults=form_errors(state.error, page.language),
    )
    return page.show(model)


def version_to_send(state: FormState, version: str) -> str:
    """
    Return by which version a form changes a drawing: the one that was seen when it was opened. Who has been told that the drawing is
    another one by now decides anew, with what they typed.
    """
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
    said = {name: one.code for name, one in coded.items() if one is not None}
    plain = {"volumePage": drawing.volume_page, "scale": drawing.scale, "sheetSize": drawing.sheet_size}
    said |= {name: str(value) for name, value in (plain | {"zone": drawing.zone}).items() if value is not None}
    return ImmutableMultiDict([*said.items(), *(("tag", one.code) for one in drawing.tags)])


@router.post("/{public_id}/edit")
async def change(name: str, public_id: UUID, form: CurrentForm) -> Response:
    kind = register_named(name)
    return await submit(form, partial(_change, kind, public_id), partial(_edit, kind, public_id))


async def _change(kind: DrawingKind, public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    names = (*_FIELDS, *(("volumeCode",) if kind.whole else ()))
    asked: dict[str, object] = {name: form.text(name) for name in names}
    asked["tags"] = texts(form.values, "tag")
    if kind.whole:
        page = form.text("volumePage")
        asked["volumePage"] = number_or_text(page) if page else None
    changes = form.order(DrawingChanges, asked)
    await drawings.change(form.context, session, kind, public_id, changes, form.text("version"))
    return f"/drawings/{kind.path}/{public_id}"
