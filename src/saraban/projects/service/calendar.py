"""Working days of a project: shipped holidays, its weekend and its own days."""

from collections.abc import Collection
from datetime import date
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.domain.changes import field_changes
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound, Text
from saraban.projects import repository
from saraban.projects.domain.calendar import (
    USUAL_WEEKEND,
    WEEKDAYS,
    YEARS,
    DayKind,
    DaySource,
    Weekday,
    WorkCalendar,
    public_holidays,
)
from saraban.projects.models import ProjectCalendar, ProjectDay
from saraban.projects.schemas import CalendarDay, CalendarYear, NewCalendarDay
from saraban.projects.service.projects import lock_managed_project, record_change, visible_project


async def work_calendar(session: AsyncSession, *, project_id: int) -> WorkCalendar:
    days = await repository.calendar_days(session, project_id)
    return WorkCalendar(
        weekend=frozenset(await _weekend(session, project_id)),
        closed=frozenset(public_holidays()) | {row.day for row in days if not row.is_working},
        open=frozenset(row.day for row in days if row.is_working),
    )


async def read_calendar(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, year: int
) -> CalendarYear:
    """:raises NotFound:"""
    project = await visible_project(ctx, session, project_public_id)
    days = {day: _holiday_out(day, name) for day, name in public_holidays().items()}
    days |= {row.day: _day_out(row) for row in await repository.calendar_days(session, project_id=project.id)}
    return CalendarYear(
        year=year,
        is_shipped=year in YEARS,
        weekend=await _weekend(session, project.id),
        days=[days[day] for day in sorted(days) if day.year == year],
    )


async def set_weekend(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, weekend: Collection[Weekday]
) -> None:
    """:raises Forbidden:"""
    project = await lock_managed_project(ctx, session, project_public_id)
    before, after = await _weekend(session, project.id), [day for day in WEEKDAYS if day in weekend]
    text = ",".join(after)
    row = await repository.weekend(session, project_id=project.id)
    if row is None:
        session.add(
            ProjectCalendar(
                project_id=project.id, weekend=text, updated_by_user_id=ctx.caller.user_id, updated_at=ctx.now
            )
        )
    else:
        row.weekend, row.updated_by_user_id, row.updated_at = text, ctx.caller.user_id, ctx.now
    changes = field_changes({"weekend": before}, {"weekend": after})
    await record_change(ctx, session, "calendar.weekend", project, {"changes": changes})


async def add_day(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, day: date, order: NewCalendarDay
) -> CalendarDay:
    """
    Replace the project's entry for a day.

    :raises Forbidden:
    """
    project = await lock_managed_project(ctx, session, project_public_id)
    row = await repository.calendar_day(session, project_id=project.id, on=day)
    before = _day_out(row).model_dump(mode="json") if row else {}
    if row is None:
        row = ProjectDay(project_id=project.id, day=day)
        session.add(row)
    row.is_working = order.kind is DayKind.WORKING
    row.name_th, row.name_en = order.name_th, order.name_en
    row.created_by_user_id, row.created_at = ctx.caller.user_id, ctx.now
    changes = field_changes(before, order.model_dump(mode="json"))
    details = {"day": day.isoformat(), "kind": order.kind, "changes": changes}
    await record_change(ctx, session, "calendar.day_added", project, details)
    return _day_out(row)


async def remove_day(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, day: date) -> None:
    """:raises NotFound: without an entry of the project"""
    project = await lock_managed_project(ctx, session, project_public_id)
    row = await repository.calendar_day(session, project_id=project.id, on=day)
    if row is None:
        raise NotFound(f"The project says nothing of its own about {day}.")
    await session.delete(row)
    details = {"day": day.isoformat()}
    await record_change(ctx, session, "calendar.day_removed", project, details)


async def _weekend(session: AsyncSession, project_id: int) -> list[Weekday]:
    row = await repository.weekend(session, project_id)
    weekend = row.weekend.split(",") if row is not None else USUAL_WEEKEND
    return [day for day in WEEKDAYS if day in weekend]


def _holiday_out(day: date, name: Text) -> CalendarDay:
    return CalendarDay(date=day, kind=DayKind.HOLIDAY, name_th=name.th, name_en=name.en, source=DaySource.PUBLIC)


def _day_out(row: ProjectDay) -> CalendarDay:
    kind = DayKind.WORKING if row.is_working else DayKind.HOLIDAY
    return CalendarDay(date=row.day, kind=kind, name_th=row.name_th, name_en=row.name_en, source=DaySource.PROJECT)
