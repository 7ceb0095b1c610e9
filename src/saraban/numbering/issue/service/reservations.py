"""Reservations: confirmed or taken up by a document in time, cancelled, or expired (REQ-NUM-13)."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.clock import FixedClock
from saraban.kit.errors import FieldProblem, Invalid, NotFound, Text
from saraban.numbering.issue.domain.lifecycle import (
    NumberActor,
    NumberNotInState,
    ReservationExpired,
    checked_reason,
    required_state,
)
from saraban.numbering.issue.repository import ledger_entries
from saraban.numbering.issue.service.lifecycle import record_operation
from saraban.numbering.issue.service.number_batch import Holder, Issued, issued_of
from saraban.numbering.issue.service.number_plan import Plan
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.counter_key import NO_DISCIPLINE
from saraban.numbering.series.domain.states import NumberState, OperationCode
from saraban.numbering.series.models import LedgerEntry
from saraban.numbering.series.repository import counters

_NOT_OF_THIS = Text("ไม่ตรงกับเลขที่ที่จองไว้", "This does not match the reserved number.")
_EXPIRED = "The reservation was not confirmed in time."
BATCH = 500
_ANY_ZONE = ZoneInfo("UTC")  # an expiry names no day


async def confirm_reservation(ctx: RequestContext, session: AsyncSession, *, token: UUID) -> Issued:
    """
    Make a reserved number final, for no document yet; repeated, it gives the same answer.

    :raises NotFound: for a token of nobody's or of somebody else's
    :raises ReservationExpired: after the expiry by the database's clock
    :raises NumberNotInState: when it was cancelled
    """
    values: dict[str, object] = {"confirmed_at": ctx.now}
    if await _settled(session, ctx.caller, token, NumberState.CONFIRMED, values):
        entry = await own_reservation(ctx, session, token)
        await record_operation(ctx, session, entry, OperationCode.CONFIRM)
        return issued_of(entry)
    entry = await own_reservation(ctx, session, token)
    if entry.document_number_status == NumberState.CONFIRMED:
        return issued_of(entry)
    raise _refusal(entry)


async def bind_reservation(
    ctx: RequestContext, session: AsyncSession, *, token: UUID, plan: Plan, holder: Holder, fields: Mapping[str, str]
) -> Issued:
    """
    Give a reserved number to a document, in the transaction that writes it.

    :param plan: what the document would get; the number must print the same parties and codes
    :param fields: what the document's own schema calls a field, where it differs
    :raises Invalid: naming the field in which the document and its number disagree
    """
    _check_agrees(await own_reservation(ctx, session, token), plan, fields)
    values: dict[str, object] = {
        "confirmed_at": ctx.now,
        "holder_kind": holder.kind,
        "holder_public_id": holder.public_id,
    }
    if not await _settled(session, ctx.caller, token, NumberState.CONFIRMED, values):
        raise _refusal(await own_reservation(ctx, session, token))
    entry = await own_reservation(ctx, session, token)
    await record_operation(ctx, session, entry, OperationCode.CONFIRM)
    return issued_of(entry)


async def cancel_reservation(ctx: RequestContext, session: AsyncSession, *, token: UUID, reason: str) -> Issued:
    """
    Cancel a reservation; the number stays in the ledger. Repeated, it gives the same answer.

    :raises NumberNotInState: when it is confirmed already
    """
    reason = checked_reason(reason)
    values: dict[str, object] = {"cancelled_at": ctx.now, "reason": reason}
    if await _settled(session, ctx.caller, token, NumberState.CANCELLED, values):
        entry = await own_reservation(ctx, session, token)
        await record_operation(ctx, session, entry, OperationCode.CANCEL, reason=reason)
        return issued_of(entry)
    entry = await own_reservation(ctx, session, token)
    if entry.document_number_status == NumberState.CANCELLED:
        return issued_of(entry)
    raise _refusal(entry)


async def expire_reservations(session: AsyncSession, *, now: datetime) -> int:
    """Expire a bounded number of reservations whose time is over, as the user `system`, and count them."""
    database_time = await counters.database_now(session)
    entries = await ledger_entries.overdue(
        session, source=required_state(NumberState.EXPIRED, NumberActor.TIMER), now=database_time, limit=BATCH
    )
    if not entries:
        return 0
    ctx = await identity.system_context(session, FixedClock(now, _ANY_ZONE))
    for entry in entries:
        entry.document_number_status, entry.reason = NumberState.EXPIRED, _EXPIRED
    for entry in entries:
        await record_operation(ctx, session, entry, OperationCode.EXPIRE, reason=_EXPIRED)
    return len(entries)


async def own_reservation(ctx: RequestContext, session: AsyncSession, token: UUID) -> LedgerEntry:
    """
    :raises NotFound: also for a token of somebody else's: whether it exists is nobody's business
    """
    entry = await ledger_entries.by_public_id(session, token)
    if entry is None or entry.user_id != ctx.caller.user_id or entry.reserved_at is None:
        raise NotFound("There is no such reservation of yours.")
    return entry


async def _settled(
    session: AsyncSession, caller: Caller, token: UUID, target: NumberState, values: dict[str, object]
) -> bool:
    return await ledger_entries.end_reservation(
        session,
        public_id=token,
        source=required_state(target, NumberActor.RESERVER),
        user_id=caller.user_id,
        now=await counters.database_now(session),
        values={"document_number_status": target, **values},
    )


def _refusal(entry: LedgerEntry) -> ReservationExpired | NumberNotInState:
    if entry.document_number_status in {NumberState.RESERVED, NumberState.EXPIRED}:
        return ReservationExpired(f"The reservation of {entry.document_number} has expired.")
    return NumberNotInState(
        f"{entry.document_number} is {entry.document_number_status}.", values={"number": entry.document_number}
    )


def _check_agrees(entry: LedgerEntry, plan: Plan, fields: Mapping[str, str]) -> None:
    """What the number prints, and whom it was reserved for, must be the document's; the year stays the reservation's."""
    pointers = {
        "/projectPublicId": entry.project_id == plan.project.id,
        "/correspondenceTypeCode": entry.correspondence_type_id == plan.type.id,
        "/originatorOrganizationPublicId": entry.originator_organization_id == plan.originator.id,
        "/recipients": entry.recipient_organization_id == plan.key.recipient_organization_id,
    }
    prints = _prints(plan)
    for token, pointer in _FIELDS.items():
        if token in entry.format_values:
            pointers[pointer] = pointers.get(pointer, True) and entry.format_values[token] == prints[token]
    faults = [
        FieldProblem(fields.get(pointer, pointer), "not_as_reserved", _NOT_OF_THIS)
        for pointer, agrees in pointers.items()
        if not agrees
    ]
    if faults:
        raise Invalid("The document is not the one that the number was reserved for.", fields=faults)


_FIELDS = {
    tokens.PROJECT: "/projectPublicId",
    tokens.ORIGINATOR: "/originatorOrganizationPublicId",
    tokens.RECIPIENT: "/recipients",
    tokens.CORR_TYPE: "/correspondenceTypeCode",
    tokens.SUB_TYPE: "/subTypeCode",
    tokens.RFA_TYPE: "/rfaTypeCode",
    tokens.DISCIPLINE: "/disciplineCode",
}


def _prints(plan: Plan) -> dict[str, str]:
    return {
        tokens.PROJECT: plan.project.code,
        tokens.ORIGINATOR: plan.originator.code,
        tokens.RECIPIENT: plan.recipient.code if plan.recipient else "",
        tokens.CORR_TYPE: plan.type.code,
        tokens.SUB_TYPE: (plan.sub_type.number or "") if plan.sub_type else "",
        tokens.RFA_TYPE: plan.rfa_type.code if plan.rfa_type else "",
        tokens.DISCIPLINE: plan.discipline.code if plan.discipline else NO_DISCIPLINE,
    }
