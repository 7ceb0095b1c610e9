"""Manual numbers (REQ-NUM-25) and counter resets (REQ-NUM-17); no number is issued twice."""

from dataclasses import dataclass, replace
from datetime import date, datetime, time
from itertools import islice
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import EVERYTHING, RequestContext, Scope
from saraban.kit.clock import local_date
from saraban.kit.errors import Forbidden, invalid, unknown
from saraban.kit.ids import new_id
from saraban.kit.text import fold
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import SHORTEST_RESET_REASON, NumberInRange, checked_reason
from saraban.numbering.issue.service.issue_request import Issued, issued_of
from saraban.numbering.issue.service.lifecycle import (
    MANAGE_NUMBERS,
    RecordedKey,
    add_rendering,
    key_of_counter,
    record_operation,
)
from saraban.numbering.issue.service.number_plan import Plan, plan
from saraban.numbering.issue.service.number_request import OVERRIDE, NumberRequest, scope_of
from saraban.numbering.series.domain.counter import (
    LARGEST_STATED,
    NumberTaken,
    SequenceExhausted,
    SeriesKey,
    open_sequences,
)
from saraban.numbering.series.domain.states import NumberSource, NumberState, OperationCode, RangeKind, RenderingKind
from saraban.numbering.series.models import LedgerEntry, NumberCounter
from saraban.numbering.series.repository import (
    counter_or_new,
    covering_range,
    ensure_counter,
    last_number,
    list_counters,
    locked_counter,
    taken_sequences,
)
from saraban.projects import service as projects


async def lock_counter(session: AsyncSession, plan: Plan, *, now: datetime) -> NumberCounter:
    """Create the plan's main counter if absent, and lock it until the transaction ends."""
    await ensure_counter(session, key=plan.key, series=plan.series, now=now)
    counter = await locked_counter(session, project_id=plan.project.id, series=plan.series)
    assert counter is not None
    return counter


async def skip_to(
    ctx: RequestContext,
    session: AsyncSession,
    counter: NumberCounter,
    to: int,
    *,
    reason: str,
    plan: Plan | None = None,
) -> None:
    """
    Advance the locked counter to `to`, unless it is already higher.

    :param plan: of the number `to`, if it is issued; the audit then excludes it from the skip
    """
    old = counter.last_number
    if to <= old:
        return
    counter.last_number, counter.version, counter.updated_at = to, counter.version + 1, ctx.now
    await session.flush()
    skipped_to = to - 1 if plan else to
    if skipped_to == old:
        return
    await repository.insert_audit(
        ctx,
        session,
        OperationCode.SKIP,
        {
            "project_id": counter.project_id,
            "series": counter.series,
            "counter_key": plan.codes_text if plan else (await key_of_counter(session, counter)).text,
            "template_used": plan.template.text if plan else None,
            "sequence_number": old + 1,
            "skipped_to": skipped_to,
            "reason": reason,
        },
    )


@dataclass(frozen=True, slots=True)
class ManualNumber:
    """A printed number or a sequence, exactly one of the two."""

    document_number: str | None
    sequence: int | None


@dataclass(frozen=True, slots=True)
class CoveringRange:
    """:param refuses: the range is blocked, or reserved for another organization"""

    public_id: UUID
    kind: str
    first: int
    last: int
    organization: UUID | None
    code: str | None
    refuses: bool


@dataclass(frozen=True, slots=True)
class ManualNumberEffect:
    """:param jump: sequences to skip, including the stated one; 0 if the counter stays"""

    number: str
    sequence: int
    series: str
    counter: int
    jump: int
    taken: bool
    closed: CoveringRange | None = None


async def plan_on(
    ctx: RequestContext, session: AsyncSession, *, request: NumberRequest, issued_on: date | None
) -> Plan:
    """
    Plan a number as of an earlier day.

    :raises Invalid: for a future day, and for a year together with a day
    """
    today = local_date(ctx.now, ctx.zone)
    if issued_on is not None and issued_on > today:
        raise invalid(
            "/issuedOn",
            "too_late",
            "วันที่ออกต้องไม่เกินวันนี้ ({today})",
            "This must not be after today ({today}).",
            today=today.isoformat(),
        )
    if issued_on is not None and request.year is not None:
        raise invalid(
            "/year",
            "one_of_two",
            "ระบุปีหรือวันที่ออกอย่างใดอย่างหนึ่ง",
            "Give either the year or the date issued.",
        )
    # Only the period of the day is printed; noon avoids changes of the zone's offset at midnight.
    moment = ctx.now if issued_on in {None, today} else datetime.combine(issued_on, time(12), ctx.zone)
    return replace(await plan(replace(ctx, now=moment), session, request), stated_at=moment)


