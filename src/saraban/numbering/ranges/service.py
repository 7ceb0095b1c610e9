"""Ranges of a series, reserved or blocked."""

from dataclasses import replace
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, NotFound, Text, invalid, unknown
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.numbering.issue.domain import checked_reason
from saraban.numbering.issue.repository import insert_audit
from saraban.numbering.issue.service.lifecycle import MANAGE_NUMBERS, VIEW_COUNTERS, key_of_counter
from saraban.numbering.issue.service.manual_number import check_main_series
from saraban.numbering.issue.service.number_plan import Plan, free_sequences
from saraban.numbering.issue.service.number_request import forget_resolutions
from saraban.numbering.ranges import repository
from saraban.numbering.ranges.schemas import RangeEffectOut
from saraban.numbering.series.domain.counter import LARGEST, CounterState, RangeDraft, SequenceRange, SeriesKey
from saraban.numbering.series.domain.states import RANGE_RELEASED, OperationCode, RangeKind
from saraban.numbering.series.domain.template import (
    FALLBACK,
    Narrowing,
    Template,
    matching_format_keys,
    stored_template,
)
from saraban.numbering.series.domain.tokens import ORIGINATOR
from saraban.numbering.series.models import NumberCounter, NumberRange, RangeRow
from saraban.numbering.series.repository import (
    counter_or_new,
    ensure_counter,
    format_for,
    locked_counter,
    range_by_public_id,
)
from saraban.projects import service as projects
from saraban.projects.service import OrganizationRef, ProjectRef

MOST_UNASKED = 1000  # sequences in a range without confirmation


class RangeOverlaps(DomainError):
    """Part of the range belongs to an active range."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_RANGE_OVERLAPS"
    says = Text("ช่วงเลขนี้ทับซ้อนกับช่วงที่กำหนดไว้แล้ว", "This range overlaps an existing one.")
    recovery = (Text("เลือกช่วงเลขอื่น", "Choose another range."),)


class RangePassed(DomainError):
    """The series has issued numbers past the beginning of the range."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_RANGE_PASSED"
    says = Text(
        "ชุดเลขนี้ออกเลขถึงลำดับ {last} แล้ว ช่วงเลขต้องเริ่มหลังจากนั้น",
        "The series has issued numbers up to {last}; a range must start after it.",
    )
    recovery = (Text("เลือกช่วงเลขที่เริ่มหลังจากนั้น", "Choose a range that starts later."),)


