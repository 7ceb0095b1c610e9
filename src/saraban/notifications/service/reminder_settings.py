"""When a project is reminded of due dates: its administrators say, everybody who sees the project may read it."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.context import RequestContext, Scope
from saraban.notifications.domain.reminders import ReminderSchedule
from saraban.notifications.models import ReminderPlan
from saraban.notifications.repository import reminders as repository
from saraban.notifications.schemas import ReminderSettings
from saraban.notifications.service.reminders import schedule_of
from saraban.projects import service as projects

MANAGE = "project.edit"


async def read_reminders(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> ReminderSettings:
    """
    :raises NotFound: when there is no such project that the caller may see
    """
    place = await _seen(ctx, session, project_public_id)
    rows = await repository.plans(session, project_ids=[place.id])
    plan = schedule_of(rows[0]) if rows else ReminderSchedule()
    return ReminderSettings(before=list(plan.before), after=list(plan.after), every=plan.every, hour=plan.hour)


async def set_reminders(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, order: ReminderSettings
) -> None:
    """
    Tell when a project is reminded; what went out already does not go out again.

    :raises Forbidden: when the caller does not manage the project
    """
    place = await _seen(ctx, session, project_public_id)
    ctx.caller.require(MANAGE, Scope(project=place.id))
    await projects.lock_project(session, project_id=place.id)
    values = {
        "days_before": sorted(set(order.before), reverse=True),
        "days_after": sorted(set(order.after)),
        "every_days": order.every,
        "at_hour": order.hour,
    }
    row = await session.get(ReminderPlan, place.id) or ReminderPlan(project_id=place.id)
    for name, value in values.items():
        setattr(row, name, value)
    row.updated_by_user_id, row.updated_at = ctx.caller.user_id, ctx.now
    session.add(row)
    await session.flush()
    await audit.record(ctx, session, audit.AuditEntry("project.reminders", "project", str(project_public_id), values))


async def _seen(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> projects.ProjectRef:
    await projects.read_project(ctx, session, public_id=public_id)
    return await projects.find_project(session, public_id=public_id, pointer="path:publicId")