async def manual_number_effect(
    ctx: RequestContext, session: AsyncSession, *, plan: Plan, statement: ManualNumber
) -> ManualNumberEffect:
    """:raises Invalid: when the format could not print the number"""
    ctx.caller.require(OVERRIDE, scope_of(plan.parties))
    check_main_series(plan)
    sequence = _stated_sequence(plan, statement)
    last = await last_number(session, project_id=plan.project.id, series=plan.series)
    number, base = plan.number(sequence), plan.base(sequence)
    taken = await repository.taken_numbers(
        session, project_id=plan.project.id, bases=[base, number], numbers=[base, number], register=plan.register
    )
    closed = await _find_covering_range(session, plan, sequence)
    return ManualNumberEffect(number, sequence, plan.series, last, max(sequence - last, 0), bool(taken), closed)


async def _find_covering_range(session: AsyncSession, plan: Plan, sequence: int) -> CoveringRange | None:
    match = await covering_range(session, project_id=plan.project.id, series=plan.series, sequence=sequence)
    if match is None:
        return None
    row, organization, code = match
    refuses = row.kind == RangeKind.BARRED or row.organization_id not in {None, plan.originator.id}
    return CoveringRange(row.public_id, row.kind, row.first_number, row.last_number, organization, code, refuses)


async def issue_manually(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    plan: Plan,
    statement: ManualNumber,
    reason: str,
    token: UUID,
    moves_counter: bool = False,
    confirmed_jump: int | None = None,
) -> Issued:
    """
    :param confirmed_jump: the jump that the preview showed; required with `moves_counter`
    :raises NumberTaken: naming the number, when it was issued before
    :raises NumberInRange: when it is blocked, or reserved for another organization
    :raises Invalid: when `confirmed_jump` is not the actual jump
    """
    reason = checked_reason(reason)
    effect = await manual_number_effect(ctx, session, plan=plan, statement=statement)
    if effect.taken:
        raise NumberTaken(values={"number": effect.number})
    if effect.closed is not None and effect.closed.refuses:
        closed = effect.closed
        raise NumberInRange(values={"number": effect.number, "first": closed.first, "last": closed.last})
    entry = _manual_entry(ctx, plan, effect, token=token, reason=reason)
    session.add(entry)
    await add_rendering(session, entry, RenderingKind.ISSUE, at=entry.created_at)
    old, new = None, None
    if moves_counter:
        old, new = await _move_counter(ctx, session, plan, effect, confirmed_jump, reason=reason)
    await record_operation(
        ctx,
        session,
        entry,
        OperationCode.OVERRIDE,
        old=old,
        new=new,
        reason=reason,
        issued_for=RecordedKey(plan.type.code, plan.codes_text),
    )
    return issued_of(entry)


def check_main_series(plan: Plan) -> None:
    """:raises Invalid: when the request names a reserved range"""
    if plan.range:
        raise invalid("/rangePublicId", "not_here", "ระบุช่วงเลขที่นี่ไม่ได้", "A range cannot be given here.")


def _stated_sequence(plan: Plan, statement: ManualNumber) -> int:
    if (statement.document_number is None) == (statement.sequence is None):
        raise invalid(
            "/documentNumber",
            "one_of_two",
            "ระบุเลขที่เอกสารหรือเลขลำดับอย่างใดอย่างหนึ่ง",
            "Give either the number or the sequence.",
        )
    sequence = statement.sequence
    if statement.document_number is not None:
        sequence = sequence_of(plan, fold(statement.document_number))
    assert sequence is not None
    if plan.refuses_overflow and plan.template.overflows(sequence):
        raise SequenceExhausted
    return sequence


def sequence_of(plan: Plan, number: str) -> int:
    """:raises Invalid: when the format does not print exactly this number"""
    left, right = plan.printing.around
    digits = number[len(left) : len(number) - len(right)]
    fits = digits.isascii() and digits.isdigit() and len(digits) <= len(str(LARGEST_STATED))
    if not fits or int(digits) < 1 or plan.number(int(digits)) != number:
        raise invalid(
            "/documentNumber",
            "not_of_the_format",
            "เลขที่ไม่ตรงกับรูปแบบ {example}",
            "The number does not match the format {example}.",
            example=plan.number(1),
        )
    return int(digits)


def _manual_entry(
    ctx: RequestContext, plan: Plan, effect: ManualNumberEffect, *, token: UUID, reason: str
) -> LedgerEntry:
    return LedgerEntry(
        public_id=new_id(),
        token=token,
        project_id=plan.project.id,
        register=plan.register,
        correspondence_type_id=plan.type.id,
        originator_organization_id=plan.originator.id,
        recipient_organization_id=plan.key.recipient_organization_id,
        series=plan.series,
        range=0,
        sequence_number=effect.sequence,
        base_number=plan.base(effect.sequence),
        document_number=effect.number,
        revision_label=plan.revision,
        document_number_status=NumberState.CONFIRMED,
        source=NumberSource.OVERRIDE,
        format_template=plan.template.text,
        format_values=dict(plan.values),
        format_uuid=plan.format_public_id,
        format_source=plan.source,
        issue_year=plan.year,
        user_id=ctx.caller.user_id,
        ip_address=ctx.address[:45] or None,
        reason=reason,
        confirmed_at=plan.stated_at or ctx.now,
        created_at=ctx.now,
    )