class RangeReleased(DomainError):
    """The range is already released."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_RANGE_RELEASED"
    says = Text("ช่วงเลขนี้ถูกปลดแล้ว", "This range is already released.")
    recovery = (REFRESH,)


def _must_confirm(draft: RangeDraft, template: Template, counter: int) -> bool:
    return draft.size > MOST_UNASKED or len(str(draft.last)) > max(template.width, len(str(counter)))


async def range_effect(ctx: RequestContext, session: AsyncSession, plan: Plan, draft: RangeDraft) -> RangeEffectOut:
    """:raises: what `create_range` raises, except for an unconfirmed size"""
    ctx.caller.require(MANAGE_NUMBERS, Scope(project=plan.project.id))
    check_main_series(plan)
    await _find_permitted_owner(session, plan, draft)
    key = SeriesKey(plan.project.id, plan.series, 0)
    state = await counter_or_new(session, key)
    await _check_open(session, key, draft, state.last_number)
    closed = tuple(sorted((*state.closed, SequenceRange(draft.first, draft.last))))
    return RangeEffectOut(
        series=plan.series,
        counter=state.last_number,
        next_number=await _next_number(session, plan, key, replace(state, closed=closed)),
        size=draft.size,
        must_confirm=_must_confirm(draft, plan.template, state.last_number),
    )


async def _next_number(session: AsyncSession, plan: Plan, key: SeriesKey, state: CounterState) -> str | None:
    (sequence,) = await free_sequences(
        session, key, state, number=plan.number, base=plan.base, count=1, register=plan.register
    )
    if sequence > LARGEST or (plan.refuses_overflow and plan.template.overflows(sequence)):
        return None
    return plan.number(sequence)


async def create_range(ctx: RequestContext, session: AsyncSession, plan: Plan, draft: RangeDraft) -> RangeRow:
    """
    :raises Invalid: for an organization that cannot issue from the series, or an unconfirmed size
    :raises RangeOverlaps: when part of it belongs to an active range
    :raises RangePassed: when the series has counted past its beginning
    """
    ctx.caller.require(MANAGE_NUMBERS, Scope(project=plan.project.id))
    check_main_series(plan)
    draft = replace(draft, reason=checked_reason(draft.reason))
    owner = await _find_permitted_owner(session, plan, draft)
    await ensure_counter(session, key=plan.key, series=plan.series, now=ctx.now)
    counter = await _lock_counter(session, plan.project, plan.series, draft)
    _check_confirmed(draft, plan.template, counter)
    row = await _add_range(ctx, session, counter, draft, owner)
    return RangeRow(row, draft.organization, draft.first - 1 if draft.kind == RangeKind.KEPT else None)


async def create_range_in_series(
    ctx: RequestContext, session: AsyncSession, draft: RangeDraft, *, project_public_id: UUID, series: str
) -> NumberRange:
    """:raises Invalid: also at `/series`, when the project has no such series"""
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    ctx.caller.require(MANAGE_NUMBERS, Scope(project=project.id))
    draft = replace(draft, reason=checked_reason(draft.reason))
    owner = await _find_owner(session, project, draft)
    counter = await _lock_counter(session, project, fold(series), draft)
    codes = orjson.loads((await key_of_counter(session, counter)).text)
    document = Narrowing(codes["subType"] or "", codes["rfaType"] or "", codes["discipline"] or "")
    keys = matching_format_keys(counter.correspondence_type_id, document)
    row = await format_for(session, project_id=project.id, keys=keys)
    template = stored_template(row.format_template if row else FALLBACK)
    if owner is not None and owner.id != counter.originator_organization_id:
        _refuse_if_printed(template, str(codes["originator"]))
    _check_confirmed(draft, template, counter)
    return await _add_range(ctx, session, counter, draft, owner)


async def _find_permitted_owner(session: AsyncSession, plan: Plan, draft: RangeDraft) -> OrganizationRef | None:
    owner = await _find_owner(session, plan.project, draft)
    if owner is not None and owner.id != plan.originator.id:
        _refuse_if_printed(plan.template, plan.originator.code)
    return owner


def _refuse_if_printed(template: Template, originator: str) -> None:
    """Another originator issues from another series if the code is printed."""
    if ORIGINATOR in template.tokens:
        raise invalid(
            "/organizationPublicId",
            "never_draws_here",
            "ชุดเลขนี้แสดงรหัสผู้ส่ง {originator} องค์กรอื่นออกเลขจากช่วงนี้ไม่ได้",
            "This series shows the originator code {originator}; another organization cannot issue numbers from this range.",
            originator=originator,
        )


async def _lock_counter(session: AsyncSession, project: ProjectRef, series: str, draft: RangeDraft) -> NumberCounter:
    counter = await locked_counter(session, project_id=project.id, series=series)
    if counter is None:
        raise unknown("/series", series)
    await _check_open(session, SeriesKey(project.id, series, 0), draft, counter.last_number)
    return counter


async def _check_open(session: AsyncSession, key: SeriesKey, draft: RangeDraft, counter: int) -> None:
    if draft.last < draft.first:
        raise invalid("/lastNumber", "too_small", "ต้องไม่น้อยกว่าเลขแรก", "This must not be below the first number.")
    if draft.first <= counter:
        raise RangePassed(values={"last": counter})
    if await repository.overlapping(session, key, first=draft.first, last=draft.last):
        raise RangeOverlaps


def _check_confirmed(draft: RangeDraft, template: Template, counter: NumberCounter) -> None:
    if _must_confirm(draft, template, counter.last_number) and draft.confirmed_size != draft.size:
        raise invalid(
            "/confirmedSize",
            "not_confirmed",
            "ช่วงนี้มี {size} ลำดับ เลขถัดจากช่วงนี้คือ {after} โปรดยืนยันจำนวนนี้",
            "The range has {size} numbers, and the series continues at {after}. Please confirm.",
            size=draft.size,
            after=draft.last + 1,
        )


async def _add_range(
    ctx: RequestContext, session: AsyncSession, counter: NumberCounter, draft: RangeDraft, owner: OrganizationRef | None
) -> NumberRange:
    row = NumberRange(
        public_id=new_id(),
        project_id=counter.project_id,
        series=counter.series,
        number=await repository.highest_range(session, project_id=counter.project_id, series=counter.series) + 1,
        kind=draft.kind,
        first_number=draft.first,
        last_number=draft.last,
        organization_id=owner.id if owner else None,
        reason=draft.reason,
        user_id=ctx.caller.user_id,
        created_at=ctx.now,
    )
    await repository.add_range(session, row, like=counter, now=ctx.now)
    counter.range_count, counter.version = counter.range_count + 1, counter.version + 1
    await _record_change(ctx, session, row, counter, draft.reason)
    return row


async def list_ranges(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, cursor: str | None, limit: int
) -> Page[RangeRow]:
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    ctx.caller.require(VIEW_COUNTERS, Scope(project=project.id))
    return await repository.ranges_page(session, project_id=project.id, cursor=cursor, limit=limit)


async def read_range(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> RangeRow:
    """:raises NotFound: also without access to the counters of its project"""
    row = await repository.find_range(session, public_id)
    if row is None or not (
        ctx.caller.may(VIEW_COUNTERS, scope := Scope(project=row.range.project_id))
        or ctx.caller.may(MANAGE_NUMBERS, scope)
    ):
        raise NotFound("There is no such range.")
    return row


async def release_range(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, reason: str) -> Receipt:
    """
    The main counter then issues the part that it has not passed.

    :raises RangeReleased: when it is already released
    """
    reason = checked_reason(reason)
    number_range = await range_by_public_id(session, public_id)
    if number_range is None or not ctx.caller.may(MANAGE_NUMBERS, Scope(project=number_range.project_id)):
        raise NotFound("There is no such range.")
    counter = await locked_counter(session, project_id=number_range.project_id, series=number_range.series)
    row = await repository.locked_range(session, public_id)
    assert counter is not None and row is not None  # noqa: PT018  neither is ever deleted
    await session.refresh(row)
    if row.released_at is not None:
        raise RangeReleased
    row.released_at = ctx.now
    counter.range_count, counter.version = counter.range_count - 1, counter.version + 1
    if row.kind == RangeKind.KEPT:
        await repository.raise_version(session, project_id=row.project_id, series=row.series, range_=row.number)
    await session.flush()
    forget_resolutions(session)
    await _record_change(ctx, session, row, counter, reason)
    return Receipt("number_range", public_id)


async def _find_owner(session: AsyncSession, project: ProjectRef, draft: RangeDraft) -> OrganizationRef | None:
    if draft.organization is None:
        return None
    if draft.kind != RangeKind.KEPT:
        raise invalid(
            "/organizationPublicId",
            "not_kept",
            "ช่วงที่ระงับการใช้กำหนดผู้จองไม่ได้",
            "A blocked range cannot be reserved for an organization.",
        )
    return await projects.find_organization(
        session, project=project, public_id=draft.organization, pointer="/organizationPublicId"
    )


async def _record_change(
    ctx: RequestContext, session: AsyncSession, row: NumberRange, counter: NumberCounter, reason: str
) -> None:
    """A release records the counter: sequences below it remain a gap."""
    is_released = row.released_at is not None
    values = {
        "range": str(row.public_id),
        "first": row.first_number,
        "last": row.last_number,
        "counter": counter.last_number if is_released else None,
    }
    recorded_key = await key_of_counter(session, counter)
    await insert_audit(
        ctx,
        session,
        OperationCode.RANGE,
        {
            "project_id": row.project_id,
            "document_type": recorded_key.type,
            "series": row.series,
            "counter_key": recorded_key.text,
            "sequence_number": row.first_number,
            "skipped_to": row.last_number,
            "old_value": orjson.dumps({**values, "state": row.kind}).decode() if is_released else None,
            "new_value": orjson.dumps({**values, "state": RANGE_RELEASED if is_released else row.kind}).decode(),
            "reason": reason,
        },
    )
