"""Counters moved forward without a number: after a restore, the numbers issued since the backup are on paper already."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.errors import invalid, unknown
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import checked_reason
from saraban.numbering.issue.service.lifecycle import MANAGE_NUMBERS, key_of_counter
from saraban.numbering.series.domain.counter import LARGEST_STATED, open_sequences
from saraban.numbering.series.domain.states import OperationCode, RangeKind
from saraban.numbering.series.models import NumberCounter, NumberRange
from saraban.numbering.series.repository import open_counters, open_ranges, taken_sequences
from saraban.projects import service as projects


@dataclass(frozen=True, slots=True)
class SkipOrder:
    """
    Which counters skip, and how far; exactly one of `to` and `by` is given.

    :param series: None: every series of the project
    :param to: the last sequence that is not issued any more; the counter that issues it skips
    :param by: how many numbers each counter, those of reserved ranges too, would have issued
    """

    project: UUID
    series: str | None = None
    to: int | None = None
    by: int | None = None


@dataclass(frozen=True, slots=True)
class CounterSkip:
    """:param range: of the reserved range whose counter it is; 0 for the main counter"""

    series: str
    range: int
    before: int
    after: int


async def skip_numbers(
    ctx: RequestContext, session: AsyncSession, order: SkipOrder, *, reason: str | None
) -> list[CounterSkip]:
    """
    Move counters forward; what they pass is never issued, and the ledger explains it with the reason.

    :param reason: None: only show what would be skipped
    :raises Invalid: for an unknown series, and for a counter that is at `to` already or beyond
    """
    project = await projects.find_project(session, public_id=order.project, pointer="/project")
    ctx.caller.require(MANAGE_NUMBERS, Scope(project=project.id))
    counters = await open_counters(session, project_id=project.id, series=order.series, lock=reason is not None)
    if order.series is not None and not counters:
        raise unknown("/series", order.series)
    ranges: dict[str, list[NumberRange]] = {}
    for kept in await open_ranges(session, project_id=project.id, series=order.series):
        ranges.setdefault(kept.series, []).append(kept)
    skips = []
    for counter in counters:
        after = await _target(session, counter, order, ranges.get(counter.series, ()))
        if after > counter.last_number:
            skips.append(CounterSkip(counter.series, counter.range, counter.last_number, after))
            if reason is not None:
                await advance_counter(ctx, session, counter, after, skipped_to=after, reason=checked_reason(reason))
    return skips


async def _target(
    session: AsyncSession, counter: NumberCounter, order: SkipOrder, ranges: Sequence[NumberRange]
) -> int:
    own = next((one for one in ranges if one.number == counter.range), None)
    end = own.last_number if own is not None else LARGEST_STATED
    if order.by is None:
        assert order.to is not None
        issuer = next((one.number for one in ranges if one.kind == RangeKind.KEPT and order.to in one.sequences), 0)
        if counter.range != issuer:
            return counter.last_number
        if order.to <= counter.last_number:
            th, en = "ตัวนับอยู่ที่ {last} แล้ว ข้ามย้อนหลังไม่ได้", "The counter is at {last} already; it cannot go back."
            raise invalid("/to", "backward", th, en, last=counter.last_number)
        return order.to
    closed = [] if own is not None else [one.sequences for one in ranges]
    taken = await taken_sequences(session, counter)
    following = open_sequences(counter.last_number, closed=closed, taken=taken)
    return min(next(islice(following, order.by - 1, None)), end)


async def advance_counter(
    ctx: RequestContext,
    session: AsyncSession,
    counter: NumberCounter,
    to: int,
    *,
    skipped_to: int,
    reason: str,
    template: str | None = None,
    key: str | None = None,
) -> None:
    """
    Move a locked counter forward, and record the sequences that it passes.

    :param skipped_to: the last of them; less than the next sequence where the counter passes none
    :param key: the counter key in codes, where it is known
    """
    old = counter.last_number
    counter.last_number, counter.version = to, counter.version + 1  # a server that has read it reads it again
    await session.flush()
    if skipped_to <= old:
        return
    row: dict[str, object] = {
        "project_id": counter.project_id,
        "series": counter.series,
        "counter_key": key or (await key_of_counter(session, counter)).text,
        "template_used": template,
        "sequence_number": old + 1,
        "skipped_to": skipped_to,
        "old_value": str(old),
        "new_value": str(to),
        "reason": reason,
    }
    await repository.insert_audit(ctx, session, OperationCode.SKIP, row)
