"""`/document-numbering`: endpoints that issue and change numbers."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.dates import moments_of_days
from saraban.kit.db import Database
from saraban.kit.http import Db, Idempotent, PageCursor, PageLimit, ReadSession, respond, showing_done_work, wiring
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import PageOut, PeriodQuery
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, READ_LIMIT, Numbers, NumberWiring, RecordedRoute
from saraban.numbering.issue.domain import NumberErrorFilters
from saraban.numbering.issue.schemas import (
    CancelReservationIn,
    ErrorType,
    GenerateIn,
    ManualNumberEffectOut,
    ManualNumberIn,
    NumberErrorOut,
    NumberOut,
    NumberStateOut,
    PreviewOut,
    ReplacementOut,
    ReservationOut,
    ResetIn,
    ResetOut,
    TokenIn,
    VoidAndReplaceIn,
    VoidIn,
)
from saraban.numbering.issue.service import allocator, lifecycle, manual_number, monitoring, number_plan
from saraban.numbering.issue.service.lifecycle import NumberToVoid
from saraban.numbering.issue.service.manual_number import ManualNumber
from saraban.numbering.issue.service.number_plan import FormatChoice
from saraban.numbering.issue.service.number_request import NumberRequest
from saraban.numbering.series.models import NumberErrorRow

router = APIRouter(route_class=RecordedRoute)


def request_of(body: BaseModel) -> NumberRequest:
    fields = NumberRequest.__dataclass_fields__
    return NumberRequest(**{name: value for name, value in body.model_dump().items() if name in fields})


@router.post("/generate", dependencies=ISSUE_LIMIT, status_code=201, response_model=NumberOut, summary="Issue a number")
async def generate(body: GenerateIn, ctx: KeyedContext, numbers: Numbers) -> Response:
    """
    Issue the next number of the series. It is final: it is in the ledger whether or not a document follows.

    With an `Idempotency-Key` the same request gives the same number however often it is sent.
    """
    operation = Operation.of(ctx, "POST /document-numbering/generate", body)
    issued = await allocator.issue_number(ctx, numbers, operation, request=request_of(body))
    return respond(NumberOut.model_validate(issued), status=201, receipt=issued.receipt())


@router.post("/preview", dependencies=READ_LIMIT, summary="Preview the next number")
async def preview(body: GenerateIn, session: ReadSession, ctx: Context) -> PreviewOut:
    """Consume nothing; somebody else may get the shown number first."""
    plan = await number_plan.plan(ctx, session, request_of(body))
    next_number = await number_plan.preview(session, plan=plan)
    return PreviewOut(
        document_number=next_number.number,
        sequence=next_number.sequence,
        year=plan.year,
        template=plan.template.text,
        format_source=plan.source,
        number_format=FormatChoice.of_plan(plan).shown(),
    )


@router.post(
    "/reserve", dependencies=ISSUE_LIMIT, status_code=201, response_model=ReservationOut, summary="Reserve a number"
)
async def reserve(body: GenerateIn, request: Request, ctx: KeyedContext, numbers: Numbers) -> Response:
    """
    Issue the next number and reserve it for the caller until `expiresAt`. Confirm it, or give its token to a document.

    A reservation that is not used expires; its number is not issued again.
    """
    lasts = wiring(request, NumberWiring).reservation_life
    operation = Operation.of(ctx, "POST /document-numbering/reserve", body)
    issued = await allocator.issue_number(ctx, numbers, operation, request=request_of(body), lasts=lasts)
    return respond(ReservationOut.model_validate(issued), status=201, receipt=issued.receipt())


@router.post("/confirm", response_model=NumberStateOut, summary="Confirm a reserved number")
async def confirm(body: TokenIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """Make it final, without a document. Repeated calls return the same; after the expiry: 410."""
    operation = Operation.of(ctx, "POST /document-numbering/confirm", body)
    return await _respond_with_state(ctx, db, await once.run(operation, _confirm, ctx, body))


async def _confirm(ctx: RequestContext, session: AsyncSession, body: TokenIn) -> Receipt:
    return (await lifecycle.confirm_reservation(ctx, session, token=body.reservation_token)).receipt()


@router.post("/cancel", response_model=NumberStateOut, summary="Cancel a reservation")
async def cancel(body: CancelReservationIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """The number stays in the ledger as cancelled and is not issued again."""
    operation = Operation.of(ctx, "POST /document-numbering/cancel", body)
    return await _respond_with_state(ctx, db, await once.run(operation, _cancel, ctx, body))


async def _cancel(ctx: RequestContext, session: AsyncSession, body: CancelReservationIn) -> Receipt:
    token, reason = body.reservation_token, body.reason
    return (await lifecycle.cancel_reservation(ctx, session, token=token, reason=reason)).receipt()


@router.post("/void", response_model=NumberStateOut, summary="Void a number")
async def void(body: VoidIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """For a confirmed number that no document carries; `numbering.override` is needed, and a reason."""
    operation = Operation.of(ctx, "POST /document-numbering/void", body)
    return await _respond_with_state(ctx, db, await once.run(operation, _void, ctx, body))


async def _void(ctx: RequestContext, session: AsyncSession, body: VoidIn) -> Receipt:
    return (await lifecycle.void_number(ctx, session, public_id=body.public_id, reason=body.reason)).receipt()


async def _respond_with_state(ctx: RequestContext, db: Database, receipt: Receipt) -> Response:
    with showing_done_work():
        issued = await lifecycle.read_issued(ctx, db, receipt)
    return respond(NumberStateOut.model_validate(issued), receipt=receipt)


@router.post(
    "/void-and-replace",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=ReplacementOut,
    summary="Void a number and issue its replacement",
)
async def void_and_replace(body: VoidAndReplaceIn, ctx: KeyedContext, numbers: Numbers) -> Response:
    """Both in one transaction; the ledger links the two. The replacement belongs to the same project."""
    operation = Operation.of(ctx, "POST /document-numbering/void-and-replace", body)
    void, request = NumberToVoid(body.public_id, body.reason), request_of(body.replacement)
    issued = await allocator.replace_number(ctx, numbers, operation, void=void, request=request)
    replaced = ReplacementOut(voided_public_id=body.public_id, replacement=NumberOut.model_validate(issued))
    return respond(replaced, status=201, receipt=issued.receipt())


@router.post("/manual-override/preview", dependencies=READ_LIMIT, summary="Preview a manual number")
async def preview_override(body: ManualNumberIn, session: ReadSession, ctx: Context) -> ManualNumberEffectOut:
    """The number as it would be printed, whether it is taken or in a range, and how far the counter would jump."""
    plan = await manual_number.plan_on(ctx, session, request=request_of(body), issued_on=body.issued_on)
    statement = ManualNumber(body.document_number, body.sequence)
    effect = await manual_number.manual_number_effect(ctx, session, plan=plan, statement=statement)
    return ManualNumberEffectOut.model_validate(effect)


@router.post(
    "/manual-override",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=NumberOut,
    summary="Register an issued number",
)
async def override(body: ManualNumberIn, ctx: KeyedContext, db: Db, once: Idempotent) -> Response:
    """
    `numbering.override` is needed. The series goes on where it was, unless `moveCounter` is set and the jump confirmed.

    A number of an earlier month or year states `issuedOn`; `reason` says why.
    """
    operation = Operation.of(ctx, "POST /document-numbering/manual-override", body)
    receipt = await once.run(operation, _override, ctx, body, operation.token)
    with showing_done_work():
        issued = await lifecycle.read_issued(ctx, db, receipt)
    return respond(NumberOut.model_validate(issued), status=201, receipt=receipt)


async def _override(ctx: RequestContext, session: AsyncSession, body: ManualNumberIn, token: UUID) -> Receipt:
    plan = await manual_number.plan_on(ctx, session, request=request_of(body), issued_on=body.issued_on)
    issued = await manual_number.issue_manually(
        ctx,
        session,
        plan=plan,
        statement=ManualNumber(body.document_number, body.sequence),
        reason=body.reason,
        moves_counter=body.move_counter,
        confirmed_jump=body.confirmed_jump,
        token=token,
    )
    return issued.receipt()


@router.post("/reset-counter", response_model=ResetOut, summary="Reset a counter")
async def reset_counter(body: ResetIn, ctx: KeyedContext, once: Idempotent) -> Response:
    """For Super Admins. The series still skips every number that was ever issued."""
    operation = Operation.of(ctx, "POST /document-numbering/reset-counter", body)
    receipt = await once.run(operation, _reset, ctx, body)
    before, after = receipt.outcome["before"], receipt.outcome["after"]
    shown = ResetOut.model_validate({"series": body.series, "last_number_before": before, "last_number": after})
    return respond(shown, receipt=receipt)


async def _reset(ctx: RequestContext, session: AsyncSession, body: ResetIn) -> Receipt:
    before, after = await manual_number.reset_counter(
        ctx,
        session,
        project_public_id=body.project_public_id,
        series=body.series,
        to=body.last_number,
        reason=body.reason,
    )
    return Receipt("counter", None, {"before": before, "after": after})


@router.get("/logs/errors", dependencies=READ_LIMIT, summary="List refused and failed calls")
async def list_errors(
    session: ReadSession,
    ctx: Context,
    period: Annotated[PeriodQuery, Query()],
    error_type: Annotated[ErrorType | None, Query(alias="errorType")] = None,
    username: Annotated[str | None, Query(max_length=50, description="Only calls of this account.")] = None,
    trace_id: Annotated[
        str | None, Query(alias="traceId", pattern="^[0-9a-f]{32}$", max_length=32, description="Only that call.")
    ] = None,
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> PageOut[NumberErrorOut]:
    """Newest first, of every project; rows are kept for `SARABAN_NUMBER_ERROR_DAYS`."""
    filters = NumberErrorFilters(error_type, username, trace_id, *moments_of_days(period.since, period.until, ctx.zone))
    page = await monitoring.list_errors(ctx, session, filters, cursor=cursor, limit=limit)
    return PageOut[NumberErrorOut](items=[_error_out(row) for row in page.items], next_cursor=page.next_cursor)


def _error_out(row: NumberErrorRow) -> NumberErrorOut:
    error = row.error
    values = {"message": error.error_message, "context": error.context_data or {}, "address": error.ip_address}
    return NumberErrorOut.from_object(error, username=row.username, **values)
