"""The number that would come next, shown while a form is filled in; no counter is touched (ruling N13)."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering import repository
from saraban.numbering.domain.counter import free_sequence
from saraban.numbering.service.planning import Plan

_BLOCK = 50


@dataclass(frozen=True, slots=True)
class Preview:
    """What a draw would give now if nobody else draws first."""

    number: str
    sequence: int


async def preview(session: AsyncSession, *, plan: Plan) -> Preview:
    seen = await repository.counter(session, project_id=plan.project.id, series=plan.series, lock=False)
    after = seen.last_number if seen else 0
    while True:
        numbers = range(after + 1, after + _BLOCK + 1)
        names = await repository.taken_numbers(
            session,
            project_id=plan.project.id,
            bases=[plan.base(number) for number in numbers],
            numbers=[plan.number(number) for number in numbers],
        )
        taken = frozenset(n for n in numbers if plan.base(n) in names or plan.number(n) in names)
        free = free_sequence(after, taken, block=_BLOCK)
        if free is not None:
            return Preview(plan.number(free), free)
        after += _BLOCK
