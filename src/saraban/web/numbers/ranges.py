"""The ranges of a project's series: what is kept for somebody or barred, closing one, releasing one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import Scope
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind
from saraban.kit.http import Db, PageCursor, ReadSession
from saraban.kit.schema import Schema, SingleLine
from saraban.kit.text import control_character
from saraban.numbering import service as numbering
from saraban.numbering.issue.schemas import Reason
from saraban.numbering.ranges.schemas import ReleaseIn
from saraban.numbering.series.domain.sequence import LARGEST_STATED
from saraban.projects import service as projects
from saraban.projects.schemas import PartySummary
from saraban.projects.service import ProjectRef
from saraban.web.numbers.register import VIEW_COUNTERS, chosen_project, projects_with_permission
from saraban.web.shell.forms import (
    FormValues,
    form_errors,
    form_with,
    has_own_page,
    id_of,
    read_form,
    text,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/numbers/ranges")

MANAGE = "numbering.manage_formats"
ROWS = 50
_PROPOSED = 100


class RangeForm(Schema):
    """A stretch of a series that has counted already."""

    project_public_id: UUID
    series: Annotated[str, SingleLine(255)]
    kind: numbering.RangeKind
    first_number: int = Field(ge=1, le=LARGEST_STATED)
    last_number: int = Field(ge=1, le=LARGEST_STATED)
    organization_public_id: UUID | None = None
    confirmed_size: int | None = Field(None, ge=1, le=LARGEST_STATED)
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RangesPage(PageModel):
    template: ClassVar[str] = "numbers/ranges.html"
    fragments: ClassVar[tuple[str, ...]] = ("numbers/parts/range_rows.html",)

    rows: Sequence[numbering.RangeRow]
    next_cursor: str | None
    place: ProjectRef
    places: Sequence[ProjectRef]
    members: Sequence[PartySummary]
    codes: Mapping[UUID, str]
    known: Sequence[str]
    may_manage: bool
    form: FormValues
    done: str
    size: int | None


@router.get("")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    project: Annotated[UUID | None, Query()] = None,
    series: Annotated[str, Query(max_length=255)] = "",
    done: Annotated[str, Query(max_length=20)] = "",
    cursor: PageCursor = None,
) -> Response:
    """The ranges of the chosen project, the released ones too; a series may be given for the form."""
    page.caller.require_somewhere(VIEW_COUNTERS)
    named = "" if control_character(series) is not None else series
    return await _show(page, session, project=project, form=form_with(series=named), done=done, cursor=cursor)


@router.post("")
async def close(page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)

    async def work(session: AsyncSession) -> UUID:
        order: RangeForm = validated(request, RangeForm, _payload(form))
        draft = numbering.RangeDraft(
            order.kind,
            order.first_number,
            order.last_number,
            order.organization_public_id,
            order.reason,
            order.confirmed_size,
        )
        await numbering.create_range_in_series(
            page.context, session, draft, project_public_id=order.project_public_id, series=order.series
        )
        return order.project_public_id

    try:
        project = await db.transact(work)
    except DomainError as error:
        return await _again(page, db, error, form)
    return RedirectResponse(f"/numbers/ranges?project={project}&done=closed", status_code=303)


@router.post("/{public_id}/release")
async def release(public_id: UUID, page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        order: ReleaseIn = validated(request, ReleaseIn, {"reason": text(form, "reason") or ""})
        await numbering.release_range(
            page.context,
            session,
            public_id=public_id,
            reason=order.reason,
        )

    try:
        await db.transact(work)
    except DomainError as error:
        return await _again(page, db, error, form_with(projectPublicId=text(form, "projectPublicId") or ""))
    return RedirectResponse(
        f"/numbers/ranges?project={id_of(text(form, 'projectPublicId')) or ''}&done=released", status_code=303
    )


def _payload(form: FormValues) -> dict[str, str]:
    """What was left empty is left out where that means nothing, and kept where something is needed."""
    needed = ("projectPublicId", "series", "kind", "firstNumber", "lastNumber", "reason")
    wanted = {name: typed for name in ("organizationPublicId", "confirmedSize") if (typed := text(form, name))}
    return {name: text(form, name) or "" for name in needed} | wanted


async def _again(page: PageRequest, db: Database, error: DomainError, form: FormValues) -> Response:
    if has_own_page(error) or error.kind is ErrorKind.FORBIDDEN:
        raise error
    async with db.reading() as session:
        return await _show(page, session, project=id_of(text(form, "projectPublicId")), form=form, error=error)


async def _show(
    page: PageRequest,
    session: AsyncSession,
    *,
    project: UUID | None,
    form: FormValues,
    done: str = "",
    cursor: str | None = None,
    error: DomainError | None = None,
) -> Response:
    places = await projects_with_permission(page, session, VIEW_COUNTERS)
    place = chosen_project(places, project or page.project)
    ctx, here = page.context, place.public_id
    found = await numbering.list_ranges(ctx, session, project_public_id=here, cursor=cursor, limit=ROWS)
    members = await projects.organizations(ctx, session, project_public_id=here)
    may_manage = page.caller.may(MANAGE, Scope(project=place.id))
    known = await numbering.list_series(ctx, session, project_public_id=here, limit=_PROPOSED) if may_manage else None
    return page.show(
        RangesPage(
            rows=found.items,
            next_cursor=found.next_cursor,
            place=place,
            places=places,
            members=members,
            codes={one.public_id: one.organization_code for one in members},
            known=[one.series for one in known.items] if known else [],
            may_manage=may_manage,
            form=form,
            done=done,
            size=_size(form),
            faults=form_errors(error, page.language),
        ),
        "numbers/parts/range_rows.html" if page.is_fragment and cursor else "numbers/ranges.html",
    )


def _size(form: FormValues) -> int | None:
    """How many sequences are to be closed, for whoever is asked to confirm it."""
    ends = [text(form, name) or "" for name in ("firstNumber", "lastNumber")]
    if not all(one.isascii() and one.isdigit() and len(one) < 10 for one in ends):
        return None
    return int(ends[1]) - int(ends[0]) + 1
