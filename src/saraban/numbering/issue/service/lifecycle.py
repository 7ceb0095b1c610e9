"""Operations on issued numbers and reservations (REQ-NUM-13). Rows are added, never deleted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database, database_now, violates_constraint
from saraban.kit.errors import FieldProblem, Invalid, NotFound, Text, invalid
from saraban.kit.operation import Receipt
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import (
    NumberActor,
    NumberHeld,
    NumberNotInState,
    ReservationExpired,
    checked_reason,
    required_state,
)
from saraban.numbering.issue.service.issue_request import Holder, Issued, IssueRequest, issued_of
from saraban.numbering.issue.service.number_plan import Plan, printed_codes
from saraban.numbering.issue.service.number_request import OVERRIDE, permission_to_create
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.counter import NumberNotHeld, NumberTaken
from saraban.numbering.series.domain.states import NumberState, OperationCode, RenderingKind
from saraban.numbering.series.domain.template import stored_template
from saraban.numbering.series.models import LedgerEntry, NumberCounter

_KEY_FIELDS = ("project", "originator", "recipient", "type", "contract", "subType", "rfaType", "discipline", "category")
MANAGE_NUMBERS = "numbering.manage_formats"
VIEW_COUNTERS = "numbering.view_counters"


class RecordedKey(NamedTuple):
    """:param text: the counter key in codes, as JSON; same fields and order for every operation"""

    type: str | None
    text: str


async def key_of_counter(session: AsyncSession, counter: NumberCounter) -> RecordedKey:
    return _recorded_key(await repository.codes_of_counter(session, counter), counter.current_year)


async def key_of_number(session: AsyncSession, entry: LedgerEntry) -> RecordedKey:
    issue = await repository.recorded_issue(session, entry.public_id)
    return (
        RecordedKey(*issue)
        if issue is not None
        else _recorded_key(await repository.codes_of_entry(session, entry), entry.issue_year)
    )


def _recorded_key(codes: Mapping[str, object], year: int) -> RecordedKey:
    key_codes = {name: codes.get(name) for name in _KEY_FIELDS}
    type_code = key_codes["type"]
    return RecordedKey(
        str(type_code) if type_code is not None else None, orjson.dumps({**key_codes, "year": year}).decode()
    )


async def revise_number(ctx: RequestContext, session: AsyncSession, *, holder: Holder, revision_label: str) -> str:
    """
    Render the number with another revision, from stored values (REQ-NUM-06); earlier forms stay taken.

    :returns: unchanged where the format has no `{REV}`, and for a number from outside
    :raises NumberTaken: when another document's number already looks like it
    """
    entry = await _lock_held_entry(session, holder)
    printed = entry.document_number
    if entry.format_template:
        printed = stored_template(entry.format_template).render(
            entry.format_values, sequence=entry.sequence_number, revision=revision_label
        )
    old = entry.document_number
    is_new = printed != old and not await _is_printed_before(session, entry, printed)
    entry.document_number, entry.revision_label = printed, revision_label
    if is_new:
        await add_rendering(session, entry, RenderingKind.REVISION, at=ctx.now)
    await record_operation(ctx, session, entry, OperationCode.REVISE, old=old, new=printed)
    return printed


async def cancel_number(ctx: RequestContext, session: AsyncSession, *, holder: Holder, reason: str) -> None:
    """The number is never issued again (REQ-NUM-12)."""
    entry = await _lock_held_entry(session, holder)
    entry.document_number_status = NumberState.CANCELLED
    entry.cancelled_at, entry.reason = ctx.now, reason
    await record_operation(ctx, session, entry, OperationCode.CANCEL, reason=reason)


async def _lock_held_entry(session: AsyncSession, holder: Holder) -> LedgerEntry:
    entry = await repository.lock_held_by(session, holder.public_id)
    if entry is None or entry.holder_kind != holder.kind or entry.document_number_status != NumberState.CONFIRMED:
        raise NumberNotHeld
    return entry


async def _is_printed_before(session: AsyncSession, entry: LedgerEntry, printed: str) -> bool:
    """A withdrawn revision may have this rendering already."""
    entry_id = await repository.printed_by(
        session, project_id=entry.project_id, number=printed, register=entry.register
    )
    return entry_id == entry.id


async def add_rendering(session: AsyncSession, entry: LedgerEntry, kind: RenderingKind, *, at: datetime) -> None:
    """:raises NumberTaken: when another entry has or had this rendering"""
    number = entry.document_number
    try:
        await session.flush()
        await repository.insert_rendering(
            session,
            {
                "project_id": entry.project_id,
                "register": entry.register,
                "reservation_id": entry.id,
                "document_number": number,
                "revision_label": entry.revision_label,
                "kind": kind,
                "created_at": at,
            },
        )
    except IntegrityError as error:
        if violates_constraint(error, *repository.NUMBER_CONSTRAINTS):
            raise NumberTaken(values={"number": number}) from error
        raise


async def record_operation(
    ctx: RequestContext,
    session: AsyncSession,
    entry: LedgerEntry,
    operation: OperationCode,
    *,
    old: str | None = None,
    new: str | None = None,
    reason: str | None = None,
    issued_for: RecordedKey | None = None,
) -> None:
    """
    Write the audit row in the operation's transaction (REQ-NUM-19).

    :param issued_for: counter key, where this operation issues the number
    """
    await session.flush()
    issued_for = issued_for or await key_of_number(session, entry)
    await repository.insert_audit(
        ctx,
        session,
        operation,
        {
            "project_id": entry.project_id,
            "reservation_uuid": entry.public_id,
            "generated_number": entry.document_number,
            "document_type": issued_for.type,
            "holder_public_id": entry.holder_public_id,
            "series": entry.series,
            "counter_key": issued_for.text,
            "template_used": entry.format_template,
            "sequence_number": entry.sequence_number,
            "old_value": old,
            "new_value": new,
            "reason": reason,
            "idempotency_key": ctx.key,
        },
    )


async def void_number(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, reason: str) -> Issued:
    """
    Void a confirmed number without a document; it is never issued again.

    :raises NotFound: also for a number that the caller may not see
    :raises Forbidden: for one that the caller may not override
    :raises NumberHeld: when a document carries it
    :raises NumberNotInState: when it is not confirmed
    """
    reason = checked_reason(reason)
    entry = await voidable(ctx, session, public_id=public_id, project_id=None)
    return await _void_entry(ctx, session, entry, who=NumberActor.ADMINISTRATOR, reason=reason, by=None)


async def voidable(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, project_id: int | None
) -> LedgerEntry:
    entry = await repository.by_public_id(session, public_id, lock=True)
    if entry is None or (project_id is not None and entry.project_id != project_id):
        raise NotFound("There is no such number.")
    scope = issued_in(entry)
    if not ctx.caller.may(OVERRIDE, scope) and not may_see(ctx, entry):
        raise NotFound("There is no such number.")
    ctx.caller.require(OVERRIDE, scope)
    if entry.holder_public_id is not None:
        raise NumberHeld(values={"number": entry.document_number})
    if entry.document_number_status != required_state(NumberState.VOID, NumberActor.ADMINISTRATOR):
        raise NumberNotInState(values={"number": entry.document_number})
    return entry


@dataclass(frozen=True, slots=True)
class NumberToVoid:
    public_id: UUID
    reason: str


async def void_for(
    ctx: RequestContext, void: NumberToVoid, project_id: int, session: AsyncSession, replacement: Issued
) -> None:
    """Void the number and link it with its replacement, both ways."""
    reason = checked_reason(void.reason)
    entry = await voidable(ctx, session, public_id=void.public_id, project_id=project_id)
    await _void_entry(ctx, session, entry, who=NumberActor.ADMINISTRATOR, reason=reason, by=replacement)


async def replace_held_number(
    ctx: RequestContext, session: AsyncSession, *, holder: Holder, number: UUID, replacement: Issued, reason: str
) -> None:
    """Renumber a document. The old number keeps its holder, so it still finds the document."""
    entry = await repository.by_public_id(session, number, lock=True)
    if entry is None or entry.holder_public_id != holder.public_id or entry.holder_kind != holder.kind:
        raise NotFound("The document does not carry this number.")
    await _void_entry(ctx, session, entry, who=NumberActor.DOCUMENT, reason=reason, by=replacement)


async def _void_entry(
    ctx: RequestContext, session: AsyncSession, entry: LedgerEntry, *, who: NumberActor, reason: str, by: Issued | None
) -> Issued:
    values: dict[str, object] = {"document_number_status": NumberState.VOID, "voided_at": ctx.now, "reason": reason}
    if by is not None:
        values["replaced_by_uuid"] = by.public_id
        await repository.link_replacement(session, public_id=by.public_id, replaces=entry.public_id)
    if not await repository.void_number(
        session, public_id=entry.public_id, source=required_state(NumberState.VOID, who), values=values
    ):
        raise NumberNotInState(values={"number": entry.document_number})
    await session.refresh(entry)
    await record_operation(
        ctx, session, entry, OperationCode.VOID, old=entry.document_number, new=by.number if by else None, reason=reason
    )
    return issued_of(entry)


async def read_issued(ctx: RequestContext, db: Database, receipt: Receipt) -> Issued:
    """:raises NotFound: also when the caller may no longer see it"""
    async with db.reading() as session:
        entry = await repository.by_public_id(session, receipt.resource_id)
        if entry is None or not await _can_read_number(ctx, session, entry):
            raise NotFound("There is no such number.")
        return replace(issued_of(entry), repeated=receipt.repeated)


async def _can_read_number(ctx: RequestContext, session: AsyncSession, entry: LedgerEntry) -> bool:
    if may_see(ctx, entry) or (entry.reserved_at is not None and entry.user_id == ctx.caller.user_id):
        return True
    _, _, type_code = await repository.project_and_type_of(session, entry)
    scope = Scope(project=entry.project_id)
    return any(
        ctx.caller.may(permission, scope) for permission in (MANAGE_NUMBERS, OVERRIDE, permission_to_create(type_code))
    )


def issued_in(entry: LedgerEntry) -> Scope:
    return Scope(frozenset({entry.originator_organization_id}), entry.project_id)


def may_see(ctx: RequestContext, entry: LedgerEntry | repository.HeldNumber) -> bool:
    parties = {entry.originator_organization_id}
    return bool(parties & ctx.caller.organization_ids) or ctx.caller.may(VIEW_COUNTERS, Scope(project=entry.project_id))


async def cancel_undelivered(request: IssueRequest, session: AsyncSession, plan: Plan, issued: Issued) -> None:
    """The caller left before delivery (REQ-NUM-33)."""
    reason = "Caller gone before the number could be handed over."
    if not await repository.mark_cancelled(session, public_id=issued.public_id, reason=reason, now=request.ctx.now):
        return
    await repository.insert_audit(
        request.ctx,
        session,
        OperationCode.CANCEL,
        {
            "project_id": plan.project.id,
            "reservation_uuid": issued.public_id,
            "generated_number": issued.number,
            "document_type": plan.type.code,
            "series": plan.series,
            "counter_key": plan.codes_text,
            "template_used": plan.template.text,
            "sequence_number": issued.sequence,
            "reason": reason,
        },
    )


_NOT_AS_RESERVED = Text("ไม่ตรงกับเลขที่ที่จองไว้", "This does not match the reserved number.")
_EXPIRED = "The reservation was not confirmed in time."
BATCH = 500
_ANY_ZONE = ZoneInfo("UTC")  # an expiry names no day


async def confirm_reservation(ctx: RequestContext, session: AsyncSession, *, token: UUID) -> Issued:
    """
    Confirm a reserved number, without a document; idempotent.

    :raises NotFound: for an unknown token or another user's token
    :raises ReservationExpired: after the expiry by the database's clock
    :raises NumberNotInState: when it was cancelled
    """
    entry, is_changed = await _end_reservation(ctx, session, token, NumberState.CONFIRMED, {"confirmed_at": ctx.now})
    if not is_changed and entry.document_number_status != NumberState.CONFIRMED:
        raise _refusal(entry)
    return issued_of(entry)


async def bind_reservation(
    ctx: RequestContext, session: AsyncSession, *, token: UUID, plan: Plan, holder: Holder, fields: Mapping[str, str]
) -> Issued:
    """
    Bind a reserved number in the document's transaction; `repeated` if it is bound to it already.

    :param plan: of the document; the number must print the same parties and codes
    :param fields: pointers of the document's schema where they differ
    :raises Invalid: naming the field in which the document and its number disagree
    """
    _check_agrees(await own_reservation(ctx, session, token), plan, fields)
    values = {"confirmed_at": ctx.now, "holder_kind": holder.kind, "holder_public_id": holder.public_id}
    entry, is_changed = await _end_reservation(ctx, session, token, NumberState.CONFIRMED, values)
    if not is_changed and entry.holder_public_id != holder.public_id:
        raise _refusal(entry)
    return replace(issued_of(entry), repeated=not is_changed)


async def cancel_reservation(ctx: RequestContext, session: AsyncSession, *, token: UUID, reason: str) -> Issued:
    """:raises NumberNotInState: when it is confirmed already; repeated cancelling succeeds"""
    values = {"cancelled_at": ctx.now, "reason": checked_reason(reason)}
    entry, is_changed = await _end_reservation(ctx, session, token, NumberState.CANCELLED, values)
    if not is_changed and entry.document_number_status != NumberState.CANCELLED:
        raise _refusal(entry)
    return issued_of(entry)


async def any_overdue(session: AsyncSession) -> bool:
    source = required_state(NumberState.EXPIRED, NumberActor.TIMER)
    return await repository.any_overdue(session, source=source, now=await database_now(session))


async def expire_reservations(session: AsyncSession, *, now: datetime) -> int:
    """Expire at most `BATCH` reservations, as the user `system`; return the count."""
    database_time = await database_now(session)
    entries = await repository.overdue(
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
    """:raises NotFound: also for another user's token, so that its existence stays hidden"""
    entry = await repository.by_public_id(session, token)
    if entry is None or entry.user_id != ctx.caller.user_id or entry.reserved_at is None:
        raise NotFound("There is no such reservation of yours.")
    return entry