async def _move_counter(
    ctx: RequestContext,
    session: AsyncSession,
    plan: Plan,
    effect: ManualNumberEffect,
    confirmed_jump: int | None,
    *,
    reason: str,
) -> tuple[str, str]:
    counter = await lock_counter(session, plan, now=ctx.now)
    old = counter.last_number
    jump = max(effect.sequence - old, 0)
    if confirmed_jump != jump:
        raise invalid(
            "/confirmedJump",
            "not_confirmed",
            "ตัวนับจะข้ามจาก {old} ไป {new} ({jump} ลำดับ) โปรดยืนยันจำนวนนี้",
            "The counter would jump from {old} to {new} ({jump} numbers). Please confirm.",
            old=old,
            new=old + jump,
            jump=jump,
        )
    await skip_to(ctx, session, counter, effect.sequence, reason=reason, plan=plan)
    return orjson.dumps({"counter": old}).decode(), orjson.dumps({"counter": old + jump}).decode()


RESET_COUNTER = "numbering.reset_counter"


def may_reset_counter(ctx: RequestContext) -> bool:
    """Require both the permission and the Super Admin role."""
    return ctx.caller.may(RESET_COUNTER, Scope()) and ctx.caller.may(EVERYTHING, Scope())


async def reset_counter(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, series: str, to: int, reason: str
) -> tuple[int, int]:
    """
    Lower the main counter; the series still skips issued numbers. Return last number before and after.

    :raises Forbidden: for everybody but a Super Admin
    :raises Invalid: for an unknown series, a higher number, or a reason that is too short
    """
    if not may_reset_counter(ctx):
        raise Forbidden("Only a Super Admin resets a counter.")
    reason = checked_reason(reason, shortest=SHORTEST_RESET_REASON)
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    counter = await locked_counter(session, project_id=project.id, series=series)
    if counter is None:
        raise unknown("/series", series)
    old = counter.last_number
    if to > old:
        raise invalid(
            "/lastNumber",
            "forward",
            "ตัวนับอยู่ที่ {last} ตั้งใหม่ให้มากกว่านี้ไม่ได้",
            "The counter is at {last}; it can only be reset to a lower value.",
            last=old,
        )
    counter.last_number, counter.version, counter.updated_at = to, counter.version + 1, ctx.now
    await session.flush()
    recorded_key = await key_of_counter(session, counter)
    await repository.insert_audit(
        ctx,
        session,
        OperationCode.RESET,
        {
            "project_id": project.id,
            "document_type": recorded_key.type,
            "series": series,
            "counter_key": recorded_key.text,
            "sequence_number": to,
            "old_value": str(old),
            "new_value": str(to),
            "reason": reason,
            "idempotency_key": ctx.key,
        },
    )
    return old, to


async def skip_numbers(
    ctx: RequestContext, session: AsyncSession, *, project: UUID, series: str | None, to: int, by: int, reason: str
) -> list[tuple[str, int, int]]:
    """
    Move counters forward after a restore: numbers issued since the backup exist on paper.

    :param by: numbers that each counter skips, also in ranges; 0: move only the main counter, to `to`
    :param reason: empty for a preview
    :returns: series, last number before, last number after
    """
    project_id = (await projects.find_project(session, public_id=project, pointer="/project")).id
    ctx.caller.require(MANAGE_NUMBERS, Scope(project=project_id))
    counters = await list_counters(session, project_id, series, lock=bool(reason))
    if series is not None and not counters:
        raise unknown("/series", series)
    moved = []
    for counter in counters if by else counters[:1]:  # the main counter comes first
        before, after = counter.last_number, await _counter_after(session, counter, by) if by else to
        if not by and after <= before:
            th, en = "ตัวนับอยู่ที่ {last} แล้ว ข้ามย้อนหลังไม่ได้", "The counter is at {last} already; it cannot go back."
            raise invalid("/to", "backward", th, en, last=before)
        if after > before:
            moved.append((counter.series, before, after))
        if reason:
            await skip_to(ctx, session, counter, after, reason=checked_reason(reason))
    return moved


async def _counter_after(session: AsyncSession, counter: NumberCounter, count: int) -> int:
    """A range's counter stops at its end."""
    state = await counter_or_new(session, SeriesKey(counter.project_id, counter.series, counter.range))
    taken = await taken_sequences(session, counter)
    after = next(islice(open_sequences(counter.last_number, closed=state.closed, taken=taken), count - 1, None))
    return after if state.end is None else min(after, state.end)
