"""`/document-numbering`: reserve, confirm, cancel; void, replace, override; reset a counter; find what a number became."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import Address, Db, IdempotencyKey, Now, ReadSession
from saraban.kit.idempotency import OperationResult, Remember, request_token
from saraban.numbering import service as numbering
from saraban.numbering.dependencies import ISSUE_LIMIT, READ_LIMIT, Numbers, RecordedRoute
from saraban.numbering.endpoints.once import life_out, number_out, once, payload_of, replied, request_of
from saraban.numbering.schemas import (
    CancelReservationIn,
    CoveringRangeOut,
    GenerateIn,
    ManualNumberEffectOut,
    ManualNumberIn,
    NumberOut,
    NumberResolutionOut,
    NumberStateOut,
    ReplacementOut,
    ReservationOut,
    ResetIn,
    ResetOut,
    TokenIn,
    VoidAndReplaceIn,
    VoidIn,
)

router = APIRouter(route_class=RecordedRoute)
_RESERVE = "POST /document-numbering/reserve"
_REPLACE = "POST /document-numbering/void-and-replace"
_OVERRIDE = "POST /document-numbering/manual-override"


@router.post(
    "/reserve", dependencies=ISSUE_LIMIT, status_code=201, response_model=ReservationOut, summary="Reserve a number"
)
async def reserve(
    body: GenerateIn,
    request: Request,
    caller: CurrentCaller,
    db: Db,
    now: Now,
    numbers: Numbers,
    address: Address,
    key: IdempotencyKey,
) -> Response:
    """
    Draws the next number and keeps it for the caller until `expiresAt`. Confirm it or give its token to a document.

    A reservation that is neither expires; its number is not issued again.
    """
    moment = now.now()
    lasts = timedelta(minutes=request.app.state.settings.reservation_minutes)
    token = request_token(key=key, user=caller.public_id, operation=_RESERVE, payload=payload_of(body))

    async def run(remember: Remember) -> OperationResult:
        async with db.reading() as session:
            plan = await numbering.plan(session, caller=caller, request=request_of(body), now=moment, zone=now.zone)

        async def keep(session: AsyncSession, issued: numbering.Issued) -> None:
            await remember(session, _reserved(issued))

        issued = await numbers.draw(
            plan,
            caller=caller,
            token=token,
            address=address,
            idempotency_key=key,
            remember=keep if key is not None else None,
            lasts=lasts,
        )
        return _reserved(issued)

    return await replied(db, caller=caller, operation=_RESERVE, body=body, key=key, now=moment, run=run)


def _reserved(issued: numbering.Issued) -> OperationResult:
    out = ReservationOut(
        **number_out(issued).model_dump(), reservation_token=issued.public_id, expires_at=issued.expires_at
    )
    return OperationResult(201, out.model_dump(mode="json", by_alias=True))


@router.post("/confirm", response_model=NumberStateOut, summary="Confirm a reserved number")
async def confirm(
    body: TokenIn, caller: CurrentCaller, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Makes it final, for no document yet. Repeated, it answers the same; after the expiry it answers 410."""
    moment = now.now()

    async def work(session: AsyncSession) -> NumberStateOut:
        return life_out(
            await numbering.confirm_reservation(
                session, caller=caller, token=body.reservation_token, now=moment, address=address
            )
        )

    operation = "POST /document-numbering/confirm"
    return await once(db, caller=caller, operation=operation, body=body, key=key, now=moment, work=work)


