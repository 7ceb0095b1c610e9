"""The ranges of a project's series: what is kept for somebody or barred, closing one, releasing one."""

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.schema import Schema, SingleLine
from saraban.kit.text import control_character
from saraban.numbering import service as numbering
from saraban.numbering.issue.schemas import Reason
from saraban.numbering.ranges.schemas import ReleaseIn
from saraban.numbering.series.domain.counter import LARGEST_STATED
from saraban.projects import service as projects
from saraban.projects.schemas import PartySummary
from saraban.projects.service import ProjectRef
from saraban.web.numbers.register import MANAGE_FORMATS, VIEW_COUNTERS
from saraban.web.shell.form_state import FormState, FormValues
from saraban.web.shell.forms import CurrentForm, Shown, form_with, text
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/numbers/ranges")

ROWS = 50
_ENDS = ("firstNumber", "lastNumber")
_FIELDS = ("projectPublicId", "series", "kind", *_ENDS, "organizationPublicId", "reason", "confirmedSize")
_PROPOSED = 100


class RangeForm(Schema):
    project_public_id: UUID
    series: Annotated[str, SingleLine(255)]
    kind: numbering.RangeKind
    first_number: int = Field(ge=1, le=LARGEST_STATED)
    last_number: int = Field(ge=1, le=LARGEST_STATED)
    organization_public_id: UUID | None = None
    confirmed_size: int | None = Field(None, ge=1, le=LARGEST_STATED)
    reason: Reason


class RangesPage(PageModel, template="numbers/ranges.html", fragments=("numbers/parts/range_rows.html",)):
    rows: Sequence[numbering.RangeRow]
    next_cursor: str | None
    place: ProjectRef
    places: Sequence[ProjectRef]
    members: Sequence[PartySummary]
    codes: Mapping[UUID, str]
    known: Sequence[str]
    may_manage: bool
    size: int | None


@router.post("")
async def close(form: CurrentForm) -> Response:
    async with form.shown_again(listing):
        order = form.order(RangeForm, form.filled(*_FIELDS))
        draft = numbering.RangeDraft(
            order.kind,
            order.first_number,
            order.last_number,
            order.organization_public_id,
            order.reason,
            order.confirmed_size,
        )
        await form.transact(
            numbering.create_range_in_series,
            draft,
            project_public_id=order.project_public_id,
            series=order.series,
        )
    return RedirectResponse(f"/numbers/ranges?project={order.project_public_id}&done=closed", 303)


@router.post("/{public_id}/release")
async def release(public_id: UUID, form: CurrentForm) -> Response:
    async with form.shown_again(_show_released):
        order = form.order(ReleaseIn, form.filled("reason"))
        await form.transact(numbering.release_range, public_id=public_id, reason=order.reason)
    project = id_of(form.text("projectPublicId")) or ""
    return RedirectResponse(f"/numbers/ranges?project={project}&done=released", 303)


async def _show_released(page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    """The form on the page is that of a new range, which says nothing of the release."""
    form = form_with(projectPublicId=text(state.form, "projectPublicId") or "")
    return await listing(page, session, FormState(form, state.error))


@router.get("")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    state: Shown,
    project: Annotated[UUID | None, Query()] = None,
    series: Annotated[str, Query(max_length=255)] = "",
    cursor: PageCursor = None,
) -> Response:
    page.caller.require_somewhere(VIEW_COUNTERS)
    state = state.or_stored(form_with(series="" if control_character(series) is not None else series))
    chosen = await page.choose_project(session, project or id_of(text(state.form, "projectPublicId")), VIEW_COUNTERS)
    ctx, here = page.context, chosen.place.public_id
    found = await numbering.list_ranges(ctx, session, project_public_id=here, cursor=cursor, limit=ROWS)
    members = await projects.organizations(ctx, session, project_public_id=here)
    may_manage = page.may(MANAGE_FORMATS, chosen.place)
    known = await numbering.list_series(ctx, session, project_public_id=here, limit=_PROPOSED) if may_manage else None
    return page.show_list(
        RangesPage(
            rows=found.items,
            next_cursor=found.next_cursor,
            place=chosen.place,
            places=chosen.places,
            members=members,
            codes={one.public_id: one.organization_code for one in members},
            known=[one.series for one in known.items] if known else [],
            may_manage=may_manage,
            state=state,
            size=_size(state.form),
        ),
        cursor,
    )


def _size(form: FormValues) -> int | None:
    """How many sequences are to be closed, for whoever is asked to confirm it."""
    ends = [text(form, name) or "" for name in _ENDS]
    if not all(one.isascii() and one.isdigit() and len(one) < 10 for one in ends):
        return None
    return int(ends[1]) - int(ends[0]) + 1
