"""The page of one number: what became of it, and the steps of its life that the reader may take."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.kit.http import Db, ReadSession
from saraban.kit.idempotency import request_token
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering
from saraban.numbering.issue.dependencies import Numbers, limit_issuing
from saraban.numbering.issue.schemas import CancelReservationIn, VoidIn
from saraban.web.shell.forms import (
    EMPTY_FORM,
    FormValues,
    form_errors,
    has_own_page,
    read_form,
    text,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session_renewal import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/numbers")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPage(PageModel):
    template: ClassVar[str] = "numbers/number.html"

    life: numbering.NumberHistory
    entry: Any
    done: str
    form: FormValues
    key: str


@router.get("/{public_id}")
async def show(
    public_id: UUID, page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    return await _show(page, session, public_id, done=done)


@router.post("/{public_id}/void")
async def void(public_id: UUID, page: CurrentPage, db: Db, numbers: Numbers, request: Request) -> Response:
    """Makes it void, and draws another in its place where that is wished."""
    form = await read_form(request)
    try:
        order: VoidIn = validated(request, VoidIn, {"publicId": str(public_id), "reason": text(form, "reason") or ""})
        if text(form, "replace") == "1":
            await limit_issuing(request, page.context)
            key = text(form, "key")
            number = await _replaced(page, db, numbers, order=order, key=key[:128] if key else None)
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
    page: PageRequest, db: Database, numbers: numbering.Allocator, *, order: VoidIn, key: str | None
) -> UUID:
    """A form that is sent twice draws once: its key makes the token of the request."""
    asked = {"publicId": str(order.public_id)}
    token = request_token(key=key, user=page.caller.public_id, operation="PAGE /numbers/void", payload=asked)
    async with db.reading() as session:
        wanted = await numbering.request_like(page.context, session, public_id=order.public_id)
        plan = await numbering.plan(page.context, session, request=wanted)

    async def then(session: AsyncSession, issued: numbering.Issued) -> UUID:
        await numbering.replace_number(
            page.context,
            session,
            public_id=order.public_id,
            project_id=plan.project.id,
            replacement=issued,
            reason=order.reason,
        )
        return issued.public_id

    async def recall(_session: AsyncSession, issued: numbering.Issued) -> UUID:
        return issued.public_id

    return await numbers.issue_and_write(
        page.context.with_key(key),
        plan,
        holder=None,
        token=token,
        then=then,
        recall=recall,
    )


@router.post("/{public_id}/confirm")
async def confirm(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """Makes the reader's own reservation final."""
    try:
        await db.transact(lambda session: numbering.confirm_reservation(page.context, session, token=public_id))
    except DomainError as error:
        return await _again(page, db, public_id, error, EMPTY_FORM)
    return RedirectResponse(f"/numbers/{public_id}?done=confirmed", status_code=303)


@router.post("/{public_id}/cancel")
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
        return await _show(page, session, public_id, error=error, form=form)


async def _show(
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
