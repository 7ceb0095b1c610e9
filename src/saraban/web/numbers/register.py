"""The number register: series, ledger and the page of a number."""

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation
from saraban.kit.text import control_character
from saraban.numbering import service as numbering
from saraban.numbering.issue.dependencies import Numbers, limit_issuing
from saraban.numbering.issue.schemas import CancelReservationIn, VoidIn
from saraban.numbering.register.schemas import FoundNumberOut, SeriesOut
from saraban.projects.service import ProjectRef
from saraban.web.shell import labels
from saraban.web.shell.forms import CurrentForm, Shown
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 50
HITS = 20
VIEW_COUNTERS = "numbering.view_counters"
MANAGE_FORMATS, OVERRIDE = "numbering.manage_formats", "numbering.override"


class SeriesPage(
    PageModel,
    template="numbers/register.html",
    fragments=("numbers/parts/series_rows.html", "numbers/parts/series_list.html"),
):
    rows: Sequence[SeriesOut]
    next_cursor: str | None
    hits: Sequence[FoundNumberOut]
    most: int
    q: str
    place: ProjectRef
    places: Sequence[ProjectRef]
    may_manage: bool
    sees_project: bool


class LedgerPage(
    PageModel,
    template="numbers/ledger.html",
    fragments=("numbers/parts/ledger_rows.html", "numbers/parts/ledger_list.html"),
):
    account: numbering.SeriesLedger
    place: UUID
    first: int
    may_manage: bool
    sees_project: bool
    may_reset: bool


@router.get("/numbers")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    q: Annotated[str, Query(max_length=200)] = "",
    project: Annotated[UUID | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=1100)] = None,
) -> Response:
    """List the series, and for a search the numbers that were ever printed so."""
    page.caller.require_somewhere(VIEW_COUNTERS)
    text = "" if control_character(q) is not None else q.strip()
    chosen = await page.choose_project(session, project, VIEW_COUNTERS)
    project_id = chosen.place.public_id
    series_page = await numbering.list_series(
        page.context, session, project_public_id=project_id, text=text or None, cursor=cursor, limit=ROWS
    )
    hits = (
        await numbering.search_numbers(page.context, session, project_public_id=project_id, text=text, limit=HITS)
        if text and not cursor
        else []
    )
    parameters = {"project": str(project_id)} | ({"q": text} if text else {})
    return page.show_list(
        SeriesPage(
            rows=series_page.items,
            next_cursor=series_page.next_cursor,
            hits=hits,
            most=HITS,
            q=text,
            place=chosen.place,
            places=chosen.places,
            may_manage=page.may(OVERRIDE, chosen.place),
            sees_project=page.may(VIEW_COUNTERS, chosen.place),
        ),
        cursor,
        address=f"/numbers?{urlencode(parameters)}",
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
    page.caller.require_somewhere(VIEW_COUNTERS)
    if (drawings := labels.external_register(series)) is not None:  # external numbers have no ledger
        return RedirectResponse(f"/drawings/{drawings}?project={project}", status_code=303)
    begin = int(first) if first.isascii() and first.isdigit() and 0 < int(first) < 10**9 else 1
    ledger = await numbering.series_ledger(
        page.context, session, project_public_id=project, series=series, first=begin, cursor=cursor, limit=ROWS
    )
    managed = await page.projects_with(session, OVERRIDE)
    viewed = await page.projects_with(session, None)
    return page.show_list(
        LedgerPage(
            account=ledger,
            place=project,
            first=begin,
            may_manage=any(ref.public_id == project for ref in managed),
            sees_project=any(ref.public_id == project and page.may(VIEW_COUNTERS, ref) for ref in viewed),
            may_reset=numbering.may_reset_counter(page.context),
        ),
        cursor,
    )


class NumberPage(PageModel, template="numbers/number.html"):
    life: numbering.NumberHistory
    entry: Any
    key: str


@router.post("/numbers/{public_id}/void")
async def void(public_id: UUID, form: CurrentForm, numbers: Numbers) -> Response:
    async with form.show_on_refusal(show_number, public_id):
        order = form.order(VoidIn, {"publicId": str(public_id), **form.filled("reason")})
        if form.text("replace") != "1":
            await form.transact(numbering.void_number, public_id=public_id, reason=order.reason)
            return RedirectResponse(f"/numbers/{public_id}?done=void", 303)
        await limit_issuing(form.page.request)
        async with form.db.reading() as session:
            request = await numbering.request_like(form.context, session, public_id=public_id)
        issued = await form.once(_replace, numbers, order, request)
    return RedirectResponse(f"/numbers/{issued.public_id}?done=replaced", 303)


async def _replace(
    ctx: RequestContext, numbers: numbering.NumberServices, order: VoidIn, request: numbering.NumberRequest
) -> numbering.Issued:
    """Sending the form twice issues one number."""
    operation = Operation.of(ctx, "PAGE /numbers/void", {"publicId": str(order.public_id)})
    void = numbering.NumberToVoid(order.public_id, order.reason)
    return await numbering.replace_number(ctx, numbers, operation, void=void, request=request)


@router.post("/numbers/{public_id}/confirm")
async def confirm(public_id: UUID, form: CurrentForm) -> Response:
    async with form.show_on_refusal(show_number, public_id):
        await form.transact(numbering.confirm_reservation, token=public_id)
    return RedirectResponse(f"/numbers/{public_id}?done=confirmed", 303)


@router.post("/numbers/{public_id}/cancel")
async def cancel(public_id: UUID, form: CurrentForm) -> Response:
    async with form.show_on_refusal(show_number, public_id):
        order = form.order(CancelReservationIn, {"reservationToken": str(public_id), **form.filled("reason")})
        await form.transact(numbering.cancel_reservation, token=public_id, reason=order.reason)
    return RedirectResponse(f"/numbers/{public_id}?done=cancelled", 303)


@router.get("/numbers/{public_id}")
async def show_number(page: CurrentPage, session: ReadSession, state: Shown, public_id: UUID) -> Response:
    history = await numbering.number_history(page.context, session, public_id=public_id)
    return page.show(NumberPage(life=history, entry=history.entry, key=str(new_id()), state=state))
