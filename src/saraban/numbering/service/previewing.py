"""The number that would come next, shown while a form is filled in; no counter is touched (ruling N13)."""

from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from operator import ge

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering import repository
from saraban.numbering.domain.sequence import SequenceExhausted
from saraban.numbering.domain.stretch import open_sequences
from saraban.numbering.service.planning import Plan

_BLOCK = 50


@dataclass(frozen=True, slots=True)
class Preview:
    """What a draw would give now if nobody else draws first."""

    number: str
    sequence: int


async def preview(session: AsyncSession, *, plan: Plan) -> Preview:
    """
    This will say which number a draw would give now; it consumes nothing.

    :raises SequenceExhausted: where a draw would be refused too
    """
    (sequence,) = await following(session, plan=plan, count=1)
    return Preview(plan.number(sequence), sequence)


async def following(session: AsyncSession, *, plan: Plan, count: int) -> list[int]:
    """This will give the sequences of the next draws, as things stand."""
    seen = await repository.standing(session, repository.Place(plan.project.id, plan.series, plan.range), lock=False)
    standing = seen or repository.Standing(0, 0)
    after, found = standing.last_number, list[int]()
    while len(found) < count:
        numbers = range(after + 1, after + _BLOCK + 1)
        names = await repository.taken_numbers(
            session,
            project_id=plan.project.id,
            bases=[plan.base(number) for number in numbers],
            numbers=[plan.number(number) for number in numbers],
        )
        taken = {n for n in numbers if plan.base(n) in names or plan.number(n) in names}
        free = open_sequences(after, closed=standing.closed, taken=taken)
        found.extend(takewhile(partial(ge, numbers[-1]), free))
        after += _BLOCK
    chosen = found[:count]
    if (standing.end is not None and chosen[-1] > standing.end) or (
        plan.refuses_overflow and plan.template.overflows(chosen[-1])
    ):
        raise SequenceExhausted
    return chosen