async def _end_reservation(
    ctx: RequestContext, session: AsyncSession, token: UUID, target: NumberState, values: Mapping[str, object]
) -> tuple[LedgerEntry, bool]:
    """:returns: the reservation, and whether this call moved it to `target`"""
    is_changed = await repository.end_reservation(
        session,
        public_id=token,
        source=required_state(target, NumberActor.RESERVER),
        user_id=ctx.caller.user_id,
        now=await database_now(session),
        values={"document_number_status": target, **values},
    )
    entry = await own_reservation(ctx, session, token)
    if is_changed and target == NumberState.CONFIRMED:
        await record_operation(ctx, session, entry, OperationCode.CONFIRM)
    elif is_changed:
        await record_operation(ctx, session, entry, OperationCode.CANCEL, reason=entry.reason)
    return entry, is_changed


def _refusal(entry: LedgerEntry) -> ReservationExpired | NumberNotInState:
    if entry.document_number_status in {NumberState.RESERVED, NumberState.EXPIRED}:
        return ReservationExpired(f"The reservation of {entry.document_number} has expired.")
    return NumberNotInState(
        f"{entry.document_number} is {entry.document_number_status}.", values={"number": entry.document_number}
    )


def _check_agrees(entry: LedgerEntry, plan: Plan, fields: Mapping[str, str]) -> None:
    """The year is not compared: it stays the reservation's."""
    if entry.register != plan.register:
        raise invalid(
            "/reservationToken",
            "other_register",
            "เลขที่นี้จองไว้ในทะเบียน {register}",
            "This number was reserved in the register {register}.",
            register=entry.register,
        )
    pointers = {
        "/projectPublicId": entry.project_id == plan.project.id,
        "/correspondenceTypeCode": entry.correspondence_type_id == plan.type.id,
        "/originatorOrganizationPublicId": entry.originator_organization_id == plan.originator.id,
        "/recipients": entry.recipient_organization_id == plan.key.recipient_organization_id,
    }
    prints = printed_codes(plan.parties, plan.request.category_code).values
    for token, pointer in _POINTERS.items():
        if token in entry.format_values:
            pointers[pointer] = pointers.get(pointer, True) and entry.format_values[token] == prints[token]
    faults = [
        FieldProblem(fields.get(pointer, pointer), "not_as_reserved", _NOT_AS_RESERVED)
        for pointer, agrees in pointers.items()
        if not agrees
    ]
    if faults:
        raise Invalid("The document is not the one that the number was reserved for.", fields=faults)


_POINTERS = {
    tokens.PROJECT: "/projectPublicId",
    tokens.ORIGINATOR: "/originatorOrganizationPublicId",
    tokens.RECIPIENT: "/recipients",
    tokens.CORR_TYPE: "/correspondenceTypeCode",
    tokens.SUB_TYPE: "/subTypeCode",
    tokens.RFA_TYPE: "/rfaTypeCode",
    tokens.DISCIPLINE: "/disciplineCode",
    tokens.CATEGORY: "/categoryCode",
}
