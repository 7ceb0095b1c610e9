"""How far the series in use have come."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.models import LedgerEntry, NumberCounter
from saraban.projects.models import Project


async def fullest_series(session: AsyncSession, *, since: datetime, most: int) -> Sequence[sa.Row[str, str, int, str]]:
    """
    Return project code, series, last sequence and template of the series with the highest sequences.

    :param since: series nobody has drawn from after it are left out: those of past years stay full for ever
    """
    counter = (
        sa.select(NumberCounter.project_id, NumberCounter.series, NumberCounter.last_number)
        .where(NumberCounter.range == 0, NumberCounter.updated_at >= since, NumberCounter.last_number > 0)
        .order_by(NumberCounter.last_number.desc())
        .limit(most)
        .subquery()
    )
    template = (
        sa.select(LedgerEntry.format_template)
        .where(
            LedgerEntry.project_id == counter.c.project_id,
            LedgerEntry.series == counter.c.series,
            LedgerEntry.range == 0,
            LedgerEntry.sequence_number <= counter.c.last_number,
        )
        .order_by(LedgerEntry.sequence_number.desc())
        .limit(1)
        .scalar_subquery()
    )
    statement = sa.select(Project.project_code, counter.c.series, counter.c.last_number, template).join_from(
        counter, Project, Project.id == counter.c.project_id
    )
    return (await session.execute(statement)).all()
