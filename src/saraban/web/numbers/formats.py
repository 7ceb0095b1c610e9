"""The number formats of a project: the list, and an editor that shows what saving would do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import Scope
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, NotFound, invalid
from saraban.kit.http import Db, ReadSession
from saraban.numbering import service as numbering
from saraban.numbering.formats.domain import TOKEN_MEANINGS, parse_template
from saraban.numbering.formats.schemas import FormatChange, FormatIn
from saraban.numbering.issue.dependencies import limit_reading
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.web.numbers.register import chosen_project, projects_with_permission
from saraban.web.shell.forms import form_errors, read_form, text, validated
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/numbers/formats")

VIEW, MANAGE = "numbering.view_formats", "numbering.manage_formats"
MOST = 100
_TOLD_HERE = {ErrorKind.INVALID, ErrorKind.CONFLICT, ErrorKind.STALE}


@dataclass(frozen=True, slots=True)
class FormatForm:
    """What stands in the form."""

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
    async def of(cls, request: Request) -> "FormatForm":
        form = await read_form(request)
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
    def wanted(self) -> numbering.FormatDraft:
        return numbering.FormatDraft(template=self.template or "", resets=self.resets, overflow=self.overflow)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatsPage(PageModel):
    template: ClassVar[str] = "numbers/formats.html"

    rows: Sequence[numbering.FormatRow]
    place: ProjectRef
    places: Sequence[ProjectRef]
    may_manage: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatEffectFragment(PageModel):
    template: ClassVar[str] = "numbers/parts/format_effect.html"

    anatomy: Any
    said: Sequence[str]
    effect: numbering.FormatEffect | None
    meanings: Mapping[str, Any]
    refusals: Callable[[DomainError], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatPage(PageModel):
    template: ClassVar[str] = "numbers/format.html"

    form: FormatForm
    saved: numbering.FormatRow | None
    done: bool
    versions: Sequence[numbering.FormatVersion]
    types: Sequence[str]
    codes: Mapping[str, Sequence[str]]
    meanings: Mapping[str, Any]
    may_manage: bool


def _prints_period(template: str) -> bool:
    found = parse_template(template, drawing=True).template
    return found is not None and found.prints_period


@router.get("")
async def listing(page: CurrentPage, session: ReadSession, project: Annotated[UUID | None, Query()] = None) -> Response:
    page.caller.require_somewhere(VIEW)
    places = await projects_with_permission(page, session, VIEW)
    place = chosen_project(places, project or page.project)
    found = await numbering.list_formats(
        page.context, session, project_public_id=place.public_id, cursor=None, limit=MOST
    )
    rows = sorted(found.items, key=lambda row: (row.type_code or "", row.format.narrowing))
    may_manage = page.caller.may(MANAGE, Scope(project=place.id))
    return page.show(FormatsPage(rows=rows, place=place, places=places, may_manage=may_manage))


@router.get("/new")
async def new(page: CurrentPage, session: ReadSession, project: Annotated[UUID | None, Query()] = None) -> Response:
    page.caller.require_somewhere(MANAGE)
    place = chosen_project(await projects_with_permission(page, session, MANAGE), project or page.project)
    return await _show(page, session, FormatForm(project=str(place.public_id)))


@router.post("/check")
async def check(page: CurrentPage, session: ReadSession, request: Request) -> Response:
    """What is typed, piece by piece, and what saving it would do; typing is never an error."""
    typed = await FormatForm.of(request)
    await limit_reading(request, page.context)
    found = parse_template(typed.template or "", drawing=typed.type == "DRAWING")
    said = [one.text.say(page.language, one.values) for one in found.faults] if typed.template else []
    effect = None
    if found.template is not None:
        try:
            effect = await _effect(page, session, typed)
        except DomainError as error:
            # Who only reads the format sees its pieces; what saving it would do is not his business.
            said = [] if error.kind is ErrorKind.FORBIDDEN else _words(error, page.language)
    return page.show(
        FormatEffectFragment(
            anatomy=found,
            said=said,
            effect=effect,
            meanings=TOKEN_MEANINGS,
            refusals=lambda error: " ".join(_words(error, page.language)),
        )
    )


async def _effect(page: PageRequest, session: AsyncSession, typed: FormatForm) -> numbering.FormatEffect:
    target = numbering.FormatTarget(_uuid(typed.project), typed.type, typed.narrowing)
    return await numbering.format_effect(page.context, session, target, typed.wanted)


def _words(error: DomainError, language: str) -> list[str]:
    faults = [one.text.say(language, one.values) for one in error.fields]
    return faults or [error.words.say(language, error.values)]


@router.post("/new")
async def create(page: CurrentPage, db: Db, request: Request) -> Response:
    typed = await FormatForm.of(request)

    async def work(session: AsyncSession) -> UUID:
        order: FormatIn = validated(request, FormatIn, _payload(typed) | {"projectPublicId": typed.project})
        await _refuse_another(session, page, order)
        row = await numbering.save_format(page.context, session, order.target, order.draft)
        return row.format.public_id

    return await _written(page, db, typed, work)


async def _refuse_another(session: AsyncSession, page: PageRequest, order: FormatIn) -> None:
    """This form makes formats; who changes one must have seen it."""
    found = await numbering.list_formats(
        page.context, session, project_public_id=order.project_public_id, cursor=None, limit=MOST
    )
    asked = (order.target.type_code, order.target.narrowing)
    if any((row.type_code, row.format.narrowing) == asked for row in found.items):
        raise invalid(
            "/correspondenceTypeCode",
            "exists",
            "เอกสารเหล่านี้มีรูปแบบอยู่แล้ว ให้แก้ไขรูปแบบนั้น",
            "These documents already have a format. Change that one.",
        )


@router.get("/{public_id}")
async def show(
    public_id: UUID, page: CurrentPage, session: ReadSession, saved: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    row = await numbering.read_format(page.context, session, public_id=public_id)
    return await _show(page, session, FormatForm.saved(row), row=row, done=saved == "1")


@router.post("/{public_id}")
async def change(public_id: UUID, page: CurrentPage, db: Db, request: Request) -> Response:
    typed = await FormatForm.of(request)

    async def work(session: AsyncSession) -> UUID:
        order: FormatChange = validated(request, FormatChange, _payload(typed))
        await numbering.change_format(
            page.context,
            session,
            public_id=public_id,
            version=_version(typed.version),
            changes=order.changes,
        )
        return public_id

    return await _written(page, db, typed, work, public_id)


@router.post("/{public_id}/delete")
async def delete(public_id: UUID, page: CurrentPage, db: Db, request: Request) -> Response:
    reason = text(await read_form(request), "reason")

    async def work(session: AsyncSession) -> str:
        row = await numbering.read_format(page.context, session, public_id=public_id)
        order: FormatChange = validated(request, FormatChange, {"reason": reason})
        await numbering.delete_format(
            page.context,
            session,
            public_id=public_id,
            reason=order.reason,
        )
        return str(row.project_public_id)

    try:
        project = await db.transact(work)
    except DomainError as error:
        return await _again(page, db, error, None, public_id)
    return RedirectResponse(f"/numbers/formats?project={project}", status_code=303)


def _version(shown: str | None) -> int | None:
    """Whoever sends no version, or one that no format has, is asked to look at the format as it is now."""
    if not shown:
        return None
    return int(shown) if shown.isascii() and shown.isdigit() and len(shown) < 10 else 0


def _payload(typed: FormatForm) -> dict[str, object]:
    payload: dict[str, object] = {
        "template": typed.template or "",
        "overflow": typed.overflow,
        "resetSequenceYearly": typed.resets,
        "reason": typed.reason,
        "description": typed.description,
        "correspondenceTypeCode": typed.type,
        "subTypeCode": typed.narrowing.sub_type or None,
        "rfaTypeCode": typed.narrowing.rfa_type or None,
        "disciplineCode": typed.narrowing.discipline or None,
    }
    if not typed.version:
        return payload
    return {name: payload[name] for name in ("template", "overflow", "resetSequenceYearly", "reason", "description")}


async def _written(
    page: PageRequest, db: Database, typed: FormatForm, work: Any, public_id: UUID | None = None
) -> Response:
    """Back to the format when it worked; the form with what is wrong when it did not, and nothing lost."""
    try:
        saved = await db.transact(work)
    except DomainError as error:
        return await _again(page, db, error, typed, public_id)
    return RedirectResponse(f"/numbers/formats/{saved}?saved=1", status_code=303)


async def _again(
    page: PageRequest, db: Database, error: DomainError, typed: FormatForm | None, public_id: UUID | None
) -> Response:
    if error.kind not in _TOLD_HERE:
        raise error
    async with db.reading() as session:
        row = None
        if public_id is not None:
            row = await numbering.read_format(page.context, session, public_id=public_id)
            typed = typed or FormatForm.saved(row)
        assert typed is not None
        return await _show(page, session, typed, row=row, error=error)


async def _show(
    page: PageRequest,
    session: AsyncSession,
    typed: FormatForm,
    *,
    row: numbering.FormatRow | None = None,
    done: bool = False,
    error: DomainError | None = None,
) -> Response:
    place = await projects.find_project(session, public_id=_uuid(typed.project), pointer="/projectPublicId")
    versions = await numbering.format_history(page.context, session, public_id=row.format.public_id) if row else []
    return page.show(
        FormatPage(
            form=typed,
            saved=row,
            done=done,
            versions=versions,
            types=[one.code for one in await projects.correspondence_types(session)],
            codes={} if row else await _codes(page, session, place.public_id),
            meanings=TOKEN_MEANINGS,
            may_manage=page.caller.may(MANAGE, Scope(project=place.id)),
            faults=form_errors(error, page.language),
        )
    )


async def _codes(page: PageRequest, session: AsyncSession, project: UUID) -> dict[str, list[str]]:
    """What a format can be narrowed to; several contracts may have the same code."""
    ctx = page.context
    return {
        "sub_type": sorted({one.code for one in await projects.sub_types(ctx, session, project_public_id=project)}),
        "rfa_type": sorted({one.code for one in await projects.rfa_types(ctx, session, project_public_id=project)}),
        "discipline": sorted({one.code for one in await projects.disciplines(ctx, session, project_public_id=project)}),
    }


def _uuid(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise NotFound("There is no such project.") from None
