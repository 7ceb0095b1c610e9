"""Pages of the reserved and blocked ranges of a project's series."""

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
_MOST_PROPOSED_SERIES = 100


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
    async with form.show_on_refusal(listing):
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
    async with form.show_on_refusal(_show_released):
        order = form.order(ReleaseIn, form.filled("reason"))
        await form.transact(numbering.release_range, public_id=public_id, reason=order.reason)
    project = id_of(form.text("projectPublicId")) or ""
    return RedirectResponse(f"/numbers/ranges?project={project}&done=released", 303)


async def _show_released(page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    """Keep the release's values out of the page's form, which is for a new range."""
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
    ctx, project_id = page.context, chosen.place.public_id
    ranges = await numbering.list_ranges(ctx, session, project_public_id=project_id, cursor=cursor, limit=ROWS)
    members = await projects.organizations(ctx, session, project_public_id=project_id)
    may_manage = page.may(MANAGE_FORMATS, chosen.place)
    series_page = (
        await numbering.list_series(ctx, session, project_public_id=project_id, limit=_MOST_PROPOSED_SERIES)
        if may_manage
        else None
    )
    return page.show_list(
        RangesPage(
            rows=ranges.items,
            next_cursor=ranges.next_cursor,
            place=chosen.place,
            places=chosen.places,
            members=members,
            codes={item.public_id: item.organization_code for item in members},
            known=[item.series for item in series_page.items] if series_page else [],
            may_manage=may_manage,
            state=state,
            size=_size(state.form),
        ),
        cursor,
    )


def _size(form: FormValues) -> int | None:
    """Return the number of sequences, for the confirmation."""
    ends = [text(form, name) or "" for name in _ENDS]
    if not all(end.isascii() and end.isdigit() and len(end) < 10 for end in ends):
        return None
    return int(ends[1]) - int(ends[0]) + 1
