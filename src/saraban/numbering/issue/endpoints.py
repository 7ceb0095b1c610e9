"""`/document-numbering`: issue, preview, reserve, confirm, cancel, void, replace, state by hand; reset a counter; list refusals."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.dependencies import Context
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.http import (
    Db,
    IdempotencyKey,
    PageCursor,
    PageLimit,
    ReadSession,
    to_response,
)
from saraban.kit.idempotency import OperationResult, Remember, answer_once, request_token
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, READ_LIMIT, Numbers, RecordedRoute
from saraban.numbering.issue.schemas import (
    CancelReservationIn,
    CoveringRangeOut,
    ErrorType,
    GenerateIn,
    ManualNumberEffectOut,
    ManualNumberIn,
    NumberErrorOut,
    NumberErrorsOut,
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
from saraban.numbering.issue.service import (
    counter_reset,
    lifecycle,
    manual_number,
    number_plan,
    refusals,
    reservations,
)
from saraban.numbering.issue.service.format_choice import FormatChoice
from saraban.numbering.issue.service.manual_number import CoveringRange, ManualNumber
from saraban.numbering.issue.service.number_batch import Issued
from saraban.numbering.issue.service.number_request import NumberRequest
from saraban.numbering.series.models import NumberErrorRow

router = APIRouter(route_class=RecordedRoute)
_GENERATE = "POST /document-numbering/generate"
_RESERVE = "POST /document-numbering/reserve"
_REPLACE = "POST /document-numbering/void-and-replace"
_OVERRIDE = "POST /document-numbering/manual-override"


async def once(
    ctx: RequestContext,
    db: Database,
    *,
    operation: str,
    body: BaseModel,
    work: Callable[[AsyncSession], Awaitable[BaseModel]],
    status: int = 200,
) -> Response:
    """Do the work and keep its answer in one transaction."""

    async def run(remember: Remember) -> OperationResult:
        async def step(session: AsyncSession) -> OperationResult:
            answer = OperationResult(status, (await work(session)).model_dump(mode="json", by_alias=True))
            await remember(session, answer)
            return answer

        return await db.transact(step)

    return await replied(ctx, db, operation=operation, body=body, run=run)


async def replied(
    ctx: RequestContext,
    db: Database,
    *,
    operation: str,
    body: BaseModel,
    run: Callable[[Remember], Awaitable[OperationResult]],
) -> Response:
    answer = await answer_once(
        db,
        key=ctx.key,
        user=ctx.caller.public_id,
        operation=operation,
        payload=payload_of(body),
        now=ctx.now,
        run=run,
    )
    return to_response(answer)


def payload_of(body: BaseModel) -> dict[str, Any]:
    return body.model_dump(mode="json", by_alias=True)


def request_of(body: BaseModel) -> NumberRequest:
    """Return what a body asks a number for; fields of its own operation are left out."""
    known = NumberRequest.__dataclass_fields__
    return NumberRequest(**{name: value for name, value in body.model_dump().items() if name in known})


def number_out(issued: Issued) -> NumberOut:
    return NumberOut(**_number(issued))


def life_out(issued: Issued) -> NumberStateOut:
    return NumberStateOut.model_validate({**_number(issued), "status": issued.status})


def _number(issued: Issued) -> dict[str, Any]:
    return {
        "public_id": issued.public_id,
        "document_number": issued.number,
        "sequence": issued.sequence,
        "year": issued.year,
        "template": issued.template,
    }


@router.post("/generate", dependencies=ISSUE_LIMIT, status_code=201, response_model=NumberOut, summary="Issue a number")
async def generate(body: GenerateIn, ctx: Context, db: Db, numbers: Numbers, key: IdempotencyKey) -> Response:
    """
    Issue the next number of the series. It is final: it is in the ledger whether or not a document follows.

    With an `Idempotency-Key` the same request gives the same number however often it is sent.
    """
    token = request_token(key=key, user=ctx.caller.public_id, operation=_GENERATE, payload=payload_of(body))

    async def draw(remember: Remember) -> OperationResult:
        plan = await number_plan.plan_apart(ctx, db, request=request_of(body))

        async def keep(session: Any, issued: Issued) -> None:
            await remember(session, OperationResult(201, number_out(issued).model_dump(mode="json", by_alias=True)))

        issued = await numbers.issue(
            ctx.with_key(key),
            plan,
            token=token,
            remember=keep if key is not None else None,
        )
        return OperationResult(201, number_out(issued).model_dump(mode="json", by_alias=True))

    return await replied(ctx.with_key(key), db, operation=_GENERATE, body=body, run=draw)


@router.post("/preview", dependencies=READ_LIMIT, summary="Preview the next number")
async def preview(body: GenerateIn, session: ReadSession, ctx: Context) -> PreviewOut:
    """Consume nothing; somebody else may get the shown number first."""
    plan = await number_plan.plan(ctx, session, request=request_of(body))
    next_one = await number_plan.preview(session, plan=plan)
    return PreviewOut(
        document_number=next_one.number,
        sequence=next_one.sequence,
        year=plan.year,
        template=plan.template.text,
        format_source=plan.source,
        number_format=FormatChoice.of_plan(plan).shown(),
    )


@router.post(
    "/reserve", dependencies=ISSUE_LIMIT, status_code=201, response_model=ReservationOut, summary="Reserve a number"
)
async def reserve(
    body: GenerateIn, request: Request, ctx: Context, db: Db, numbers: Numbers, key: IdempotencyKey
) -> Response:
    """
    Issue the next number and reserve it for the caller until `expiresAt`. Confirm it, or give its token to a document.

    A reservation that is not used expires; its number is not issued again.
    """
    lasts = timedelta(minutes=request.app.state.settings.reservation_minutes)
    token = request_token(key=key, user=ctx.caller.public_id, operation=_RESERVE, payload=payload_of(body))

    async def run(remember: Remember) -> OperationResult:
        async with db.reading() as session:
            plan = await number_plan.plan(ctx, session, request=request_of(body))

        async def keep(session: AsyncSession, issued: Issued) -> None:
            await remember(session, _reserved(issued))

        issued = await numbers.issue(
            ctx.with_key(key),
            plan,
            token=token,
            remember=keep if key is not None else None,
            lasts=lasts,
        )
        return _reserved(issued)

    return await replied(ctx.with_key(key), db, operation=_RESERVE, body=body, run=run)


def _reserved(issued: Issued) -> OperationResult:
    out = ReservationOut(
        **number_out(issued).model_dump(), reservation_token=issued.public_id, expires_at=issued.expires_at
    )
    return OperationResult(201, out.model_dump(mode="json", by_alias=True))


@router.post("/confirm", response_model=NumberStateOut, summary="Confirm a reserved number")
async def confirm(body: TokenIn, ctx: Context, db: Db, key: IdempotencyKey) -> Response:
    """Make it final, for no document yet. Repeated, the answer is the same; after the expiry it is 410."""

    async def work(session: AsyncSession) -> NumberStateOut:
        return life_out(await reservations.confirm_reservation(ctx, session, token=body.reservation_token))

    operation = "POST /document-numbering/confirm"
    return await once(ctx.with_key(key), db, operation=operation, body=body, work=work)


@router.post("/cancel", response_model=NumberStateOut, summary="Cancel a reservation")
async def cancel(body: CancelReservationIn, ctx: Context, db: Db, key: IdempotencyKey) -> Response:
    """The number stays in the ledger as cancelled and is not issued again."""

    async def work(session: AsyncSession) -> NumberStateOut:
        issued = await reservations.cancel_reservation(
            ctx,
            session,
            token=body.reservation_token,
            reason=body.reason,
        )
        return life_out(issued)

    operation = "POST /document-numbering/cancel"
    return await once(ctx.with_key(key), db, operation=operation, body=body, work=work)


@router.post("/void", response_model=NumberStateOut, summary="Void a number")
async def void(body: VoidIn, ctx: Context, db: Db, key: IdempotencyKey) -> Response:
    """For a confirmed number that no document carries; project administrators only, with a reason."""

    async def work(session: AsyncSession) -> NumberStateOut:
        issued = await lifecycle.void_number(
            ctx,
            session,
            public_id=body.public_id,
            reason=body.reason,
        )
        return life_out(issued)

    operation = "POST /document-numbering/void"
    return await once(ctx.with_key(key), db, operation=operation, body=body, work=work)


@router.post(
    "/void-and-replace",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=ReplacementOut,
    summary="Void a number and issue its replacement",
)
async def void_and_replace(
    body: VoidAndReplaceIn, ctx: Context, db: Db, numbers: Numbers, key: IdempotencyKey
) -> Response:
    """Both in one transaction; the ledger links the two. The replacement belongs to the same project."""
    token = request_token(key=key, user=ctx.caller.public_id, operation=_REPLACE, payload=payload_of(body))

    async def run(remember: Remember) -> OperationResult:
        async with db.reading() as session:
            asked = request_of(body.replacement)
            plan = await number_plan.plan(ctx, session, request=asked)

        async def then(session: AsyncSession, issued: Issued) -> OperationResult:
            await lifecycle.replace_number(
                ctx,
                session,
                public_id=body.public_id,
                project_id=plan.project.id,
                replacement=issued,
                reason=body.reason,
            )
            answer = _replaced(body, issued)
            await remember(session, answer)
            return answer

        async def recall(_session: AsyncSession, issued: Issued) -> OperationResult:
            return _replaced(body, issued)

        return await numbers.issue_and_write(
            ctx.with_key(key),
            plan,
            holder=None,
            token=token,
            then=then,
            recall=recall,
        )

    return await replied(ctx.with_key(key), db, operation=_REPLACE, body=body, run=run)


def _replaced(body: VoidAndReplaceIn, issued: Issued) -> OperationResult:
    out = ReplacementOut(voided_public_id=body.public_id, replacement=number_out(issued))
    return OperationResult(201, out.model_dump(mode="json", by_alias=True))


@router.post("/manual-override/preview", dependencies=READ_LIMIT, summary="Preview a manual number")
async def preview_override(body: ManualNumberIn, session: ReadSession, ctx: Context) -> ManualNumberEffectOut:
    """The number as it would be printed, whether it is taken or in a range, and how far the counter would jump."""
    asked, day = request_of(body), body.issued_on
    plan = await manual_number.plan_on(ctx, session, request=asked, issued_on=day)
    statement = ManualNumber(body.document_number, body.sequence)
    effect = await manual_number.manual_number_effect(ctx, session, plan=plan, statement=statement)
    return ManualNumberEffectOut(
        document_number=effect.number,
        sequence=effect.sequence,
        series=effect.series,
        counter=effect.counter,
        jump=effect.jump,
        taken=effect.taken,
        range=_closed(effect.closed),
    )


def _closed(closed: CoveringRange | None) -> CoveringRangeOut | None:
    if closed is None:
        return None
    return CoveringRangeOut(
        public_id=closed.public_id,
        kind=closed.kind,
        first_number=closed.first,
        last_number=closed.last,
        organization_public_id=closed.organization,
        refuses=closed.refuses,
    )


@router.post(
    "/manual-override",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=NumberOut,
    summary="Register an issued number",
)
async def override(body: ManualNumberIn, ctx: Context, db: Db, key: IdempotencyKey) -> Response:
    """
    For project administrators. The series goes on where it was, unless `moveCounter` is set and the jump confirmed.

    A number of an earlier month or year states `issuedOn`; `reason` says why.
    """
    token = request_token(key=key, user=ctx.caller.public_id, operation=_OVERRIDE, payload=payload_of(body))

    async def work(session: AsyncSession) -> NumberOut:
        asked, day = request_of(body), body.issued_on
        plan = await manual_number.plan_on(ctx, session, request=asked, issued_on=day)
        issued = await manual_number.issue_manually(
            ctx.with_key(key),
            session,
            plan=plan,
            statement=ManualNumber(body.document_number, body.sequence),
            reason=body.reason,
            moves_counter=body.move_counter,
            confirmed_jump=body.confirmed_jump,
            token=token,
            now=ctx.now,
        )
        return number_out(issued)

    return await once(ctx.with_key(key), db, operation=_OVERRIDE, body=body, work=work, status=201)


@router.post("/reset-counter", response_model=ResetOut, summary="Reset a counter")
async def reset_counter(body: ResetIn, ctx: Context, db: Db, key: IdempotencyKey) -> Response:
    """For Super Admins. Only lets free sequences be used: a number that was ever issued is stepped over."""

    async def work(session: AsyncSession) -> ResetOut:
        before, after = await counter_reset.reset_counter(
            ctx.with_key(key),
            session,
            project_public_id=body.project_public_id,
            series=body.series,
            to=body.last_number,
            reason=body.reason,
        )
        return ResetOut(series=body.series, last_number_before=before, last_number=after)

    operation = "POST /document-numbering/reset-counter"
    return await once(ctx.with_key(key), db, operation=operation, body=body, work=work)


@router.get("/logs/errors", dependencies=READ_LIMIT, summary="List refused and failed calls")
async def list_errors(
    session: ReadSession,
    ctx: Context,
    error_type: Annotated[ErrorType | None, Query(alias="errorType")] = None,
    username: Annotated[str | None, Query(max_length=50, description="Only calls of this account.")] = None,
    trace_id: Annotated[
        str | None, Query(alias="traceId", pattern="^[0-9a-f]{32}$", description="Only the call that answered with it.")
    ] = None,
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> NumberErrorsOut:
    """Newest first, of every project; rows are kept for `SARABAN_NUMBER_ERROR_DAYS`."""
    page = await refusals.list_errors(
        ctx,
        session,
        kind=error_type,
        username=username,
        trace=trace_id,
        cursor=cursor,
        limit=limit,
    )
    return NumberErrorsOut(items=[_error(row) for row in page.items], next_cursor=page.next_cursor)


def _error(row: NumberErrorRow) -> NumberErrorOut:
    kept = row.error
    return NumberErrorOut.model_validate(
        {
            "public_id": kept.public_id,
            "error_type": kept.error_type,
            "message": kept.error_message,
            "context": kept.context_data or {},
            "username": row.username,
            "address": kept.ip_address,
            "trace_id": kept.trace_id,
            "created_at": kept.created_at,
        }
    )