@router.post("/cancel", response_model=NumberStateOut, summary="Give a reserved number up")
async def cancel(
    body: CancelReservationIn, caller: CurrentCaller, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """The number stays in the ledger as cancelled and is not issued again."""
    moment = now.now()

    async def work(session: AsyncSession) -> NumberStateOut:
        issued = await numbering.cancel_reservation(
            session, caller=caller, token=body.reservation_token, reason=body.reason, now=moment, address=address
        )
        return life_out(issued)

    operation = "POST /document-numbering/cancel"
    return await once(db, caller=caller, operation=operation, body=body, key=key, now=moment, work=work)


@router.post("/void", response_model=NumberStateOut, summary="Make a number void")
async def void(
    body: VoidIn, caller: CurrentCaller, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """For a confirmed number that no document carries; project administrators only, with a reason."""
    moment = now.now()

    async def work(session: AsyncSession) -> NumberStateOut:
        issued = await numbering.void_number(
            session, caller=caller, public_id=body.public_id, reason=body.reason, now=moment, address=address
        )
        return life_out(issued)

    operation = "POST /document-numbering/void"
    return await once(db, caller=caller, operation=operation, body=body, key=key, now=moment, work=work)


@router.post(
    "/void-and-replace",
    dependencies=ISSUE_LIMIT,
    status_code=201,
    response_model=ReplacementOut,
    summary="Make a number void and draw another",
)
async def void_and_replace(
    body: VoidAndReplaceIn,
    caller: CurrentCaller,
    db: Db,
    now: Now,
    numbers: Numbers,
    address: Address,
    key: IdempotencyKey,
) -> Response:
    """Both in one transaction; the ledger links the two. The replacement belongs to the same project."""
    moment = now.now()
    token = request_token(key=key, user=caller.public_id, operation=_REPLACE, payload=payload_of(body))

    async def run(remember: Remember) -> OperationResult:
        async with db.reading() as session:
            asked = request_of(body.replacement)
            plan = await numbering.plan(session, caller=caller, request=asked, now=moment, zone=now.zone)

        async def then(session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            await numbering.replace_number(
                session,
                caller=caller,
                public_id=body.public_id,
                project_id=plan.project.id,
                replacement=issued,
                reason=body.reason,
                now=moment,
                address=address,
            )
            answer = _replaced(body, issued)
            await remember(session, answer)
            return answer

        async def recall(_session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            return _replaced(body, issued)

        return await numbers.issue(
            plan,
            caller=caller,
            holder=None,
            token=token,
            address=address,
            idempotency_key=key,
            then=then,
            recall=recall,
        )

    return await replied(db, caller=caller, operation=_REPLACE, body=body, key=key, now=moment, run=run)


def _replaced(body: VoidAndReplaceIn, issued: numbering.Issued) -> OperationResult:
    out = ReplacementOut(voided_public_id=body.public_id, replacement=number_out(issued))
    return OperationResult(201, out.model_dump(mode="json", by_alias=True))


@router.post("/manual-override/preview", dependencies=READ_LIMIT, summary="Show what an override would do")
async def preview_override(
    body: ManualNumberIn, session: ReadSession, caller: CurrentCaller, now: Now
) -> ManualNumberEffectOut:
    """The number as it would be printed, whether it is taken or in a range, and how far the counter would jump."""
    asked, day = request_of(body), body.issued_on
    plan = await numbering.plan_on(session, caller=caller, request=asked, issued_on=day, now=now.now(), zone=now.zone)
    statement = numbering.ManualNumber(body.document_number, body.sequence)
    effect = await numbering.manual_number_effect(session, caller=caller, plan=plan, statement=statement)
    return ManualNumberEffectOut(
        document_number=effect.number,
        sequence=effect.sequence,
        series=effect.series,
        counter=effect.counter,
        jump=effect.jump,
        taken=effect.taken,
        range=_closed(effect.closed),
    )


def _closed(closed: numbering.CoveringRange | None) -> CoveringRangeOut | None:
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
    summary="State a number by hand",
)
async def override(
    body: ManualNumberIn, caller: CurrentCaller, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """
    For project administrators. The series goes on where it was, unless `moveCounter` is set and the jump confirmed.

    A number of an earlier month or year states `issuedOn`; `reason` says why.
    """
    moment = now.now()
    token = request_token(key=key, user=caller.public_id, operation=_OVERRIDE, payload=payload_of(body))

    async def work(session: AsyncSession) -> NumberOut:
        asked, day = request_of(body), body.issued_on
        plan = await numbering.plan_on(session, caller=caller, request=asked, issued_on=day, now=moment, zone=now.zone)
        issued = await numbering.issue_manually(
            session,
            caller=caller,
            plan=plan,
            statement=numbering.ManualNumber(body.document_number, body.sequence),
            reason=body.reason,
            moves_counter=body.move_counter,
            confirmed_jump=body.confirmed_jump,
            token=token,
            key=key,
            address=address,
            now=moment,
        )
        return number_out(issued)

    return await once(db, caller=caller, operation=_OVERRIDE, body=body, key=key, now=moment, work=work, status=201)


@router.post("/reset-counter", response_model=ResetOut, summary="Set a counter back")
async def reset_counter(
    body: ResetIn, caller: CurrentCaller, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """For Super Admins. Only lets free sequences be used: a number that was ever issued is stepped over."""
    moment = now.now()

    async def work(session: AsyncSession) -> ResetOut:
        before, after = await numbering.reset_counter(
            session,
            caller=caller,
            project_public_id=body.project_public_id,
            series=body.series,
            to=body.last_number,
            reason=body.reason,
            key=key,
            now=moment,
            address=address,
        )
        return ResetOut(series=body.series, last_number_before=before, last_number=after)

    operation = "POST /document-numbering/reset-counter"
    return await once(db, caller=caller, operation=operation, body=body, key=key, now=moment, work=work)


@router.get("/resolve", dependencies=READ_LIMIT, summary="Find what a number became")
async def resolve(
    session: ReadSession,
    caller: CurrentCaller,
    project_public_id: Annotated[UUID, Query(alias="projectPublicId")],
    number: Annotated[str, Query(min_length=1, max_length=255)],
) -> NumberResolutionOut:
    """An old number of a renumbered document leads to the document; so does each of its revisions' numbers."""
    found = await numbering.resolve_number(session, caller=caller, project_public_id=project_public_id, number=number)
    current = found.current
    choice = await numbering.format_choice(session, current.public_id)
    assert choice is not None
    return NumberResolutionOut(
        public_id=current.public_id,
        asked_number=number,
        asked_status=found.asked.document_number_status,
        document_number=current.document_number,
        status=current.document_number_status,
        document_kind=current.holder_kind,
        document_public_id=current.holder_public_id,
        number_format=choice.shown(),
    )
