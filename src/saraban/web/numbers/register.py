"""The register of numbers: the series of a project, the ledger of one, and the page of a number with what may be done to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.http import Db, Idempotent, PageCursor, ReadSession
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation
from saraban.kit.text import control_character
from saraban.numbering import service as numbering
from saraban.numbering.issue.dependencies import Numbers, limit_issuing
from saraban.numbering.issue.schemas import CancelReservationIn, VoidIn
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.web.shell.forms import (
    EMPTY_FORM,
    FormValues,
    await_first_answer,
    form_errors,
    has_own_page,
    read_form,
    text,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

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
    return await _show_number(page, session, public_id, done=done)


@router.post("/numbers/{public_id}/void")
async def void(
    public_id: UUID, page: CurrentPage, db: Db, numbers: Numbers, once: Idempotent, request: Request
) -> Response:
    """Void it, and issue another in its place where that is wished."""
    form = await read_form(request)
    try:
        order: VoidIn = validated(request, VoidIn, {"publicId": str(public_id), "reason": text(form, "reason") or ""})
        if text(form, "replace") == "1":
            await limit_issuing(request, page.context)
            key = text(form, "key")
            ctx = page.context.with_key(key[:128] if key else None)
            number = await await_first_answer(lambda: _replaced(ctx, db, numbers, once, order))
            return RedirectResponse(f"/numbers/{number}?done=replaced", status_code=303)
        await db.transact(
            lambda session: numbering.void_number(
                page.context,
                session,
                public_id=public_id,
                reason=order.reason,
            )
        )
    except DomainError as error:
        return await _again(page, db, public_id, error, form)
    return RedirectResponse(f"/numbers/{public_id}?done=void", status_code=303)


async def _replaced(
    ctx: RequestContext, db: Database, numbers: numbering.Allocator, once: Idempotency, order: VoidIn
) -> UUID:
    """A form that is sent twice issues one number."""
    async with db.reading() as session:
        wanted = await numbering.request_like(ctx, session, public_id=order.public_id)
    operation = Operation.of(ctx, "PAGE /numbers/void", {"publicId": str(order.public_id)})
    number = numbering.NumberToVoid(order.public_id, order.reason)
    issued = await numbering.replace_number(ctx, db, numbers, once, operation, void=number, request=wanted)
    return issued.public_id


@router.post("/numbers/{public_id}/confirm")
async def confirm(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """Makes the reader's own reservation final."""
    try:
        await db.transact(lambda session: numbering.confirm_reservation(page.context, session, token=public_id))
    except DomainError as error:
        return await _again(page, db, public_id, error, EMPTY_FORM)
    return RedirectResponse(f"/numbers/{public_id}?done=confirmed", status_code=303)


@router.post("/numbers/{public_id}/cancel")
async def cancel(public_id: UUID, page: CurrentPage, db: Db, request: Request) -> Response:
    """Gives the reader's own reservation up."""
    form = await read_form(request)
    reason = text(form, "reason")
    payload = {"reservationToken": str(public_id)} | ({"reason": reason} if reason else {})
    try:
        order: CancelReservationIn = validated(request, CancelReservationIn, payload)
        await db.transact(
            lambda session: numbering.cancel_reservation(
                page.context,
                session,
                token=order.reservation_token,
                reason=order.reason,
            )
        )
    except DomainError as error:
        return await _again(page, db, public_id, error, form)
    return RedirectResponse(f"/numbers/{public_id}?done=cancelled", status_code=303)


async def _again(page: PageRequest, db: Database, public_id: UUID, error: DomainError, form: FormValues) -> Response:
    if has_own_page(error):
        raise error
    async with db.reading() as session:
        return await _show_number(page, session, public_id, error=error, form=form)


async def _show_number(
    page: PageRequest,
    session: AsyncSession,
    public_id: UUID,
    *,
    done: str = "",
    error: DomainError | None = None,
    form: FormValues = EMPTY_FORM,
) -> Response:
    found = await numbering.number_history(page.context, session, public_id=public_id)
    return page.show(
        NumberPage(
            life=found,
            entry=found.entry,
            done=done,
            form=form,
            key=str(new_id()),
            faults=form_errors(error, page.language),
        )
    )
