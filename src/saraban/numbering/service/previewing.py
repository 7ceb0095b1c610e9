"""The number that would come next, shown while a form is filled in; no counter is touched (ruling N13)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering import repository
from saraban.numbering.domain.sequence import LARGEST, SequenceExhausted
from saraban.numbering.domain.stretch import open_sequences
from saraban.numbering.service.planning import Plan

_BLOCK = 50


@dataclass(frozen=True, slots=True)
class NumberPreview:
    """What a draw would give now if nobody else draws first."""

    number: str
    sequence: int


async def preview(session: AsyncSession, *, plan: Plan) -> NumberPreview:
    """
    Return which number a draw would give now; it consumes nothing.

    :raises SequenceExhausted: where a draw would be refused too
    """
    (sequence,) = await next_sequences(session, plan=plan, count=1)
    return NumberPreview(plan.number(sequence), sequence)


async def next_sequences(session: AsyncSession, *, plan: Plan, count: int) -> list[int]:
    """Return the sequences of the next draws, as things stand."""
    place = repository.SeriesKey(plan.project.id, plan.series, plan.range)
    standing = await repository.counter_state(session, place, lock=False) or repository.CounterState(0, 0)
    chosen = await free_sequences(session, place, standing, number=plan.number, base=plan.base, count=count)
    if chosen[-1] > (LARGEST if standing.end is None else standing.end) or (
        plan.refuses_overflow and plan.template.overflows(chosen[-1])
    ):
        raise SequenceExhausted
    return chosen


async def free_sequences(
    session: AsyncSession,
    place: repository.SeriesKey,
    standing: repository.CounterState,
    *,
    number: Callable[[int], str],
    base: Callable[[int], str],
    count: int,
) -> list[int]:
    """Return the next sequences that are neither closed nor taken by whatever prints alike."""
    after, found = standing.last_number, list[int]()
    while len(found) < count:
        candidates = list(islice(open_sequences(after, closed=standing.closed), _BLOCK))
        names = await repository.taken_numbers(
            session,
            project_id=place.project_id,
            bases=[base(sequence) for sequence in candidates],
            numbers=[number(sequence) for sequence in candidates],
        )
        found += [one for one in candidates if base(one) not in names and number(one) not in names]
        after = candidates[-1]
    return found[:count]
