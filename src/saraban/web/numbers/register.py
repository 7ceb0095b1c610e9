"""The register of numbers: the series of a project, the ledger of one, and the page of a number with what may be done to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError
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
from saraban.web.shell.forms import (
    CurrentForm,
    FormState,
    FormValues,
    SentForm,
    form_errors,
    show_again,
    submit,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 50
HITS = 20
VIEW_COUNTERS = "numbering.view_counters"
MANAGE_FORMATS, OVERRIDE = "numbering.manage_formats", "numbering.override"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPage(PageModel):
    template: ClassVar[str] = "numbers/register.html"
    fragments: ClassVar[tuple[str, ...]] = ("numbers/parts/series_rows.html", "numbers/parts/series_list.html")

    rows: Sequence[SeriesOut]
    next_cursor: str | None
    hits: Sequence[FoundNumberOut]
    most: int
    q: str
    place: ProjectRef
    places: Sequence[ProjectRef]
    may_manage: bool
    sees_project: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage(PageModel):
    template: ClassVar[str] = "numbers/ledger.html"
    fragments: ClassVar[tuple[str, ...]] = ("numbers/parts/ledger_rows.html", "numbers/parts/ledger_list.html")

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
    """The series of the chosen project, by name; to what is searched for, the numbers that were ever printed so."""
    page.caller.require_somewhere(VIEW_COUNTERS)
    text = "" if control_character(q) is not None else q.strip()
    chosen = await page.choose_project(session, project, VIEW_COUNTERS)
    here = chosen.place.public_id
    found = await numbering.list_series(
        page.context, session, project_public_id=here, text=text or None, cursor=cursor, limit=ROWS
    )
    hits = (
        await numbering.search_numbers(page.context, session, project_public_id=here, text=text, limit=HITS)
        if text and not cursor
        else []
    )
    response = page.show_list(
        SeriesPage(
            rows=found.items,
            next_cursor=found.next_cursor,
            hits=hits,
            most=HITS,
            q=text,
            place=chosen.place,
            places=chosen.places,
            may_manage=page.may(OVERRIDE, chosen.place),
            sees_project=page.may(VIEW_COUNTERS, chosen.place),
        ),
        cursor,
    )
    if page.is_fragment and not cursor:
        asked = {"project": str(here)} | ({"q": text} if text else {})
        response.headers["HX-Push-Url"] = f"/numbers?{urlencode(asked)}"
    return response


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
    if (drawings := labels.external_register(series)) is not None:  # they were not counted: their register has them
        return RedirectResponse(f"/drawings/{drawings}?project={project}", status_code=303)
    begin = int(first) if first.isascii() and first.isdigit() and 0 < int(first) < 10**9 else 1
    found = await numbering.series_ledger(
        page.context, session, project_public_id=project, series=series, first=begin, cursor=cursor, limit=ROWS
    )
    managed = await page.projects_with(session, OVERRIDE)
    viewed = await page.projects_with(session, None)
    return page.show_list(
        LedgerPage(
            account=found,
            place=project,
            first=begin,
            may_manage=any(one.public_id == project for one in managed),
            sees_project=any(one.public_id == project and page.may(VIEW_COUNTERS, one) for one in viewed),
            may_reset=numbering.may_reset_counter(page.context),
        ),
        cursor,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPage(PageModel):
    template: ClassVar[str] = "numbers/number.html"

    life: numbering.NumberHistory
    entry: Any
    done: str
    form: FormValues
    key: str


@router.get("/numbers/{public_id}")
async def show_number(
    public_id: UUID, page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    return await _show_number(public_id, page, session, FormState(done=done))


@router.post("/numbers/{public_id}/void")
async def void(public_id: UUID, form: CurrentForm, numbers: Numbers) -> Response:
    """Void it, and issue another in its place where that is wished."""
    if form.text("replace") != "1":
        return await submit(form, partial(_void, public_id), partial(_show_number, public_id))
    try:
        order = _void_order(public_id, form)
        await limit_issuing(form.page.request)
        number = await form.once(lambda ctx: _replaced(ctx, form, numbers, order))
    except DomainError as error:
        return await show_again(form, error, partial(_show_number, public_id))
    return RedirectResponse(f"/numbers/{number}?done=replaced", status_code=303)


@router.post("/numbers/{public_id}/confirm")
async def confirm(public_id: UUID, form: CurrentForm) -> Response:
    """Make the reader's own reservation final."""
    return await submit(form, partial(_confirm, public_id), partial(_show_number, public_id))


@router.post("/numbers/{public_id}/cancel")
async def cancel(public_id: UUID, form: CurrentForm) -> Response:
    """Give the reader's own reservation up."""
    return await submit(form, partial(_cancel, public_id), partial(_show_number, public_id))


def _void_order(public_id: UUID, form: SentForm) -> VoidIn:
    return form.order(VoidIn, {"publicId": str(public_id), **form.filled("reason")})


async def _void(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    order = _void_order(public_id, form)
    await numbering.void_number(form.context, session, public_id=public_id, reason=order.reason)
    return f"/numbers/{public_id}?done=void"


async def _replaced(ctx: RequestContext, form: SentForm, numbers: numbering.NumberServices, order: VoidIn) -> UUID:
    """A form that is sent twice issues one number."""
    void = numbering.NumberToVoid(order.public_id, order.reason)
    async with form.db.reading() as session:
        wanted = await numbering.request_like(ctx, session, public_id=order.public_id)
    operation = Operation.of(ctx, "PAGE /numbers/void", {"publicId": str(order.public_id)})
    issued = await numbering.replace_number(ctx, numbers, operation, void=void, request=wanted)
    return issued.public_id


async def _confirm(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    await numbering.confirm_reservation(form.context, session, token=public_id)
    return f"/numbers/{public_id}?done=confirmed"


async def _cancel(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    order = form.order(CancelReservationIn, {"reservationToken": str(public_id), **form.filled("reason")})
    await numbering.cancel_reservation(form.context, session, token=public_id, reason=order.reason)
    return f"/numbers/{public_id}?done=cancelled"


async def _show_number(public_id: UUID, page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    found = await numbering.number_history(page.context, session, public_id=public_id)
    return page.show(
        NumberPage(
            life=found,
            entry=found.entry,
            done=state.done,
            form=state.form,
            key=str(new_id()),
            faults=form_errors(state.error, page.language),
        )
    )
