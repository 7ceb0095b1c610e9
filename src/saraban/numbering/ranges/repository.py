"""Rows of ranges and their counters."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.kit.db import AnySelect
from saraban.kit.pagination import Page, newest_first, page_of
from saraban.numbering.series.domain.counter import SeriesKey
from saraban.numbering.series.domain.states import RangeKind
from saraban.numbering.series.models import COUNTER_OF_RANGE, NumberCounter, NumberRange, RangeRow


async def add_range(session: AsyncSession, row: NumberRange, *, like: NumberCounter, now: datetime) -> None:
    session.add(row)
    if row.kind == RangeKind.KEPT:
        session.add(
            NumberCounter(
                project_id=like.project_id,
                series=like.series,
                range=row.number,
                originator_organization_id=like.originator_organization_id,
                recipient_organization_id=like.recipient_organization_id,
                correspondence_type_id=like.correspondence_type_id,
                sub_type_id=like.sub_type_id,
                rfa_type_id=like.rfa_type_id,
                discipline_id=like.discipline_id,
                current_year=like.current_year,
                last_number=row.first_number - 1,
                range_count=0,
                version=0,
                updated_at=now,
            )
        )
    await session.flush()


async def raise_version(session: AsyncSession, *, project_id: int, series: str, range_: int) -> None:
    """Make every allocator read the counter again."""
    await session.execute(
        sa.update(NumberCounter)
        .where(NumberCounter.project_id == project_id, NumberCounter.series == series, NumberCounter.range == range_)
        .values(version=NumberCounter.version + 1)
        .execution_options(synchronize_session=False)
    )


async def highest_range(session: AsyncSession, *, project_id: int, series: str) -> int:
    statement = sa.select(sa.func.max(NumberRange.number)).where(
        NumberRange.project_id == project_id, NumberRange.series == series
    )
    return await session.scalar(statement) or 0


async def overlapping(session: AsyncSession, key: SeriesKey, *, first: int, last: int) -> bool:
    statement = sa.select(NumberRange.id).where(
        NumberRange.project_id == key.project_id,
        NumberRange.series == key.series,
        NumberRange.released_at.is_(None),
        NumberRange.first_number <= last,
        NumberRange.last_number >= first,
    )
    return await session.scalar(statement.limit(1)) is not None


async def locked_range(session: AsyncSession, public_id: UUID) -> NumberRange | None:
    return await session.scalar(sa.select(NumberRange).where(NumberRange.public_id == public_id).with_for_update())


_RANGES: AnySelect = (
    sa.select(NumberRange, Organization.public_id, NumberCounter.last_number)
    .outerjoin(Organization, Organization.id == NumberRange.organization_id)
    .outerjoin(NumberCounter, COUNTER_OF_RANGE)
)


async def find_range(session: AsyncSession, public_id: UUID) -> RangeRow | None:
    row = (await session.execute(_RANGES.where(NumberRange.public_id == public_id))).first()
    return RangeRow(*row) if row is not None else None


async def ranges_page(session: AsyncSession, *, project_id: int, cursor: str | None, limit: int) -> Page[RangeRow]:
    statement = newest_first(
        _RANGES.where(NumberRange.project_id == project_id),
        at=NumberRange.created_at,
        public_id=NumberRange.public_id,
        cursor=cursor,
        limit=limit,
    )
    rows = [RangeRow(*row) for row in (await session.execute(statement)).all()]
    return page_of(rows, limit=limit, key=lambda row: (row.range.created_at, row.range.public_id))
