"""The books of numbers: the series of a project, and what became of every number of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from saraban.identity.domain.permission import Scope
from saraban.kit.errors import NotFound
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.text import control_character
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session_renewal import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 50
VIEW_COUNTERS = "numbering.view_counters"
MANAGE_FORMATS = "numbering.manage_formats"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPage(PageModel):
    template: ClassVar[str] = "numbers/register.html"
    fragments: ClassVar[tuple[str, ...]] = ("numbers/parts/series_rows.html", "numbers/parts/series_list.html")

    rows: Sequence[numbering.SeriesRow]
    next_cursor: str | None
    q: str
    place: ProjectRef
    places: Sequence[ProjectRef]
    may_manage: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage(PageModel):
    template: ClassVar[str] = "numbers/ledger.html"
    fragments: ClassVar[tuple[str, ...]] = ("numbers/parts/ledger_rows.html", "numbers/parts/ledger_list.html")

    account: numbering.SeriesLedger
    place: UUID
    first: int
    may_manage: bool
    may_reset: bool


@router.get("/numbers")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    q: Annotated[str, Query(max_length=200)] = "",
    project: Annotated[UUID | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=1100)] = None,
) -> Response:
    """The series of the chosen project, by name."""
    page.caller.require_somewhere(VIEW_COUNTERS)
    text = "" if control_character(q) is not None else q.strip()
    places = await projects_with_permission(page, session, VIEW_COUNTERS)
    place = chosen_project(places, project or page.project)
    found = await numbering.list_series(
        page.context,
        session,
        project_public_id=place.public_id,
        text=text or None,
        cursor=cursor,
        limit=ROWS,
    )
    template = "numbers/register.html"
    if page.is_fragment:
        template = "numbers/parts/series_rows.html" if cursor else "numbers/parts/series_list.html"
    return page.show(
        SeriesPage(
            rows=found.items,
            next_cursor=found.next_cursor,
            q=text,
            place=place,
            places=places,
            may_manage=page.caller.may(MANAGE_FORMATS, Scope(project=place.id)),
        ),
        template,
    )


@router.get("/numbers/account")
async def account(
    page: CurrentPage,
    session: ReadSession,
    project: UUID,
    series: Annotated[str, Query(max_length=255)],
    first: Annotated[str, Query(alias="from", max_length=12)] = "",
    cursor: PageCursor = None,
) -> Response:
    """Every number of a series with its state and holder, every hole with its reason."""
    page.caller.require_somewhere(VIEW_COUNTERS)
    begin = int(first) if first.isascii() and first.isdigit() and 0 < int(first) < 10**9 else 1
    found = await numbering.series_ledger(
        page.context,
        session,
        project_public_id=project,
        series=series,
        first=begin,
        cursor=cursor,
        limit=ROWS,
    )
    template = "numbers/parts/ledger_rows.html" if page.is_fragment and cursor else "numbers/ledger.html"
    if page.is_fragment and not cursor:
        template = "numbers/parts/ledger_list.html"
    manages = any(one.public_id == project for one in await projects_with_permission(page, session, MANAGE_FORMATS))
    return page.show(
        LedgerPage(
            account=found,
            place=project,
            first=begin,
            may_manage=manages,
            may_reset=numbering.may_reset_counter(page.context),
        ),
        template,
    )


async def projects_with_permission(page: PageRequest, session: ReadSession, right: str) -> list[ProjectRef]:
    """Return the reader's projects in which he has this right."""
    known = page.projects or await projects.projects_of(page.context, session)
    return [
        one
        for one in known
        if page.caller.may(right, Scope(project=one.id, organizations=page.caller.organization_ids))
    ]


def chosen_project(places: list[ProjectRef], wanted: UUID | None) -> ProjectRef:
    """The project of the top bar if its numbers may be seen, otherwise the first."""
    if not places:
        raise NotFound("There is no project whose numbers you may see.")
    return next((one for one in places if one.public_id == wanted), places[0])
