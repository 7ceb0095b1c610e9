"""The statements about working days."""

from collections.abc import Sequence
from datetime import date

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.projects.models import ProjectCalendar, ProjectDay


async def weekend(session: AsyncSession, *, project_id: int) -> ProjectCalendar | None:
    return await session.get(ProjectCalendar, project_id)


async def days(session: AsyncSession, *, project_id: int) -> Sequence[ProjectDay]:
    return (await session.scalars(sa.select(ProjectDay).where(ProjectDay.project_id == project_id))).all()


async def day(session: AsyncSession, *, project_id: int, on: date) -> ProjectDay | None:
    return await session.get(ProjectDay, (project_id, on))
