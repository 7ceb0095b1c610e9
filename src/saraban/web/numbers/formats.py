"""The number formats of a project, and their editor with a preview of the effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, ErrorKind, NotFound, invalid
from saraban.kit.http import ReadSession
from saraban.numbering import service as numbering
from saraban.numbering.formats.domain import TOKEN_MEANINGS, parse_template
from saraban.numbering.formats.schemas import FormatChange, FormatIn, FormatVersionOut
from saraban.numbering.issue.dependencies import limit_reading
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.web.numbers.register import MANAGE_FORMATS
from saraban.web.shell.form_state import NEW_FORM, FormState, FormValues, error_messages
from saraban.web.shell.forms import CurrentForm, text
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/numbers/formats")

HOME: Final = "/numbers/formats"
VIEW: Final = "numbering.view_formats"
MOST: Final = 100


@dataclass(frozen=True, slots=True)
class FormatForm:
    project: str
    type: str | None = None
    narrowing: numbering.Narrowing = numbering.Narrowing()  # noqa: RUF009  a tuple
    template: str | None = None
    description: str | None = None
    reason: str | None = None
    counts_on: bool = False
    refuse: bool = False
    version: str | None = None

    @classmethod
    def of(cls, form: FormValues) -> "FormatForm":
        return cls(
            project=text(form, "project") or "",
            type=text(form, "type"),
            narrowing=numbering.Narrowing(*(text(form, name) or "" for name in ("sub_type", "rfa_type", "discipline"))),
            template=text(form, "template"),
            description=text(form, "description"),
            reason=text(form, "reason"),
            counts_on=text(form, "counts_on") == "1",
            refuse=text(form, "refuse") == "1",
            version=text(form, "version"),
        )

    @classmethod
    def saved(cls, row: numbering.FormatRow) -> "FormatForm":
        saved = row.format
        return cls(
            project=str(row.project_public_id),
            type=row.type_code,
            narrowing=saved.narrowing,
            template=saved.format_template,
            description=saved.description,
            counts_on=not saved.reset_sequence_yearly and _prints_period(saved.format_template),
            refuse=saved.overflow == numbering.OverflowRule.REFUSE,
            version=str(saved.version),
        )

    @property
    def overflow(self) -> numbering.OverflowRule:
        return numbering.OverflowRule.REFUSE if self.refuse else numbering.OverflowRule.WIDEN

    @property
    def resets(self) -> bool | None:
        return False if self.counts_on else None

    @property
    def draft(self) -> numbering.FormatDraft:
        return numbering.FormatDraft(template=self.template or "", resets=self.resets, overflow=self.overflow)

    @property
    def documents(self) -> dict[str, object]:
        return {
            "projectPublicId": self.project,
            "correspondenceTypeCode": self.type,
            "subTypeCode": self.narrowing.sub_type or None,
            "rfaTypeCode": self.narrowing.rfa_type or None,
            "disciplineCode": self.narrowing.discipline or None,
        }

    @property
    def change(self) -> dict[str, object]:
        return {
            "template": self.template or "",
            "overflow": self.overflow,
            "resetSequenceYearly": self.resets,
            "reason": self.reason,
            "description": self.description,
        }


class FormatsPage(PageModel, template="numbers/formats.html"):
    rows: Sequence[numbering.FormatRow]
    place: ProjectRef
    places: Sequence[ProjectRef]
    may_manage: bool


class FormatEffectFragment(PageModel, template="numbers/parts/format_effect.html"):
    anatomy: Any
    said: Sequence[str]
    effect: numbering.FormatEffect | None
    meanings: Mapping[str, Any]


class FormatPage(PageModel, template="numbers/format.html"):
    typed: FormatForm
    saved: numbering.FormatRow | None
    versions: Sequence[FormatVersionOut]
    types: Sequence[str]
    codes: Mapping[str, Sequence[str]]
    meanings: Mapping[str, Any]
    may_manage: bool


def _prints_period(template: str) -> bool:
    parsed = parse_template(template, drawing=True).template
    return parsed is not None and parsed.prints_period


@router.get("")
async def listing(page: CurrentPage, session: ReadSession, project: Annotated[UUID | None, Query()] = None) -> Response:
    page.caller.require_somewhere(VIEW)
    chosen = await page.choose_project(session, project, VIEW)
    project_id = chosen.place.public_id
    formats = await numbering.list_formats(page.context, session, project_public_id=project_id, cursor=None, limit=MOST)
    return page.show(
        FormatsPage(
            rows=sorted(formats.items, key=lambda row: (row.type_code or "", row.format.narrowing)),
            place=chosen.place,
            places=chosen.places,
            may_manage=page.may(MANAGE_FORMATS, chosen.place),
        )
    )


@router.get("/new")
async def new(page: CurrentPage, session: ReadSession, project: Annotated[UUID | None, Query()] = None) -> Response:
    page.caller.require_somewhere(MANAGE_FORMATS)
    place = (await page.choose_project(session, project, MANAGE_FORMATS)).place
    return await _show(page, session, NEW_FORM, FormatForm(project=str(place.public_id)))


@router.post("/check")
async def check(form: CurrentForm) -> Response:
    """Preview the effect of an unsaved format. Errors in it are no failure of the request."""
    page, typed = form.page, FormatForm.of(form.values)
    await limit_reading(page.request)
    parsed = parse_template(typed.template or "", drawing=typed.type == "DRAWING")
    messages = [fault.text.say(page.language, fault.values) for fault in parsed.faults] if typed.template else []
    effect = None
    if parsed.template is not None:
        try:
            async with form.db.reading() as session:
                target = numbering.FormatTarget(_project_id(typed.project), typed.type, typed.narrowing)
                effect = await numbering.format_effect(page.context, session, target, typed.draft)
        except DomainError as error:
            # Callers who may only read the format see its fields without the effect.
            messages = [] if error.kind is ErrorKind.FORBIDDEN else error_messages(error, page.language)
    return page.show(
        FormatEffectFragment(
            anatomy=parsed,
            said=messages,
            effect=effect,
            meanings=TOKEN_MEANINGS,
        )
    )


@router.post("/new")
async def create(form: CurrentForm) -> Response:
    async with form.show_on_refusal(_show_again, None):
        typed = FormatForm.of(form.values)
        order = form.order(FormatIn, typed.change | typed.documents)
        public_id = await form.transact(_create, order)
    return RedirectResponse(f"{HOME}/{public_id}?saved=1", 303)


@router.get("/{public_id}")
async def show(
    public_id: UUID, page: CurrentPage, session: ReadSession, saved: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    row = await numbering.read_format(page.context, session, public_id=public_id)
    return await _show(page, session, FormState(done="1" if saved == "1" else ""), FormatForm.saved(row), row)


@router.post("/{public_id}")
async def change(public_id: UUID, form: CurrentForm) -> Response:
    async with form.show_on_refusal(_show_again, public_id):
        typed = FormatForm.of(form.values)
        order = form.order(FormatChange, typed.change)
        version = _version(typed.version)
        await form.transact(numbering.change_format, public_id=public_id, version=version, changes=order)
    return RedirectResponse(f"{HOME}/{public_id}?saved=1", 303)


@router.post("/{public_id}/delete")
async def delete(public_id: UUID, form: CurrentForm) -> Response:
    async with form.show_on_refusal(_show_saved, public_id):
        async with form.db.reading() as session:
            row = await numbering.read_format(form.context, session, public_id=public_id)
        order = form.order(FormatChange, {"reason": form.text("reason")})
        await form.transact(numbering.delete_format, public_id=public_id, reason=order.reason)
    return RedirectResponse(f"{HOME}?project={row.project_public_id}", 303)


async def _create(ctx: RequestContext, session: AsyncSession, order: FormatIn) -> UUID:
    await _refuse_existing(ctx, session, order)
    row = await numbering.save_format(ctx, session, order.target, order.draft)
    return row.format.public_id


async def _refuse_existing(ctx: RequestContext, session: AsyncSession, order: FormatIn) -> None:
    """A change needs the version that the caller saw, so creation refuses an existing format."""
    formats = await numbering.list_formats(
        ctx, session, project_public_id=order.project_public_id, cursor=None, limit=MOST
    )
    selection = (order.target.type_code, order.target.narrowing)
    if any((row.type_code, row.format.narrowing) == selection for row in formats.items):
        raise invalid(
            "/correspondenceTypeCode",
            "exists",
            "เอกสารเหล่านี้มีรูปแบบอยู่แล้ว ให้แก้ไขรูปแบบนั้น",
            "These documents already have a format. Change that one.",
        )


def _version(shown: str | None) -> int | None:
    """Return 0 for an invalid version, which is refused as outdated."""
    if not shown:
        return None
    return int(shown) if shown.isascii() and shown.isdigit() and len(shown) < 10 else 0


async def _show_again(page: PageRequest, session: AsyncSession, state: FormState, public_id: UUID | None) -> Response:
    row = None if public_id is None else await numbering.read_format(page.context, session, public_id=public_id)
    return await _show(page, session, state, FormatForm.of(state.form), row)


async def _show_saved(page: PageRequest, session: AsyncSession, state: FormState, public_id: UUID) -> Response:
    row = await numbering.read_format(page.context, session, public_id=public_id)
    return await _show(page, session, state, FormatForm.saved(row), row)


async def _show(
    page: PageRequest,
    session: AsyncSession,
    state: FormState,
    typed: FormatForm,
    row: numbering.FormatRow | None = None,
) -> Response:
    place = await projects.find_project(session, public_id=_project_id(typed.project), pointer="/projectPublicId")
    versions = await numbering.format_history(page.context, session, public_id=row.format.public_id) if row else []
    return page.show(
        FormatPage(
            state=state,
            typed=typed,
            saved=row,
            versions=versions,
            types=[document_type.code for document_type in await projects.correspondence_types(session)],
            codes={} if row else await _codes(page, session, place.public_id),
            meanings=TOKEN_MEANINGS,
            may_manage=page.may(MANAGE_FORMATS, place),
        )
    )


async def _codes(page: PageRequest, session: AsyncSession, project: UUID) -> dict[str, list[str]]:
    """Return the codes that narrow a format, without duplicates from several contracts."""
    ctx = page.context
    return {
        "sub_type": sorted({item.code for item in await projects.sub_types(ctx, session, project_public_id=project)}),
        "rfa_type": sorted({item.code for item in await projects.rfa_types(ctx, session, project_public_id=project)}),
        "discipline": sorted(
            {item.code for item in await projects.disciplines(ctx, session, project_public_id=project)}
        ),
    }


def _project_id(value: str) -> UUID:
    project = id_of(value)
    if project is None:
        raise NotFound("There is no such project.")
    return project
